//! The formats, and how each is recognised.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;

use serde_json::value::RawValue;

use crate::formats;
use crate::log::Log;
use crate::text::array;

/// A format of recorded sessions.
pub struct Format {
    /// Its name, as `--format` takes it.
    pub name: &'static str,
    /// The program that writes it, and what of it.
    pub title: &'static str,
    /// What it is recognised by.
    pub signs: &'static str,
    /// Whether a piece is one of this format. Those of other formats, and most pieces that tell nothing, are not.
    pub(crate) recognises: fn(&Probe<'_>) -> bool,
    /// What a piece says of the session as a whole, where pieces do.
    pub(crate) identify: Option<fn(&Probe<'_>, &mut Identity)>,
    /// Whether a file may hold a call twice, so that a call id that was seen before is no new call. Elsewhere ids recur.
    pub(crate) repeats_calls: bool,
    /// What of a result is the same each time that the result is.
    pub(crate) steady: fn(&str) -> Cow<'_, str>,
    /// A reader for one input.
    pub(crate) reader: fn() -> Box<dyn Reader>,
}

/// All formats, in the order in which they are tried.
pub const FORMATS: &[&Format] = &[
    &formats::dsh::FORMAT,
    &formats::claude_code::FORMAT,
    &formats::codex::FORMAT,
    &formats::pi::FORMAT,
    &formats::tau_bench::FORMAT,
    &formats::openhands::FORMAT,
    &formats::mini_swe_agent::FORMAT,
    &formats::swe_agent::FORMAT,
    &formats::trae::FORMAT,
    &formats::gemini_cli::FORMAT,
    &formats::opencode::FORMAT,
    &formats::atif::FORMAT,
    &formats::opentelemetry::FORMAT,
    &formats::chat::FORMAT,
];

impl Format {
    /// The format with this name.
    pub fn named(name: &str) -> Option<&'static Self> {
        FORMATS.iter().copied().find(|format| format.name == name)
    }
}

impl Format {
    /// What of a result is the same each time that the result is: without times and ids that the program adds.
    pub fn steady<'a>(&self, content: &'a str) -> Cow<'a, str> {
        (self.steady)(content)
    }
}

impl fmt::Debug for Format {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Format").field("name", &self.name).finish_non_exhaustive()
    }
}

/// Reads the pieces of one input into its log.
pub(crate) trait Reader {
    /// Whether later pieces tell how to read earlier ones: all are then surveyed before the first is read.
    fn needs_survey(&self) -> bool {
        false
    }

    /// Sees a piece before any is read.
    fn survey(&mut self, _piece: &str) {}

    /// Reads a piece, which is a JSON object; `array` tells arrays apart whose elements are pieces, 0 for none. A piece that cannot be
    /// read gives an error, and has changed nothing; a part of one is reported with [`Log::skip`].
    fn read(&mut self, piece: &str, array: usize, log: &mut Log<'_>) -> Result<(), String>;

    /// The input is at its end.
    fn end(&mut self, _log: &mut Log<'_>) {}
}

/// What is known of a session before it is read.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Identity {
    /// Its id, where that is unique in the world, and the input is all of the session.
    pub session: Option<String>,
    /// The id of the session that it was forked from.
    pub parent: Option<String>,
    /// The id of its first answer, where a copy has the same.
    pub root: Option<String>,
}

/// Results have nothing that differs each time.
pub(crate) fn as_it_is(content: &str) -> Cow<'_, str> {
    Cow::Borrowed(content)
}

/// A first look at an object: its members, none of them parsed.
pub(crate) struct Probe<'a>(BTreeMap<Cow<'a, str>, &'a RawValue>);

impl<'a> Probe<'a> {
    pub fn new(json: &'a str) -> Option<Self> {
        if !json.trim_start().starts_with('{') {
            return None;
        }
        #[derive(serde::Deserialize)]
        struct Members<'a>(#[serde(borrow)] BTreeMap<Name<'a>, &'a RawValue>);
        #[derive(serde::Deserialize, PartialEq, Eq, PartialOrd, Ord)]
        struct Name<'a>(#[serde(borrow)] Cow<'a, str>);
        let Members(members) = serde_json::from_str(json).ok()?;
        Some(Self(members.into_iter().map(|(Name(name), value)| (name, value)).collect()))
    }

    /// Whether it has all of these members.
    pub fn has(&self, names: &[&str]) -> bool {
        names.iter().all(|name| self.0.contains_key(*name))
    }

    /// A member that is a string.
    pub fn text(&self, name: &str) -> Option<String> {
        serde_json::from_str(self.0.get(name)?.get()).ok()
    }

    /// A member that is an object.
    pub fn object(&self, name: &str) -> Option<Probe<'a>> {
        Self::new(self.0.get(name)?.get())
    }

    /// A member that is an array: those of its elements that are objects, and those of arrays in it.
    pub fn objects(&self, name: &str) -> Vec<Probe<'a>> {
        let elements = array::<&'a RawValue>(self.0.get(name).copied()).unwrap_or_default();
        let inner = |element: &'a RawValue| array(Some(element)).unwrap_or_else(|| vec![element]);
        elements.into_iter().flat_map(inner).filter_map(|element: &RawValue| Self::new(element.get())).collect()
    }

    /// Whether a member is an array.
    pub fn is_array(&self, name: &str) -> bool {
        self.0.get(name).is_some_and(|value| value.get().starts_with('['))
    }
}
