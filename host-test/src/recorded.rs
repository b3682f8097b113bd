//! Recorded sessions: what an agent did, read from the files that agents leave behind.
//!
//! A reader turns a file into a [`Recording`]: the hooks that a guard would have seen, in an order that
//! the contract allows.

pub mod dsh;
mod ordering;

use crate::types::Status;

/// A recorded session of one agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recording {
    /// The recorded id of the session, or the name of its file where it has none.
    pub session: String,
    /// The agent.
    pub agent: String,
    /// What happened.
    pub events: Vec<Event>,
    /// The lines that could not be read.
    pub skipped: Vec<SkippedLine>,
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
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Call {
    /// Its id.
    pub id: String,
    /// Its tool.
    pub tool: String,
    /// The raw text of its arguments.
    pub arguments: String,
}

/// The recorded outcome of a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallResult {
    /// How it ended.
    pub status: Status,
    /// The result as text.
    pub content: String,
}

/// A line of a file that could not be read, and was left out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SkippedLine {
    /// The line, from 1.
    pub line: usize,
    /// What is wrong with it.
    pub reason: String,
}
