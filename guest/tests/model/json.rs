//! JSON values that can be spelled in many ways, and changed.

use std::fmt::Write;

use proptest::prelude::*;

/// A value. Numbers are a whole number times a power of ten, so that their value is exact.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Json {
    Null,
    Bool(bool),
    Number(i64, i32),
    String(String),
    Array(Vec<Json>),
    Object(Vec<(String, Json)>),
}

/// Where spellings and changes take their choices from: bytes, and zeros when they run out.
pub struct Choices<'a>(pub &'a [u8]);

impl Choices<'_> {
    fn next(&mut self, options: usize) -> usize {
        let (first, rest) = self.0.split_first().map_or((0, &[][..]), |(first, rest)| (*first, rest));
        self.0 = rest;
        usize::from(first) % options
    }
}

/// Names of members that `values` has none of, and configurations by which these do not count: at the top of arguments, and
/// anywhere in results.
const IGNORED: [&str; 3] = ["id", "ü\\", "ü\""];
pub const IGNORE_AT_TOP: &str =
    r#"{"repeatToolReminder":{"tools":[{"match":"*","ignoreArguments":["id","ü\\","ü\""]}]}}"#;
pub const IGNORE_ANYWHERE: &str =
    r#"{"repeatToolReminder":{"results":"compare","ignoreResultFields":["id","ü\\","ü\""]}}"#;

impl Json {
    /// One of the many texts of this value.
    pub fn spell(&self, choices: &mut Choices<'_>) -> String {
        let mut text = space(choices);
        match self {
            Self::Null => text += "null",
            Self::Bool(value) => text += &value.to_string(),
            Self::Number(digits, exponent) => text += &spell_number(*digits, *exponent, choices),
            Self::String(value) => text += &spell_string(value, choices),
            Self::Array(elements) => {
                let elements: Vec<_> = elements.iter().map(|element| element.spell(choices)).collect();
                text += &format!("[{}]", if elements.is_empty() { space(choices) } else { elements.join(",") });
            }
            Self::Object(members) => {
                let mut spelled = Vec::new();
                for (name, value) in members {
                    if choices.next(5) == 1 {
                        // A duplicate that loses to the one that follows.
                        let loser = format!("{}{}:{}", space(choices), spell_string(name, choices), "[\"lost\"]");
                        spelled.insert(choices.next(spelled.len() + 1), loser);
                    }
                    spelled.push(format!(
                        "{}{}{}:{}",
                        space(choices),
                        spell_string(name, choices),
                        space(choices),
                        value.spell(choices)
                    ));
                }
                text += &format!("{{{}}}", if spelled.is_empty() { space(choices) } else { spelled.join(",") });
            }
        }
        text + &space(choices)
    }

    /// The same value with its members in another order.
    pub fn shuffled(&self, choices: &mut Choices<'_>) -> Self {
        match self {
            Self::Array(elements) => Self::Array(elements.iter().map(|element| element.shuffled(choices)).collect()),
            Self::Object(members) => {
                let mut shuffled = Vec::new();
                for (name, value) in members {
                    let place = choices.next(shuffled.len() + 1);
                    shuffled.insert(place, (name.clone(), value.shuffled(choices)));
                }
                Self::Object(shuffled)
            }
            other => other.clone(),
        }
    }

    /// One of the many texts of this value with members that do not count in its objects, down to a depth; the outermost is at depth 1.
    pub fn spell_with_ignored(&self, more: &Self, depth: usize, choices: &[u8], spelling: &[u8]) -> String {
        let shuffled = self.shuffled(&mut Choices(choices));
        shuffled.with_ignored(more, depth, &mut Choices(choices)).spell(&mut Choices(spelling))
    }

    fn with_ignored(&self, more: &Self, depth: usize, choices: &mut Choices<'_>) -> Self {
        match (self, depth.checked_sub(1)) {
            (Self::Array(elements), Some(below)) => {
                Self::Array(elements.iter().map(|element| element.with_ignored(more, below, choices)).collect())
            }
            (Self::Object(members), Some(below)) => {
                let mut all = Vec::new();
                for (name, value) in members {
                    all.push((name.clone(), value.with_ignored(more, below, choices)));
                }
                for _ in 0..choices.next(4) {
                    let name = IGNORED[choices.next(IGNORED.len())].to_owned();
                    all.insert(choices.next(all.len() + 1), (name, more.clone()));
                }
                Self::Object(all)
            }
            (other, _) => other.clone(),
        }
    }

