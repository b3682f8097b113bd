//! Many threads on one guard, and many guards of one component, on a machine that has other things to do.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::hint::black_box;
use std::thread;
use std::time::{Duration, Instant};

use loop_guard::{CallError, Component, Decision, Fault, Guard, Limits, Outcome, Status, StepStart, ToolCall};

/// For how long work is begun.
const WORK: Duration = Duration::from_secs(3);

/// How long all of it may take: the work that was begun ends, whatever the machine does beside it.
const BOUND: Duration = Duration::from_secs(60);

const CONFIG: &str = r#"{"toolCallLimit":{"limits":{"search":2}}}"#;

/// One step of an agent in which every answer is known: a call made eight times, and a tool with two slots asked for three.
fn step(guard: &Guard, agent: &str, number: u32) {
    let arguments = format!(r#"{{"path":"{agent}","page":{number}}}"#);
    let respelled = format!(r#" {{"page":{number}.0, "path":"{agent}"}}"#);
    let call = |name, arguments| ToolCall { agent: Some(agent), id: "1", name, arguments };
    guard.step(&StepStart { agent, turn: number, step: 1, prompted: true }).unwrap();
    let decisions: Vec<_> = (0..3).map(|_| guard.pre_execute(&call("search", "{}")).unwrap()).collect();
    let denied = Decision::Deny("tool search exceeded its per-step limit of 2".to_owned());
    assert_eq!(decisions, [Decision::Allow, Decision::Allow, denied]);
    let mut summaries = Vec::new();
    for count in 1..=8 {
        let arguments = if count % 2 == 0 { &respelled } else { &arguments };
        let outcome = Outcome { status: Status::Succeeded, content: None };
        let notices = guard.post_execute(&call("read", arguments), &outcome).unwrap();
        summaries.extend(notices.into_iter().map(|notice| notice.summary));
    }
    assert_eq!(summaries, ["read × 3", "read × 5", "read × 8"]);
    assert_eq!(guard.count(agent).unwrap(), 8);
}

/// Works round after round, at least one.
fn work(began: Instant, mut round: impl FnMut(u32)) {
    for number in 0.. {
        round(number);
        if began.elapsed() > WORK {
            break;
        }
    }
}

#[test]
fn answers_stay_right_under_load() {
    let component = &Component::embedded().unwrap();
    let shared = &component.guard(CONFIG).unwrap();
    let stub = Component::from_bytes(include_bytes!(concat!(env!("OUT_DIR"), "/stub.wasm"))).unwrap();
    let stub = stub.with_limits(Limits { memory: 8 << 20, ..Limits::default() });
    let cores = thread::available_parallelism().unwrap().get();
    let began = Instant::now();
    thread::scope(|scope| {
        for _ in 0..2 * cores {
            // Load.
            scope.spawn(|| work(began, |number| _ = black_box((0..100_000).fold(number, u32::wrapping_add))));
        }
        for thread in 0..8 {
            let agent = format!("agent-{thread}");
            let same = agent.clone();
            scope.spawn(move || work(began, |number| step(shared, &agent, number)));
            // The same agents, in guards of their own.
            scope.spawn(move || work(began, |number| step(&component.guard(CONFIG).unwrap(), &same, number)));
        }
        for tool in ["trap", "allocate"] {
            // Beside guards that break again and again.
            let guard = stub.guard("{}").unwrap();
            scope.spawn(move || {
                work(began, |_| {
                    let call = ToolCall { agent: None, id: "1", name: tool, arguments: "" };
                    match guard.pre_execute(&call) {
                        Err(CallError { fault: Fault::Trap(_) | Fault::Memory { .. }, .. }) => {}
                        other => unreachable!("{other:?}"),
                    }
                });
            });
        }
    });
    assert!(began.elapsed() < BOUND, "{:?}", began.elapsed());
}
