//! Takes valid JSON text apart, one level at a time.
//!
//! What is inside a value is not looked at, so that a document is read as often as the configuration is deep.

use crate::canonical;

/// The members of an object, as they are written, those of one name included; none for another value.
pub fn members(object: &str) -> Option<Vec<(String, &str)>> {
    let mut parts = Parts { text: object.strip_prefix('{')? };
    let mut members = Vec::new();
    while let Some(name) = parts.next() {
        members.push((canonical::string(name)?, parts.next()?));
    }
    Some(members)
}

/// The elements of an array; none for another value.
pub fn elements(array: &str) -> Option<Vec<&str>> {
    Some(Parts { text: array.strip_prefix('[')? }.collect())
}

/// The values and names in the rest of an array or object.
struct Parts<'a> {
    text: &'a str,
}

impl<'a> Iterator for Parts<'a> {
    type Item = &'a str;

    fn next(&mut self) -> Option<&'a str> {
        let is_separator = |byte: &u8| matches!(byte, b' ' | b'\t' | b'\n' | b'\r' | b',' | b':');
        let start = self.text.bytes().position(|byte| !is_separator(&byte))?;
        let text = self.text.get(start..)?;
        let end = match text.as_bytes() {
            [b'}' | b']', ..] => return None,
            [b'"', ..] => string_end(text.as_bytes()),
            [b'{' | b'[', ..] => nested_end(text.as_bytes()),
            _ => text.bytes().position(|byte| is_separator(&byte) || byte == b'}' || byte == b']')?,
        };
        let (part, rest) = text.split_at_checked(end)?;
        self.text = rest;
        Some(part)
    }
}

/// The length of the string that a text begins with.
fn string_end(text: &[u8]) -> usize {
    let mut escaped = false;
    let quote = text.iter().skip(1).position(|&byte| {
        let ends = byte == b'"' && !escaped;
        escaped = byte == b'\\' && !escaped;
        ends
    });
    quote.map_or(text.len(), |quote| quote + 2)
}

/// The length of the array or object that a text begins with.
fn nested_end(text: &[u8]) -> usize {
    let mut open = 0_usize;
    let mut at = 0;
    while let Some(byte) = text.get(at) {
        match byte {
            b'"' => {
                at += string_end(text.get(at..).unwrap_or_default());
                continue;
            }
            b'{' | b'[' => open += 1,
            b'}' | b']' => open -= 1,
            _ => {}
        }
        at += 1;
        if open == 0 {
            break;
        }
    }
    at
}

#[cfg(test)]
mod tests {
    use super::{elements, members};

    #[test]
    fn parts_are_given_as_they_are_written() {
        let object = r#"{ "a\u0062" : {"x":["}",{"y":"\""}]} ,"" :[ ],"n":-1.5e3 , "n":null}"#;
        let expected = [("ab", r#"{"x":["}",{"y":"\""}]}"#), ("", "[ ]"), ("n", "-1.5e3"), ("n", "null")];
        let expected = expected.map(|(name, value)| (name.to_owned(), value));
        assert_eq!(members(object).unwrap_or_default(), expected);
        let array = r#"["\\", "]" ,[[1],{}],{"a":[]}, true,0]"#;
        let expected = [r#""\\""#, r#""]""#, "[[1],{}]", r#"{"a":[]}"#, "true", "0"];
        assert_eq!(elements(array).unwrap_or_default(), expected);
        assert_eq!(members("{ }"), Some(Vec::new()));
        assert_eq!(elements("[\n]"), Some(Vec::new()));
    }

    #[test]
    fn another_value_has_no_parts() {
        for value in ["null", "1", r#""{}""#, "true"] {
            assert_eq!((members(value), elements(value)), (None, None), "of {value}");
        }
        assert_eq!((members("[]"), elements("{}")), (None, None));
    }
}
