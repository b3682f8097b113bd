//! Recognises the format of an input, and reads it.

use std::io;
use std::ops::ControlFlow;

use thiserror::Error;

use crate::format::{FORMATS, Format, Identity, Probe, Reader};
use crate::lineage::Inherited;
use crate::log::Log;
use crate::pieces::{Found, Piece, visit};
use crate::text::without_lone_surrogates;
use crate::{Input, Sink, Skipped};

/// Why an input was not read.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ReadError {
    /// The system could not read it.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// There is nothing in it but white space.
    #[error("the file is empty")]
    Empty,
    /// It is something else.
    #[error("not a recorded session of a known format")]
    UnknownFormat,
    /// It is not what it was said to be.
    #[error("not a recorded session of the format {}: looked for {}", .0.name, .0.signs)]
    OtherFormat(&'static Format),
}

/// An input whose format is known.
#[derive(Debug)]
pub struct Recording {
    input: Input,
    format: &'static Format,
    /// Whether the format was recognised.
    is_certain: bool,
    identity: Identity,
}

/// How many pieces are looked at to recognise a format, and how many more to learn the session's id.
const PIECES_TO_RECOGNISE: usize = 2000;
const PIECES_TO_IDENTIFY: usize = 20;

impl Recording {
    /// Recognises the format of an input, or takes it to be of the one that it is said to be.
    ///
    /// # Errors
    ///
    /// Any [`ReadError`] but [`ReadError::OtherFormat`].
    pub fn open(input: Input, format: Option<&'static Format>) -> Result<Self, ReadError> {
        let (mut found, mut identity) = (format, Identity::default());
        let (mut pieces, mut identified) = (0, 0);
        visit(&input, &mut |piece| {
            pieces += 1;
            let probe = match &piece {
                Found::Piece(Piece { text, .. }) => Probe::new(text),
                Found::Bad(_) => None,
            };
            if let Some(probe) = probe {
                found = found.or_else(|| FORMATS.iter().copied().find(|format| (format.recognises)(&probe)));
                if let Some(Format { identify: Some(identify), .. }) = found {
                    identify(&probe, &mut identity);
                    identified += 1;
                }
            }
            let enough = match found {
                // No piece tells of the session as a whole.
                Some(Format { identify: None, .. }) => true,
                Some(_) => identified > PIECES_TO_IDENTIFY,
                None => pieces > PIECES_TO_RECOGNISE,
            };
            if enough { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        })?;
        match found {
            _ if pieces == 0 && input.is_blank()? => Err(ReadError::Empty),
            Some(found) => Ok(Self { input, format: found, is_certain: format.is_none(), identity }),
            None => Err(ReadError::UnknownFormat),
        }
    }

    /// The input.
    pub fn input(&self) -> &Input {
        &self.input
    }

    /// Its format.
    pub fn format(&self) -> &'static Format {
        self.format
    }

    /// How many times reading it goes through the input.
    pub fn passes(&self) -> u64 {
        if (self.format.reader)().needs_survey() { 2 } else { 1 }
    }

    /// The same, which tells how many more bytes of the input have been read, each time that it is.
    pub fn with_progress(self, progress: impl Fn(u64) + Send + Sync + 'static) -> Self {
        Self { input: self.input.with_progress(progress), ..self }
    }

    /// What is known of the session as a whole.
    pub(crate) fn identity(&self) -> &Identity {
        &self.identity
    }

    /// Tells a sink what happened, without what was inherited. What cannot be read is reported and left out.
    ///
    /// # Errors
    ///
    /// If the system can no longer read the input, or nothing in it is of the format that it was said to be.
    pub fn read(&self, inherited: &Inherited, sink: &mut dyn Sink) -> Result<(), ReadError> {
        let mut reader = (self.format.reader)();
        if reader.needs_survey() {
            visit(&self.input, &mut |found| {
                if let Found::Piece(Piece { text, .. }) = found {
                    reader.survey(text);
                }
                ControlFlow::Continue(())
            })?;
        }
        let mut log = Log::new(self.input.short_name(), self.format.repeats_calls, inherited, sink);
        visit(&self.input, &mut |found| {
            match found {
                Found::Piece(piece) => read_piece(&mut *reader, piece, &mut log),
                Found::Bad(skipped) => log.report(skipped),
            }
            ControlFlow::Continue(())
        })?;
        reader.end(&mut log);
        log.end();
        if self.is_certain || log.has_agents() { Ok(()) } else { Err(ReadError::OtherFormat(self.format)) }
    }
}

fn read_piece(reader: &mut dyn Reader, Piece { text, file, line, array }: Piece<'_>, log: &mut Log<'_>) {
    let report = |text: &str, log: &mut Log<'_>| {
        for bad in log.take_bad() {
            let before = bad.address.checked_sub(text.as_ptr() as usize).and_then(|offset| text.get(..offset));
            let line = line + memchr::memchr_iter(b'\n', before.unwrap_or_default().as_bytes()).count();
            log.report(Skipped { file: file.to_owned(), line, reason: bad.reason });
        }
        log.flush();
    };
    let Err(reason) = reader.read(text, array, log) else { return report(text, log) };
    // Text that was cut inside of a character is written with half a surrogate pair.
    let readable = without_lone_surrogates(text);
    if readable == text || reader.read(&readable, array, log).is_err() {
        log.skip(text, reason);
        return report(text, log);
    }
    report(&readable, log);
}
