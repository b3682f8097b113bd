//! What wasmtime generates from the contract. The crate's own types stand in front of it.
#![allow(missing_docs)]

wasmtime::component::bindgen!({
    path: "../wit",
    world: "plugin",
    // Arguments can be megabytes: they are copied once, into the component.
    ownership: Borrowing { duplicate_if_necessary: false },
});
