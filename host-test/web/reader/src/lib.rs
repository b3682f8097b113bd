//! The readers of recorded sessions as a component, for the page that runs in a browser. It exists on wasm alone.
#![cfg_attr(not(target_arch = "wasm32"), allow(missing_docs))]

#[cfg(target_arch = "wasm32")]
mod component;
