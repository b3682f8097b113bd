//! What a call costs. One run measures everything, so that the ratios hold on a noisy machine; the table at the end sets them
//! against their targets.
#![allow(missing_docs, clippy::unwrap_used, clippy::print_stdout, clippy::cast_precision_loss, reason = "a benchmark")]

mod node;
mod summary;
mod texts;

use std::cell::Cell;
use std::hint::black_box;
use std::process::Command;
use std::time::Duration;

use criterion::{Criterion, Throughput};
use loop_guard::{Component, Guard, Outcome, Status, StepStart, ToolCall};
use texts::{SHAPES, SIZES, Texts};

const STUB: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/stub.wasm"));

/// All that goes beyond the two guards, with bounds that no call reaches. Siblings count each: where they count once, all but the first
/// of these calls would cost less.
const EVERYTHING: &str = r#"{
    "repeatToolReminder": {
        "results": "compare", "ignoreResultFields": ["id"], "anyResultThresholds": [4000000000], "thresholds": [4000000000], "every": 5,
        "askAt": 4000000000, "denyAt": 4000000001, "maxPeriod": 8, "resetOn": ["prompt", "turn", "compaction", "approval"],
        "texts": {"gentle": "{tool}", "detailed": "{tool} {count} {arguments}"},
        "tools": [{"match": "*_status", "ignoreArguments": ["id"]}, {"match": "edit_*", "ignoreArguments": ["timestamp"]}]
    },
    "toolCallLimit": {
        "limits": {"edit_file": 4000000000}, "turnLimits": {"edit_file": 4000000000}, "agentLimits": {"edit_file": 4000000000},
        "totals": {"step": 4000000000, "turn": 4000000000, "agent": 4000000000}
    },
    "repeatedFailureReminder": {"thresholds": [3]}
}"#;

const STEP: StepStart<'_> = StepStart { agent: "main", turn: 1, step: 1, prompted: false };

fn main() {
    node::transpile(Component::embedded_bytes());
    let mut criterion = Criterion::default()
        .warm_up_time(Duration::from_millis(200))
        .measurement_time(Duration::from_millis(600))
        .sample_size(20)
        .without_plots()
        .configure_from_args();
    let component = Component::embedded().unwrap();
    let stub = Component::from_bytes(STUB).unwrap();
    arguments(&mut criterion, &component, &stub);
    hooks(&mut criterion, &component, &stub);
    start(&mut criterion);
    criterion.final_summary();
    // With a filter, times of an earlier run would stand beside those of this one.
    if std::env::args().skip(1).all(|argument| argument.starts_with('-')) {
        summary::print(&node::measure());
    }
}

fn call(arguments: &str) -> ToolCall<'_> {
    ToolCall { agent: Some("main"), id: "call_1", name: "edit_file", arguments }
}

/// The same for the guest, which owns what it is given.
fn native_call(arguments: &str) -> loop_guard_guest::guard::Call {
    let ToolCall { agent, id, name, arguments } = call(arguments);
    loop_guard_guest::guard::Call {
        agent: agent.map(str::to_owned),
        id: id.to_owned(),
        name: name.to_owned(),
        arguments: arguments.to_owned(),
    }
}

/// Post-executes over arguments of every size and shape.
fn arguments(criterion: &mut Criterion, component: &Component, stub: &Component) {
    for shape in SHAPES {
        for (name, size) in SIZES {
            let texts = shape.texts(size);
            let mut group = criterion.benchmark_group(format!("{} {name}", shape.name));
            group.throughput(Throughput::Bytes(texts.call.len() as u64));
            let floor = stub.guard("{}").unwrap();
            group.bench_function("floor", |bencher| bencher.iter(|| post(&floor, &texts.call)));
            for (kind, pair) in pairs(&texts) {
                let guard = component.guard("{}").unwrap();
                let turn = Cell::new(false);
                group.bench_function(format!("component {kind}"), |bencher| {
                    bencher.iter(|| post(&guard, next(&turn, pair)));
                });
                let mut native = loop_guard_guest::guard::Guard::default();
                let succeeded = loop_guard_guest::guard::Outcome {
                    status: loop_guard_guest::guard::Status::Succeeded,
                    content: String::new(),
                };
                let turn = Cell::new(false);
                group.bench_function(format!("native {kind}"), |bencher| {
                    bencher.iter(|| native.post_execute(native_call(next(&turn, pair)), succeeded.clone()));
                });
            }
            let [_, _, (_, different)] = pairs(&texts);
            let everything = || {
                let guard = component.guard(EVERYTHING).unwrap();
                guard.step(&STEP).unwrap();
                guard
            };
            let (guard, turn) = (everything(), Cell::new(false));
            group.bench_function("everything post", |bencher| bencher.iter(|| post(&guard, next(&turn, different))));
            let (guard, turn) = (everything(), Cell::new(false));
            group.bench_function("everything both", |bencher| {
                bencher.iter(|| {
                    let arguments = next(&turn, different);
                    black_box(guard.pre_execute(&call(arguments)).unwrap());
                    post(&guard, arguments);
                });
            });
            group.bench_function("ignored_any", |bencher| {
                bencher.iter(|| serde_json::from_str::<serde::de::IgnoredAny>(black_box(&texts.call)).unwrap());
            });
            group.finish();
        }
    }
}

/// Two texts that follow each other in turn.
fn pairs(texts: &Texts) -> [(&'static str, [&str; 2]); 3] {
    [
        ("same", [&texts.call, &texts.call]),
        ("respelled", [&texts.call, &texts.respelled]),
        ("different", [&texts.call, &texts.different]),
    ]
}

fn next<'a>(turn: &Cell<bool>, [first, second]: [&'a str; 2]) -> &'a str {
    turn.set(!turn.get());
    black_box(if turn.get() { first } else { second })
}

fn post(guard: &Guard, arguments: &str) {
    let outcome = Outcome { status: Status::Succeeded, content: Some(r#"{"ok":true,"id":7}"#) };
    black_box(guard.post_execute(&call(arguments), &outcome).unwrap());
}

/// The hooks that read no arguments, and a further guard.
fn hooks(criterion: &mut Criterion, component: &Component, stub: &Component) {
    let mut group = criterion.benchmark_group("hooks");
    let config = r#"{"toolCallLimit":{"limits":{"web_search":1}}}"#;
    for (who, guard) in [("component", component.guard(config).unwrap()), ("floor", stub.guard("{}").unwrap())] {
        guard.step(&STEP).unwrap();
        group.bench_function(format!("{who} pre-execute"), |bencher| {
            bencher.iter(|| black_box(guard.pre_execute(&call(r#"{"path":"src/lib.rs"}"#)).unwrap()));
        });
        group.bench_function(format!("{who} step"), |bencher| bencher.iter(|| guard.step(black_box(&STEP)).unwrap()));
    }
    group.bench_function("further guard", |bencher| bencher.iter(|| component.guard("{}").unwrap()));
    group.finish();
}

/// A whole process that replays a session of ten calls, once its compiled code is in the cache.
fn start(criterion: &mut Criterion) {
    let home = tempfile::tempdir().unwrap();
    let run = || {
        let session = concat!(env!("CARGO_MANIFEST_DIR"), "/recorded/dsh/stuck-on-a-grep.jsonl");
        let mut command = Command::new(env!("CARGO_BIN_EXE_loop-guard"));
        let output =
            command.args(["replay", session]).env("HOME", home.path()).env_remove("XDG_CACHE_HOME").output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    };
    run();
    criterion.benchmark_group("process").bench_function("start", |bencher| bencher.iter(run));
}
