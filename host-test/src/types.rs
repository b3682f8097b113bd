//! The contract's types, as a Rust host sees them. `wit/plugin.wit` says what each means in full.

use serde::{Deserialize, Serialize};

/// How a call ended: recorded sessions tell it in the contract's words.
pub use loop_guard_readers::Status;

/// A step that has been proposed for an agent.
#[derive(Debug, Clone, Copy)]
pub struct StepStart<'a> {
    /// The agent: any string that names one live agent.
    pub agent: &'a str,
    /// The number of the turn.
    pub turn: u32,
    /// The number of the step within its turn.
    pub step: u32,
    /// Whether a person's message enters with this step.
    pub prompted: bool,
}

/// A tool call that a model made.
#[derive(Debug, Clone, Copy)]
pub struct ToolCall<'a> {
    /// The agent that owns the call, if the host has one for it.
    pub agent: Option<&'a str>,
    /// Pairs the call's two hooks; unique among the agent's calls in flight.
    pub id: &'a str,
    /// The tool's name.
    pub name: &'a str,
    /// The raw JSON text of the arguments, as the model wrote it.
    pub arguments: &'a str,
}

/// Whether a call may run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Decision {
    /// It may, as far as this policy is concerned.
    Allow,
    /// It must not. The reason is for the model.
    Deny(String),
    /// A person decides, and is shown the reason. Where nobody can be asked, it is a denial.
    Ask(String),
}

/// A call's outcome.
#[derive(Debug, Clone, Copy)]
pub struct Outcome<'a> {
    /// How the call ended.
    pub status: Status,
    /// The result as the model will see it. It is sent to the component only if the configuration
    /// [needs](Needs) it.
    pub content: Option<&'a str>,
}

/// Something that the model should be told, in a message of its own, after all results of the step (R14).
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Notice {
    /// The guard that speaks.
    pub plugin: String,
    /// One line for people.
    pub summary: String,
    /// The text for the model.
    pub text: String,
}

/// Something that happened to an agent beside its steps and calls (B8).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Event {
    /// Its context was compacted.
    Compacted,
    /// A person approved a call of it that was asked about.
    Approved,
}

/// What a guard has done to an agent; in a trial, what it would have done (B9).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Stat {
    /// The agent.
    pub agent: String,
    /// Calls that have reached an outcome.
    pub calls: u32,
    /// Notices.
    pub notices: u32,
    /// Calls that a person was to decide about.
    pub asks: u32,
    /// Calls that were denied.
    pub denials: u32,
    /// The count of its longest streak.
    pub longest: u32,
    /// That streak in one line; empty without one.
    pub summary: String,
}

/// Something wrong in a configuration.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Problem {
    /// Where: a JSON Pointer (RFC 6901). Empty means the whole configuration.
    pub path: String,
    /// What is wrong, and what would be right.
    pub message: String,
}

/// What the configuration in force needs from the host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Needs {
    /// Whether the guard looks at the content of outcomes. [`Guard`](crate::Guard) leaves it out where it does not.
    pub content: bool,
}
