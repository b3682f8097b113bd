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
    let mut characters = std::str::from_utf8(text).unwrap_or_default().chars();
    let values = std::iter::from_fn(move || match characters.next()? {
        '\\' => match characters.next()? {
            'u' => char::from_u32(
                characters
                    .by_ref()
                    .take(4)
                    .filter_map(|digit| digit.to_digit(16))
                    .fold(0, |value, digit| 16 * value + digit),
            ),
            'b' => Some('\u{8}'),
            't' => Some('\t'),
            'n' => Some('\n'),
            'f' => Some('\u{c}'),
            'r' => Some('\r'),
            itself => Some(itself),
        },
        character => Some(character),
    });
    values.flat_map(|character| {
        let mut units = [0; 2];
        let length = character.encode_utf16(&mut units).len();
        units.into_iter().take(length)
    })
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
