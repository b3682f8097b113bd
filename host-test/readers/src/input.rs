//! What holds a recording: a file, standard input, a folder with a file for each event; compressed or not.

use std::fmt;
use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, Cursor, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tempfile::NamedTempFile;

use crate::compression::decompressed;

/// Something that holds a recording, and can be read more than once.
#[derive(Clone)]
pub struct Input {
    name: String,
    parts: Vec<Part>,
    size: u64,
    is_folder: bool,
    progress: Progress,
}

/// Is told how many more bytes have been read.
type Progress = Arc<dyn Fn(u64) + Send + Sync>;

/// One stream of bytes.
#[derive(Debug, Clone)]
pub(crate) struct Part {
    pub name: String,
    source: Source,
}

#[derive(Debug, Clone)]
enum Source {
    File(PathBuf),
    Spooled(Arc<NamedTempFile>),
    Bytes(Arc<[u8]>),
}

impl Input {
    /// A file. It need not exist yet: reading it tells.
    pub fn file(path: impl Into<PathBuf>) -> Self {
        let path = path.into();
        let size = fs::metadata(&path).map_or(0, |metadata| metadata.len());
        let name = path.display().to_string();
        Self {
            parts: vec![Part { name: name.clone(), source: Source::File(path) }],
            name,
            size,
            is_folder: false,
            progress: silent(),
        }
    }

    /// A folder in which each event has a file of its own, in this order.
    pub fn folder(folder: impl Into<PathBuf>, files: impl IntoIterator<Item = PathBuf>) -> Self {
        let parts: Vec<_> = files.into_iter().map(Self::file).collect();
        let size = parts.iter().map(|part| part.size).sum();
        let parts = parts.into_iter().flat_map(|part| part.parts).collect();
        Self { name: folder.into().display().to_string(), parts, size, is_folder: true, progress: silent() }
    }

    /// Bytes, under a name that is shown to people.
    pub fn bytes(name: impl Into<String>, bytes: impl Into<Arc<[u8]>>) -> Self {
        let (name, bytes) = (name.into(), bytes.into());
        let size = bytes.len() as u64;
        Self {
            parts: vec![Part { name: name.clone(), source: Source::Bytes(bytes) }],
            name,
            size,
            is_folder: false,
            progress: silent(),
        }
    }

    /// A stream that can be read only once: it is copied to a temporary file, which goes away with the input.
    ///
    /// # Errors
    ///
    /// If it cannot be read, or the file not be written.
    pub fn spooled(name: impl Into<String>, mut stream: impl Read) -> io::Result<Self> {
        let name = name.into();
        let mut file = NamedTempFile::new()?;
        let size = io::copy(&mut stream, &mut file)?;
        let parts = vec![Part { name: name.clone(), source: Source::Spooled(Arc::new(file)) }];
        Ok(Self { parts, name, size, is_folder: false, progress: silent() })
    }

    /// The name that is shown to people: the path of a file.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What names the session if it has no id: the name of the file, or of the folder that the events lie below.
    pub fn short_name(&self) -> &str {
        let is_separator = |c: char| c == '/' || c == std::path::MAIN_SEPARATOR;
        let name = if self.is_folder { self.name.strip_suffix("events").unwrap_or(&self.name) } else { &self.name };
        name.trim_end_matches(is_separator).rsplit(is_separator).next().unwrap_or(name)
    }

    /// Its first file, if it has files.
    pub fn path(&self) -> Option<&Path> {
        match self.parts.first().map(|part| &part.source) {
            Some(Source::File(path)) => Some(path),
            _ => None,
        }
    }

    /// Its size in bytes, as it lies on the disk.
    pub fn size(&self) -> u64 {
        self.size
    }

    /// The same, which tells how many more bytes of it have been read each time that it is.
    pub fn with_progress(self, progress: impl Fn(u64) + Send + Sync + 'static) -> Self {
        Self { progress: Arc::new(progress), ..self }
    }

    pub(crate) fn parts(&self) -> &[Part] {
        &self.parts
    }

    /// Whether there is nothing in it but white space.
    pub(crate) fn is_blank(&self) -> io::Result<bool> {
        for part in &self.parts {
            let mut text = self.open(part)?;
            loop {
                let bytes = text.fill_buf()?;
                match bytes.len() {
                    0 => break,
                    _ if !bytes.trim_ascii().is_empty() => return Ok(false),
                    length => text.consume(length),
                }
            }
        }
        Ok(true)
    }

    /// The text of a part, decompressed if it begins like gzip or Zstandard.
    pub(crate) fn open(&self, part: &Part) -> io::Result<Box<dyn BufRead>> {
        let bytes = part.source.open()?;
        decompressed(BufReader::with_capacity(BUFFER, Counted { bytes, progress: Arc::clone(&self.progress) }))
    }
}

fn silent() -> Progress {
    Arc::new(|_| {})
}

impl fmt::Debug for Input {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Input").field("name", &self.name).field("size", &self.size).finish_non_exhaustive()
    }
}

struct Counted {
    bytes: Box<dyn Read>,
    progress: Progress,
}

impl Read for Counted {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.bytes.read(buffer)?;
        (self.progress)(read as u64);
        Ok(read)
    }
}

impl Source {
    fn open(&self) -> io::Result<Box<dyn Read>> {
        match self {
            Self::Bytes(bytes) => Ok(Box::new(Cursor::new(Arc::clone(bytes)))),
            Self::File(path) if path.is_dir() => Err(io::Error::new(io::ErrorKind::IsADirectory, "a directory")),
            Self::File(path) => Ok(Box::new(File::open(path)?)),
            // Each reader has a place of its own in it.
            Self::Spooled(file) => Ok(Box::new(file.reopen()?)),
        }
    }
}

/// How much is read at once.
pub(crate) const BUFFER: usize = 128 << 10;
