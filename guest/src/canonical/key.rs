//! What tells tool calls apart: the tool's name and the canonical arguments, or a digest of the two (S2).

use std::rc::Rc;

use crate::bytes::equal;
use crate::persist::{Persist, Sink, Source};

/// Identifies a tool call. Two calls have the same key if, and only if, their tools have the same name and the canonical texts of
/// their arguments are equal.
///
/// A short call is its own key; of a longer one the key is a collision-resistant digest. Either begins with the tool's name, so far
/// as a cycle quotes it.
#[derive(Debug, Clone, Eq)]
pub struct Key(Rc<[u8]>);

/// A key that is made, in a buffer that is used again.
#[derive(Debug, Default)]
pub struct KeyBuffer(Vec<u8>);

/// The kind of a key is its first byte.
const WHOLE: u8 = 0;
const DIGEST: u8 = 1;

/// How much of a tool's name a cycle quotes, in characters (B3).
const NAME_CHARS: usize = 64;

/// Names and arguments that are together no longer than this, in bytes, are kept as they are: this takes a fraction of the time.
const MAX_WHOLE: usize = 512;

/// BLAKE3 hashes four of its chunks of 1 KiB at once with SIMD, in little more than the time of one, where they begin at a multiple of
/// that.
const BLAKE3_CHUNK: usize = 1 << 10;
const HASHED_AT_ONCE: usize = 4 * BLAKE3_CHUNK;

/// Whether a call must be told apart by a digest. A text that is escaped becomes longer, never shorter.
pub fn is_long(tool: &str, arguments: &[u8]) -> bool {
    tool.len() + arguments.len() > MAX_WHOLE
}

impl PartialEq for Key {
    fn eq(&self, other: &Self) -> bool {
        Rc::ptr_eq(&self.0, &other.0) || equal(&self.0, &other.0)
    }
}

impl PartialEq<KeyBuffer> for Key {
    fn eq(&self, other: &KeyBuffer) -> bool {
        equal(&self.0, &other.0)
    }
}

impl Persist for Key {
    fn write(&self, sink: &mut Sink) {
        sink.bytes(&self.0);
    }

    fn read(source: &mut Source<'_>) -> Self {
        Self(source.bytes().into())
    }
}

impl Key {
    /// The key of what is no call, but must be told from others of its kind.
    pub fn of(text: &str) -> Self {
        let mut buffer = KeyBuffer::default();
        buffer.set(text, b"");
        buffer.to_key()
    }

    /// The name of the call's tool, so far as a cycle quotes it.
    pub fn tool(&self) -> &str {
        let tool = self
            .0
            .split_first_chunk()
            .and_then(|([_, low, high], rest)| rest.get(..u16::from_le_bytes([*low, *high]).into()));
        tool.and_then(|tool| std::str::from_utf8(tool).ok()).map(quoted).unwrap_or_default()
    }
}

impl KeyBuffer {
    /// Becomes the key of a call.
    pub fn set(&mut self, tool: &str, canonical: &[u8]) {
        if is_long(tool, canonical) {
            let mut digest = Digest::default();
            digest.update(canonical);
            return digest.finish(tool, self);
        }
        self.begin(WHOLE, tool);
        self.0.extend_from_slice(canonical);
    }

    fn begin(&mut self, kind: u8, tool: &str) {
        let [low, high] = u16::try_from(tool.len()).unwrap_or_default().to_le_bytes();
        self.0.clear();
        self.0.extend_from_slice(&[kind, low, high]);
        self.0.extend_from_slice(tool.as_bytes());
    }

    /// The key itself, which is kept.
    pub fn to_key(&self) -> Key {
        Key(self.0.as_slice().into())
    }
}

/// The beginning of a tool's name: what is kept does not grow with names.
fn quoted(tool: &str) -> &str {
    if tool.len() <= NAME_CHARS {
        return tool;
    }
    tool.char_indices().nth(NAME_CHARS).and_then(|(end, _)| tool.get(..end)).unwrap_or(tool)
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

    /// Makes the key of the call.
    ///
    /// What is hashed is the arguments, the name, zeros, and the lengths of the first two, so that no two calls have it in common.
    pub fn finish(mut self, tool: &str, key: &mut KeyBuffer) {
        self.rest.extend_from_slice(tool.as_bytes());
        let lengths = [self.length.to_le_bytes(), (tool.len() as u64).to_le_bytes()];
        let end = self.rest.len() + size_of_val(&lengths);
        // Four chunks take little longer than one and a bit.
        if end % HASHED_AT_ONCE > BLAKE3_CHUNK {
            self.rest.resize(self.rest.len() + (HASHED_AT_ONCE - end % HASHED_AT_ONCE), 0);
        }
        self.rest.extend_from_slice(lengths.as_flattened());
        self.hasher.update(&self.rest);
        key.begin(DIGEST, quoted(tool));
        key.0.extend_from_slice(self.hasher.finalize().as_bytes());
    }
}

/// Divides what is hashed at once, as often as it is there, from the rest.
fn split(text: &[u8]) -> (&[u8], &[u8]) {
    text.split_at(text.len() - text.len() % HASHED_AT_ONCE)
}

#[cfg(test)]
mod tests {
    use super::{Digest, Key, KeyBuffer};

    fn key(tool: &str, canonical: &str) -> Key {
        let mut key = KeyBuffer::default();
        key.set(tool, canonical.as_bytes());
        key.to_key()
    }

    #[test]
    fn s2_a_key_is_short_whatever_the_call() {
        for length in [0, 1, 500, 512, 513, 1023, 1024, 4095, 4096, 5000, 100_000] {
            let key = key("tool", &"x".repeat(length));
            assert!(key.0.len() <= 515, "{length}: {}", key.0.len());
        }
        assert_eq!(key(&"é".repeat(1000), "").0.len(), 3 + 128 + 32);
    }

    #[test]
    fn b3_a_key_tells_its_tool() {
        let long = "é".repeat(64);
        for arguments in ["{}", &"x".repeat(1000)] {
            assert_eq!(key("grep", arguments).tool(), "grep");
            assert_eq!(key("", arguments).tool(), "");
            assert_eq!(key(&format!("{long}x"), arguments).tool(), long);
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
                let mut pieces = KeyBuffer::default();
                digest.finish("tool", &mut pieces);
                assert_eq!(pieces.to_key(), whole, "{length} in pieces of {size}");
            }
        }
    }
}
