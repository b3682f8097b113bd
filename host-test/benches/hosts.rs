//! What a call costs in each host, measured one after another in one run: its pre-execute and its post-execute, with arguments
//! that differ from call to call. The hosts in other languages print theirs as JSON; what they are asked for is the same.
#![allow(
    missing_docs,
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::cast_precision_loss,
    clippy::indexing_slicing,
    reason = "a benchmark"
)]

use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

use comfy_table::Table;
use comfy_table::presets::ASCII_MARKDOWN;
use loop_guard::{Component, Guard, Outcome, Status, StepStart, ToolCall};

/// Sizes of arguments, in bytes.
const SIZES: [(&str, usize); 2] = [("300 B", 300), ("4 KB", 4096)];

/// Calls in a batch, and batches; the first ones warm up and do not count.
const CALLS: usize = 2000;
const WARM_UP: usize = 5;
const BATCHES: usize = 25;

/// Microseconds, by the size of the arguments.
type Costs = BTreeMap<String, f64>;

fn main() {
    let hosts: [(&str, Costs); 4] = [
        ("Rust", rust()),
        ("Node.js", ask("js", "node", "cost.mjs")),
        ("Python", ask("python", ".venv/bin/python", "cost.py")),
        ("Chromium", ask("web", "node", "cost.mjs")),
    ];
    let mut table = Table::new();
    table.load_preset(ASCII_MARKDOWN).set_header(std::iter::once("host").chain(SIZES.map(|(name, _)| name)));
    for (host, costs) in hosts {
        table.add_row(std::iter::once(host.to_owned()).chain(SIZES.map(|(name, _)| format!("{:.1} µs", costs[name]))));
    }
    println!("{table}");
}

fn ask(folder: &str, program: &str, script: &str) -> Costs {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
    let mut command = Command::new(if program.contains('/') { folder.join(program) } else { program.into() });
    let output = command.arg(script).current_dir(&folder).stderr(Stdio::inherit()).output();
    let output = output.unwrap_or_else(|error| unreachable!("{script} of {}: {error}", folder.display()));
    assert!(output.status.success(), "{script} of {} failed: run `make hosts` first", folder.display());
    serde_json::from_slice(&output.stdout).unwrap()
}

fn rust() -> Costs {
    let component = Component::embedded().unwrap();
    SIZES.iter().map(|(name, size)| ((*name).to_owned(), cost(&component.guard("{}").unwrap(), *size))).collect()
}

/// The median of the batches.
fn cost(guard: &Guard, size: usize) -> f64 {
    guard.step(&StepStart { agent: "main", turn: 1, step: 1, prompted: true }).unwrap();
    let mut times: Vec<_> = (0..WARM_UP + BATCHES)
        .map(|batch| {
            let texts: Vec<_> = (0..CALLS).map(|call| arguments(size, batch * CALLS + call)).collect();
            let begin = Instant::now();
            for text in &texts {
                let call = ToolCall { agent: Some("main"), id: "call_1", name: "edit_file", arguments: text };
                guard.pre_execute(&call).unwrap();
                guard.post_execute(&call, &Outcome { status: Status::Succeeded, content: None }).unwrap();
            }
            begin.elapsed().as_secs_f64() * 1e6 / CALLS as f64
        })
        .skip(WARM_UP)
        .collect();
    assert_eq!(guard.count("main").unwrap(), 1, "the calls differ");
    times.sort_by(f64::total_cmp);
    times[BATCHES / 2]
}

/// Raw arguments of exactly that many bytes, for each line others.
fn arguments(size: usize, line: usize) -> String {
    let (begin, end) = (format!(r#"{{"path":"src/main.rs","line":{line},"text":""#), r#""}"#);
    let length = size - begin.len() - end.len();
    begin + &"lorem ipsum ".repeat(length.div_ceil(12))[..length] + end
}
