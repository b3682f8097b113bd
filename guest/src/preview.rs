//! The part of the arguments that a notice quotes (R6).

use std::borrow::Cow;

/// `text`, cut after `max` UTF-16 code units and marked with the number of units that were left out. A
/// surrogate pair is never split: it is left out whole.
pub fn preview(text: &str, max: u64) -> Cow<'_, str> {
    let units = |text: &str| text.chars().map(|character| character.len_utf16() as u64).sum::<u64>();
    let total = units(text);
    if total <= max {
        return text.into();
    }
    let mut shown = 0;
    let cut = text.char_indices().find(|(_, character)| {
        shown += character.len_utf16() as u64;
        shown > max
    });
    let kept = cut.and_then(|(at, _)| text.get(..at)).unwrap_or(text);
    format!("{kept}… (+{} more chars)", total - units(kept)).into()
}

#[cfg(test)]
mod tests {
    use super::preview;

    #[test]
    fn r6_cuts_after_utf16_code_units() {
        assert_eq!(preview("abcdef", 6), "abcdef");
        assert_eq!(preview("abcdef", 5), "abcde… (+1 more chars)");
        assert_eq!(preview("abcdef", 1), "a… (+5 more chars)");
        assert_eq!(preview("éééé", 3), "ééé… (+1 more chars)");
        assert_eq!(preview("", 1), "");
        assert_eq!(preview("abc", u64::MAX), "abc");
    }

    #[test]
    fn r6_never_splits_a_surrogate_pair() {
        assert_eq!(preview("a😀b", 4), "a😀b");
        assert_eq!(preview("a😀b", 3), "a😀… (+1 more chars)");
        assert_eq!(preview("a😀b", 2), "a… (+3 more chars)");
        assert_eq!(preview("😀", 1), "… (+2 more chars)");
    }
}
