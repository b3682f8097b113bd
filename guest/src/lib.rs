//! Loop guard, the component.
//!
//! It implements the contract in `wit/plugin.wit`. This file is the glue between the two; each rule lives in the
//! module that the table of [`RULES.md`](https://github.com/loop-guard/loop-guard/blob/main/guest/RULES.md) names, which knows nothing of WebAssembly.
//!
//! ```
//! use loop_guard_guest::guard::Guard;
//!
//! let mut guard = Guard::default();
//! for _ in 0..2 {
//!     assert_eq!(guard.post_execute(Some("main"), "grep", r#"{"pattern":"x"}"#), None);
//! }
//! let notice = guard.post_execute(Some("main"), "grep", r#"{ "pattern": "x" }"#);
//! assert_eq!(notice.map(|notice| notice.summary).as_deref(), Some("grep × 3"));
//! ```

mod agents;
mod canonical;
pub mod config;
mod explain;
pub mod guard;
pub mod limit;
pub mod pattern;
mod preview;
pub mod reminder;

#[cfg(target_arch = "wasm32")]
mod component;
