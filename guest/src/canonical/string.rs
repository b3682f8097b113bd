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

/// The length of the run of bytes at the start of `bytes` that stand for themselves in a string.
pub fn plain_run(bytes: &[u8]) -> usize {
    bytes.iter().position(|&byte| needs_escape(byte)).unwrap_or(bytes.len())
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
