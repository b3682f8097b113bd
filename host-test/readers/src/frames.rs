//! Zstandard without its C library, which does not build for wasm: any number of frames, one after another (RFC 8878, section 3.1).

use std::io::{self, BufRead, Read};

use ruzstd::decoding::errors::{FrameDecoderError, ReadFrameHeaderError};
use ruzstd::decoding::{BlockDecodingStrategy, FrameDecoder};

/// What the frames in some bytes hold.
pub struct Frames<B> {
    bytes: B,
    decoder: FrameDecoder,
    /// Whether a frame has begun, and its end has not been seen.
    inside: bool,
}

impl<B: BufRead> Frames<B> {
    pub fn new(bytes: B) -> Self {
        Self { bytes, decoder: FrameDecoder::new(), inside: false }
    }

    /// Begins the next frame, and leaves out what is none of Zstandard's. False at the end.
    fn begin(&mut self) -> io::Result<bool> {
        while !self.bytes.fill_buf()?.is_empty() {
            match self.decoder.reset(&mut self.bytes) {
                Ok(()) => return Ok(true),
                Err(FrameDecoderError::ReadFrameHeaderError(ReadFrameHeaderError::SkipFrame { length, .. })) => {
                    io::copy(&mut self.bytes.by_ref().take(length.into()), &mut io::sink())?;
                }
                Err(error) => return Err(io::Error::other(error)),
            }
        }
        Ok(false)
    }

    fn check(&self) -> io::Result<()> {
        match self.decoder.get_checksum_from_data() {
            written if written.is_some() && written != self.decoder.get_calculated_checksum() => {
                Err(io::Error::other("the checksum of a frame does not match"))
            }
            _ => Ok(()),
        }
    }
}

impl<B: BufRead> Read for Frames<B> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            if !self.inside && !self.begin()? {
                return Ok(0);
            }
            self.inside = true;
            while !self.decoder.is_finished() && self.decoder.can_collect() < buffer.len() {
                let wanted = BlockDecodingStrategy::UptoBytes(buffer.len() - self.decoder.can_collect());
                self.decoder.decode_blocks(&mut self.bytes, wanted).map_err(io::Error::other)?;
            }
            let read = self.decoder.read(buffer)?;
            if read > 0 || buffer.is_empty() {
                return Ok(read);
            }
            self.check()?;
            self.inside = false;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Cursor, Read};

    use super::Frames;

    fn read(bytes: &[u8]) -> Result<String, String> {
        let mut text = String::new();
        Frames::new(Cursor::new(bytes)).read_to_string(&mut text).map_err(|error| error.to_string())?;
        Ok(text)
    }

    fn frame(text: &str) -> Vec<u8> {
        let mut encoder = zstd::Encoder::new(Vec::new(), 3).unwrap_or_else(|error| unreachable!("{error}"));
        encoder
            .include_checksum(true)
            .and_then(|()| std::io::copy(&mut text.as_bytes(), &mut encoder))
            .unwrap_or_default();
        encoder.finish().unwrap_or_default()
    }

    #[test]
    fn frames_follow_one_another_and_those_to_be_skipped_are() {
        // A skippable frame: its magic number, a length of 3, and three bytes.
        let skippable = [0x50, 0x2a, 0x4d, 0x18, 3, 0, 0, 0, b'x', b'y', b'z'];
        let large = "a line of text\n".repeat(100_000);
        let bytes = [frame("one, "), skippable.to_vec(), frame(&large), frame(""), frame(", two")].concat();
        assert_eq!(read(&bytes), Ok(format!("one, {large}, two")));
        assert_eq!(read(b""), Ok(String::new()));
    }

    #[test]
    fn what_is_cut_off_or_damaged_is_an_error() {
        let whole = frame("a text that is long enough to be worth it, that is long enough to be worth it");
        assert!(read(whole.split_at(whole.len() / 2).0).is_err());
        let mut damaged = whole.clone();
        if let Some(last) = damaged.last_mut() {
            *last ^= 1;
        }
        assert_eq!(read(&damaged), Err("the checksum of a frame does not match".to_owned()));
        assert!(read(&[whole, b"no frame".to_vec()].concat()).is_err());
    }
}
