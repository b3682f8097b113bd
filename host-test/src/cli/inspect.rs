//! `loop-guard inspect`: what is in a component?

use std::fs;
use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, Result};
use loop_guard::{CONTRACT, Component, Inspection};
use sha2::{Digest, Sha256};
use wasm_metadata::{Metadata, Payload};

use super::text::{BAD, GOOD, styled};
use super::{Source, read};

/// Show what is in a component: its world, size, digest and metadata
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  loop-guard inspect
  loop-guard inspect other.wasm
  loop-guard inspect --save loop-guard.wasm

Exit status: 0 if it is a component, whether or not it implements the contract, 2 if it is none.")]
pub struct Args {
    /// The component [default: the one that is built in]
    file: Option<PathBuf>,
    /// Write the component to a file, for hosts in other languages
    #[arg(long, value_name = "FILE")]
    save: Option<PathBuf>,
}

pub fn run(args: &Args, source: &Source, out: &mut dyn Write) -> Result<ExitCode> {
    let path = args.file.as_ref().or(source.0.as_ref());
    let bytes = match path {
        Some(path) => read(path)?,
        None => Component::embedded_bytes().to_vec(),
    };
    let name = path.map_or_else(|| "the built-in component".to_owned(), |path| path.display().to_string());
    let Inspection { imports, exports, contract } = Inspection::of(&bytes).with_context(|| name.clone())?;
    if let Some(path) = &args.save {
        fs::write(path, &bytes).with_context(|| format!("cannot write {}", path.display()))?;
    }
    let mut row = |label: &str, value: &str| writeln!(out, "{label:<10} {value}");
    row("component", &name)?;
    row("size", &format!("{} bytes", bytes.len()))?;
    row("sha256", &hex(&Sha256::digest(&bytes)))?;
    row(
        "contract",
        &match contract {
            Ok(()) => styled(GOOD, format!("implements {}", CONTRACT.join(" and "))),
            Err(error) => styled(BAD, error),
        },
    )?;
    row("imports", if imports.is_empty() { "nothing" } else { "" })?;
    for import in imports {
        row("", &import)?;
    }
    row("exports", if exports.is_empty() { "nothing" } else { "" })?;
    for (interface, functions) in exports {
        row("", &interface)?;
        for function in functions {
            row("", &format!("  {function}"))?;
        }
    }
    if let Payload::Component { metadata, .. } = Payload::from_binary(&bytes)? {
        for (label, value) in described(&metadata) {
            row(label, &value)?;
        }
    }
    if let Some(path) = &args.save {
        row("saved", &path.display().to_string())?;
    }
    Ok(ExitCode::SUCCESS)
}

fn described(metadata: &Metadata) -> Vec<(&'static str, String)> {
    let mut rows = Vec::new();
    rows.extend(metadata.name.clone().map(|name| ("name", name)));
    rows.extend(metadata.version.as_ref().map(|version| ("version", version.to_string())));
    rows.extend(metadata.licenses.as_ref().map(|licences| ("licence", licences.to_string())));
    rows.extend(metadata.source.as_ref().map(|source| ("source", source.to_string())));
    for (field, tools) in metadata.producers.iter().flat_map(|producers| producers.iter()) {
        let tools: Vec<_> =
            tools.iter().map(|(tool, version)| format!("{tool} {version}").trim_end().to_owned()).collect();
        rows.push(("made by", format!("{field}: {}", tools.join(", "))));
    }
    rows
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
