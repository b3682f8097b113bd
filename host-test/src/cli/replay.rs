//! `loop-guard replay`: what would the guard have done to recorded sessions?

use std::io::{BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result, bail};
use clap::ValueEnum;
use comfy_table::presets::NOTHING;
use comfy_table::{CellAlignment, Table};
use loop_guard::recorded::{Recording, SkippedLine, dsh};
use loop_guard::replay::{Moment, Replay, ReplayedCall, Totals, replay};
use loop_guard::{Decision, Notice, Status};
use serde::Serialize;

use super::config::ConfigFile;
use super::text::{BAD, FAINT, GOOD, GUARD, STRONG, count, one_line, styled};
use super::{Source, open};

/// Replay recorded sessions, and show what the guard would have done
#[derive(clap::Args)]
#[command(after_help = "\
Files are session.jsonl of DeepSeek Harness, one agent each. A session goes on as it was recorded: where the guard \
would have denied a call, the summary says that the session diverges from there. An ask counts as approved.

Examples:
  loop-guard replay session.jsonl
  loop-guard replay --config guard.yaml session.jsonl child.jsonl
  loop-guard replay --output json *.jsonl | jq 'select(.event == \"summary\" and .longest_run > 4)'

Exit status: 0 if all files were replayed; 2 if one could not be, or, with --strict, has a bad line.")]
pub struct Args {
    /// Recorded sessions
    #[arg(required = true)]
    files: Vec<PathBuf>,
    /// The configuration, in JSON, YAML or TOML [default: the guard's defaults]
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// What to print
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    output: Output,
    /// Fail at the first line that cannot be read, instead of leaving it out
    #[arg(long)]
    strict: bool,
}

#[derive(Clone, Copy, ValueEnum)]
enum Output {
    /// A timeline and a summary, for people
    Text,
    /// A JSON object a line: one for each notice, denial and ask, and a summary for each session
    Json,
}

/// A session that was replayed.
pub struct Replayed {
    /// Where it was recorded.
    pub file: String,
    pub recording: Recording,
    pub replay: Replay,
}

pub fn run(args: &Args, source: &Source, out: &mut dyn Write) -> Result<ExitCode> {
    let config = args.config.as_deref().map(ConfigFile::read).transpose()?;
    let component = source.load()?;
    let mut sessions = Vec::new();
    // Nothing is printed before all is replayed: bad input gives no half of a result.
    for path in &args.files {
        let file = path.display().to_string();
        let recording = load(path, args.strict)?;
        let guard = match &config {
            Some(config) => config.guard(&component)?,
            None => component.guard("{}")?,
        };
        let replay = replay(&recording, &guard).with_context(|| file.clone())?;
        sessions.push(Replayed { file, recording, replay });
    }
    match args.output {
        Output::Json => sessions.iter().try_for_each(|session| json(session, out))?,
        Output::Text => {
            sessions.iter().try_for_each(|session| timeline(session, out))?;
            summary(&sessions, out)?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn load(path: &Path, strict: bool) -> Result<Recording> {
    let shown = path.display();
    let input = open(path)?;
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let recording = dsh::read(BufReader::new(input), &name).with_context(|| shown.to_string())?;
    for SkippedLine { line, reason } in &recording.skipped {
        if strict {
            bail!("{shown}:{line}: {reason}");
        }
        writeln!(anstream::stderr(), "{} {shown}:{line}: left out: {reason}", styled(GUARD, "warning:"))?;
    }
    Ok(recording)
}

/// A line of `--output json`.
#[derive(Serialize)]
#[serde(tag = "event", rename_all = "lowercase")]
enum Line<'a> {
    Notice {
        #[serde(flatten)]
        at: Place<'a>,
        summary: &'a str,
        text: &'a str,
    },
    Denied {
        #[serde(flatten)]
        at: Place<'a>,
        reason: &'a str,
        text: &'a str,
    },
    Asked {
        #[serde(flatten)]
        at: Place<'a>,
        reason: &'a str,
        text: &'a str,
    },
    Summary {
        session: &'a str,
        file: &'a str,
        calls: usize,
        notices: usize,
        denied: usize,
        asked: usize,
        longest_run: u32,
        diverged: Option<&'a str>,
        skipped_lines: usize,
    },
}

/// The call that a line is about.
#[derive(Clone, Copy, Serialize)]
struct Place<'a> {
    session: &'a str,
    agent: &'a str,
    turn: u32,
    step: u32,
    call: &'a str,
    tool: &'a str,
}

fn json(Replayed { file, recording, replay }: &Replayed, out: &mut dyn Write) -> Result<()> {
    let mut print = |line: &Line<'_>| -> Result<()> {
        serde_json::to_writer(&mut *out, line)?;
        Ok(writeln!(out)?)
    };
    let (session, agent) = (&*recording.session, &*recording.agent);
    for moment in &replay.moments {
        let Moment::Call(ReplayedCall { turn, step, call, decision, notices, .. }) = moment else { continue };
        let at = Place { session, agent, turn: *turn, step: *step, call: &call.id, tool: &call.tool };
        match decision {
            Decision::Allow => {}
            Decision::Deny(reason) => print(&Line::Denied { at, reason, text: reason })?,
            Decision::Ask(reason) => print(&Line::Asked { at, reason, text: reason })?,
        }
        for Notice { summary, text, .. } in notices {
            print(&Line::Notice { at, summary, text })?;
        }
    }
    let Totals { calls, notices, denied, asked, longest_run, ref diverged } = replay.totals;
    let (diverged, skipped_lines) = (diverged.as_deref(), recording.skipped.len());
    print(&Line::Summary { session, file, calls, notices, denied, asked, longest_run, diverged, skipped_lines })
}

