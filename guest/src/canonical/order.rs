//! The order of an object's members: by UTF-16 code units (RFC 8785, section 3.2.3).

use std::cmp::Ordering;

/// Compares the values of two canonical strings, given without their quotes.
pub fn compare(a: &[u8], b: &[u8]) -> Ordering {
    let Some((at, (&x, &y))) = a.iter().zip(b).enumerate().find(|(_, (x, y))| x != y) else {
        // Escapes are a prefix code: what is a prefix as text is a prefix as a value.
        return a.len().cmp(&b.len());
    };
    let common = a.get(..at).unwrap_or_default();
    if x == b'\\' || y == b'\\' || common.contains(&b'\\') {
        return units(a).cmp(units(b));
    }
    // UTF-8 sorts by code point, and so does UTF-16, but for the characters beyond U+FFFF: their
    // surrogates stand before U+E000 to U+FFFF, whose first bytes are 0xEE and 0xEF.
    match (x, y) {
        (0xf0.., 0xee..=0xef) => Ordering::Less,
        (0xee..=0xef, 0xf0..) => Ordering::Greater,
        _ => x.cmp(&y),
    }
}

/// The UTF-16 code units of a canonical string's value.
fn units(text: &[u8]) -> impl Iterator<Item = u16> {
    let mut rest = text;
    let characters = std::iter::from_fn(move || {
        let (character, length) = match rest {
            [] => return None,
            [b'\\', b'u', _, _, tens, ones, ..] => (16 * hex(*tens) + hex(*ones), 6),
            [b'\\', b'b', ..] => (0x08, 2),
            [b'\\', b't', ..] => (0x09, 2),
            [b'\\', b'n', ..] => (0x0a, 2),
            [b'\\', b'f', ..] => (0x0c, 2),
            [b'\\', b'r', ..] => (0x0d, 2),
            [b'\\', itself, ..] => (u32::from(*itself), 2),
            [first, ..] => decode(*first, rest),
        };
        rest = rest.get(length..).unwrap_or_default();
        char::from_u32(character)
    });
    characters.flat_map(|character| {
        let mut units = [0; 2];
        let length = character.encode_utf16(&mut units).len();
        units.into_iter().take(length)
    })
}

fn hex(digit: u8) -> u32 {
    u32::from(digit & 0x0f) + if digit > b'9' { 9 } else { 0 }
}

/// The character that begins with the byte `first` of the valid UTF-8 `text`, and its length in bytes.
fn decode(first: u8, text: &[u8]) -> (u32, usize) {
    let (bits, length) = match first {
        0xf0.. => (0x07, 4),
        0xe0.. => (0x0f, 3),
        0xc0.. => (0x1f, 2),
        _ => (0x7f, 1),
    };
    let following = text.iter().take(length).skip(1);
    let value = following.fold(u32::from(first) & bits, |value, byte| value << 6 | u32::from(byte & 0x3f));
    (value, length)
}

#[cfg(test)]
mod tests {
    use super::compare;

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
        for (i, a) in sorted.iter().enumerate() {
            for (j, b) in sorted.iter().enumerate() {
                assert_eq!(compare(a.as_bytes(), b.as_bytes()), i.cmp(&j), "{a:?} and {b:?}");
                let (a, b) = (format!(r"\né{a}"), format!(r"\né{b}"));
                assert_eq!(compare(a.as_bytes(), b.as_bytes()), i.cmp(&j), "{a:?} and {b:?}");
            }
        }
    }
}
