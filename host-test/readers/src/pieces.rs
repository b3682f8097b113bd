//! Cuts an input into pieces that can be read one at a time, each a JSON object.
//!
//! JSON Lines have a piece a line. Other JSON text is one object, or several one after another, or in arrays, the elements of which
//! are the pieces. Which of the two a file is shows in its first lines: if one of them holds a whole object,
//! they are JSON Lines. What is no JSON is reported, and reading goes on at the next line that begins like a piece.

use std::io::{self, BufRead};
use std::ops::ControlFlow;

use serde_json::value::RawValue;

use crate::Skipped;
use crate::input::Input;
use crate::text::without_place;

/// A piece of an input.
#[derive(Clone, Copy)]
pub struct Piece<'a> {
    /// A JSON object.
    pub text: &'a str,
    /// The file that it stands in.
    pub file: &'a str,
    /// Its first line there, from 1.
    pub line: usize,
    /// How many arrays have begun before it: pieces of different arrays need not belong together.
    pub array: usize,
}

/// What there is in an input.
pub enum Found<'a> {
    /// A piece.
    Piece(Piece<'a>),
    /// Something that is none.
    Bad(Skipped),
}

/// Where the pieces go. It can have enough.
pub type Visit<'v> = dyn FnMut(Found<'_>) -> ControlFlow<()> + 'v;

/// Visits the pieces of an input in their order.
pub fn visit(input: &Input, visit: &mut Visit<'_>) -> io::Result<()> {
    for part in input.parts() {
        let mut cutter = Cutter { file: &part.name, line: 1, array: 0, visit };
        if cutter.part(&mut *input.open(part)?)?.is_break() {
            break;
        }
    }
    Ok(())
}

/// How many lines are looked at to tell JSON Lines from other JSON text, and of how many bytes.
const LINES_TO_JUDGE: usize = 50;
const BYTES_TO_JUDGE: usize = 1 << 20;

const BYTE_ORDER_MARK: &[u8] = "\u{feff}".as_bytes();

struct Cutter<'a, 'v> {
    file: &'a str,
    /// The line at hand.
    line: usize,
    array: usize,
    visit: &'a mut Visit<'v>,
}

impl Cutter<'_, '_> {
    fn part(&mut self, rest: &mut dyn BufRead) -> io::Result<ControlFlow<()>> {
        let mut head = Vec::new();
        let (mut broken, mut are_lines) = (None, false);
        for _ in 0..LINES_TO_JUDGE {
            match rest.read_until(b'\n', &mut head) {
                Ok(0) => break,
                Ok(_) => are_lines = self::are_lines(&head),
                Err(error) => broken = Some(error),
            }
            if are_lines || broken.is_some() || head.len() > BYTES_TO_JUDGE {
                break;
            }
        }
        if !are_lines && broken.is_none() {
            broken = rest.read_to_end(&mut head).err();
        }
        let head = head.strip_prefix(BYTE_ORDER_MARK).unwrap_or(&head);
        let mut flow = if are_lines { self.lines(head) } else { self.values(&String::from_utf8_lossy(head)) };
        let mut line = Vec::new();
        while are_lines && flow.is_continue() && broken.is_none() {
            line.clear();
            match rest.read_until(b'\n', &mut line) {
                Ok(0) => break,
                Ok(_) => flow = self.one_line(&line),
                Err(error) => broken = Some(error),
            }
        }
        if let (ControlFlow::Continue(()), Some(error)) = (flow, broken) {
            // Compressed data that were cut off, mostly.
            flow = self.bad(self.line, format!("the file cannot be read from here on: {error}"));
        }
        Ok(flow)
    }

    /// Lines, each of them a piece.
    fn lines(&mut self, text: &[u8]) -> ControlFlow<()> {
        let mut start = 0;
        for end in memchr::memchr_iter(b'\n', text).map(|newline| newline + 1).chain([text.len()]) {
            let line = text.get(start..end).unwrap_or_default();
            start = end;
            if !line.is_empty() {
                self.one_line(line)?;
            }
        }
        ControlFlow::Continue(())
    }

    fn one_line(&mut self, line: &[u8]) -> ControlFlow<()> {
        let number = self.line;
        self.line += 1;
        let trimmed = line.trim_ascii();
        match (trimmed.first(), std::str::from_utf8(trimmed)) {
            (None, _) => {}
            (Some(b'['), Ok(text)) if is_json(trimmed) => {
                self.line = number;
                self.values(text)?;
                self.line = number + 1;
            }
            (Some(b'{'), Ok(text)) => self.piece(text, number)?,
            (Some(b'{' | b'['), Err(error)) => self.bad(number, format!("not UTF-8: {error}"))?,
            _ => self.bad(number, NO_OBJECT)?,
        }
        ControlFlow::Continue(())
    }

