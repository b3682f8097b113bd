//! Text that is compressed is recognised by its first bytes, and read as if it were not.

use std::io::{self, BufRead, BufReader, Read};

use flate2::bufread::MultiGzDecoder;

use crate::input::BUFFER;

/// The first bytes of a gzip member (RFC 1952) and of a Zstandard frame (RFC 8878).
const GZIP: &[u8] = &[0x1f, 0x8b];
const ZSTANDARD: &[u8] = &[0x28, 0xb5, 0x2f, 0xfd];

/// Both formats may consist of several parts one after another: all are read.
pub fn decompressed(mut bytes: impl BufRead + 'static) -> io::Result<Box<dyn BufRead>> {
    let start = bytes.fill_buf()?;
    if start.starts_with(ZSTANDARD) {
        Ok(Box::new(BufReader::with_capacity(BUFFER, zstandard(bytes)?)))
    } else if start.starts_with(GZIP) {
        Ok(Box::new(BufReader::with_capacity(BUFFER, MultiGzDecoder::new(bytes))))
    } else {
        Ok(Box::new(bytes))
    }
}

#[cfg(not(target_arch = "wasm32"))]
fn zstandard(bytes: impl BufRead) -> io::Result<impl Read> {
    zstd::stream::read::Decoder::with_buffer(bytes)
}

#[cfg(target_arch = "wasm32")]
#[allow(clippy::unnecessary_wraps, reason = "as the other")]
fn zstandard(bytes: impl BufRead) -> io::Result<impl Read> {
    Ok(crate::frames::Frames::new(bytes))
}
