//! Embeds the Loop guard component in a Rust host, and replays agent sessions through it.
//!
//! ```
//! use loop_guard::{Component, Pipeline, StepStart, ToolCall};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let component = Component::embedded()?; // compiles once; guards made from it are cheap
//! let guard = component.guard(r#"{"toolCallLimit": {"limits": {"web_search": 1}}}"#)?;
//! let pipeline = Pipeline::new(&guard);
//!
//! guard.step(&StepStart { agent: "main", turn: 1, step: 1, prompted: true })?;
//! let call = ToolCall { agent: Some("main"), id: "1", name: "web_search", arguments: r#"{"q":"wasm"}"# };
//! let first = pipeline.run(&call, || Ok("ten results".to_owned()));
//! assert_eq!(first.result, "ten results");
//!
//! let second = pipeline.run(&call, || unreachable!("the guard denies it"));
//! assert_eq!(second.result, "tool web_search exceeded its per-step limit of 1");
//! # Ok(())
//! # }
//! ```
//!
//! - [`Component`] is the compiled guard, [`Guard`] one instance of it with a configuration.
//! - [`Pipeline`] runs one call the way the contract demands: around a tool's body, beside a host's own
//!   [`Policy`]s.
//! - [`script`] holds scripted sessions, [`recorded`] the readers of recorded ones, [`replay`] what brings a recorded session and
//!   a guard together.
//!
//! What this crate knows of the guard's rules it learns by asking the component.

mod bindings;
mod cache;
mod component;
mod error;
mod guard;
mod inspection;
mod instance;
pub mod json;
mod limits;
mod pipeline;
pub mod replay;
pub mod script;
pub mod tune;
mod types;

pub use loop_guard_readers as recorded;

pub use component::{CONTRACT, Component};
pub use error::{CallError, ConfigureError, Fault, LoadError, RestoreError};
pub use guard::Guard;
pub use inspection::Inspection;
pub use limits::Limits;
pub use pipeline::{Addition, Pipeline, Policy, Report, Review, Verdict};
pub use types::{Decision, Event, Needs, Notice, Outcome, Problem, Stat, Status, StepStart, ToolCall};