    /// Values one after another, or in arrays.
    fn values(&mut self, text: &str) -> ControlFlow<()> {
        let mut rest = text;
        loop {
            let start = rest.find(|c: char| !c.is_ascii_whitespace() && !matches!(c, ',' | ']'));
            let (passed, value) = rest.split_at(start.unwrap_or(rest.len()));
            self.line += newlines(passed);
            if let Some(elements) = value.strip_prefix('[') {
                self.array += 1;
                rest = elements;
                continue;
            }
            if value.is_empty() {
                return ControlFlow::Continue(());
            }
            let mut values = serde_json::Deserializer::from_str(value).into_iter::<&RawValue>();
            let (length, problem) = match values.next() {
                Some(Ok(object)) if value.starts_with('{') => {
                    self.piece(object.get(), self.line)?;
                    (values.byte_offset(), None)
                }
                Some(Ok(_)) | None => (next_start(value), Some((0, NO_OBJECT.to_owned()))),
                Some(Err(error)) => {
                    let at = offset(value, &error);
                    let before = value.get(..at).unwrap_or(value);
                    if let Some(whole) = closed(before) {
                        // Of an object that is damaged, what comes before the damage is read.
                        self.piece(&whole, self.line)?;
                    }
                    let reason = if error.is_eof() {
                        "cut off here".to_owned()
                    } else {
                        without_place(&error.to_string()).to_owned()
                    };
                    (at.max(1) + next_start(value.get(at.max(1)..).unwrap_or_default()), Some((at, reason)))
                }
            };
            let (passed, next) = value.split_at_checked(length).unwrap_or((value, ""));
            if let Some((at, reason)) = problem {
                self.bad(self.line + newlines(value.get(..at).unwrap_or_default()), reason)?;
            }
            self.line += newlines(passed);
            rest = next;
        }
    }

    fn piece(&mut self, text: &str, line: usize) -> ControlFlow<()> {
        (self.visit)(Found::Piece(Piece { text, file: self.file, line, array: self.array }))
    }

    fn bad(&mut self, line: usize, reason: impl Into<String>) -> ControlFlow<()> {
        (self.visit)(Found::Bad(Skipped { file: self.file.to_owned(), line, reason: reason.into() }))
    }
}

const NO_OBJECT: &str = "not a JSON object";

/// Whether a text is one of lines, told by its first line and its last.
fn are_lines(text: &[u8]) -> bool {
    let text = text.strip_prefix(BYTE_ORDER_MARK).unwrap_or(text).trim_ascii();
    let first = text.split(|byte| *byte == b'\n').next().unwrap_or_default().trim_ascii_end();
    let last = text.rsplit(|byte| *byte == b'\n').next().unwrap_or_default();
    let begins_like_json = matches!(first.first(), Some(b'{' | b'['));
    if !begins_like_json && text.len() > first.len() {
        // No JSON text that is read here begins like that.
        return true;
    }
    // Text that spans lines breaks them after an opening bracket or a comma.
    let spans_lines =
        first.starts_with(b"[{") || matches!(first, b"[" | b"{") || first.ends_with(b"[") || first.ends_with(b",");
    !spans_lines && last.starts_with(b"{\"") && last.ends_with(b"}") && is_json(last)
}

fn is_json(text: &[u8]) -> bool {
    serde_json::from_slice::<&RawValue>(text).is_ok()
}

/// Where the next line begins that begins like a piece.
fn next_start(text: &str) -> usize {
    let object = memchr::memmem::find(text.as_bytes(), b"\n{");
    let array = memchr::memmem::find(text.as_bytes(), b"\n[");
    [object, array].into_iter().flatten().min().unwrap_or(text.len())
}

fn newlines(text: &str) -> usize {
    memchr::memchr_iter(b'\n', text.as_bytes()).count()
}

/// Where in the text an error is.
fn offset(text: &str, error: &serde_json::Error) -> usize {
    let lines = memchr::memchr_iter(b'\n', text.as_bytes());
    let line = match error.line() {
        0 | 1 => 0,
        line => lines.map(|place| place + 1).nth(line - 2).unwrap_or(text.len()),
    };
    let mut place = (line + error.column()).min(text.len());
    while !text.is_char_boundary(place) {
        place -= 1;
    }
    place
}

/// Makes a whole of the beginning of an object: what is incomplete at its end is left out, and what is open is closed.
fn closed(text: &str) -> Option<String> {
    let mut open = Vec::new();
    // Up to here, all values are complete.
    let mut complete = 0;
    let mut bytes = text.bytes().enumerate();
    while let Some((place, byte)) = bytes.next() {
        match byte {
            b'"' => {
                while let Some((_, byte)) = bytes.next()
                    && byte != b'"'
                {
                    if byte == b'\\' {
                        bytes.next();
                    }
                }
            }
            b'{' | b'[' => {
                open.push(if byte == b'{' { '}' } else { ']' });
                complete = place + 1;
            }
            b'}' | b']' => {
                open.pop()?;
                complete = place + 1;
            }
            b',' => complete = place,
            _ => {}
        }
    }
    let mut whole = text.get(..complete)?.to_owned();
    whole.extend(open.into_iter().rev());
    serde_json::from_str::<&RawValue>(&whole).is_ok().then_some(whole)
}

