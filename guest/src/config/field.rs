//! The fields of a section. One list of them serves to read a section and to write it.

use std::collections::BinaryHeap;

use super::reader::{MAX_SAFE, Members, Place, Seen};
use super::reminder::{Entry, ResetOn};
use crate::canonical::MemberNames;
use crate::json::{self, Object};
use crate::limit::Limits;
use crate::pattern::Pattern;
use crate::texts::Template;

/// A field of a section.
pub struct Field<'a> {
    name: &'static str,
    value: Value<'a>,
    /// Whether it is written even where it has its default.
    is_always_told: bool,
}

/// The place of a field's value, and what it may be. A null leaves it as it is.
pub enum Value<'a> {
    Flag(&'a mut bool),
    /// One of two names: whether it is the second.
    Choice([&'static str; 2], &'a mut bool),
    /// A whole number within bounds.
    Count(u64, u64, &'a mut u64),
    /// A count from 2 on from which something is due, or none, which is written 0.
    Rung(&'a mut Option<u64>),
    /// A number of calls, or none.
    Quota(&'a mut Option<u64>),
    /// Counts at which something is due, in ascending order; whether there may be none.
    Thresholds(bool, &'a mut Vec<u64>),
    Limits(&'a mut Limits),
    Patterns(&'a mut Vec<Pattern>),
    /// A pattern that must be given.
    Pattern(&'a mut Option<Pattern>),
    MemberNames(&'a mut MemberNames),
    ResetOn(&'a mut ResetOn),
    Text(&'a mut Template),
    /// What is read when the rest of its section is known.
    Entries(&'a mut Vec<Entry>),
    Object(Vec<Field<'a>>),
    Section(&'a mut dyn Section),
}

/// An object that needs more than its fields.
pub trait Section {
    fn read(&mut self, place: &Place<'_>);

    fn json(&mut self) -> String;
}

/// The fields that a section gives, and where.
#[derive(Default)]
pub struct Given<'a>(Vec<(&'static str, Place<'a>)>);

impl<'a> Given<'a> {
    /// Where a field stands, if it is given.
    pub fn place(&self, field: &str) -> Option<&Place<'a>> {
        self.0.iter().find(|(name, _)| *name == field).map(|(_, place)| place)
    }
}

impl<'a> Field<'a> {
    /// A field that is always written.
    pub fn new(name: &'static str, value: Value<'a>) -> Self {
        Self { name, value, is_always_told: true }
    }

    /// A field of what goes beyond the two guards (B1 to B10): it is written where it is not off.
    pub fn beyond(name: &'static str, value: Value<'a>) -> Self {
        Self { name, value, is_always_told: false }
    }
}

/// Reads the fields of a section, and says which are given.
pub fn read<'p>(members: Members<'p>, mut fields: Vec<Field<'_>>) -> Given<'p> {
    let mut given = Given::default();
    for (name, place) in members {
        let Some(field) = fields.iter_mut().find(|field| field.name == name) else {
            place.reject("unknown field");
            continue;
        };
        if !place.is_null() || matches!(field.value, Value::Pattern(_)) {
            field.value.read(&place);
            given.0.push((field.name, place));
        }
    }
    given
}

/// Writes the fields of a section. `defaults` are those of one that leaves all of them out.
pub fn write(fields: Vec<Field<'_>>, defaults: Vec<Field<'_>>) -> Object {
    let mut object = Object::default();
    for (mut field, mut default) in fields.into_iter().zip(defaults) {
        let json = field.value.json();
        if let Some(value) = &json
            && (field.is_always_told || json != default.value.json())
        {
            object.push(field.name, value);
        }
    }
    object
}

/// The names of the fields that differ from those of another section of this kind.
pub fn differing(fields: Vec<Field<'_>>, others: Vec<Field<'_>>) -> Vec<&'static str> {
    let differs = |(mut field, mut other): (Field<'_>, Field<'_>)| {
        (field.value.json() != other.value.json()).then_some(field.name)
    };
    fields.into_iter().zip(others).filter_map(differs).collect()
}

/// Writes some of the fields.
pub fn write_some(fields: Vec<Field<'_>>, names: &[&str]) -> Object {
    let mut object = Object::default();
    for mut field in fields {
        if let Some(value) = field.value.json().filter(|_| names.contains(&field.name)) {
            object.push(field.name, &value);
        }
    }
    object
}

impl Value<'_> {
    fn read(&mut self, place: &Place<'_>) {
        match self {
            Self::Flag(flag) => match place.boolean() {
                Some(value) => **flag = value,
                None => place.reject("must be true or false"),
            },
            Self::Choice([first, second], is_second) => match place.string() {
                Some(name) if name == *first || name == *second => **is_second = name == *second,
                _ => place.reject(&format!(r#"must be "{first}" or "{second}""#)),
            },
            Self::Count(least, most, count) => **count = place.count(*least, *most).unwrap_or(**count),
            Self::Rung(rung) => {
                if let Some(count) = place.rung() {
                    **rung = (count > 0).then_some(count);
                }
            }
            Self::Quota(quota) => **quota = place.quota().or(**quota),
            Self::Thresholds(may_be_empty, thresholds) => {
                if let Some(read) = read_thresholds(place, *may_be_empty) {
                    **thresholds = read;
                }
            }
            Self::Limits(limits) => read_limits(place, limits),
            Self::Patterns(patterns) => {
                each_string(place, &mut |source| patterns.push(Pattern::new(source)));
                patterns.shrink_to_fit();
            }
            Self::Pattern(pattern) => match place.string() {
                Some(source) => **pattern = Some(Pattern::new(&source)),
                None => place.reject("must be a string"),
            },
            Self::MemberNames(names) => {
                **names = MemberNames::default();
                each_string(place, &mut |name| names.push(name));
            }
            Self::ResetOn(reset_on) => reset_on.read(place),
            Self::Text(text) => match place.string().map(|source| Template::parse(&source)) {
                Some(Ok(template)) => **text = template,
                Some(Err(problem)) => place.reject(&problem),
                None => place.reject("must be a string"),
            },
            Self::Entries(_) => {}
            Self::Object(fields) => {
                read(place.members(), std::mem::take(fields));
            }
            Self::Section(section) => section.read(place),
        }
    }

    /// The value as JSON; none if there is none.
    fn json(&mut self) -> Option<String> {
        Some(match self {
            Self::Flag(flag) => flag.to_string(),
            Self::Choice([first, second], is_second) => json::string(if **is_second { second } else { first }),
            Self::Count(_, _, count) => count.to_string(),
            Self::Rung(count) => count.unwrap_or_default().to_string(),
            Self::Quota(number) => number.as_ref()?.to_string(),
            Self::Thresholds(_, thresholds) => json::list(&mut thresholds.iter().map(u64::to_string)),
            Self::Limits(limits) => {
                let mut object = Object::default();
                limits.iter().for_each(|(tool, limit)| object.push(tool, &limit.to_string()));
                object.finish()
            }
            Self::Patterns(patterns) => json::list(&mut patterns.iter().map(|pattern| json::string(pattern.source()))),
            Self::Pattern(pattern) => json::string(pattern.as_ref()?.source()),
            Self::MemberNames(names) => json::list(&mut names.iter()),
            Self::ResetOn(reset_on) => json::list(&mut reset_on.names().into_iter().map(json::string)),
            Self::Text(text) => json::string(text.source()),
            Self::Entries(entries) => json::list(&mut entries.iter().map(Entry::json)),
            Self::Object(fields) => {
                let names: Vec<_> = fields.iter().map(|field| field.name).collect();
                write_some(std::mem::take(fields), &names).finish()
            }
            Self::Section(section) => section.json(),
        })
    }
}

fn each_string(place: &Place<'_>, take: &mut dyn FnMut(&str)) {
    let Some(elements) = place.elements("must be an array of strings") else { return };
    for element in elements {
        match element.string() {
            Some(string) => take(&string),
            None => element.reject("must be a string"),
        }
    }
}

fn read_thresholds(place: &Place<'_>, may_be_empty: bool) -> Option<Vec<u64>> {
    let mut elements = place.elements("must be an array of integers >= 2")?.peekable();
    if !may_be_empty && elements.peek().is_none() {
        place.reject("must not be empty");
        return None;
    }
    // A heap sorts with far less code than the sort of a slice, and as fast as is needed here.
    let mut thresholds = BinaryHeap::new();
    let mut seen = Seen::default();
    for element in elements {
        let Some(threshold) = element.count(2, MAX_SAFE) else { continue };
        if seen.is_new(&threshold.to_string()) {
            thresholds.push(threshold);
        } else {
            element.reject("must not contain duplicates");
        }
    }
    Some(thresholds.into_sorted_vec())
}

fn read_limits(place: &Place<'_>, limits: &mut Limits) {
    for (tool, limit) in place.members() {
        if tool == "*" {
            limit.reject("wildcards are not supported here: name each tool");
        } else if let Some(number) = limit.quota() {
            limits.insert(&tool, number);
        }
    }
}
