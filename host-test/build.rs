//! Builds the component that the library embeds: the guest with cargo, then the component around it with
//! `wit-component`.

use std::env;
use std::error::Error;
use std::ffi::OsString;
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::process::Command;

use wasm_metadata::{AddMetadata, AddMetadataField};
use wit_component::ComponentEncoder;

const TARGET: &str = "wasm32-unknown-unknown";
const GUEST: &str = "loop-guard-guest";

fn main() {
    if let Err(error) = run() {
        println!("cargo::error={error}");
    }
}

fn run() -> Result<(), Box<dyn Error>> {
    let host = PathBuf::from(variable("CARGO_MANIFEST_DIR")?);
    let workspace = host.parent().ok_or("this package has left its workspace")?;
    for input in
        ["guest/src", "guest/examples", "guest/Cargo.toml", "guest/rustflags", "wit", "Cargo.toml", "Cargo.lock"]
    {
        // From this package on: checkouts that share a target folder would look at each other's files.
        println!("cargo::rerun-if-changed=../{input}");
    }
    let out = PathBuf::from(variable("OUT_DIR")?);
    require_target()?;
    let built = build_guest(workspace, &out)?;
    fs::write(out.join("loop_guard.wasm"), with_metadata(&component(&built.join("loop_guard_guest.wasm"))?)?)?;
    fs::write(out.join("stub.wasm"), component(&built.join("examples/stub.wasm"))?)?;
    Ok(())
}

/// The component around a core module.
fn component(core_module: &Path) -> Result<Vec<u8>, Box<dyn Error>> {
    Ok(ComponentEncoder::default().validate(true).module(&fs::read(core_module)?)?.encode()?)
}

fn variable(name: &str) -> Result<OsString, String> {
    env::var_os(name).ok_or_else(|| format!("cargo has not set {name}"))
}

/// The folder that the compiler names when it is asked for it.
fn folder_of_rustc(question: &[&str]) -> Result<PathBuf, Box<dyn Error>> {
    let answer = Command::new(variable("RUSTC")?).args(question).output()?;
    Ok(PathBuf::from(String::from_utf8(answer.stdout)?.trim()))
}

/// Without this check a missing target shows as a wall of "can't find crate for `core`".
fn require_target() -> Result<(), Box<dyn Error>> {
    if !folder_of_rustc(&["--print", "target-libdir", "--target", TARGET])?.is_dir() {
        return Err(format!(
            "the Rust target {TARGET} is not installed: run `make setup`, or guest/setup-wasm.sh, in the checkout"
        )
        .into());
    }
    Ok(())
}

/// Builds the guest, and the stub that tests and benchmarks use, and says in which folder their core modules are.
fn build_guest(workspace: &Path, out: &Path) -> Result<PathBuf, Box<dyn Error>> {
    // OUT_DIR is TARGET_FOLDER/PROFILE/build/PACKAGE/out. Core modules have no hash in their names: checkouts that share a target folder
    // would take each other's.
    let target_folder = out.ancestors().nth(4).ok_or("OUT_DIR is not inside a target folder")?;
    let mut hasher = DefaultHasher::new();
    workspace.hash(&mut hasher);
    let target_folder = &target_folder.join("guest-of").join(format!("{:016x}", hasher.finish()));
    let status = Command::new(variable("CARGO")?)
        .current_dir(workspace)
        .args([
            "build",
            "--quiet",
            "--package",
            GUEST,
            "--lib",
            "--example",
            "stub",
            "--profile",
            "guest",
            "--target",
            TARGET,
            "--target-dir",
        ])
        .arg(target_folder)
        // What is meant for the host crates must not reach the guest: flags, and clippy in place of the compiler.
        .env_remove("RUSTFLAGS")
        .env_remove("RUSTC_WORKSPACE_WRAPPER")
        .env("CARGO_ENCODED_RUSTFLAGS", guest_flags(workspace)?)
        .status()?;
    if !status.success() {
        return Err(format!("the guest does not build; `cargo build -p {GUEST} --target {TARGET}` shows why").into());
    }
    Ok(target_folder.join(TARGET).join("guest"))
}

/// The flags in `guest/rustflags`, and those that depend on the machine.
///
/// SIMD is what hashing and comparing are fast with; every host that runs components has it. Inlining less than by default keeps the
/// component below 160 KiB: with a threshold of 150 it is 10 % larger, and a short call 5 to 10 % faster. Panic messages contain paths
/// of source files: the same component on every machine needs the same paths.
fn guest_flags(workspace: &Path) -> Result<OsString, Box<dyn Error>> {
    let cargo_home = match env::var_os("CARGO_HOME") {
        Some(folder) => PathBuf::from(folder),
        None => env::home_dir().ok_or("there is no home folder, and CARGO_HOME is not set")?.join(".cargo"),
    };
    let sysroot = folder_of_rustc(&["--print", "sysroot"])?;
    let chosen = fs::read_to_string(workspace.join("guest/rustflags"))?;
    let mut flags = OsString::from(chosen.split_whitespace().collect::<Vec<_>>().join("\x1f"));
    for (from, to) in [(workspace, "loop-guard"), (&cargo_home, "cargo"), (&sysroot, "rust")] {
        flags.push("\x1f--remap-path-prefix=");
        flags.push(from);
        flags.push("=");
        flags.push(to);
    }
    Ok(flags)
}

/// Adds the name, version, licence and source to a component, in place of the names of all its parts, which only debuggers read.
fn with_metadata(component: &[u8]) -> Result<Vec<u8>, Box<dyn Error>> {
    let mut metadata = AddMetadata::default();
    metadata.name = AddMetadataField::Clear;
    let component = &metadata.to_wasm(component)?;
    metadata.name = AddMetadataField::Set("loop-guard".to_owned());
    metadata.version = AddMetadataField::Set(wasm_metadata::Version::new(env!("CARGO_PKG_VERSION").to_owned()));
    metadata.licenses = AddMetadataField::Set(env!("CARGO_PKG_LICENSE").parse()?);
    metadata.source = AddMetadataField::Set(env!("CARGO_PKG_REPOSITORY").parse()?);
    Ok(metadata.to_wasm(component)?)
}
