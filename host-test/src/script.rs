//! Scripted sessions: YAML files of events, with the expected answer beside each.
//!
//! `sessions/session.schema.json` describes the format for editors. A script is read ([`Script::parse`]), run against a
//! component ([`Script::run`]), written as JSON for hosts in other languages (it is `Serialize`), and its
//! expectations can be rewritten to what the component answered ([`bless`]).

mod bless;
mod format;
mod run;
mod written;

pub use bless::bless;
pub use format::{Action, Answer, Event, Restored, Script, ScriptError};
pub use run::{Failure, Mismatch};
