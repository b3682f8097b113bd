//! Reads a JSON document place by place, and notes what is wrong where.

use std::borrow::Cow;
use std::cell::RefCell;
use std::collections::BTreeSet;
use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

use super::Problem;
use crate::canonical::Number;

/// So many problems are reported; a document of megabytes can have millions.
const MAX_PROBLEMS: usize = 1000;

/// A value, as it is written, and where it stands.
pub struct Place<'a> {
    pointer: String,
    text: &'a str,
    /// The problems of the whole document.
    problems: &'a RefCell<Vec<Problem>>,
}

impl<'a> Place<'a> {
    /// The whole document, if it is valid JSON.
    pub fn root(document: &'a str, problems: &'a RefCell<Vec<Problem>>) -> Option<Self> {
        let root = Self { pointer: String::new(), text: document, problems };
        match serde_json::from_str::<&RawValue>(document) {
            Ok(value) => Some(Self { text: value.get(), ..root }),
            Err(error) => {
                root.reject(&format!("not valid JSON: {error}"));
                None
            }
        }
    }

    /// Notes a problem here.
    pub fn reject(&self, message: &str) {
        let mut problems = self.problems.borrow_mut();
        if problems.len() < MAX_PROBLEMS {
            problems.push(Problem { path: self.pointer.clone(), message: message.to_owned() });
        } else if problems.len() == MAX_PROBLEMS {
            let message = format!("there are more problems: these are the first {MAX_PROBLEMS}");
            problems.push(Problem { path: String::new(), message });
        }
    }

    pub fn is_null(&self) -> bool {
        self.text == "null"
    }

    /// Calls `read` for each member of an object, in the order of the text. Anything else is a problem, and so is
    /// a second member of one name.
    pub fn each_member(&self, mut read: impl FnMut(&str, Place<'a>)) {
        let Members(members) = match serde_json::from_str(self.text) {
            Ok(members) => members,
            Err(error) if error.is_data() => return self.reject("must be an object"),
            // The document is valid JSON, but a name in it is no text: it escapes a lone surrogate.
            Err(error) => return self.reject(&format!("not valid JSON: {error}")),
        };
        let mut seen = BTreeSet::new();
        for (name, value) in members {
            let place = self.within(&pointer_token(&name), value);
            if seen.contains(&name) {
                place.reject("given more than once");
            } else {
                read(&name, place);
                seen.insert(name);
            }
        }
    }

    /// The same, where null stands for an object without members.
    pub fn each_member_unless_null(&self, read: impl FnMut(&str, Place<'a>)) {
        if !self.is_null() {
            self.each_member(read);
        }
    }

    /// Calls `read` for each element of an array, and says how many there were; none for null. Anything else is a problem,
    /// described by `message`.
    pub fn each_element_unless_null(&self, message: &str, mut read: impl FnMut(Place<'a>)) -> Option<usize> {
        if self.is_null() {
            return None;
        }
        let Ok(elements) = serde_json::from_str::<Vec<&RawValue>>(self.text) else {
            self.reject(message);
            return None;
        };
        for (index, element) in elements.iter().enumerate() {
            read(self.within(&index.to_string(), element));
        }
        Some(elements.len())
    }

    fn within(&self, token: &str, value: &'a RawValue) -> Self {
        Self { pointer: format!("{}/{token}", self.pointer), text: value.get(), problems: self.problems }
    }

    /// The string that stands here.
    pub fn string(&self) -> Option<Cow<'a, str>> {
        serde_json::from_str::<Text<'a>>(self.text).ok().map(|text| text.0)
    }

    /// The whole number from 0 to 2^53 − 1 that stands here.
    pub fn safe_integer(&self) -> Option<u64> {
        match whole(self.text) {
            Whole::Safe(value) => Some(value),
            Whole::TooLarge | Whole::Not => None,
        }
    }

    /// The whole number of at least `min` that stands here. Anything else is a problem.
    pub fn required_count(&self, min: u64) -> Option<u64> {
        match whole(self.text) {
            Whole::Safe(value) if value >= min => return Some(value),
            Whole::TooLarge => self.reject("must be at most 9007199254740991"),
            Whole::Safe(_) | Whole::Not => self.reject(&format!("must be an integer >= {min}")),
        }
        None
    }

    /// Sets `target` to the whole number of at least `min` that stands here. Null leaves it as it is;
    /// anything else is a problem.
    pub fn count(&self, min: u64, target: &mut u64) {
        if !self.is_null()
            && let Some(value) = self.required_count(min)
        {
            *target = value;
        }
    }

    /// Sets `target` to the boolean that stands here. Null leaves it as it is; anything else is a problem.
    pub fn boolean(&self, target: &mut bool) {
        match self.text {
            "null" => {}
            "true" => *target = true,
            "false" => *target = false,
            _ => self.reject("must be true or false"),
        }
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
const MAX_SAFE: u64 = (1 << 53) - 1;

/// Reads JSON text as a count. `1.0` and `1e2` are whole numbers.
fn whole(text: &str) -> Whole {
    let number = match Number::take(text.as_bytes()) {
        Some((number, length)) if length == text.len() => number,
        _ => return Whole::Not,
    };
    let mut canonical = Vec::new();
    number.write(&mut canonical);
    let canonical = String::from_utf8_lossy(&canonical);
    if canonical.starts_with('-') {
        return Whole::Not;
    }
    let (integer, rest) = canonical.split_at(canonical.find(['.', 'e']).unwrap_or(canonical.len()));
    match integer.parse::<u64>() {
        // Beyond 10^21 a canonical number has an exponent, and one that is positive.
        _ if rest.contains("e+") => Whole::TooLarge,
        Ok(value) if value > MAX_SAFE => Whole::TooLarge,
        Ok(value) if rest.is_empty() => Whole::Safe(value),
        Ok(_) => Whole::Not,
        Err(_) => Whole::TooLarge,
    }
}

/// A reference token of a JSON Pointer (RFC 6901, section 3).
pub fn pointer_token(name: &str) -> String {
    name.replace('~', "~0").replace('/', "~1")
}

/// A string, borrowed from the text where it has no escapes.
#[derive(Deserialize)]
struct Text<'a>(#[serde(borrow)] Cow<'a, str>);

/// The members of an object as they are written, those of one name included.
struct Members<'a>(Vec<(Cow<'a, str>, &'a RawValue)>);

impl<'de> Deserialize<'de> for Members<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Object;

        impl<'de> Visitor<'de> for Object {
            type Value = Members<'de>;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut members = Vec::new();
                while let Some((Text(name), value)) = map.next_entry()? {
                    members.push((name, value));
                }
                Ok(Members(members))
            }
        }

        deserializer.deserialize_map(Object)
    }
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
