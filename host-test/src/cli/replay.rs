//! `loop-guard replay`: what would the guard have done to recorded sessions?

mod json;
mod table;
mod timeline;

use std::io::{self, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Result;
use clap::ValueEnum;
use loop_guard::recorded::{Agent, Recording};
use loop_guard::replay::{Replay, Totals, Watcher};

pub use self::table::table;
pub use self::timeline::Timeline;

use self::json::Json;
use super::advice::Advisor;
use super::config::ConfigFile;
use super::report::{Collector, Report};
use super::text::{BAD, count, styled};
use super::{Source, corpus};

/// Replay recorded sessions, and show what the guard would have done
#[derive(clap::Args)]
#[command(after_help = help())]
pub struct Args {
    #[command(flatten)]
    corpus: corpus::Args,
    /// The configuration, in JSON, YAML or TOML [default: the guard's defaults]
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// What to print
    #[arg(long, value_name = "OUTPUT", default_value = "text")]
    output: Output,
    /// Show every call in the timelines, instead of folding the stretches where nothing happens
    #[arg(long)]
    full: bool,
    /// Write a page as well, with charts and a timeline of each session
    #[arg(long, value_name = "FILE.html")]
    report: Option<PathBuf>,
}

fn help() -> String {
    format!(
        "\
A session goes on as it was recorded: where the guard would have denied a call, the summary says that the session \
diverges from there. An ask counts as approved. What a fork copied from its parent is left out if both are named. \
Lines that were left out count with the first agent of their file. Nothing is sent anywhere.

{}

Examples:
  loop-guard replay session.jsonl
  loop-guard replay ~/.claude/projects ~/.codex/sessions --report report.html
  loop-guard replay --config guard.yaml 'logs/**/*.jsonl.zst'
  zcat session.jsonl.gz | loop-guard replay --output json - | jq 'select(.event == \"summary\" and .longest_run > 4)'

Exit status: 0 if all files were replayed; 2 if one that was named could not be, or, with --strict, has a bad line.",
        corpus::formats()
    )
}

#[derive(Clone, Copy, ValueEnum)]
enum Output {
    /// A timeline of each session and a table, for people
    Text,
    /// A JSON object a line: one for each notice, denial and ask, and a summary for each agent of a session
    Json,
}

/// An agent that was replayed.
#[derive(Clone)]
pub struct Row {
    /// Where it was recorded.
    pub file: String,
    pub format: &'static str,
    pub agent: Agent,
    pub totals: Totals,
    /// The lines of the file that could not be read; they stand with the first agent of the file.
    pub skipped: usize,
}

pub fn rows(recording: &Recording, Replay { agents, skipped }: Replay) -> Vec<Row> {
    let (file, format) = (recording.input().name(), recording.format().name);
    let row = |(number, (agent, totals))| Row {
        file: file.to_owned(),
        format,
        agent,
        totals,
        skipped: if number == 0 { skipped } else { 0 },
    };
    agents.into_iter().enumerate().map(row).collect()
}

pub fn run(args: &Args, source: &Source, out: &mut dyn Write) -> Result<ExitCode> {
    let config = args.config.as_deref().map(ConfigFile::read).transpose()?;
    let component = source.load()?;
    let guard = || ConfigFile::guard_or_default(config.as_ref(), &component);
    let first = guard()?;
    let mut corpus = args.corpus.open(true)?;
    let mut report = Report::wanted(args.report.as_deref(), &corpus, &first, Advisor::new(config.as_ref())?)?;
    let wanted = report.is_some();
    // Who closes the output still gets the page.
    let out = &mut Lenient { out, goes_on: wanted, closed: false };
    let mut all = Vec::new();
    corpus.each(
        out,
        |job, out| {
            let guard = guard()?;
            let mut printer = match args.output {
                Output::Text => Printer::Text(Timeline::new(job.recording, args.full, out)),
                Output::Json => Printer::Json(Json::new(out)),
            };
            let mut collector = Collector::new(wanted, &guard, printer.watcher());
            let replay = job.replay(&guard, &mut collector)?;
            let collected = collector.collected()?;
            let rows = rows(job.recording, replay);
            match printer {
                Printer::Text(timeline) => timeline.end()?,
                Printer::Json(json) => json.summaries(&rows)?,
            }
            Ok((rows, collected))
        },
        |(rows, collected)| {
            if let Some((report, collected)) = report.as_mut().zip(collected) {
                report.add(rows.clone(), collected);
            }
            all.extend(rows);
        },
    )?;
    if let Output::Text = args.output {
        table(&all, out)?;
    }
    report.map(Report::finish).transpose()?;
    Ok(status(corpus.failed())?)
}

/// Output that goes on when nobody reads it any more, if there is something else to make.
struct Lenient<'a> {
    out: &'a mut dyn Write,
    goes_on: bool,
    closed: bool,
}

impl Write for Lenient<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.closed {
            return Ok(bytes.len());
        }
        match self.out.write(bytes) {
            Err(error) if self.goes_on && error.kind() == io::ErrorKind::BrokenPipe => {
                self.closed = true;
                Ok(bytes.len())
            }
            written => written,
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        if self.closed { Ok(()) } else { self.out.flush() }
    }
}

/// Whoever prints the replay of a recording.
enum Printer<'a> {
    Text(Timeline<'a>),
    Json(Json<'a>),
}

impl Printer<'_> {
    fn watcher(&mut self) -> &mut dyn Watcher {
        match self {
            Self::Text(timeline) => timeline,
            Self::Json(json) => json,
        }
    }
}

/// Files that were left out make the whole incomplete.
pub fn status(failed: usize) -> io::Result<ExitCode> {
    if failed == 0 {
        return Ok(ExitCode::SUCCESS);
    }
    writeln!(
        anstream::stderr(),
        "{} {} could not be replayed, see above",
        styled(BAD, "error:"),
        count(failed, "file")
    )?;
    Ok(ExitCode::from(2))
}
