//! Loop guard, the component.
//!
//! It implements the contract in `wit/plugin.wit` by the numbered [`rules`]. The module `component`, which exists on wasm alone, is
//! the glue between the two; each rule lives in a module that knows nothing of WebAssembly, and `guard` brings them together:
//!
//! ```
//! use loop_guard_guest::guard::Guard;
//!
//! let mut guard = Guard::default();
//! for _ in 0..2 {
//!     assert_eq!(guard.post_execute(Some("main"), "grep", r#"{"pattern":"x"}"#.to_owned()), None);
//! }
//! let notice = guard.post_execute(Some("main"), "grep", r#"{ "pattern": "x" }"#.to_owned());
//! assert_eq!(notice.map(|notice| notice.summary).as_deref(), Some("grep × 3"));
//! ```

mod agents;
mod canonical;
mod config;
mod explain;
pub mod guard;
mod json;
mod limit;
mod pattern;
mod preview;
mod recent;
mod reminder;
#[doc = include_str!("../RULES.md")]
pub mod rules {}

#[cfg(target_arch = "wasm32")]
mod component;
