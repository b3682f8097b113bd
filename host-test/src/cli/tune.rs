//! `loop-guard tune`: which thresholds and quotas fit the sessions that were recorded?

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Result;
use clap::ValueEnum;
use comfy_table::presets::NOTHING;
use comfy_table::{CellAlignment, Table};
use loop_guard::tune::{Study, Sweep, ToolUse};
use serde::Serialize;
use serde_json::value::RawValue;

use super::advice::Advisor;
use super::config::ConfigFile;
use super::replay::{rows, status};
use super::report::{Collector, Report};
use super::text::{FAINT, STRONG, count, one_line, plain_json, styled};
use super::{Source, corpus};

/// The limits that the table of tools compares.
const LIMITS: [u32; 6] = [1, 2, 3, 4, 5, 8];

/// How many tools the table shows.
const SHOWN_TOOLS: usize = 20;

/// Replay recorded sessions under many thresholds and quotas, and advise which to take
#[derive(clap::Args)]
#[command(after_help = help())]
pub struct Args {
    #[command(flatten)]
    corpus: corpus::Args,
    /// A configuration that is to hold in all but its thresholds [default: the guard's defaults]
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// What to print
    #[arg(long, value_name = "OUTPUT", default_value = "text")]
    output: Output,
    /// Write a page as well, with charts and a timeline of each session
    #[arg(long, value_name = "FILE.html")]
    report: Option<PathBuf>,
}

fn help() -> String {
    format!(
        "\
Streaks of equal calls are split by their recorded results: one and the same (the agent was stuck), or changing ones (it \
polled). The output ends with a configuration that can be pasted, and says what it is based on. Nothing is sent anywhere.

{}

Examples:
  loop-guard tune ~/.claude/projects ~/.codex/sessions
  loop-guard tune --report tune.html 'logs/**/*.jsonl'
  loop-guard tune --output json logs | jq -s 'map(select(.event == \"threshold\"))'

Exit status: 0 if all files were read; 2 if one that was named could not be, or, with --strict, has a bad line.",
        corpus::formats()
    )
}

#[derive(Clone, Copy, ValueEnum)]
enum Output {
    /// Tables and a configuration in YAML, for people
    Text,
    /// A JSON object a line: one for each threshold, one for each tool, and the configuration
    Json,
}

pub fn run(args: &Args, source: &Source, out: &mut dyn Write) -> Result<ExitCode> {
    let config = args.config.as_deref().map(ConfigFile::read).transpose()?;
    let component = source.load()?;
    let guard = || ConfigFile::guard_or_default(config.as_ref(), &component);
    let first = guard()?;
    let advisor = || Advisor::new(config.as_ref());
    let mut corpus = args.corpus.open(false)?;
    let mut report = Report::wanted(args.report.as_deref(), &corpus, &first, advisor()?)?;
    let (wanted, advisor) = (report.is_some(), advisor()?);
    let mut study = Study::default();
    corpus.each(
        &mut io::sink(),
        |job, _| {
            let guard = guard()?;
            let mut watcher = Study::watcher();
            let mut collector = Collector::new(wanted, &guard, &mut watcher);
            let replay = job.replay(&guard, &mut collector)?;
            let collected = collector.collected()?;
            Ok((watcher.study(), rows(job.recording, replay), collected))
        },
        |(seen, rows, collected)| {
            study.add(seen);
            if let Some((report, collected)) = report.as_mut().zip(collected) {
                report.add(rows, collected);
            }
        },
    )?;
    match args.output {
        Output::Text => text(&study, &advisor, out)?,
        Output::Json => json(&study, &advisor, out)?,
    }
    report.map(Report::finish).transpose()?;
    Ok(status(corpus.failed())?)
}

fn text(study: &Study, advisor: &Advisor, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "{}", styled(STRONG, "Reminders, by the first threshold"))?;
    thresholds(&study.sweep(), out)?;
    let words = "\
A session, or a notice, is stuck if the repeated calls had one and the same result, polling if their results changed. Needless notices come with the last call of \
a stuck streak: the agent helps itself. Calls saved came after a stuck notice, in the same streak.";
    writeln!(out, "{}\n", styled(FAINT, words))?;
    writeln!(out, "{}", styled(STRONG, "Calls of a tool in one step, and how many each limit would deny"))?;
    tools(&study.tools(), out)?;
    if study.stepless_calls() > 0 {
        let words =
            format!("{} belong to no recorded step, and are not counted here.", count(study.stepless_calls(), "call"));
        writeln!(out, "{}", styled(FAINT, words))?;
    }
    writeln!(out, "\n{}", styled(STRONG, "A configuration for these sessions"))?;
    write!(out, "{}", advisor.yaml(study))
}

