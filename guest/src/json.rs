//! Writes JSON: what the guard says about itself.

use crate::canonical::quoted;

/// The JSON text of a string.
pub fn string(text: &str) -> String {
    String::from_utf8(quoted(text)).unwrap_or_default()
}

/// The JSON text of a value that may be missing.
pub fn optional(value: Option<String>) -> String {
    value.unwrap_or_else(|| "null".to_owned())
}

/// The JSON text of an array of values, each of them JSON text.
pub fn list(values: &mut dyn Iterator<Item = String>) -> String {
    let mut list = "[".to_owned();
    for value in values {
        if list.len() > 1 {
            list.push(',');
        }
        list.push_str(&value);
    }
    list.push(']');
    list
}

/// An object that is being written.
#[derive(Debug, Default)]
pub struct Object(String);

impl Object {
    /// Adds a member, whose value is JSON text.
    pub fn push(&mut self, name: &str, value: &str) {
        self.0.push(if self.is_empty() { '{' } else { ',' });
        self.0.push_str(&string(name));
        self.0.push(':');
        self.0.push_str(value);
    }

    /// Whether it has no member.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Its text.
    pub fn finish(mut self) -> String {
        if self.is_empty() {
            self.0.push('{');
        }
        self.0.push('}');
        self.0
    }
}
