//! How things look on a terminal. Where it is none, or `NO_COLOR` is set, colours are left out.

use anstyle::{AnsiColor, Style};

/// Something is as it should be.
pub const GOOD: Style = AnsiColor::Green.on_default();
/// Something is wrong.
pub const BAD: Style = AnsiColor::Red.on_default().bold();
/// The guard speaks.
pub const GUARD: Style = AnsiColor::Yellow.on_default().bold();
/// What matters most on a line.
pub const STRONG: Style = Style::new().bold();
/// What one may skip.
pub const FAINT: Style = Style::new().dimmed();

/// `text` in a style.
pub fn styled(style: Style, text: impl std::fmt::Display) -> String {
    format!("{style}{text}{style:#}")
}

/// Recorded text on one line of at most `max` characters. Control characters are shown, not sent to the terminal.
pub fn one_line(text: &str, max: usize) -> String {
    let mut shown = String::new();
    for (index, character) in text.chars().enumerate() {
        if index == max {
            shown.push('…');
            break;
        }
        // Those that change the direction of what follows are no better.
        if character.is_control() || matches!(character, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}') {
            shown.extend(character.escape_default());
        } else {
            shown.push(character);
        }
    }
    shown
}

/// JSON text in which no control character stands as it is: terminals obey some, and what leaves out colours drops others.
pub fn plain_json(json: &str) -> String {
    let mut plain = String::with_capacity(json.len());
    for character in json.chars() {
        match character {
            // JSON lets these stand in strings, and they can stand nowhere else.
            '\u{7f}'..='\u{9f}' => plain.push_str(&format!("\\u{:04x}", u32::from(character))),
            other => plain.push(other),
        }
    }
    plain
}

/// `1 call`, `2 calls`.
pub fn count(number: usize, thing: &str) -> String {
    format!("{number} {thing}{}", if number == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests {
    use super::{count, one_line, plain_json};

    #[test]
    fn recorded_text_stays_on_its_line() {
        assert_eq!(one_line("abc", 3), "abc");
        assert_eq!(one_line("abcd", 3), "abc…");
        assert_eq!(one_line("a\n\u{1b}[31mb", 99), "a\\n\\u{1b}[31mb");
    }

    #[test]
    fn json_keeps_every_character() {
        let text = "a\u{7f}\u{9b}31m\u{1b}[31m\u{a0}é";
        let json = plain_json(&serde_json::to_string(text).unwrap_or_default());
        assert_eq!(json, "\"a\\u007f\\u009b31m\\u001b[31m\u{a0}é\"");
        assert_eq!(serde_json::from_str::<String>(&json).unwrap_or_default(), text);
    }

    #[test]
    fn plurals() {
        assert_eq!(
            (count(0, "call"), count(1, "call"), count(2, "call")),
            ("0 calls".into(), "1 call".into(), "2 calls".into())
        );
    }
}
