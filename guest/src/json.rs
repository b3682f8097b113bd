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

/// The texts of elements or members, with commas between them.
pub fn list(items: impl Iterator<Item = String>) -> String {
    items.collect::<Vec<_>>().join(",")
}
