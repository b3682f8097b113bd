//! A component that misbehaves on purpose: the host gets a typed error within its bounds, other guards are untouched, and the
//! next call works.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::thread;
use std::time::{Duration, Instant};

use loop_guard::{
    CallError, Component, ConfigureError, Decision, Fault, Guard, Limits, Outcome, Pipeline, Status, StepStart,
    ToolCall,
};

/// The bound on a stuck call. It is one of the clock, not of work: calls that do answer must do so within it, however
/// busy the machine is with the other tests.
const PATIENCE: Duration = Duration::from_secs(2);

fn stub(limits: Limits) -> Component {
    Component::from_bytes(include_bytes!(concat!(env!("OUT_DIR"), "/stub.wasm"))).unwrap().with_limits(limits)
}

fn call(name: &str) -> ToolCall<'_> {
    ToolCall { agent: Some("main"), id: "1", name, arguments: "" }
}

/// The fault of a call, after which the guard works.
fn fault(guard: &Guard, name: &str) -> CallError {
    let error = guard.pre_execute(&call(name)).unwrap_err();
    assert_eq!(guard.pre_execute(&call("any")).unwrap(), Decision::Allow);
    error
}

#[test]
fn a_trap_names_its_hook_and_leaves_the_guard_usable() {
    let guard = stub(Limits::default()).guard("{}").unwrap();
    let error = fault(&guard, "trap");
    assert_eq!(error.hook, "pre-execute");
    assert!(matches!(error.fault, Fault::Trap(_)), "{error:?}");
    assert_eq!(
        error.to_string(),
        "pre-execute: the component trapped: wasm trap: wasm `unreachable` instruction executed"
    );
    let outcome = Outcome { status: Status::Succeeded, content: None };
    assert_eq!(guard.post_execute(&call("trap"), &outcome).unwrap_err().hook, "post-execute");
}

#[test]
fn memory_is_bounded() {
    let guard = stub(Limits { memory: 64 << 20, ..Limits::default() }).guard("{}").unwrap();
    assert!(matches!(fault(&guard, "allocate").fault, Fault::Memory { limit: 0x400_0000 }));
    assert!(guard.memory() < 64 << 20);
}

#[test]
fn time_is_bounded_and_other_guards_go_on() {
    let component = stub(Limits { time: PATIENCE, ..Limits::default() });
    let (stuck, other) = (component.guard("{}").unwrap(), component.guard("{}").unwrap());
    thread::scope(|scope| {
        let stuck = scope.spawn(|| {
            let began = Instant::now();
            let error = fault(&stuck, "spin");
            assert!(matches!(error.fault, Fault::Time { .. }), "{error:?}");
            began.elapsed()
        });
        let mut calls = 0;
        while !stuck.is_finished() {
            assert_eq!(other.pre_execute(&call("any")).unwrap(), Decision::Allow);
            calls += 1;
        }
        // The bound is one of at least the limit; how late the machine notices is not tested.
        assert!(stuck.join().unwrap() >= PATIENCE);
        assert!(calls > 100, "{calls} calls of the other guard");
    });
}

#[test]
fn the_pipeline_runs_what_is_unlimited_and_denies_what_could_not_be_checked() {
    let guard = stub(Limits { time: PATIENCE, ..Limits::default() }).guard("{}").unwrap();
    let pipeline = Pipeline::new(&guard);
    // The stub says of `spin` that it is unlimited, and of `trap` that it is limited.
    let report = pipeline.run(&call("spin"), || Ok("done".to_owned()));
    assert_eq!((report.status, report.result.as_str()), (Status::Succeeded, "done"));
    assert_eq!(report.faults.iter().map(|fault| fault.hook).collect::<Vec<_>>(), ["pre-execute", "post-execute"]);
    assert_eq!(report.additions, []);

    let report = pipeline.run(&call("trap"), || unreachable!("it is denied"));
    assert_eq!(report.status, Status::Denied);
    assert!(report.result.starts_with("the limit of tool trap could not be checked: the component trapped"));
    assert_eq!(report.faults.len(), 2);
}