fn thresholds(sweeps: &[Sweep], out: &mut dyn Write) -> io::Result<()> {
    let mut table = Table::new();
    table.load_preset(NOTHING).set_header([
        "threshold",
        "sessions reminded",
        "stuck",
        "polling",
        "notices",
        "stuck",
        "polling",
        "needless",
        "calls saved",
    ]);
    for sweep in sweeps {
        let Sweep {
            threshold,
            stuck_sessions,
            polling_sessions,
            stuck_notices,
            polling_notices,
            needless_notices,
            saved,
        } = *sweep;
        table.add_row([
            threshold as usize,
            sweep.sessions(),
            stuck_sessions,
            polling_sessions,
            sweep.notices(),
            stuck_notices,
            polling_notices,
            needless_notices,
            saved,
        ]);
    }
    right(&mut table, 0);
    writeln!(out, "{}", table.trim_fmt())
}

fn tools(tools: &[ToolUse], out: &mut dyn Write) -> io::Result<()> {
    let (bursts, single): (Vec<_>, Vec<_>) = tools.iter().partition(|tool| tool.most > 1);
    let shown = bursts.iter().take(SHOWN_TOOLS);
    if !bursts.is_empty() {
        let mut table = Table::new();
        let limits = LIMITS.iter().map(|limit| format!("denied at {limit}"));
        let header = ["tool", "calls", "steps", "median", "99 %", "most"].map(str::to_owned).into_iter().chain(limits);
        table.load_preset(NOTHING).set_header(header);
        for tool in shown {
            let numbers = [tool.calls, tool.steps, tool.median as usize, tool.most_of_99 as usize, tool.most as usize];
            let denied = LIMITS.iter().map(|limit| tool.denied_at(*limit));
            let numbers = numbers.into_iter().chain(denied).map(|number| number.to_string());
            table.add_row(std::iter::once(one_line(&tool.tool, 40)).chain(numbers));
        }
        right(&mut table, 1);
        writeln!(out, "{}", table.trim_fmt())?;
    }
    let more = bursts.len().saturating_sub(SHOWN_TOOLS);
    if more > 0 {
        writeln!(out, "{}", styled(FAINT, format!("{} more; --output json has all", count(more, "tool"))))?;
    }
    if !single.is_empty() {
        let words = format!("{} never called twice in one step", count(single.len(), "tool"));
        writeln!(out, "{}", styled(FAINT, words))?;
    }
    Ok(())
}

fn right(table: &mut Table, from: usize) {
    table.column_iter_mut().skip(from).for_each(|column| column.set_cell_alignment(CellAlignment::Right));
}

#[derive(Serialize)]
#[serde(tag = "event", rename_all = "lowercase")]
enum Line<'a> {
    Threshold {
        threshold: u32,
        sessions: usize,
        stuck_sessions: usize,
        polling_sessions: usize,
        notices: usize,
        stuck_notices: usize,
        polling_notices: usize,
        needless_notices: usize,
        saved: usize,
    },
    Tool {
        tool: &'a str,
        calls: usize,
        steps: usize,
        median: u32,
        most_of_99: u32,
        most: u32,
        calls_per_step: &'a BTreeMap<u32, usize>,
        denied_at: BTreeMap<u32, usize>,
    },
    Configuration {
        sessions: usize,
        calls: usize,
        stepless_calls: usize,
        config: &'a RawValue,
    },
}

fn json(study: &Study, advisor: &Advisor, out: &mut dyn Write) -> Result<()> {
    let mut print =
        |line: &Line<'_>| -> Result<()> { Ok(writeln!(out, "{}", plain_json(&serde_json::to_string(line)?))?) };
    for sweep in study.sweep() {
        let Sweep {
            threshold,
            stuck_sessions,
            polling_sessions,
            stuck_notices,
            polling_notices,
            needless_notices,
            saved,
        } = sweep;
        print(&Line::Threshold {
            threshold,
            sessions: sweep.sessions(),
            stuck_sessions,
            polling_sessions,
            notices: sweep.notices(),
            stuck_notices,
            polling_notices,
            needless_notices,
            saved,
        })?;
    }
    for tool in &study.tools() {
        let ToolUse { tool: name, calls, steps, median, most_of_99, most, per_step } = tool;
        // Beyond the most calls in a step, a limit denies nothing.
        let denied_at = (1..*most).map(|limit| (limit, tool.denied_at(limit))).collect();
        print(&Line::Tool {
            tool: name,
            calls: *calls,
            steps: *steps,
            median: *median,
            most_of_99: *most_of_99,
            most: *most,
            calls_per_step: per_step,
            denied_at,
        })?;
    }
    let (sessions, calls, stepless_calls) = (study.sessions(), study.calls(), study.stepless_calls());
    let config = RawValue::from_string(advisor.json(study))?;
    print(&Line::Configuration { sessions, calls, stepless_calls, config: &config })
}
