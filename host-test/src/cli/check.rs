//! `loop-guard check`: runs scripted sessions.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result, anyhow};
use clap::ValueEnum;
use loop_guard::Component;
use loop_guard::script::{Mismatch, Script, bless};
use serde::Serialize;

use super::text::{BAD, FAINT, GOOD, STRONG, count, plain_json, styled};
use super::{Source, read_text};

/// Run scripted sessions, and compare each answer with the expected one
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  loop-guard check sessions/*.yaml
  loop-guard check --bless sessions/my-new-session.yaml
  loop-guard check --export json sessions/*.yaml > sessions.json

Exit status: 0 if every answer is the expected one, 1 if one is not, 2 if a file is not a scripted session.")]
pub struct Args {
    /// Scripted sessions, in YAML
    #[arg(required = true)]
    files: Vec<PathBuf>,
    /// Write the sessions to standard output for hosts in other languages, instead of running them
    #[arg(long, value_name = "FORMAT")]
    export: Option<Export>,
    /// Rewrite the expectations that are not met to what was answered
    #[arg(long, conflicts_with = "export")]
    bless: bool,
}

#[derive(Clone, Copy, ValueEnum)]
enum Export {
    /// One JSON array, with arguments and configurations as raw text
    Json,
}

struct Session<'a> {
    path: &'a Path,
    yaml: String,
    script: Script,
}

/// A session as hosts in other languages replay it.
#[derive(Serialize)]
struct Named<'a> {
    name: String,
    #[serde(flatten)]
    script: &'a Script,
}

pub fn run(args: &Args, source: &Source, out: &mut dyn Write) -> Result<ExitCode> {
    // All are read before the first is run: bad input gives no half of a result.
    let sessions = args.files.iter().map(|path| load(path)).collect::<Result<Vec<_>>>()?;
    if let Some(Export::Json) = args.export {
        let exported: Vec<_> =
            sessions.iter().map(|session| Named { name: name(session.path), script: &session.script }).collect();
        writeln!(out, "{}", plain_json(&serde_json::to_string_pretty(&exported)?))?;
        return Ok(ExitCode::SUCCESS);
    }
    let component = source.load()?;
    let mut failed = 0;
    for session in &sessions {
        failed += usize::from(!check(session, &component, args.bless, out)?);
    }
    let verdict =
        if failed == 0 { styled(GOOD, "all as expected") } else { styled(BAD, format!("{failed} not as expected")) };
    writeln!(out, "{}: {verdict}", count(sessions.len(), "session"))?;
    Ok(if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn load(path: &Path) -> Result<Session<'_>> {
    let yaml = read_text(path)?;
    let script = Script::parse(&yaml).map_err(|error| anyhow!("{}:{error}", path.display()))?;
    Ok(Session { path, yaml, script })
}

fn name(path: &Path) -> String {
    path.file_stem().unwrap_or_default().to_string_lossy().into_owned()
}

/// Runs one session, and says whether it went as expected, or was blessed.
fn check(session: &Session<'_>, component: &Component, bless: bool, out: &mut dyn Write) -> Result<bool> {
    let path = session.path.display();
    let events = styled(FAINT, format!("({})", count(session.script.events.len(), "event")));
    match session.script.run(component) {
        Ok(mismatches) if mismatches.is_empty() => {
            writeln!(out, "{} {path} {events}", styled(GOOD, "ok"))?;
            Ok(true)
        }
        Ok(mismatches) if bless => {
            rewrite(session, &mismatches)?;
            writeln!(out, "{} {path}: {}", styled(STRONG, "rewritten"), count(mismatches.len(), "expectation"))?;
            Ok(true)
        }
        Ok(mismatches) => {
            for Mismatch { line, diff, .. } in &mismatches {
                writeln!(out, "{} {path}:{line}: expected (-) and actual (+) differ", styled(BAD, "failed"))?;
                for line in diff.lines() {
                    let style = match line.as_bytes().first() {
                        Some(b'-') => BAD,
                        Some(b'+') => GOOD,
                        _ => FAINT,
                    };
                    writeln!(out, "  {}", styled(style, line))?;
                }
            }
            Ok(false)
        }
        Err(failure) => {
            writeln!(out, "{} {path}: {failure}", styled(BAD, "failed"))?;
            Ok(false)
        }
    }
}

fn rewrite(session: &Session<'_>, mismatches: &[Mismatch]) -> Result<()> {
    let path = session.path.display();
    let yaml = bless(&session.yaml, mismatches).map_err(|error| anyhow!("{path}:{error}"))?;
    fs::write(session.path, yaml).with_context(|| format!("cannot write {path}"))
}
