//! Reads a JSON document place by place, and notes what is wrong where.

use std::cell::RefCell;
use std::rc::Rc;
use std::vec;

use super::{Problem, parts};
use crate::canonical::{self, Invalid, MAX_DEPTH, Number, Reason};
use crate::names::Names;

/// So many problems are reported; a document of megabytes can have millions.
const MAX_PROBLEMS: usize = 1000;

/// A value, as it is written, and where it stands.
#[derive(Clone)]
pub struct Place<'a> {
    /// The JSON Pointer of the value; of an element, that of its array.
    pointer: Rc<str>,
    /// The place of an element in its array. Of millions, hardly one has a problem that needs its pointer.
    index: Option<usize>,
    text: &'a str,
    /// The problems of the whole document.
    problems: &'a RefCell<Vec<Problem>>,
}

impl<'a> Place<'a> {
    /// The whole document, if it is valid JSON.
    pub fn root(document: &'a str, problems: &'a RefCell<Vec<Problem>>) -> Option<Self> {
        let text = document.trim_matches([' ', '\t', '\n', '\r']);
        let root = Self { pointer: "".into(), index: None, text, problems };
        match canonical::check(document) {
            Ok(()) => Some(root),
            Err(invalid) => {
                root.reject(&format!("not valid JSON: {}", describe(document, invalid)));
                None
            }
        }
    }

    /// Notes a problem here.
    pub fn reject(&self, message: &str) {
        let mut problems = self.problems.borrow_mut();
        if problems.len() < MAX_PROBLEMS {
            problems.push(Problem { path: self.pointer(), message: message.to_owned() });
        } else if problems.len() == MAX_PROBLEMS {
            let message = format!("there are more problems: these are the first {MAX_PROBLEMS}");
            problems.push(Problem { path: String::new(), message });
        }
    }

    pub fn is_null(&self) -> bool {
        self.text == "null"
    }

    pub fn is_object(&self) -> bool {
        self.text.starts_with('{')
    }

    pub fn is_empty_array(&self) -> bool {
        parts::elements(self.text).is_some_and(|elements| elements.is_empty())
    }

    /// The members of an object, in the order of the text, until there are too many problems. Anything else is a problem, and so is a
    /// second member of one name.
    pub fn members(&self) -> Members<'a> {
        let members = parts::members(self.text);
        if members.is_none() {
            self.reject("must be an object");
        }
        Members {
            pointer: self.pointer(),
            problems: self.problems,
            members: members.unwrap_or_default().into_iter(),
            seen: Seen::default(),
        }
    }

    /// The elements of an array, until there are too many problems. Anything else is a problem, described by `message`.
    pub fn elements(&self, message: &str) -> Option<impl Iterator<Item = Self>> {
        let elements = parts::elements(self.text);
        if elements.is_none() {
            self.reject(message);
        }
        let pointer = Rc::<str>::from(self.pointer());
        let problems = self.problems;
        let element = move |(index, text)| Self { pointer: Rc::clone(&pointer), index: Some(index), text, problems };
        Some(elements?.into_iter().enumerate().map(element).take_while(|_| !are_too_many(problems)))
    }

    fn pointer(&self) -> String {
        match self.index {
            None => (*self.pointer).to_owned(),
            Some(index) => format!("{}/{index}", self.pointer),
        }
    }

    /// The string that stands here.
    pub fn string(&self) -> Option<String> {
        canonical::string(self.text)
    }

    /// The boolean that stands here.
    pub fn boolean(&self) -> Option<bool> {
        match self.text {
            "true" => Some(true),
            "false" => Some(false),
            _ => None,
        }
    }

    /// The whole number within bounds that stands here. Anything else is a problem.
    pub fn count(&self, least: u64, most: u64) -> Option<u64> {
        match whole(self.text) {
            Whole::Safe(value) if (least..=most).contains(&value) => return Some(value),
            _ if most < MAX_SAFE => self.reject(&format!("must be an integer from {least} to {most}")),
            Whole::TooLarge => self.reject("must be at most 9007199254740991"),
            Whole::Safe(_) | Whole::Not => self.reject(&format!("must be an integer >= {least}")),
        }
        None
    }

    /// The count from which something is due (B2) that stands here, 0 for never. Anything else is a problem.
    pub fn rung(&self) -> Option<u64> {
        match whole(self.text) {
            Whole::Safe(count) if count != 1 => return Some(count),
            Whole::TooLarge => self.reject("must be at most 9007199254740991"),
            Whole::Safe(_) | Whole::Not => self.reject("must be an integer >= 2, or 0 for never"),
        }
        None
    }

    /// The number of calls that stands here (Q10). Anything else is a problem.
    pub fn quota(&self) -> Option<u64> {
        if let Whole::Safe(value) = whole(self.text) {
            return Some(value);
        }
        self.reject("must be a non-negative safe integer (0 to 9007199254740991)");
        None
    }
}

