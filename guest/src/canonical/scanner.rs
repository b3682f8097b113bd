//! Reads JSON text (RFC 8259) and writes its canonical form as it goes.

use super::number::Number;
use super::{order, string};

/// The text is not valid JSON, is nested too deeply (C6), or escapes a lone surrogate (C7).
#[derive(Debug)]
pub struct Invalid;

/// Where a member of an object that is being read stands in the output.
#[derive(Debug, Clone, Copy)]
pub struct Member {
    /// The first byte of its name, after the quote.
    name: usize,
    /// The quote after its name.
    name_end: usize,
    /// The byte after its value.
    end: usize,
}

/// Arrays and objects may be nested this deep; the outermost is level 1 (C6).
const MAX_DEPTH: u32 = 127;

pub struct Scanner<'a> {
    text: &'a [u8],
    at: usize,
    out: &'a mut Vec<u8>,
    /// The members read so far of all objects that are open.
    members: &'a mut Vec<Member>,
    reordered: &'a mut Vec<u8>,
}

impl<'a> Scanner<'a> {
    pub fn new(text: &'a str, out: &'a mut Vec<u8>, members: &'a mut Vec<Member>, reordered: &'a mut Vec<u8>) -> Self {
        Self { text: text.as_bytes(), at: 0, out, members, reordered }
    }

    /// Reads the whole text, which is one value.
    pub fn scan(mut self) -> Result<(), Invalid> {
        self.skip_white_space();
        self.value(0)?;
        self.skip_white_space();
        if self.at == self.text.len() { Ok(()) } else { Err(Invalid) }
    }

    fn value(&mut self, depth: u32) -> Result<(), Invalid> {
        match self.peek() {
            Some(b'"') => self.string(),
            Some(b'{') => self.object(depth + 1),
            Some(b'[') => self.array(depth + 1),
            Some(b'-' | b'0'..=b'9') => self.number(),
            Some(b't') => self.word(b"true"),
            Some(b'f') => self.word(b"false"),
            Some(b'n') => self.word(b"null"),
            _ => Err(Invalid),
        }
    }

    fn array(&mut self, depth: u32) -> Result<(), Invalid> {
        self.open(depth)?;
        if !self.take(b']') {
            loop {
                self.value(depth)?;
                self.skip_white_space();
                if self.take(b']') {
                    break;
                }
                self.separator()?;
            }
        }
        self.out.push(b']');
        Ok(())
    }

    fn object(&mut self, depth: u32) -> Result<(), Invalid> {
        self.open(depth)?;
        let first = self.members.len();
        let mut in_order = true;
        if !self.take(b'}') {
            loop {
                let member = self.member(depth)?;
                if let Some(previous) = self.members.get(first..).and_then(<[_]>::last) {
                    in_order &= order::compare(self.name(previous), self.name(&member)).is_lt();
                }
                self.members.push(member);
                self.skip_white_space();
                if self.take(b'}') {
                    break;
                }
                self.separator()?;
            }
        }
        if !in_order {
            self.reorder(first);
        }
        self.members.truncate(first);
        self.out.push(b'}');
        Ok(())
    }

    fn member(&mut self, depth: u32) -> Result<Member, Invalid> {
        if self.peek() != Some(b'"') {
            return Err(Invalid);
        }
        let name = self.out.len() + 1;
        self.string()?;
        let name_end = self.out.len() - 1;
        self.skip_white_space();
        self.expect(b':')?;
        self.out.push(b':');
        self.skip_white_space();
        self.value(depth)?;
        Ok(Member { name, name_end, end: self.out.len() })
    }

    /// Rewrites the members from `first` on, which end the output, in the order of their names. Of those
    /// with one name, the last stays.
    fn reorder(&mut self, first: usize) {
        let out = &*self.out;
        let Some(members) = self.members.get_mut(first..) else { return };
        let Some(start) = members.first().map(|member| member.name - 1) else { return };
        members.sort_by(|a, b| order::compare(slice(out, a.name, a.name_end), slice(out, b.name, b.name_end)));

        self.reordered.clear();
        let mut members = members.iter().peekable();
        while let Some(member) = members.next() {
            let name = slice(out, member.name, member.name_end);
            if members.peek().is_some_and(|next| slice(out, next.name, next.name_end) == name) {
                continue;
            }
            if !self.reordered.is_empty() {
                self.reordered.push(b',');
            }
            self.reordered.extend_from_slice(slice(out, member.name - 1, member.end));
        }
        self.out.truncate(start);
        self.out.extend_from_slice(self.reordered);
    }

