//! `loop-guard demo`: shows what the guard does, on sessions that are built in.

use std::io::Write;
use std::process::ExitCode;

use anyhow::Result;
use loop_guard::recorded::{Inherited, Input, Recording};
use loop_guard::replay::replay;

use super::Source;
use super::replay::{Timeline, rows, table};
use super::text::{FAINT, STRONG, styled};

struct Example {
    title: &'static str,
    config: &'static str,
    file: &'static str,
    log: &'static str,
}

const EXAMPLES: [Example; 3] = [
    Example {
        title: "An agent repeats a search that finds nothing. The guard reminds it at 3, 5 and 8 equal calls, however they are spelled.",
        config: "{}",
        file: "stuck-on-a-grep.jsonl",
        log: include_str!("../../recorded/dsh/stuck-on-a-grep.jsonl"),
    },
    Example {
        title: "An agent fires eight searches in one step. The quota lets two of them pass.",
        config: r#"{"toolCallLimit": {"limits": {"web_search": 2}}}"#,
        file: "eight-searches-at-once.jsonl",
        log: include_str!("../../recorded/dsh/eight-searches-at-once.jsonl"),
    },
    Example {
        title: "An agent polls a job. Its polls are left out of the count, and a person's message starts the count anew.",
        config: r#"{"repeatToolReminder": {"exclude": ["*_status"]}}"#,
        file: "patient-with-a-job.jsonl",
        log: include_str!("../../recorded/dsh/patient-with-a-job.jsonl"),
    },
];

pub fn run(source: &Source, out: &mut dyn Write) -> Result<ExitCode> {
    let component = source.load()?;
    let mut all = Vec::new();
    for Example { title, config, file, log } in EXAMPLES {
        let recording = Recording::open(Input::bytes(file, log.as_bytes()), None)?;
        writeln!(out, "{}", styled(STRONG, title))?;
        writeln!(out, "{}", styled(FAINT, format!("configuration: {config}")))?;
        let mut timeline = Timeline::new(&recording, true, out);
        let replay = replay(&recording, &Inherited::default(), &component.guard(config)?, &mut timeline)?;
        timeline.end()?;
        all.extend(rows(&recording, replay));
    }
    table(&all, out)?;
    Ok(ExitCode::SUCCESS)
}
