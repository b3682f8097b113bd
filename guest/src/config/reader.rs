//! Reads a JSON document place by place, and notes what is wrong where.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

use super::Problem;
use crate::canonical::{Whole, whole};

/// A value, as it is written, and where it stands.
pub struct Place<'a> {
    pointer: String,
    text: &'a str,
}

impl<'a> Place<'a> {
    /// The whole document, if it is valid JSON.
    pub fn root(document: &'a str, problems: &mut Vec<Problem>) -> Option<Self> {
        match serde_json::from_str::<&RawValue>(document) {
            Ok(value) => Some(Self { pointer: String::new(), text: value.get() }),
            Err(error) => {
                problems.push(Problem { path: String::new(), message: format!("not valid JSON: {error}") });
                None
            }
        }
    }

    /// Notes a problem here.
    pub fn reject(&self, message: &str, problems: &mut Vec<Problem>) {
        problems.push(Problem { path: self.pointer.clone(), message: message.to_owned() });
    }

    pub fn is_null(&self) -> bool {
        self.text == "null"
    }

    /// Calls `read` for each member of an object, in the order of the text. Anything else is a problem, and so is
    /// a second member of one name.
    pub fn each_member(&self, problems: &mut Vec<Problem>, mut read: impl FnMut(&str, Place<'a>, &mut Vec<Problem>)) {
        let Members(members) = match serde_json::from_str(self.text) {
            Ok(members) => members,
            Err(error) if error.is_data() => return self.reject("must be an object", problems),
            // The document is valid JSON, but a name in it is no text: it escapes a lone surrogate.
            Err(error) => return self.reject(&format!("not valid JSON: {error}"), problems),
        };
        let mut seen = BTreeSet::new();
        for (name, value) in members {
            let place = Self { pointer: self.pointer.clone() + "/" + &escape(&name), text: value.get() };
            if seen.contains(&name) {
                place.reject("given more than once", problems);
            } else {
                read(&name, place, problems);
                seen.insert(name);
            }
        }
    }

    /// The same, where null stands for an object without members.
    pub fn each_member_unless_null(
        &self,
        problems: &mut Vec<Problem>,
        read: impl FnMut(&str, Place<'a>, &mut Vec<Problem>),
    ) {
        if !self.is_null() {
            self.each_member(problems, read);
        }
    }

    /// The elements of an array; none for null. Anything else is a problem, described by `message`.
    pub fn elements_unless_null(&self, message: &str, problems: &mut Vec<Problem>) -> Option<Vec<Place<'a>>> {
        if self.is_null() {
            return None;
        }
        let Ok(elements) = serde_json::from_str::<Vec<&RawValue>>(self.text) else {
            self.reject(message, problems);
            return None;
        };
        let place = |(index, element): (usize, &'a RawValue)| Self {
            pointer: format!("{}/{index}", self.pointer),
            text: element.get(),
        };
        Some(elements.into_iter().enumerate().map(place).collect())
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
    pub fn required_count(&self, min: u64, problems: &mut Vec<Problem>) -> Option<u64> {
        match whole(self.text) {
            Whole::Safe(value) if value >= min => return Some(value),
            Whole::TooLarge => self.reject("must be at most 9007199254740991", problems),
            Whole::Safe(_) | Whole::Not => self.reject(&format!("must be an integer >= {min}"), problems),
        }
        None
    }

    /// Sets `target` to the whole number of at least `min` that stands here. Null leaves it as it is;
    /// anything else is a problem.
    pub fn count(&self, min: u64, target: &mut u64, problems: &mut Vec<Problem>) {
        if !self.is_null()
            && let Some(value) = self.required_count(min, problems)
        {
            *target = value;
        }
    }

    /// Sets `target` to the boolean that stands here. Null leaves it as it is; anything else is a problem.
    pub fn boolean(&self, target: &mut bool, problems: &mut Vec<Problem>) {
        match self.text {
            "null" => {}
            "true" => *target = true,
            "false" => *target = false,
            _ => self.reject("must be true or false", problems),
        }
    }
}

/// A reference token of a JSON Pointer (RFC 6901, section 3).
pub fn escape(name: &str) -> String {
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
