//! The order of an object's members: by UTF-16 code units (RFC 8785, section 3.2.3).

use std::cmp::Ordering;

use super::string::{length_at, value_at};

/// Compares the values of two canonical strings, given without their quotes.
pub fn compare(a: &[u8], b: &[u8]) -> Ordering {
    let common = a.iter().zip(b).take_while(|(x, y)| x == y).count();
    let differing = escape_around(a.get(..common).unwrap_or_default());
    match (value_at(a, differing), value_at(b, differing)) {
        // UTF-8 sorts by code point, and so does UTF-16, but for the characters beyond U+FFFF: their
        // surrogates stand before U+E000 to U+FFFF, whose first bytes are 0xEE and 0xEF.
        (Some(0xf0..), Some(0xee..=0xef)) => Ordering::Less,
        (Some(0xee..=0xef), Some(0xf0..)) => Ordering::Greater,
        (x, y) => x.cmp(&y),
    }
}

/// The beginning of a canonical string's value as a number: of two strings with different numbers, the one with
/// the smaller comes first. The string is the first `length` bytes of `text`.
pub fn prefix(text: &[u8], length: usize) -> u64 {
    // Reading beyond the end of a short string is faster than not to.
    let word = match text.first_chunk() {
        Some(beginning) => u64::from_be_bytes(*beginning),
        None => text.iter().rev().fold(0, |word, &byte| word >> 8 | u64::from(byte) << 56),
    };
    let beyond = u64::MAX.checked_shr(8 * u32::try_from(length.min(8)).unwrap_or(8)).unwrap_or(0);
    let word = word & !beyond;
    if !may_differ_from_value(word) {
        return word;
    }
    let text = text.get(..length).unwrap_or_default();
    let mut at = 0;
    let mut bytes = [0; 8];
    for byte in &mut bytes {
        // Here the characters up to U+FFFF come behind those beyond (see `compare`).
        *byte = match value_at(text, at) {
            Some(byte @ 0xee..=0xef) => byte + 0x10,
            Some(byte) => byte,
            None => 0,
        };
        at += length_at(text, at);
    }
    u64::from_be_bytes(bytes)
}

/// Looks at eight bytes at once: whether any is a backslash or stands for a character above U+D7FF. It may say so of others.
fn may_differ_from_value(word: u64) -> bool {
    const ONES: u64 = u64::from_le_bytes([1; 8]);
    const HIGHEST: u64 = ONES << 7;
    let backslash = word ^ (ONES * b'\\' as u64);
    let is_backslash = backslash.wrapping_sub(ONES) & !backslash;
    let is_three_bytes_or_more = word & word << 1 & word << 2;
    (is_backslash | is_three_bytes_or_more) & HIGHEST != 0
}

/// Where the escape begins that `text` ends within; the end of `text` if it ends within none.
fn escape_around(text: &[u8]) -> usize {
    let end = text.len();
    let nearest = end.saturating_sub(5);
    if !text.get(nearest..).unwrap_or_default().contains(&b'\\') {
        return end;
    }
    for start in (nearest..end).rev() {
        let backslashes = text.iter().take(start + 1).rev().take_while(|&&byte| byte == b'\\').count();
        // Of an even number, each second one is the character itself.
        if backslashes % 2 == 1 && start + length_at(text, start) > end {
            return start;
        }
    }
    end
}

#[cfg(test)]
mod tests {
    use super::{compare, prefix};

    #[test]
    fn c2_a_sorted_list_is_in_order_pair_by_pair() {
        // In the order of their UTF-16 code units, as the canonical strings are written.
        let sorted = [
            "",
            r"\u0000",
            r"\u0000a",
            r"\u0001",
            r"\b",
            r"\t",
            r"\n",
            r"\u000b",
            r"\f",
            r"\r",
            r"\u000e",
            r"\u001f",
            " ",
            "!",
            r#"\""#,
            "#",
            "A",
            r"A\n",
            "A ",
            "AA",
            "[",
            r"\\",
            r"\\\n",
            r"\\n",
            "]",
            "a",
            "\u{7f}",
            "\u{80}",
            "\u{7ff}",
            "\u{800}",
            "\u{d7ff}",
            "\u{10000}",
            "\u{10000}a",
            "\u{1f600}",
            "\u{10ffff}",
            "\u{e000}",
            "\u{ff61}",
            "\u{ffff}",
        ];
        for before in ["", r"\né", "long before", r"\\\\\\", "\u{ff61}\u{1f600}", r"\u0000\u001f"] {
            for (i, a) in sorted.iter().enumerate() {
                for (j, b) in sorted.iter().enumerate() {
                    let (a, b) = (format!("{before}{a}"), format!("{before}{b}"));
                    assert_eq!(compare(a.as_bytes(), b.as_bytes()), i.cmp(&j), "{a:?} and {b:?}");
                    let prefix = |name: &str, after: &str| prefix(format!("{name}{after}").as_bytes(), name.len());
                    let prefixes = prefix(&a, "").cmp(&prefix(&b, r#"":"\\n""#));
                    assert!(prefixes.is_eq() || prefixes == i.cmp(&j), "{a:?} and {b:?}");
                }
            }
        }
    }
}