/// Whether no more problems are reported.
fn are_too_many(problems: &RefCell<Vec<Problem>>) -> bool {
    problems.borrow().len() > MAX_PROBLEMS
}

/// The members of an object that are still to be read.
pub struct Members<'a> {
    pointer: String,
    problems: &'a RefCell<Vec<Problem>>,
    members: vec::IntoIter<(String, &'a str)>,
    seen: Seen,
}

impl<'a> Iterator for Members<'a> {
    type Item = (String, Place<'a>);

    fn next(&mut self) -> Option<Self::Item> {
        while !are_too_many(self.problems) {
            let (name, value) = self.members.next()?;
            let pointer = format!("{}/{}", self.pointer, pointer_token(&name)).into();
            let place = Place { pointer, index: None, text: value, problems: self.problems };
            if self.seen.is_new(&name) {
                return Some((name, place));
            }
            place.reject("given more than once");
        }
        None
    }
}

/// The names that have been seen.
#[derive(Default)]
pub struct Seen(Names);

impl Seen {
    /// Whether a name is seen for the first time.
    pub fn is_new(&mut self, name: &str) -> bool {
        self.0.insert(name.into(), 0)
    }
}

/// What a JSON number is as a count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Whole {
    /// A whole number from 0 to 2^53 − 1.
    Safe(u64),
    /// A larger number. Whether it is whole makes no difference to whoever wrote it.
    TooLarge,
    /// Anything else: negative, with a fraction, or no number at all.
    Not,
}

/// 2^53 − 1: the largest whole number that every JSON implementation reads exactly.
pub const MAX_SAFE: u64 = (1 << 53) - 1;

/// Reads JSON text as a count. `1.0` and `1e2` are whole numbers.
fn whole(text: &str) -> Whole {
    let number = match Number::take(text.as_bytes()) {
        Some((number, length)) if length == text.len() => number,
        _ => return Whole::Not,
    };
    let mut canonical = Vec::new();
    number.write(&mut canonical);
    let digits = canonical.iter().take_while(|byte| byte.is_ascii_digit());
    let value =
        digits.clone().fold(0_u64, |value, digit| value.saturating_mul(10).saturating_add((digit - b'0').into()));
    match value {
        _ if canonical.starts_with(b"-") => Whole::Not,
        // A canonical number has an exponent, and one that is positive, beyond 10^21.
        _ if canonical.windows(2).any(|pair| pair == b"e+") => Whole::TooLarge,
        value if value > MAX_SAFE => Whole::TooLarge,
        value if digits.count() == canonical.len() => Whole::Safe(value),
        _ => Whole::Not,
    }
}

/// A reference token of a JSON Pointer (RFC 6901, section 3).
pub fn pointer_token(name: &str) -> String {
    let mut token = String::new();
    for character in name.chars() {
        match character {
            '~' => token.push_str("~0"),
            '/' => token.push_str("~1"),
            _ => token.push(character),
        }
    }
    token
}

/// What is wrong with a text, and where: lines and columns count from 1, columns in characters.
fn describe(text: &str, Invalid { at, reason }: Invalid) -> String {
    let (before, after) = text.split_at_checked(at).unwrap_or((text, ""));
    let problem = match (reason, after.chars().next()) {
        (Reason::TooDeep, _) => format!("nested deeper than {MAX_DEPTH} levels"),
        (Reason::LoneSurrogate, _) => "an escape for half of a surrogate pair".to_owned(),
        (Reason::Unexpected, None) => "the text ends too early".to_owned(),
        (Reason::Unexpected, Some(found @ '!'..='~')) => format!("unexpected {found}"),
        // It may be one that nobody sees.
        (Reason::Unexpected, Some(found)) => format!("unexpected character U+{:04X}", u32::from(found)),
    };
    let line = 1 + before.chars().filter(|&character| character == '\n').count();
    let column = 1 + before.chars().rev().take_while(|&character| character != '\n').count();
    format!("{problem} at line {line} column {column}")
}

#[cfg(test)]
mod tests {
    use super::{Whole, whole};

    #[test]
    fn q10_whole_numbers_up_to_two_to_the_53() {
        for (text, expected) in [
            ("0", Whole::Safe(0)),
            ("-0.0", Whole::Safe(0)),
            ("3", Whole::Safe(3)),
            ("3.0", Whole::Safe(3)),
            ("1e2", Whole::Safe(100)),
            ("9007199254740991", Whole::Safe(9_007_199_254_740_991)),
            ("9007199254740992", Whole::TooLarge),
            ("9007199254740991.2", Whole::Not),
            ("99999999999999999999", Whole::TooLarge),
            ("1e400", Whole::TooLarge),
            ("-1", Whole::Not),
            ("1.5", Whole::Not),
            ("1e-7", Whole::Not),
            ("null", Whole::Not),
            ("\"1\"", Whole::Not),
            ("true", Whole::Not),
            ("[1]", Whole::Not),
        ] {
            assert_eq!(whole(text), expected, "of {text}");
        }
    }
}
