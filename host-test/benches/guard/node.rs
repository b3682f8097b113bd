//! What is measured in Node: a guard in JavaScript, and the component through jco.

use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

use serde::Deserialize;

use crate::texts;

const PACKAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/js");
const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/benches/guard/node.mjs");

#[derive(Deserialize)]
pub struct Measured {
    pub calls: Vec<Calls>,
    pub memory: Vec<Memory>,
}

/// The times of a call, in nanoseconds.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Calls {
    pub shape: String,
    pub size: String,
    pub different: f64,
    pub same: f64,
    /// Of a different call that is parsed first.
    pub parsed: f64,
    pub jco_different: f64,
    pub jco_same: f64,
}

/// What a guard keeps for each agent, in bytes.
#[derive(Deserialize)]
pub struct Memory {
    pub shape: String,
    pub size: String,
    pub javascript: f64,
    pub jco: f64,
}

/// Makes JavaScript of the component. It comes before anything is measured, so that what is missing shows at once.
pub fn transpile(component: &[u8]) {
    assert!(
        Path::new(PACKAGE).join("node_modules").is_dir(),
        "the npm packages of host-test/js are not installed: run `make bench`, or `npm ci --ignore-scripts` in that folder"
    );
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(component).unwrap();
    let mut npm = Command::new("npm");
    npm.args(["run", "--silent", "build", "--"]).arg(file.path()).current_dir(PACKAGE);
    assert!(npm.status().unwrap().success(), "jco cannot transpile the component");
}

/// Measures what `transpile` has made, beside a guard in JavaScript.
pub fn measure() -> Measured {
    let mut node = Command::new("node");
    let mut node = node.args(["--expose-gc", SCRIPT]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    node.stdin.take().unwrap().write_all(texts::export().as_bytes()).unwrap();
    let output = node.wait_with_output().unwrap();
    assert!(output.status.success(), "{SCRIPT} failed");
    serde_json::from_slice(&output.stdout).unwrap()
}
