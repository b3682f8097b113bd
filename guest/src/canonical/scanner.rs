//! Reads JSON text (RFC 8259) and writes its canonical form as it goes.

use std::cmp::Ordering;

use super::number::{self, Number};
use super::sort::sort;
use super::{Omitted, order, string};

/// Why a text cannot be read, and where.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Invalid {
    /// The byte at which reading ended. It begins a character, or is the end of the text.
    pub at: usize,
    /// What is wrong there.
    pub reason: Reason,
}

/// Why a text cannot be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reason {
    /// What stands there cannot stand there.
    Unexpected,
    /// Arrays and objects are nested deeper than [`MAX_DEPTH`] levels (C6).
    TooDeep,
    /// An escape for half of a surrogate pair (C7).
    LoneSurrogate,
}

/// Where a member of an object that is being read stands in the canonical text.
#[derive(Debug, Clone, Copy)]
pub struct Member {
    /// The first byte of its name, after the quote.
    name: usize,
    /// The quote after its name.
    name_end: usize,
    /// The byte after its value.
    end: usize,
    /// The beginning of its name, which decides most comparisons.
    prefix: u64,
}

/// Arrays and objects may be nested this deep; the outermost is level 1 (C6).
pub const MAX_DEPTH: u32 = 127;

/// Reads a text from left to right. What is canonical as it stands is not touched: it is copied in one piece, and only if
/// something before or after it is not. A text that is canonical as a whole is never copied.
pub struct Scanner<'a> {
    text: &'a [u8],
    at: usize,
    /// From here to `at` the text is canonical as it stands, and not yet copied.
    kept: usize,
    /// The canonical text before that.
    out: &'a mut Vec<u8>,
    /// The members read so far of all objects that are open.
    members: &'a mut Vec<Member>,
    reordered: &'a mut Vec<u8>,
    omitted: Omitted<'a>,
}

impl<'a> Scanner<'a> {
    pub fn new(
        text: &'a str,
        out: &'a mut Vec<u8>,
        members: &'a mut Vec<Member>,
        reordered: &'a mut Vec<u8>,
        omitted: Omitted<'a>,
    ) -> Self {
        Self { text: text.as_bytes(), at: 0, kept: 0, out, members, reordered, omitted }
    }

