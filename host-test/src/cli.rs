//! The commands of `loop-guard`, their arguments and their exit status.

mod advice;
mod check;
mod config;
mod corpus;
mod demo;
mod in_order;
mod inspect;
mod replay;
mod report;
mod text;
mod tune;

use std::fs::File;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result, bail};
use clap::{Parser, Subcommand};
use loop_guard::Component;

const EXAMPLES: &str = "\
Examples:
  loop-guard demo
      See what the guard does, on sessions that are built in.
  loop-guard replay session.jsonl
      What would the guard have done to a recorded session?
  loop-guard tune ~/.claude/projects
      Which thresholds and quotas fit the sessions you have?
  loop-guard replay --config guard.yaml --output json *.jsonl | jq 'select(.event == \"denied\")'
      The same for many, under a configuration of your own, for other programs.
  loop-guard config guard.yaml
      Is this configuration valid, and what does it mean?
  loop-guard check sessions/*.yaml
      Run scripted sessions, which say what they expect.
  loop-guard inspect other.wasm
      What is in this component?

Exit status: 0 if all is well, 1 if a scripted session is not answered as expected, 2 if the input is bad.";

/// Keeps AI agents from wasting their calls in loops: replays sessions through the guard.
#[derive(Parser)]
#[command(name = "loop-guard", version, after_help = EXAMPLES, max_term_width = 100)]
struct Cli {
    /// Use this component instead of the one that is built in
    #[arg(long, global = true, value_name = "FILE")]
    component: Option<PathBuf>,
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Show what the guard does, on recorded sessions that are built in
    #[command(after_help = "Examples:\n  loop-guard demo\n  loop-guard demo | less -R")]
    Demo,
    Replay(replay::Args),
    Tune(tune::Args),
    Config(config::Args),
    Check(check::Args),
    Inspect(inspect::Args),
}

/// The component to use: one in a file, or the one that is built in.
struct Source(Option<PathBuf>);

pub fn main() -> ExitCode {
    let cli = Cli::parse();
    match run(cli, &mut anstream::stdout().lock()) {
        Ok(status) => status,
        // Whoever reads the output has seen enough.
        Err(error) if is_broken_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            let _ = writeln!(anstream::stderr(), "{} {error:#}", text::styled(text::BAD, "error:"));
            ExitCode::from(2)
        }
    }
}

fn run(cli: Cli, out: &mut dyn Write) -> Result<ExitCode> {
    let source = Source(cli.component);
    let status = match cli.command {
        Command::Demo => demo::run(&source, out),
        Command::Replay(args) => replay::run(&args, &source, out),
        Command::Tune(args) => tune::run(&args, &source, out),
        Command::Config(args) => config::run(&args, &source, out),
        Command::Check(args) => check::run(&args, &source, out),
        Command::Inspect(args) => inspect::run(&args, &source, out),
    }?;
    out.flush()?;
    Ok(status)
}

fn is_broken_pipe(error: &anyhow::Error) -> bool {
    let kind = error.downcast_ref::<io::Error>().map(io::Error::kind);
    let kind = kind.or_else(|| error.downcast_ref::<serde_json::Error>()?.io_error_kind());
    kind == Some(io::ErrorKind::BrokenPipe)
}

impl Source {
    fn load(&self) -> Result<Component> {
        match &self.0 {
            None => Ok(Component::embedded_cached()?),
            Some(path) => Component::from_bytes_cached(&read(path)?).with_context(|| path.display().to_string()),
        }
    }
}

/// Opens a file; the error says which, and what is wrong with it.
fn open(path: &Path) -> Result<File> {
    if path.is_dir() {
        bail!("{} is a directory: name a file", path.display());
    }
    File::open(path).with_context(|| format!("cannot read {}", path.display()))
}

fn read(path: &Path) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    open(path)?.read_to_end(&mut bytes).with_context(|| format!("cannot read {}", path.display()))?;
    Ok(bytes)
}

/// Reads a file of UTF-8 text.
fn read_text(path: &Path) -> Result<String> {
    let text = String::from_utf8(read(path)?).with_context(|| format!("{} is not UTF-8 text", path.display()))?;
    if text.trim().is_empty() {
        bail!("{} is empty", path.display());
    }
    Ok(text)
}
