//! The arguments that are measured: three shapes, five sizes, and three ways to follow a call.

use std::fmt::Write;

/// The sizes in bytes, with their names.
pub const SIZES: [(&str, usize); 5] =
    [("32 B", 32), ("300 B", 300), ("4 KB", 4 << 10), ("64 KB", 64 << 10), ("1 MB", 1 << 20)];

/// The shapes of arguments.
pub const SHAPES: [Shape; 3] = [
    Shape { name: "nested", text: nested },
    Shape { name: "string", text: string },
    Shape { name: "wide", text: wide },
];

/// A shape of arguments.
pub struct Shape {
    pub name: &'static str,
    text: fn(size: usize, seed: usize, style: Style) -> String,
}

/// How a text is spelled.
#[derive(Clone, Copy)]
enum Style {
    /// As `JSON.stringify` does it, in the order of insertion.
    Compact,
    /// As Python's `json.dumps` does it, in the opposite order.
    Spaced,
}

/// A call, one that repeats it byte for byte, one with the same value in another spelling, and another call.
pub struct Texts {
    pub call: String,
    pub respelled: String,
    pub different: String,
}

impl Shape {
    pub fn texts(&self, size: usize) -> Texts {
        Texts {
            call: (self.text)(size, 1, Style::Compact),
            respelled: (self.text)(size, 1, Style::Spaced),
            different: (self.text)(size, 2, Style::Compact),
        }
    }
}

/// Writes members in one of two orders, with or without spaces.
fn object(members: &[(&str, String)], style: Style) -> String {
    let (colon, comma) = match style {
        Style::Compact => (":", ","),
        Style::Spaced => (": ", ", "),
    };
    let member = |(name, value): &(&str, String)| format!("\"{name}\"{colon}{value}");
    let members: Vec<_> = match style {
        Style::Compact => members.iter().map(member).collect(),
        Style::Spaced => members.iter().rev().map(member).collect(),
    };
    format!("{{{}}}", members.join(comma))
}

/// Mixed nested objects with escapes: a list of edits.
fn nested(size: usize, seed: usize, style: Style) -> String {
    if size < 100 {
        return object(&[("path", "\"a\\nb\"".to_owned()), ("n", seed.to_string())], style);
    }
    let mut edits = Vec::new();
    let mut length = 0;
    while length + 180 < size {
        let number = edits.len();
        let range = object(&[("start", (seed + number).to_string()), ("end", (number * 3 + 7).to_string())], style);
        let edit = object(
            &[
                ("path", format!("\"src/module_{number}/file.rs\"")),
                ("range", range),
                ("old", format!("\"let x = \\\"{number}\\\";\\n\"")),
                ("new", format!("\"let y = \\\"{seed}\\\";\\n\\treturn y;\\n\"")),
                ("flags", "[true,false,null]".to_owned()),
                ("score", "0.75".to_owned()),
            ],
            style,
        );
        length += edit.len() + 1;
        edits.push(edit);
    }
    object(&[("edits", format!("[{}]", edits.join(","))), ("dry_run", "false".to_owned())], style)
}

/// One long string with newlines: a file to write.
fn string(size: usize, seed: usize, style: Style) -> String {
    let mut content = format!("{seed:>2} ");
    while content.len() + 20 < size {
        let line = "    the quick brown fox jumps over the lazy dog\\n";
        content.push_str(line.get(..line.len().min((size - content.len()).saturating_sub(20).max(2))).unwrap_or(line));
        if content.ends_with('\\') {
            content.push('n');
        }
    }
    object(&[("path", "\"a\"".to_owned()), ("content", format!("\"{content}\""))], style)
}

/// A wide object with many short members.
fn wide(size: usize, seed: usize, style: Style) -> String {
    let mut names = Vec::new();
    let mut length = 2;
    while length + 8 < size {
        let name = format!("k{}", names.len());
        length += name.len() + 6;
        names.push(name);
    }
    let members: Vec<_> =
        names.iter().enumerate().map(|(i, name)| (name.as_str(), ((seed + i) % 90 + 10).to_string())).collect();
    object(&members, style)
}

/// The texts as a JSON file for hosts in other languages.
pub fn export() -> String {
    let mut json = "[".to_owned();
    for shape in SHAPES {
        for (name, size) in SIZES {
            let Texts { call, different, .. } = shape.texts(size);
            let separator = if json.len() > 1 { "," } else { "" };
            let quoted = |text: &str| serde_json::to_string(text).unwrap_or_default();
            let _ = write!(
                json,
                "{separator}{{\"shape\":\"{}\",\"size\":\"{name}\",\"call\":{},\"different\":{}}}",
                shape.name,
                quoted(&call),
                quoted(&different)
            );
        }
    }
    json + "]"
}