    /// Reads the whole text, which is one value, and gives its canonical text.
    pub fn scan(mut self) -> Result<&'a [u8], Invalid> {
        self.document().map_err(|reason| Invalid { at: self.at, reason })?;
        if self.out.is_empty() {
            return Ok(slice(self.text, self.kept, self.at));
        }
        self.copy();
        Ok(self.out)
    }

    fn document(&mut self) -> Result<(), Reason> {
        self.skip_white_space();
        self.value(0)?;
        let end = self.at;
        while self.at_white_space() {
            self.at += 1;
        }
        if self.at < self.text.len() {
            return Err(Reason::Unexpected);
        }
        self.at = end;
        Ok(())
    }

    fn value(&mut self, depth: u32) -> Result<(), Reason> {
        match self.peek() {
            Some(b'"') => self.string(),
            Some(b'{') => self.object(depth + 1),
            Some(b'[') => self.array(depth + 1),
            Some(b'-' | b'0'..=b'9') => self.number(),
            Some(b't') => self.word(b"true"),
            Some(b'f') => self.word(b"false"),
            Some(b'n') => self.word(b"null"),
            _ => Err(Reason::Unexpected),
        }
    }

    fn array(&mut self, depth: u32) -> Result<(), Reason> {
        self.open(depth)?;
        if self.take(b']') {
            return Ok(());
        }
        loop {
            self.value(depth)?;
            self.skip_white_space();
            if self.take(b']') {
                return Ok(());
            }
            self.separator(b',')?;
        }
    }

    fn object(&mut self, depth: u32) -> Result<(), Reason> {
        self.open(depth)?;
        if self.take(b'}') {
            return Ok(());
        }
        let (start, first) = (self.position(), self.members.len());
        let mut in_order = true;
        loop {
            let member = self.member(depth)?;
            let previous = self.members.get(first..).and_then(<[_]>::last);
            if self.omitted.has(depth, self.name(&member)) {
                let end = previous.map_or(start, |previous| previous.end);
                self.drop_from(end);
            } else {
                in_order = in_order
                    && previous.is_none_or(|previous| compare(previous, &member, |member| self.name(member)).is_lt());
                self.members.push(member);
            }
            self.skip_white_space();
            if self.peek() == Some(b'}') {
                break;
            }
            self.separator(b',')?;
            if self.members.len() == first {
                self.drop_from(start);
            }
        }
        if !in_order {
            self.reorder(start, first);
        }
        self.members.truncate(first);
        self.at += 1;
        Ok(())
    }

    fn member(&mut self, depth: u32) -> Result<Member, Reason> {
        if self.peek() != Some(b'"') {
            return Err(Reason::Unexpected);
        }
        let name = self.position() + 1;
        self.string()?;
        let name_end = self.position() - 1;
        let mut member = Member { name, name_end, end: name_end, prefix: 0 };
        member.prefix = order::prefix(self.text_at(&member), name_end - name);
        self.skip_white_space();
        self.separator(b':')?;
        self.value(depth)?;
        member.end = self.position();
        Ok(member)
    }

    /// Rewrites what has been read from `start` on: the members from `first` on, in the order of their names. Of those
    /// with one name, the last stays.
    fn reorder(&mut self, start: usize, first: usize) {
        self.copy();
        let out = &*self.out;
        let Some(members) = self.members.get_mut(first..) else { return };
        let name = |member: &Member| slice(out, member.name, member.name_end);
        sort(members, &|a, b| compare(a, b, name).is_lt());

        self.reordered.clear();
        let mut members = members.iter().peekable();
        while let Some(member) = members.next() {
            if members.peek().is_some_and(|next| next.prefix == member.prefix && name(next) == name(member)) {
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

    fn string(&mut self) -> Result<(), Reason> {
        self.expect(b'"')?;
        let mut rewritten = false;
        loop {
            self.at += string::plain_run(self.rest());
            match self.next()? {
                b'"' => break,
                b'\\' => rewritten |= self.escape()?,
                _ => return self.unexpected(),
            }
        }
        if rewritten {
            // A name stands either before `kept` or behind it, never on both sides.
            self.copy();
        }
        Ok(())
    }

    /// Reads what follows the backslash of an escape, and says whether it had to be written in another way.
    fn escape(&mut self) -> Result<bool, Reason> {
        let escape = self.at - 1;
        let character = match self.next()? {
            b'"' | b'\\' | b'b' | b't' | b'n' | b'f' | b'r' => return Ok(false),
            b'/' => '/',
            b'u' => self.unicode_escape()?,
            _ => return self.unexpected(),
        };
        self.copy_to(escape);
        string::push(character, self.out);
        Ok(true)
    }

    fn unicode_escape(&mut self) -> Result<char, Reason> {
        let escape = self.at - 2;
        let unit = self.four_hex_digits()?;
        let mut units = [unit, 0];
        let mut length = 1;
        if matches!(unit, 0xd800..=0xdbff) && self.rest().starts_with(b"\\u") {
            self.at += 2;
            units[1] = self.four_hex_digits()?;
            length = 2;
        }
        let character = char::decode_utf16(units.into_iter().take(length)).next().and_then(Result::ok);
        character.ok_or_else(|| {
            self.at = escape;
            Reason::LoneSurrogate
        })
    }

    fn four_hex_digits(&mut self) -> Result<u16, Reason> {
        let mut value = 0;
        for _ in 0..4 {
            let digit = match self.next()? {
                byte @ b'0'..=b'9' => byte - b'0',
                byte @ b'a'..=b'f' => byte - b'a' + 10,
                byte @ b'A'..=b'F' => byte - b'A' + 10,
                _ => return self.unexpected(),
            };
            value = value << 4 | u16::from(digit);
        }
        Ok(value)
    }

    fn number(&mut self) -> Result<(), Reason> {
        let plain = number::plain_integer(self.rest());
        if plain > 0 {
            self.at += plain;
            return Ok(());
        }
        let (number, length) = Number::take(self.rest()).ok_or(Reason::Unexpected)?;
        let start = self.at;
        self.at += length;
        if !number.is_canonical() {
            self.copy_to(start);
            number.write(self.out);
        }
        Ok(())
    }

    fn word(&mut self, word: &[u8]) -> Result<(), Reason> {
        if !self.rest().starts_with(word) {
            return Err(Reason::Unexpected);
        }
        self.at += word.len();
        Ok(())
    }

    /// Reads the bracket that opens an array or object, and what white space follows.
    fn open(&mut self, depth: u32) -> Result<(), Reason> {
        if depth > MAX_DEPTH {
            return Err(Reason::TooDeep);
        }
        self.at += 1;
        self.skip_white_space();
        Ok(())
    }

    /// Reads a comma or a colon, and what white space follows.
    fn separator(&mut self, separator: u8) -> Result<(), Reason> {
        self.expect(separator)?;
        self.skip_white_space();
        Ok(())
    }

    /// Leaves out the white space that is next.
    fn skip_white_space(&mut self) {
        if self.at_white_space() {
            self.drop_white_space();
        }
    }

    fn drop_white_space(&mut self) {
        let end = self.at;
        while self.at_white_space() {
            self.at += 1;
        }
        self.copy_to(end);
    }

    fn at_white_space(&self) -> bool {
        matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'\r'))
    }

    /// Copies what was kept.
    fn copy(&mut self) {
        self.copy_to(self.at);
    }

    /// Copies what was kept up to `end`, and drops the rest of what has been read.
    fn copy_to(&mut self, end: usize) {
        self.out.extend_from_slice(slice(self.text, self.kept, end));
        self.kept = self.at;
    }

    /// Leaves out what has been read since the canonical text was this long.
    fn drop_from(&mut self, position: usize) {
        match position.checked_sub(self.out.len()) {
            Some(length) => self.copy_to(self.kept + length),
            None => {
                self.out.truncate(position);
                self.kept = self.at;
            }
        }
    }

    /// How long the canonical text is so far.
    fn position(&self) -> usize {
        self.out.len() + (self.at - self.kept)
    }

    fn name(&self, member: &Member) -> &[u8] {
        slice(self.text_at(member), 0, member.name_end - member.name)
    }

    /// The canonical text from the name of a member on, at least to the end of the name.
    fn text_at(&self, member: &Member) -> &[u8] {
        match member.name.checked_sub(self.out.len()) {
            Some(offset) => self.text.get(self.kept + offset..),
            None => self.out.get(member.name..),
        }
        .unwrap_or_default()
    }

    fn rest(&self) -> &'a [u8] {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn peek(&self) -> Option<u8> {
        self.text.get(self.at).copied()
    }

    fn next(&mut self) -> Result<u8, Reason> {
        let byte = self.peek().ok_or(Reason::Unexpected)?;
        self.at += 1;
        Ok(byte)
    }

    /// The byte that was read last cannot stand there.
    fn unexpected<T>(&mut self) -> Result<T, Reason> {
        self.at -= 1;
        Err(Reason::Unexpected)
    }

    fn take(&mut self, byte: u8) -> bool {
        let found = self.peek() == Some(byte);
        self.at += usize::from(found);
        found
    }

    fn expect(&mut self, byte: u8) -> Result<(), Reason> {
        if self.take(byte) { Ok(()) } else { Err(Reason::Unexpected) }
    }
}

/// The order of two members, whose names are looked at only if need be.
fn compare<'a>(a: &Member, b: &Member, name: impl Fn(&Member) -> &'a [u8]) -> Ordering {
    a.prefix.cmp(&b.prefix).then_with(|| order::compare(name(a), name(b)))
}

fn slice(bytes: &[u8], start: usize, end: usize) -> &[u8] {
    bytes.get(start..end).unwrap_or_default()
}