    fn string(&mut self) -> Result<(), Invalid> {
        self.expect(b'"')?;
        self.out.push(b'"');
        loop {
            let rest = self.rest();
            let (run, rest) = rest.split_at(string::plain_run(rest));
            self.out.extend_from_slice(run);
            self.at += run.len() + 1;
            match rest.first() {
                Some(b'"') => break,
                Some(b'\\') => self.escape()?,
                _ => return Err(Invalid),
            }
        }
        self.out.push(b'"');
        Ok(())
    }

    /// Reads what follows the backslash of an escape.
    fn escape(&mut self) -> Result<(), Invalid> {
        let character = match self.next()? {
            b'b' => '\u{8}',
            b't' => '\t',
            b'n' => '\n',
            b'f' => '\u{c}',
            b'r' => '\r',
            b'u' => self.unicode_escape()?,
            byte @ (b'"' | b'\\' | b'/') => char::from(byte),
            _ => return Err(Invalid),
        };
        string::push(character, self.out);
        Ok(())
    }

    fn unicode_escape(&mut self) -> Result<char, Invalid> {
        let unit = self.four_hex_digits()?;
        let mut units = [unit, 0];
        let length = if matches!(unit, 0xd800..=0xdbff) {
            self.expect(b'\\')?;
            self.expect(b'u')?;
            units[1] = self.four_hex_digits()?;
            2
        } else {
            1
        };
        char::decode_utf16(units.into_iter().take(length)).next().and_then(Result::ok).ok_or(Invalid)
    }

    fn four_hex_digits(&mut self) -> Result<u16, Invalid> {
        let mut value = 0;
        for _ in 0..4 {
            let digit = match self.next()? {
                byte @ b'0'..=b'9' => byte - b'0',
                byte @ b'a'..=b'f' => byte - b'a' + 10,
                byte @ b'A'..=b'F' => byte - b'A' + 10,
                _ => return Err(Invalid),
            };
            value = value << 4 | u16::from(digit);
        }
        Ok(value)
    }

    fn number(&mut self) -> Result<(), Invalid> {
        let (number, length) = Number::take(self.rest()).ok_or(Invalid)?;
        number.write(self.out);
        self.at += length;
        Ok(())
    }

    fn word(&mut self, word: &[u8]) -> Result<(), Invalid> {
        if !self.rest().starts_with(word) {
            return Err(Invalid);
        }
        self.out.extend_from_slice(word);
        self.at += word.len();
        Ok(())
    }

    /// Reads the bracket that opens an array or object, and what white space follows.
    fn open(&mut self, depth: u32) -> Result<(), Invalid> {
        if depth > MAX_DEPTH {
            return Err(Invalid);
        }
        let bracket = self.next()?;
        self.out.push(bracket);
        self.skip_white_space();
        Ok(())
    }

    /// Reads the comma between two elements or members, and what white space follows.
    fn separator(&mut self) -> Result<(), Invalid> {
        self.expect(b',')?;
        self.out.push(b',');
        self.skip_white_space();
        Ok(())
    }

    fn skip_white_space(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    fn name(&self, member: &Member) -> &[u8] {
        slice(self.out, member.name, member.name_end)
    }

    fn rest(&self) -> &'a [u8] {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn peek(&self) -> Option<u8> {
        self.text.get(self.at).copied()
    }

    fn next(&mut self) -> Result<u8, Invalid> {
        let byte = self.peek().ok_or(Invalid)?;
        self.at += 1;
        Ok(byte)
    }

    fn take(&mut self, byte: u8) -> bool {
        let found = self.peek() == Some(byte);
        self.at += usize::from(found);
        found
    }

    fn expect(&mut self, byte: u8) -> Result<(), Invalid> {
        if self.take(byte) { Ok(()) } else { Err(Invalid) }
    }
}

fn slice(bytes: &[u8], start: usize, end: usize) -> &[u8] {
    bytes.get(start..end).unwrap_or_default()
}
