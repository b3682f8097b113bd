//! Loop guard, the component.
//!
//! It implements the contract in `wit/plugin.wit` by the numbered [`rules`]. The module `component`, which exists on wasm alone, is
//! the glue between the two; each rule lives in a module that knows nothing of WebAssembly, and `guard` brings them together:
//!
//! ```
//! use loop_guard_guest::guard::{Call, Guard, Outcome, Status};
//!
//! let mut guard = Guard::default();
//! let mut grep = |arguments: &str| {
//!     let call =
//!         Call { agent: Some("main".into()), id: "1".into(), name: "grep".into(), arguments: arguments.into() };
//!     guard.post_execute(call, Outcome { status: Status::Failed, content: String::new() })
//! };
//! assert_eq!(grep(r#"{"pattern":"x"}"#), []);
//! assert_eq!(grep(r#"{"pattern":"x"}"#), []);
//! let notices = grep(r#"{ "pattern": "x" }"#);
//! assert_eq!(notices[0].summary, "grep × 3");
//! ```

mod agents;
mod bytes;
mod canonical;
mod config;
mod explain;
mod failures;
pub mod guard;
mod json;
mod ladder;
mod limit;
mod names;
mod pattern;
mod persist;
mod preview;
mod recent;
mod reminder;
mod resume;
mod stats;
mod streak;
mod texts;
#[doc = include_str!("../RULES.md")]
pub mod rules {}

#[cfg(target_arch = "wasm32")]
mod component;