#[cfg(test)]
mod tests {
    use std::ops::ControlFlow;

    use super::{Found, closed, visit};
    use crate::Input;

    /// What is found, as lines `LINE[array]: TEXT` or `LINE! REASON`.
    fn found(text: impl AsRef<[u8]>) -> String {
        let mut found = Vec::new();
        visit(&Input::bytes("x", text.as_ref()), &mut |piece| {
            found.push(match piece {
                Found::Piece(piece) => format!("{}[{}]: {}", piece.line, piece.array, piece.text),
                Found::Bad(skipped) => format!("{}! {}", skipped.line, skipped.reason),
            });
            ControlFlow::Continue(())
        })
        .unwrap_or_else(|error| unreachable!("{error}"));
        found.join("\n")
    }

    #[test]
    fn json_lines_have_a_piece_a_line() {
        assert_eq!(found("{\"a\":1}\n\n {\"b\":2} \r\n{\"c\":3}"), "1[0]: {\"a\":1}\n3[0]: {\"b\":2}\n4[0]: {\"c\":3}");
        assert_eq!(found("\u{feff}{\"a\":1}\n"), "1[0]: {\"a\":1}");
        assert_eq!(found(""), "");
    }

    #[test]
    fn what_is_no_object_is_reported_and_passed() {
        assert_eq!(
            found("[INFO] starting\n{\"a\":1}\nnoise\n{\"b\":"),
            "1! not a JSON object\n2[0]: {\"a\":1}\n3! not a JSON object\n4[0]: {\"b\":"
        );
        assert_eq!(
            found(b"{\"a\":1}\n{\"\xff\":1}\n{\"b\":2}"),
            "1[0]: {\"a\":1}\n2! not UTF-8: invalid utf-8 sequence of 1 bytes from index 2\n3[0]: {\"b\":2}"
        );
        assert_eq!(found("{\"cut\n{\"a\":1}\n{\"b\":2}"), "1[0]: {\"cut\n2[0]: {\"a\":1}\n3[0]: {\"b\":2}");
    }

    #[test]
    fn other_json_text_has_a_piece_for_each_object_in_its_arrays() {
        assert_eq!(found("{\n \"a\": [\n  {\"b\": 1}\n ]\n}\n"), "1[0]: {\n \"a\": [\n  {\"b\": 1}\n ]\n}");
        assert_eq!(found("[\n {\"a\": 1},\n {\"b\": 2}\n]"), "2[1]: {\"a\": 1}\n3[1]: {\"b\": 2}");
        assert_eq!(found("[{\"a\":1},{\"b\":2}]"), "1[1]: {\"a\":1}\n1[1]: {\"b\":2}");
        assert_eq!(found("[{\"a\":1}]\n[{\"b\":2}]\n"), "1[1]: {\"a\":1}\n2[2]: {\"b\":2}");
        assert_eq!(found("[[{\"a\":1}],[{\"b\":2}]]"), "1[2]: {\"a\":1}\n1[3]: {\"b\":2}");
        assert_eq!(found("{\n\"a\": 1\n}\n{\n\"b\": 2\n}"), "1[0]: {\n\"a\": 1\n}\n4[0]: {\n\"b\": 2\n}");
    }

    #[test]
    fn of_what_is_damaged_the_beginning_is_read() {
        assert_eq!(found("[\n{\"a\":1},\n{\"b\":2,\n\"c\":"), "2[1]: {\"a\":1}\n3[1]: {\"b\":2}\n4! cut off here");
        assert_eq!(found("{\n\"a\": [1,\n2],\n\"b\" 3\n}"), "1[0]: {\n\"a\": [1,\n2]}\n4! expected `:`");
        assert_eq!(found("nonsense"), "1! expected ident");
        assert_eq!(found("7"), "1! not a JSON object");
    }

    #[test]
    fn what_is_open_is_closed() {
        for (text, whole) in [
            (r#"{"a":1,"b":2"#, r#"{"a":1}"#),
            (r#"{"a":{"b":[1,{"c":"x\"},"#, r#"{"a":{"b":[1,{}]}}"#),
            (r#"{"a":["#, r#"{"a":[]}"#),
            ("{", "{}"),
        ] {
            assert_eq!(closed(text).as_deref(), Some(whole), "of {text}");
        }
    }
}