#[test]
fn text_at_the_bound_is_answered_whatever_it_is() {
    let guard = Component::embedded().unwrap().guard("{}").unwrap();
    let size = Limits::default().text;
    let filled = |before: &str, unit: &str, after: &str| {
        before.to_owned() + &unit.repeat((size - before.len() - after.len()) / unit.len()) + after
    };
    for text in [
        filled("", "\u{1}", ""),
        filled("[1e20", ",1e20", "]"),
        filled("\"", "\\u0001", "\""),
        filled("", "[", ""),
        filled("{\"b\":0", ",\"\":1e20", "}"),
        filled("1", "0", ""),
        filled("0.", "1", "e999999999"),
        filled("", "\\", ""),
    ] {
        let call = ToolCall { arguments: &text, ..call("t") };
        let outcome = Outcome { status: Status::Succeeded, content: None };
        guard.post_execute(&call, &outcome).unwrap();
        assert_eq!(guard.count("main").unwrap(), 1);
        guard.canonical(&text).unwrap();
    }
    for config in [
        filled(r#"{"repeatToolReminder":{"thresholds":["#, "0,", "0]}}"),
        filled(r#"{"repeatToolReminder":{"include":["#, "\"\",", "\"\"]}}"),
        filled(r#"{"repeatToolReminder":{"include":"#, "[", ""),
        filled("{", "\"a\":0,", "\"a\":0}"),
    ] {
        match guard.configure(&config) {
            Ok(_) | Err(ConfigureError::Problems(_)) => {}
            Err(error) => unreachable!("{error}"),
        }
    }
}

#[test]
fn s2_what_is_kept_of_an_agent_does_not_grow_with_its_arguments() {
    let component = Component::embedded().unwrap();
    // Calls of up to 512 bytes are kept as they are, of longer ones a digest.
    for (size, most_for_each) in [(500, 1024), (100_000, 512)] {
        let guard = component.guard("{}").unwrap();
        let mut arguments = "x".repeat(size);
        for number in 0..100_000 {
            let agent = number.to_string();
            arguments.replace_range(..agent.len(), &agent);
            guard.step(&StepStart { agent: &agent, turn: 1, step: 1, prompted: true }).unwrap();
            let call = ToolCall { agent: Some(&agent), id: "1", name: "write", arguments: &arguments };
            guard.post_execute(&call, &Outcome { status: Status::Succeeded, content: None }).unwrap();
        }
        assert_eq!(guard.count("0").unwrap(), 1);
        assert_eq!(guard.count("99999").unwrap(), 1);
        // Beside the agents there are the texts of the last calls.
        let recent = 10 << 20;
        assert!(guard.memory() < 100_000 * most_for_each + recent, "{size}: {} bytes", guard.memory());
        assert!(guard.memory() < 128 << 20, "{size}: {} bytes", guard.memory());
    }
}

#[test]
fn s4_ten_million_calls_of_a_million_short_lived_agents_leave_nothing_behind() {
    let guard = Component::embedded().unwrap().guard(r#"{"maxAgents":10000}"#).unwrap();
    let live = |agents: std::ops::Range<u32>| {
        for number in agents {
            let agent = format!("agent-{number}");
            guard.step(&StepStart { agent: &agent, turn: 1, step: 1, prompted: true }).unwrap();
            for call in 0..10 {
                // Half of the calls repeat the one before.
                let arguments = format!("{{\"path\":\"{agent}\",\"line\":{}}}", call / 2);
                let call = ToolCall { agent: Some(&agent), id: "1", name: "read", arguments: &arguments };
                guard.post_execute(&call, &Outcome { status: Status::Succeeded, content: None }).unwrap();
            }
            assert_eq!(guard.count(&agent).unwrap(), 2);
            // The others are forgotten when it is their turn.
            if number % 2 == 0 {
                guard.agent_ended(&agent).unwrap();
            }
        }
    };
    live(0..100_000);
    let memory = guard.memory();
    live(100_000..1_000_000);
    assert_eq!(guard.memory(), memory);
}