/// Shows a session call by call.
pub fn timeline(Replayed { file, recording, replay }: &Replayed, out: &mut dyn Write) -> Result<()> {
    let session = one_line(&recording.session, 60);
    writeln!(out, "{} {session} {}", styled(STRONG, "session"), styled(FAINT, format!("({file})")))?;
    for moment in &replay.moments {
        match moment {
            Moment::Prompt { turn, step } => {
                writeln!(out, "{} {}", place(*turn, *step), styled(FAINT, "── a person's message"))?;
            }
            Moment::Call(call) => call_line(call, out)?,
        }
    }
    writeln!(out)?;
    Ok(())
}

fn call_line(replayed: &ReplayedCall, out: &mut dyn Write) -> Result<()> {
    let mark = match replayed.status {
        Some(Status::Succeeded) => styled(GOOD, "✓"),
        Some(Status::Failed) => styled(BAD, "✗"),
        Some(Status::Denied) => styled(BAD, "⊘"),
        None => styled(FAINT, "?"),
    };
    let tool = one_line(&replayed.call.tool, 40);
    let arguments = styled(FAINT, one_line(&replayed.call.arguments, 80));
    let run = if replayed.run > 1 { styled(STRONG, format!(" × {}", replayed.run)) } else { String::new() };
    writeln!(out, "{} {mark} {tool}{run} {arguments}", place(replayed.turn, replayed.step))?;
    match &replayed.decision {
        Decision::Allow => {}
        Decision::Deny(reason) => writeln!(out, "{INDENT}{} {}", styled(BAD, "denied:"), one_line(reason, 200))?,
        Decision::Ask(reason) => {
            writeln!(out, "{INDENT}{} {}", styled(GUARD, "asks a person:"), one_line(reason, 200))?
        }
    }
    for Notice { summary, text, .. } in &replayed.notices {
        writeln!(out, "{INDENT}{} {}", styled(GUARD, "reminds the model:"), styled(STRONG, one_line(summary, 200)))?;
        for line in text.lines() {
            writeln!(out, "{INDENT}  {}", styled(FAINT, one_line(line, 200)))?;
        }
    }
    Ok(())
}

/// Below the tool of a call.
const INDENT: &str = "          ";

fn place(turn: u32, step: u32) -> String {
    styled(FAINT, format!("{:>7}", format!("{turn}.{step}")))
}

/// Shows the figures of all sessions.
pub fn summary(sessions: &[Replayed], out: &mut dyn Write) -> Result<()> {
    let mut table = Table::new();
    table.load_preset(NOTHING).set_header([
        "session",
        "calls",
        "longest run",
        "notices",
        "denied",
        "asked",
        "diverges at",
        "lines left out",
    ]);
    for Replayed { recording, replay, .. } in sessions {
        let Totals { calls, notices, denied, asked, longest_run, diverged } = &replay.totals;
        table.add_row([
            one_line(&recording.session, 40),
            calls.to_string(),
            longest_run.to_string(),
            notices.to_string(),
            denied.to_string(),
            asked.to_string(),
            diverged.as_deref().map_or_else(|| "–".to_owned(), |call| one_line(call, 30)),
            recording.skipped.len().to_string(),
        ]);
    }
    for number in [1, 2, 3, 4, 5, 7] {
        if let Some(column) = table.column_mut(number) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    writeln!(out, "{}", table.trim_fmt())?;
    let total = |figure: fn(&Totals) -> usize| sessions.iter().map(|session| figure(&session.replay.totals)).sum();
    writeln!(
        out,
        "{}: {}, {}, {} denied, {} asked",
        count(sessions.len(), "session"),
        count(total(|totals| totals.calls), "call"),
        count(total(|totals| totals.notices), "notice"),
        total(|totals| totals.denied),
        total(|totals| totals.asked),
    )?;
    Ok(())
}
