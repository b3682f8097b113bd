//! What formats have in common: how texts, results and arguments stand in JSON.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::CallResult;
use crate::Status;

/// Parses an array; none where the JSON is no array, or one of other things.
pub fn array<'a, T: Deserialize<'a>>(json: Option<&'a RawValue>) -> Option<Vec<T>> {
    // Without looking first, the error would quote all of a long string.
    let json = json?.get();
    if json.starts_with('[') { serde_json::from_str(json).ok() } else { None }
}

/// Parses a piece, or a part of one; the error has no place, which would be one within the part.
pub fn parse<'a, T: Deserialize<'a>>(json: &'a str) -> Result<T, String> {
    serde_json::from_str(json).map_err(|error| without_place(&error.to_string()).to_owned())
}

/// The message of a JSON error without its place.
pub fn without_place(message: &str) -> &str {
    message.split_once(" at line ").map_or(message, |(message, _)| message)
}

/// The arguments of a call: a string's value, or else the JSON text as it is.
pub fn arguments(json: Option<&RawValue>) -> String {
    let json = json.map_or("", RawValue::get);
    match json.as_bytes().first() {
        Some(b'"') => string(json).unwrap_or_else(|| json.to_owned()),
        Some(b'n') => String::new(),
        _ => json.to_owned(),
    }
}

/// The text of a result: a string, the texts of a list of blocks, or else the JSON text as it is.
pub fn content(json: Option<&RawValue>) -> String {
    #[derive(Deserialize)]
    struct Block<'a> {
        #[serde(borrow)]
        text: Option<Cow<'a, str>>,
    }
    let json = json.map_or("null", RawValue::get);
    match json.as_bytes().first() {
        Some(b'"') => string(json).unwrap_or_else(|| json.to_owned()),
        Some(b'[') => {
            let texts = |json: &str| {
                let blocks = serde_json::from_str::<Vec<Block<'_>>>(json).ok()?;
                Some(blocks.into_iter().filter_map(|block| block.text).collect::<Vec<_>>().join("\n"))
            };
            texts(json).or_else(|| texts(&without_lone_surrogates(json))).unwrap_or_else(|| json.to_owned())
        }
        Some(b'n') => String::new(),
        _ => json.to_owned(),
    }
}

/// The value of a string, with the replacement character for half a surrogate pair.
fn string(json: &str) -> Option<String> {
    serde_json::from_str(json).or_else(|_| serde_json::from_str(&without_lone_surrogates(json))).ok()
}

/// The outcome of a call that ran.
pub fn result(failed: bool, content: String) -> CallResult {
    CallResult { status: if failed { Status::Failed } else { Status::Succeeded }, content }
}

/// The arguments of a call in formats where an action is a line for a shell.
pub fn command(action: &str) -> String {
    #[derive(serde::Serialize)]
    struct Command<'a> {
        command: &'a str,
    }
    serde_json::to_string(&Command { command: action }).unwrap_or_default()
}

/// JSON text in which the replacement character stands for each escape of half a surrogate pair: of text that was cut inside of a
/// character. Such an escape makes the string that it stands in no JSON to most readers.
pub fn without_lone_surrogates(json: &str) -> Cow<'_, str> {
    let mut text = String::new();
    let mut copied = 0;
    let mut place = 0;
    while let Some(found) = memchr::memchr(b'\\', json.as_bytes().get(place..).unwrap_or_default()) {
        place += found;
        let unit = |from: usize| {
            let escape = json.get(from..from + 6).filter(|escape| escape.starts_with("\\u"))?;
            u16::from_str_radix(escape.get(2..)?, 16).ok()
        };
        match (unit(place), unit(place + 6)) {
            (Some(0xd800..=0xdbff), Some(0xdc00..=0xdfff)) => place += 12,
            (Some(0xd800..=0xdfff), _) => {
                text.push_str(json.get(copied..place).unwrap_or_default());
                text.push_str("\\ufffd");
                place += 6;
                copied = place;
            }
            _ => place += 2,
        }
    }
    if copied == 0 {
        return Cow::Borrowed(json);
    }
    text.push_str(json.get(copied..).unwrap_or_default());
    Cow::Owned(text)
}

#[cfg(test)]
mod tests {
    use super::without_lone_surrogates;

    #[test]
    fn half_a_surrogate_pair_is_replaced() {
        for (json, expected) in [
            (r#""a\ud83d""#, r#""a\ufffd""#),
            (r#""\ud83d\ude00\n""#, r#""\ud83d\ude00\n""#),
            (r#""\ude00\ud83d\u0041""#, r#""\ufffd\ufffd\u0041""#),
            (r#""\\ud83d \"é""#, r#""\\ud83d \"é""#),
            ("plain", "plain"),
            ("cut\\", "cut\\"),
        ] {
            assert_eq!(without_lone_surrogates(json), expected);
        }
    }
}
