//! What can go wrong.

use std::path::PathBuf;
use std::time::Duration;

use thiserror::Error;

use crate::component::CONTRACT;
use crate::types::Problem;

/// Why a component was not loaded.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum LoadError {
    /// The file could not be read.
    #[error("cannot read {}: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// The bytes are not a WebAssembly component.
    #[error("not a WebAssembly component, but {0}")]
    NotAComponent(&'static str),
    /// The bytes look like a component, but are damaged, or use what is not supported.
    #[error("the component does not compile: {0}")]
    Compile(String),
    /// The component needs something from its host. A guard imports nothing (S1).
    #[error("a guard imports nothing, but this component imports {}", .0.join(", "))]
    Imports(Vec<String>),
    /// The component implements another contract, or another version of it.
    #[error("expected a component that exports {}, but this one exports {}", CONTRACT.join(" and "), listed(.found))]
    Contract {
        /// What it exports.
        found: Vec<String>,
    },
    /// The component names the contract, but its types are others.
    #[error("the component exports {}, but not as this version of the contract has it: {difference}", CONTRACT.join(" and "))]
    Types {
        /// Where they differ.
        difference: String,
    },
    /// The thread that watches the time limit could not be started.
    #[error("cannot start the thread that watches the time limit: {0}")]
    Thread(std::io::Error),
}

fn listed(names: &[String]) -> String {
    if names.is_empty() { "nothing".to_owned() } else { names.join(", ") }
}

/// Why a configuration was not put in force.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ConfigureError {
    /// The configuration is wrong, and nothing has changed. These are its problems, at least one; of thousands, the first.
    #[error("{}", problem_lines(.0))]
    Problems(Vec<Problem>),
    /// The component could not be asked.
    #[error(transparent)]
    Call(#[from] CallError),
}

/// Why a snapshot was not restored.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum RestoreError {
    /// The component refuses it: it is damaged, of another version, or taken under another configuration. Nothing has changed.
    #[error("the snapshot is refused: {0}")]
    Refused(String),
    /// The component could not be asked.
    #[error(transparent)]
    Call(#[from] CallError),
}

fn problem_lines(problems: &[Problem]) -> String {
    let line = |Problem { path, message }: &Problem| match &**path {
        "" => message.clone(),
        path => format!("{path}: {message}"),
    };
    problems.iter().map(line).collect::<Vec<_>>().join("\n")
}

/// Why a hook gave no answer.
///
/// After any fault but [`Fault::TooLarge`] the instance is gone. The next call works on a fresh one with the
/// same configuration: all counts start anew, and a limited call is denied with the reason `per-step
/// tool limit has no active agent step` (Q6) until its agent's next `step`.
#[derive(Debug, Error)]
#[error("{hook}: {fault}")]
pub struct CallError {
    /// The function of the contract that was called, or `instantiate`.
    pub hook: &'static str,
    /// What went wrong.
    pub fault: Fault,
}

/// What went wrong in a call.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum Fault {
    /// A text is longer than [`Limits::text`](crate::Limits::text). It was not sent, and nothing has changed.
    #[error("{what}: {size} bytes, and no text of more than {limit} is sent")]
    TooLarge {
        /// Which text.
        what: &'static str,
        /// Its size in bytes.
        size: usize,
        /// The bound in bytes.
        limit: usize,
    },
    /// The component wanted more memory than [`Limits::memory`](crate::Limits::memory).
    #[error("the component wanted more than {limit} bytes of memory")]
    Memory {
        /// The bound in bytes.
        limit: usize,
    },
    /// The component did not answer within [`Limits::time`](crate::Limits::time).
    #[error("the component did not answer within {limit:?}")]
    Time {
        /// The bound.
        limit: Duration,
    },
    /// The component trapped.
    #[error("the component trapped: {0}")]
    Trap(String),
    /// A fresh instance could not be started with the configuration that was in force.
    #[error("no fresh instance could be started: {0}")]
    Restart(String),
}
