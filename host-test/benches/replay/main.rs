//! What replaying costs, beside reading: the same files decompressed, and each line parsed into a `serde_json::Value`.
//!
//! All is measured in one run, in turns, on files made here. The ratios are what counts; times depend on the machine.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::print_stdout,
    reason = "a benchmark fails by panicking, and prints what it found"
)]

mod corpus;

use std::fs::File;
use std::hint::black_box;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use comfy_table::presets::NOTHING;
use comfy_table::{CellAlignment, Table};
use loop_guard::Component;
use loop_guard::recorded::{Agent, Inherited, Input, Recording};
use loop_guard::replay::{Moment, Place, Watcher, replay};
use serde_json::Value;

/// How often each is measured; the median counts.
const ROUNDS: usize = 7;

/// At most this many times what reading costs (the target of the project).
const TARGET: f64 = 1.5;

fn main() {
    let folder = tempfile::tempdir().unwrap();
    let component = Component::embedded().unwrap();
    let mut table = Table::new();
    table.load_preset(NOTHING).set_header(["files", "text", "reading", "replaying", "replaying ÷ reading"]);
    for corpus in corpus::all(folder.path()) {
        let mut times = [Vec::new(), Vec::new()];
        for _ in 0..ROUNDS {
            times[0].push(time(|| corpus.files.iter().for_each(|file| read(file))));
            times[1].push(time(|| corpus.files.iter().for_each(|file| replay_file(file, &component))));
        }
        let [reading, replaying] = times.map(median);
        let ratio = replaying.as_secs_f64() / reading.as_secs_f64();
        let verdict = if ratio <= TARGET { "✓" } else { "✗" };
        let text = format!("{:.1} MB", corpus.text as f64 / 1e6);
        table.add_row([
            corpus.name.to_owned(),
            text,
            format!("{reading:.1?}"),
            format!("{replaying:.1?}"),
            format!("{ratio:.2} (≤ {TARGET}) {verdict}"),
        ]);
    }
    table.column_iter_mut().skip(1).for_each(|column| column.set_cell_alignment(CellAlignment::Right));
    println!("On one core\n{}\n", table.trim_fmt());

    let jobs = |jobs: &str| {
        let times = (0..ROUNDS).map(|_| time(|| command(folder.path(), jobs))).collect();
        median(times)
    };
    let (one, two) = (jobs("1"), jobs("2"));
    let gain = one.as_secs_f64() / two.as_secs_f64();
    println!(
        "The whole command, all files: {one:.1?} with one file at a time, {two:.1?} with two: {gain:.2} times as fast"
    );
}

fn time(work: impl FnOnce()) -> Duration {
    let start = Instant::now();
    work();
    start.elapsed()
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort();
    times.get(times.len() / 2).copied().unwrap_or_default()
}

/// What any reader must do: decompress, and parse each line.
fn read(file: &Path) {
    let input = File::open(file).unwrap();
    let input: Box<dyn Read> = match file.extension().and_then(|ending| ending.to_str()) {
        Some("zst" | "zstd") => Box::new(zstd::stream::read::Decoder::new(input).unwrap()),
        _ => Box::new(input),
    };
    let mut input = BufReader::with_capacity(128 << 10, input);
    let mut line = Vec::new();
    while input.read_until(b'\n', &mut line).unwrap() > 0 {
        black_box(serde_json::from_slice::<Value>(&line).unwrap());
        line.clear();
    }
}

struct Silent;

impl Watcher for Silent {
    fn moment(&mut self, _: &Agent, _: Place, moment: &Moment<'_>) {
        black_box(moment);
    }
}

fn replay_file(file: &Path, component: &Component) {
    let recording = Recording::open(Input::file(file), None).unwrap();
    let guard = component.guard("{}").unwrap();
    let replay = replay(&recording, &Inherited::default(), &guard, &mut Silent).unwrap();
    assert_eq!(replay.skipped, 0);
    assert!(replay.agents.iter().any(|(_, totals)| totals.calls > 100), "{}", file.display());
}

fn command(folder: &Path, jobs: &str) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_loop-guard"));
    command.args(["replay", "--output", "json", "--jobs", jobs]).arg(folder).stdout(Stdio::null());
    assert!(command.status().unwrap().success());
}
