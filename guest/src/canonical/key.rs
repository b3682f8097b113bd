//! What tells tool calls apart: the tool's name and the canonical arguments, or a digest of the two (S2).

use crate::persist::Persist;

/// Identifies a tool call. Two calls have the same key if, and only if, their tools have the same name and the canonical texts of
/// their arguments are equal.
///
/// A short call is its own key; of a longer one the key is a collision-resistant digest. By default, the key of no call.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Key(Vec<u8>);

/// The kind of a key is its first byte.
const WHOLE: u8 = 0;
const DIGEST: u8 = 1;

/// Names and arguments that are together no longer than this, in bytes, are kept as they are: this takes a fraction of the time.
const MAX_WHOLE: usize = 512;

/// BLAKE3 hashes four of its chunks of 1 KiB at once with SIMD, in little more than the time of one, where they begin at a multiple of
/// that.
const BLAKE3_CHUNK: usize = 1 << 10;
const HASHED_AT_ONCE: usize = 4 * BLAKE3_CHUNK;

/// Whether a call must be told apart by a digest. A text that is escaped becomes longer, never shorter.
pub fn is_long(tool: &[u8], arguments: &[u8]) -> bool {
    tool.len() + arguments.len() > MAX_WHOLE
}

impl Persist for Key {
    fn write(&self, out: &mut Vec<u8>) {
        self.0.write(out);
    }

    fn read(bytes: &mut &[u8]) -> Option<Self> {
        Persist::read(bytes).map(Self)
    }
}

impl Key {
    /// Becomes the key of a call.
    pub fn set(&mut self, tool: &[u8], canonical: &[u8]) {
        if is_long(tool, canonical) {
            let mut digest = Digest::default();
            digest.update(canonical);
            return digest.finish(tool, self);
        }
        self.0.clear();
        self.0.push(WHOLE);
        self.0.extend_from_slice(&(tool.len() as u64).to_le_bytes());
        self.0.extend_from_slice(tool);
        self.0.extend_from_slice(canonical);
    }

    /// What identifies a call, and a byte more.
    pub fn with(&self, byte: u8) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(self.0.len() + 1);
        bytes.extend_from_slice(&self.0);
        bytes.push(byte);
        bytes
    }

    /// Becomes another key. There is one for each agent: no room is kept in advance.
    pub fn become_equal(&mut self, other: &Self) {
        self.0.clear();
        self.0.reserve_exact(other.0.len());
        self.0.extend_from_slice(&other.0);
    }
}

/// Computes the key of a call whose canonical arguments come in pieces, and are too long to be kept.
#[derive(Default)]
pub struct Digest {
    hasher: blake3::Hasher,
    length: u64,
    /// What has not been hashed yet.
    rest: Vec<u8>,
}

impl Digest {
    /// Reads the next piece of the arguments.
    pub fn update(&mut self, piece: &[u8]) {
        self.length += piece.len() as u64;
        if self.rest.is_empty() {
            // What can be hashed where it stands need not be copied.
            let (whole, rest) = split(piece);
            self.hasher.update(whole);
            self.rest.extend_from_slice(rest);
        } else {
            self.rest.extend_from_slice(piece);
            let (whole, _) = split(&self.rest);
            self.hasher.update(whole);
            self.rest.drain(..whole.len());
        }
    }

    /// Sets `key` to that of the call.
    ///
    /// What is hashed is the arguments, the name, zeros, and the lengths of the first two, so that no two calls have it in common.
    pub fn finish(mut self, tool: &[u8], key: &mut Key) {
        self.rest.extend_from_slice(tool);
        let lengths = [self.length.to_le_bytes(), (tool.len() as u64).to_le_bytes()];
        let end = self.rest.len() + size_of_val(&lengths);
        // Four chunks take little longer than one and a bit.
        if end % HASHED_AT_ONCE > BLAKE3_CHUNK {
            self.rest.resize(self.rest.len() + (HASHED_AT_ONCE - end % HASHED_AT_ONCE), 0);
        }
        self.rest.extend_from_slice(lengths.as_flattened());
        self.hasher.update(&self.rest);
        key.0.clear();
        key.0.push(DIGEST);
        key.0.extend_from_slice(self.hasher.finalize().as_bytes());
    }
}

/// Divides what is hashed at once, as often as it is there, from the rest.
fn split(text: &[u8]) -> (&[u8], &[u8]) {
    text.split_at(text.len() - text.len() % HASHED_AT_ONCE)
}

#[cfg(test)]
mod tests {
    use super::{Digest, Key};

    fn key(tool: &str, canonical: &str) -> Key {
        let mut key = Key::default();
        key.set(tool.as_bytes(), canonical.as_bytes());
        key
    }

    #[test]
    fn s2_a_key_is_short_whatever_the_call() {
        for length in [0, 1, 500, 512, 513, 1023, 1024, 4095, 4096, 5000, 100_000] {
            let key = key("tool", &"x".repeat(length));
            assert!(key.0.len() <= 521, "{length}: {}", key.0.len());
        }
    }

    #[test]
    fn a_key_separates_name_and_arguments() {
        for length in [1, 300, 505, 600, 1100, 4090, 4096, 9000] {
            let text = "1".repeat(length);
            let keys = [
                key("a", &text),
                key("b", &text),
                key("a1", &text[1..]),
                key("a", &format!("{text}a")),
                key("a", &format!("{text}\0")),
                key("", &format!("{text}a")),
                key(&text, "a"),
            ];
            for (i, a) in keys.iter().enumerate() {
                for (j, b) in keys.iter().enumerate() {
                    assert_eq!(a == b, i == j, "{length} {i} {j}");
                }
            }
        }
    }

    #[test]
    fn the_same_text_in_pieces_has_the_same_key() {
        for length in [1000, 1024, 4080, 4096, 4097, 12_288, 70_000] {
            let text: String = ('a'..='w').cycle().take(length).collect();
            let whole = key("tool", &text);
            for size in [1, 100, 1023, 4096, 5000] {
                let mut digest = Digest::default();
                text.as_bytes().chunks(size).for_each(|piece| digest.update(piece));
                let mut pieces = Key::default();
                digest.finish(b"tool", &mut pieces);
                assert_eq!(pieces, whole, "{length} in pieces of {size}");
            }
        }
    }
}
