//! Writes components that a host must refuse or survive, for the tests of hosts in other languages: `cargo run --example misfits FOLDER`.
//!
//! - `stub.wasm` implements the contract, and misbehaves in a call whose tool is named `trap`, `spin` or `allocate`;
//! - `other-version.wasm` exports another version of the contract, `other-types.wasm` this one with other types;
//! - `importing.wasm` needs something from its host.

use std::error::Error;
use std::path::Path;
use std::{env, fs};

const OTHER_VERSION: &str = r#"(component
    (instance $i)
    (export "loop-guard:plugin/guard@0.2.0" (instance $i))
    (export "loop-guard:plugin/introspection@0.2.0" (instance $i))
    (export "loop-guard:plugin/resume@0.2.0" (instance $i)))"#;

const OTHER_TYPES: &str = r#"(component
    (instance $i)
    (export "loop-guard:plugin/guard@0.1.0" (instance $i))
    (export "loop-guard:plugin/introspection@0.1.0" (instance $i))
    (export "loop-guard:plugin/resume@0.1.0" (instance $i)))"#;

const IMPORTING: &str = r#"(component (import "wasi:io/error@0.2.0" (instance)))"#;

fn main() -> Result<(), Box<dyn Error>> {
    let folder = env::args_os().nth(1).ok_or("usage: misfits FOLDER")?;
    let folder = Path::new(&folder);
    fs::create_dir_all(folder)?;
    fs::write(folder.join("stub.wasm"), include_bytes!(concat!(env!("OUT_DIR"), "/stub.wasm")))?;
    for (name, text) in [("other-version", OTHER_VERSION), ("other-types", OTHER_TYPES), ("importing", IMPORTING)] {
        fs::write(folder.join(name).with_extension("wasm"), wat::parse_str(text)?)?;
    }
    Ok(())
}
