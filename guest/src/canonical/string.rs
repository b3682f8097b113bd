//! How RFC 8785 writes strings (section 3.2.2.2).

/// Writes `bytes` (UTF-8, or a piece of it) as the inside of a JSON string: escaped where it must be, as
/// short as it can be.
pub fn escape(mut bytes: &[u8], out: &mut Vec<u8>) {
    loop {
        let (run, rest) = bytes.split_at(plain_run(bytes));
        out.extend_from_slice(run);
        let Some((&byte, rest)) = rest.split_first() else { return };
        push_escaped(byte, out);
        bytes = rest;
    }
}

/// The JSON string of a text.
pub fn quoted(text: &str) -> Vec<u8> {
    let mut json = vec![b'"'];
    escape(text.as_bytes(), &mut json);
    json.push(b'"');
    json
}

/// The length of the run of bytes at the start of `bytes` that stand for themselves in a string.
pub fn plain_run(bytes: &[u8]) -> usize {
    let (words, rest) = bytes.as_chunks::<8>();
    for (index, word) in words.iter().enumerate() {
        let found = bytes_to_escape(u64::from_le_bytes(*word));
        if found != 0 {
            return 8 * index + found.trailing_zeros() as usize / 8;
        }
    }
    8 * words.len() + rest.iter().position(|&byte| needs_escape(byte)).unwrap_or(rest.len())
}

/// Looks at eight bytes at once: the highest bit of each byte that needs an escape is set. Above the lowest one that is, others
/// may be set as well.
fn bytes_to_escape(word: u64) -> u64 {
    const ONES: u64 = u64::from_le_bytes([1; 8]);
    const HIGHEST: u64 = ONES << 7;
    let below = |word: u64, bound: u8| word.wrapping_sub(ONES * u64::from(bound)) & !word;
    let equal = |byte: u8| below(word ^ (ONES * u64::from(byte)), 1);
    (below(word, 0x20) | equal(b'"') | equal(b'\\')) & HIGHEST
}

/// Writes a character that an escape in the text stood for.
pub fn push(character: char, out: &mut Vec<u8>) {
    let mut utf8 = [0; 4];
    escape(character.encode_utf8(&mut utf8).as_bytes(), out);
}

fn needs_escape(byte: u8) -> bool {
    byte < 0x20 || byte == b'"' || byte == b'\\'
}

fn push_escaped(byte: u8, out: &mut Vec<u8>) {
    let short = match byte {
        b'"' | b'\\' => byte,
        0x08 => b'b',
        b'\t' => b't',
        b'\n' => b'n',
        0x0c => b'f',
        b'\r' => b'r',
        _ => {
            out.extend_from_slice(b"\\u00");
            out.push(if byte < 0x10 { b'0' } else { b'1' });
            out.push(match byte & 0x0f {
                low @ 0..=9 => b'0' + low,
                low => b'a' + low - 10,
            });
            return;
        }
    };
    out.extend_from_slice(&[b'\\', short]);
}

/// The value of a canonical string, given without its quotes.
pub fn unescape(text: &[u8]) -> Vec<u8> {
    let mut value = Vec::with_capacity(text.len());
    let mut at = 0;
    while let Some(byte) = value_at(text, at) {
        value.push(byte);
        at += length_at(text, at);
    }
    value
}

/// The byte that stands at a place, or the character that an escape there stands for; none at the end.
pub fn value_at(text: &[u8], at: usize) -> Option<u8> {
    match text.get(at..)? {
        [] => None,
        [b'\\', b'u', _, _, tens, ones, ..] => Some(16 * hex(*tens) + hex(*ones)),
        [b'\\', b'b', ..] => Some(0x08),
        [b'\\', b't', ..] => Some(b'\t'),
        [b'\\', b'n', ..] => Some(b'\n'),
        [b'\\', b'f', ..] => Some(0x0c),
        [b'\\', b'r', ..] => Some(b'\r'),
        [b'\\', itself, ..] | [itself, ..] => Some(*itself),
    }
}

/// The length of the escape that begins at a place; of what is none, a byte.
pub fn length_at(text: &[u8], at: usize) -> usize {
    match text.get(at..) {
        Some([b'\\', b'u', ..]) => 6,
        Some([b'\\', ..]) => 2,
        _ => 1,
    }
}

fn hex(digit: u8) -> u8 {
    (digit & 0x0f) + if digit > b'9' { 9 } else { 0 }
}

#[cfg(test)]
mod tests {
    use super::plain_run;

    #[test]
    fn a_run_ends_at_the_first_byte_that_needs_an_escape() {
        let needs_escape = |byte: u8| byte < 0x20 || byte == b'"' || byte == b'\\';
        for length in 0..40 {
            for byte in 0..=255 {
                for place in 0..length {
                    // What follows must not matter, nor what stands before it.
                    for (before, after) in [(b'a', b'a'), (0x80, b'"'), (0x20, 0), (0xff, b'\\'), (0x21, 0x1f)] {
                        let mut bytes = vec![before; place];
                        bytes.push(byte);
                        bytes.resize(length, after);
                        let end = if needs_escape(byte) {
                            place
                        } else if needs_escape(after) && place + 1 < length {
                            place + 1
                        } else {
                            length
                        };
                        assert_eq!(plain_run(&bytes), end, "{bytes:?}");
                    }
                }
            }
        }
    }
}
