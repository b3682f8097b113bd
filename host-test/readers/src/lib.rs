//! Reads recorded sessions: what agents did, from the files that they leave behind.
//!
//! It knows nothing of any guard, and is used by the host in Rust as well as, compiled to wasm, by the page that runs in a browser. An [`Input`] is a file, or what else holds a recording. [`Recording::open`] recognises its [`Format`], and
//! [`Recording::read`] tells a [`Sink`] what happened, hook by hook, in an order that the contract allows. One input can hold several
//! sessions, and a session several agents: each [`Event`] is one of an [`Agent`].
//!
//! Little more than the step at hand is kept, except where a file is one JSON document, or holds spans, which must be sorted. A log in which later lines tell
//! how to read earlier ones is read twice.

mod compression;
mod format;
mod formats;
#[cfg(any(target_arch = "wasm32", test))]
mod frames;
mod input;
mod lineage;
mod log;
mod ordering;
mod pieces;
mod reading;
mod search;
mod text;
mod tree;

pub use format::{FORMATS, Format};
pub use input::Input;
pub use lineage::{Inherited, Lineages};
pub use reading::{ReadError, Recording};
pub use search::{Found, SearchError, search};

use serde::{Deserialize, Serialize};

/// An agent of a recorded session.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Agent {
    /// The recorded id of the session, or the name of its file where it has none.
    pub session: String,
    /// The recorded id of the agent; that of the session where the session has no other.
    pub id: String,
}

/// Something that happened to an agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// A step was proposed.
    Step {
        /// The number of its turn.
        turn: u32,
        /// Its number within the turn.
        step: u32,
        /// Whether a person's message entered with it.
        prompted: bool,
    },
    /// A call was about to run.
    Pre(Call),
    /// A call reached an outcome.
    Post {
        /// The id of the call, whose [`Event::Pre`] came before.
        id: String,
        /// Its outcome.
        result: CallResult,
    },
    /// A turn ended.
    TurnEnded {
        /// The number of the turn.
        turn: u32,
    },
}

/// A recorded call.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Call {
    /// Its id.
    pub id: String,
    /// Its tool.
    pub tool: String,
    /// The raw text of its arguments.
    pub arguments: String,
}

/// How a call ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Status {
    /// The tool ran and reported success.
    Succeeded,
    /// The tool ran and reported a failure, or was cancelled before it ended.
    Failed,
    /// The tool did not run: somebody denied it.
    Denied,
}

/// The recorded outcome of a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallResult {
    /// How it ended.
    pub status: Status,
    /// The result as text.
    pub content: String,
}

/// A piece of an input that could not be read, and was left out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Skipped {
    /// The file.
    pub file: String,
    /// The line in it, from 1.
    pub line: usize,
    /// What is wrong with it.
    pub reason: String,
}

/// Whoever is told what happened.
pub trait Sink {
    /// An agent appears: before its first event, and even if it has none.
    fn agent(&mut self, agent: &Agent);
    /// Something happened to an agent.
    fn event(&mut self, agent: &Agent, event: Event);
    /// Something could not be read.
    fn skipped(&mut self, skipped: Skipped);
}