    /// Another value, as little different as can be.
    pub fn changed(&self, choices: &mut Choices<'_>) -> Self {
        match self {
            Self::Null => Self::Bool(false),
            Self::Bool(value) => Self::Bool(!value),
            Self::Number(digits, exponent) => Self::Number(digits.checked_add(1).unwrap_or(digits - 1), *exponent),
            Self::String(value) => match choices.next(3) {
                0 => Self::String(format!("{value} ")),
                1 => Self::String(format!("\u{0}{value}")),
                _ => Self::Array(vec![self.clone()]),
            },
            Self::Array(elements) => {
                let mut elements = elements.clone();
                match choices.next(3) {
                    0 => elements.push(Self::Null),
                    _ if elements.is_empty() => return Self::Object(Vec::new()),
                    _ => {
                        let place = choices.next(elements.len());
                        elements[place] = elements[place].changed(choices);
                    }
                }
                Self::Array(elements)
            }
            Self::Object(members) => {
                let mut members = members.clone();
                if members.is_empty() {
                    return Self::Object(vec![(String::new(), Self::Null)]);
                }
                let place = choices.next(members.len());
                match choices.next(3) {
                    0 => _ = members.remove(place),
                    1 => members[place].0 += "\u{10ffff}",
                    _ => members[place].1 = members[place].1.changed(choices),
                }
                Self::Object(members)
            }
        }
    }
}

fn space(choices: &mut Choices<'_>) -> String {
    ["", "", "", "", " ", "\n", "\t\r\n ", "  "][choices.next(8)].to_owned()
}

fn spell_number(digits: i64, exponent: i32, choices: &mut Choices<'_>) -> String {
    let sign = if digits < 0 { "-" } else { "" };
    let mut magnitude = digits.unsigned_abs().to_string();
    let mut exponent = exponent;
    // No number begins with two zeros.
    let zeros = if digits == 0 { 0 } else { choices.next(4) };
    for _ in 0..zeros {
        magnitude += "0";
        exponent -= 1;
    }
    let marker = ["e", "E", "e+", "E+"][choices.next(4)];
    let with_exponent = |mantissa: String, exponent: i32| match exponent {
        0 => mantissa,
        1.. => format!("{mantissa}{marker}{exponent}"),
        _ => format!("{mantissa}{}{exponent}", marker.trim_end_matches('+')),
    };
    match choices.next(3) {
        // All digits behind the point.
        0 => sign.to_owned() + &with_exponent(format!("0.{magnitude}"), exponent + magnitude.len() as i32),
        1 if magnitude.len() > 1 => {
            let (first, rest) = magnitude.split_at(1);
            sign.to_owned() + &with_exponent(format!("{first}.{rest}"), exponent + rest.len() as i32)
        }
        _ => sign.to_owned() + &with_exponent(magnitude, exponent),
    }
}

fn spell_string(value: &str, choices: &mut Choices<'_>) -> String {
    let mut text = "\"".to_owned();
    for character in value.chars() {
        let must = character < ' ' || character == '"' || character == '\\';
        match (must, choices.next(4)) {
            (false, 1..) => text.push(character),
            (true, 0 | 1) if matches!(character, '\n' | '\t' | '"' | '\\') => {
                text += match character {
                    '\n' => "\\n",
                    '\t' => "\\t",
                    '"' => "\\\"",
                    _ => "\\\\",
                };
            }
            _ => {
                let mut units = [0; 2];
                for unit in character.encode_utf16(&mut units) {
                    let _ = if choices.next(2) == 0 {
                        write!(text, "\\u{unit:04x}")
                    } else {
                        write!(text, "\\u{unit:04X}")
                    };
                }
            }
        }
    }
    text + "\""
}

pub fn values() -> impl Strategy<Value = Json> {
    let text = || {
        prop_oneof![
            "[a-c]{0,2}",
            prop::collection::vec(
                prop::sample::select(vec![
                    'a',
                    '"',
                    '\\',
                    '\n',
                    '\u{0}',
                    '\u{1f}',
                    'é',
                    '\u{d7ff}',
                    '\u{e000}',
                    '\u{ffff}',
                    '😀',
                    '\u{10ffff}'
                ]),
                0..4
            )
            .prop_map(String::from_iter),
        ]
    };
    let leaf = prop_oneof![
        Just(Json::Null),
        any::<bool>().prop_map(Json::Bool),
        (-20_i64..20, -3_i32..3).prop_map(|(digits, exponent)| Json::Number(digits, exponent)),
        (any::<i64>(), -400_i32..400).prop_map(|(digits, exponent)| Json::Number(digits, exponent)),
        text().prop_map(Json::String),
    ];
    leaf.prop_recursive(4, 40, 5, move |value| {
        prop_oneof![
            prop::collection::vec(value.clone(), 0..5).prop_map(Json::Array),
            prop::collection::btree_map(text(), value, 0..5)
                .prop_map(|members| Json::Object(members.into_iter().collect())),
        ]
    })
}
