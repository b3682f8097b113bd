//! The library as a Rust host uses it, with the real component.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use std::cell::RefCell;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use loop_guard::{
    Addition, CallError, Component, ConfigureError, Decision, Fault, Guard, Inspection, Limits, LoadError, Notice,
    Outcome, Pipeline, Policy, Problem, Review, Status, StepStart, ToolCall, Verdict,
};

const GENTLE: &str = "You keep repeating the exact same tool call. Study the result it already gave you before you \
    call it again: if the task is not done yet, change your approach or the arguments.";

fn guard(config: &str) -> Guard {
    Component::embedded().unwrap().guard(config).unwrap()
}

fn call<'a>(name: &'a str, arguments: &'a str) -> ToolCall<'a> {
    ToolCall { agent: Some("main"), id: "1", name, arguments }
}

fn begin_step(guard: &Guard) {
    guard.step(&StepStart { agent: "main", turn: 1, step: 1, prompted: true }).unwrap();
}

const SUCCEEDED: Outcome<'_> = Outcome { status: Status::Succeeded, content: None };

#[test]
fn the_embedded_component_imports_nothing() {
    let inspection = Inspection::of(Component::embedded_bytes()).unwrap();
    assert_eq!(inspection.imports, [""; 0]);
    let interfaces: Vec<_> = inspection.exports.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(
        interfaces,
        ["loop-guard:plugin/guard@0.1.0", "loop-guard:plugin/introspection@0.1.0", "loop-guard:plugin/resume@0.1.0"]
    );
    assert!(inspection.contract.is_ok());
}

#[test]
fn the_component_is_small() {
    let size = Component::embedded_bytes().len();
    assert!(size <= 160 << 10, "{size} bytes");
}

#[test]
fn guards_of_one_component_share_nothing() {
    let component = Component::embedded().unwrap();
    let (a, b) = (component.guard("{}").unwrap(), component.guard("{}").unwrap());
    for _ in 0..2 {
        a.post_execute(&call("t", ""), &SUCCEEDED).unwrap();
    }
    assert_eq!((a.count("main").unwrap(), b.count("main").unwrap()), (2, 0));
}

#[test]
fn a_guard_can_be_shared_and_sent() {
    fn is_send_and_sync<T: Send + Sync + 'static>() {}
    is_send_and_sync::<Guard>();
    is_send_and_sync::<Component>();
    is_send_and_sync::<CallError>();
}

#[test]
fn threads_that_hammer_one_guard_get_exactly_the_quota() {
    let guard = guard(r#"{"toolCallLimit":{"limits":{"search":100}}}"#);
    begin_step(&guard);
    let allowed = AtomicUsize::new(0);
    let denied = AtomicUsize::new(0);
    thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                for _ in 0..250 {
                    match guard.pre_execute(&call("search", "{}")).unwrap() {
                        Decision::Allow => allowed.fetch_add(1, Ordering::Relaxed),
                        Decision::Deny(_) => denied.fetch_add(1, Ordering::Relaxed),
                        Decision::Ask(_) => unreachable!("this configuration never asks"),
                    };
                }
            });
        }
    });
    assert_eq!((allowed.into_inner(), denied.into_inner()), (100, 1900));
}

#[test]
fn a_rejected_configuration_lists_its_problems_and_changes_nothing() {
    let guard = guard(r#"{"maxAgents":7}"#);
    let error = guard.configure(r#"{"maxAgents":0,"repeatToolReminder":{"thresholds":[]}}"#).unwrap_err();
    let ConfigureError::Problems(problems) = error else { panic!("{error:?}") };
    let problem = |path: &str, message: &str| Problem { path: path.to_owned(), message: message.to_owned() };
    assert_eq!(
        problems,
        [
            problem("/maxAgents", "must be an integer >= 1"),
            problem("/repeatToolReminder/thresholds", "must not be empty")
        ]
    );
    assert!(guard.describe().unwrap().contains(r#""maxAgents":7"#));
    assert!(matches!(
        Component::embedded().unwrap().guard("[]"),
        Err(ConfigureError::Problems(problems)) if problems == [problem("", "must be an object")]
    ));
}

#[test]
fn text_beyond_the_bound_is_not_sent() {
    let limits = Limits { text: 1000, ..Limits::default() };
    let guard = Component::embedded().unwrap().with_limits(limits).guard("{}").unwrap();
    guard.post_execute(&call("t", ""), &SUCCEEDED).unwrap();
    let long = "x".repeat(1001);
    for (call, what) in [
        (call("t", &long), "arguments"),
        (call(&long, ""), "name"),
        (ToolCall { id: &long, ..call("t", "") }, "id"),
        (ToolCall { agent: Some(&long), ..call("t", "") }, "agent"),
    ] {
        let error = guard.post_execute(&call, &SUCCEEDED).unwrap_err();
        assert_eq!(
            error.to_string(),
            format!("post-execute: {what}: 1001 bytes, and no text of more than 1000 is sent")
        );
        assert!(guard.pre_execute(&call).is_err());
    }
    assert!(guard.step(&StepStart { agent: &long, turn: 1, step: 1, prompted: true }).is_err());
    assert!(guard.canonical(&long).is_err());
    assert!(guard.configure(&long).is_err());
    // The configuration needs no results, so that a long one is none to be sent.
    let outcome = Outcome { status: Status::Succeeded, content: Some(&long) };
    guard.post_execute(&call("t", ""), &outcome).unwrap();
    assert_eq!(guard.count("main").unwrap(), 2);
}

#[test]
fn after_a_fault_the_next_call_works_on_a_fresh_instance_with_the_same_configuration() {
    // Room for the guard, and for little more.
    let limits = Limits { memory: 4 << 20, ..Limits::default() };
    let config = r#"{"repeatToolReminder":{"thresholds":[2]},"toolCallLimit":{"limits":{"search":1}}}"#;
    let guard = Component::embedded().unwrap().with_limits(limits).guard(config).unwrap();
    begin_step(&guard);
    guard.post_execute(&call("t", ""), &SUCCEEDED).unwrap();
    assert_eq!(guard.pre_execute(&call("search", "")).unwrap(), Decision::Allow);

    let long = format!("\"{}\"", "x".repeat(8 << 20));
    let error = guard.post_execute(&call("t", &long), &SUCCEEDED).unwrap_err();
    assert!(
        matches!(error, CallError { hook: "post-execute", fault: Fault::Memory { limit: 4_194_304 } }),
        "{error:?}"
    );

    assert_eq!(guard.count("main").unwrap(), 0);
    let no_step = "per-step tool limit has no active agent step";
    assert_eq!(guard.pre_execute(&call("search", "")).unwrap(), Decision::Deny(no_step.to_owned()));
    begin_step(&guard);
    assert_eq!(guard.pre_execute(&call("search", "")).unwrap(), Decision::Allow);
    guard.post_execute(&call("t", ""), &SUCCEEDED).unwrap();
    assert_eq!(guard.post_execute(&call("t", ""), &SUCCEEDED).unwrap().len(), 1);
}

#[test]
fn a_call_has_bounded_time() {
    let limits = Limits { time: Duration::from_millis(1), ..Limits::default() };
    let guard = Component::embedded().unwrap().with_limits(limits).guard("{}").unwrap();
    // Two million members out of order take far longer than a tick and a bit.
    let members: Vec<_> = (0..2_000_000).rev().map(|number| format!("\"{number:x}\":0")).collect();
    let long = format!("{{{}}}", members.join(","));
    let error = guard.post_execute(&call("t", &long), &SUCCEEDED).unwrap_err();
    assert!(matches!(error.fault, Fault::Time { .. }), "{error:?}");
    assert_eq!(guard.count("main").unwrap(), 0);
}

#[test]
fn what_is_no_component_of_this_contract_is_refused_by_name() {
    let refused = |bytes: &[u8]| Component::from_bytes(bytes).unwrap_err().to_string();
    assert_eq!(refused(b""), "not a WebAssembly component, but empty");
    assert_eq!(
        refused(b"hello, world"),
        "not a WebAssembly component, but something else: it does not begin with the bytes of WebAssembly"
    );
    assert_eq!(
        refused(b"\0asm\x01\0\0\0"),
        "not a WebAssembly component, but a core module; wrap it with `wasm-tools component new` first"
    );
    assert_eq!(
        refused(b"\0asm\x0d\0\x01\0"),
        "expected a component that exports loop-guard:plugin/guard@0.1.0 and loop-guard:plugin/introspection@0.1.0 and \
         loop-guard:plugin/resume@0.1.0, \
         but this one exports nothing"
    );
    assert_eq!(
        refused(
            &wat::parse_str(
                r#"(component (instance $i) (export "loop-guard:plugin/guard@0.2.0" (instance $i)) (export "run" (instance $i)))"#
            )
            .unwrap()
        ),
        "expected a component that exports loop-guard:plugin/guard@0.1.0 and loop-guard:plugin/introspection@0.1.0 and \
         loop-guard:plugin/resume@0.1.0, \
         but this one exports loop-guard:plugin/guard@0.2.0, run"
    );
    assert_eq!(
        refused(&wat::parse_str(r#"(component (import "wasi:io/error@0.2.0" (instance)))"#).unwrap()),
        "a guard imports nothing, but this component imports wasi:io/error@0.2.0"
    );
    let by_name_alone = r#"(component (instance $i)
        (export "loop-guard:plugin/guard@0.1.0" (instance $i))
        (export "loop-guard:plugin/introspection@0.1.0" (instance $i))
        (export "loop-guard:plugin/resume@0.1.0" (instance $i)))"#;
    let error = Component::from_bytes(&wat::parse_str(by_name_alone).unwrap()).unwrap_err();
    assert!(matches!(&error, LoadError::Types { difference } if difference.contains("configure")), "{error}");
    let cut = Component::embedded_bytes().split_at(1000).0;
    assert!(matches!(Component::from_bytes(cut), Err(LoadError::Compile(_))));
    assert!(matches!(Component::from_file("no/such/file.wasm"), Err(LoadError::Read { .. })));
}

/// Answers as it is told, and notes what it is asked.
#[derive(Default)]
struct Scripted {
    before: Option<Decision>,
    review: Review,
    approves: bool,
    seen: RefCell<Vec<String>>,
}

impl Policy for Scripted {
    fn ask(&self, _: &ToolCall<'_>, reason: &str) -> bool {
        self.seen.borrow_mut().push(format!("ask: {reason}"));
        self.approves
    }

    fn before(&self, call: &ToolCall<'_>) -> Decision {
        self.seen.borrow_mut().push(format!("before: {}", call.name));
        self.before.clone().unwrap_or(Decision::Allow)
    }

    fn after(&self, _: &ToolCall<'_>, outcome: &Outcome<'_>) -> Review {
        self.seen.borrow_mut().push(format!("after: {:?} {}", outcome.status, outcome.content.unwrap_or_default()));
        self.review.clone()
    }
}

fn notice(count: u32) -> Addition {
    Addition::Notice(Notice {
        plugin: "repeat-tool-reminder".to_owned(),
        summary: format!("t × {count}"),
        text: GENTLE.to_owned(),
    })
}

fn reminding() -> Guard {
    let guard = guard(r#"{"repeatToolReminder":{"thresholds":[2]},"toolCallLimit":{"limits":{"limited":0}}}"#);
    begin_step(&guard);
    guard.post_execute(&call("t", ""), &SUCCEEDED).unwrap();
    guard
}

#[test]
fn r14_notices_stand_before_what_later_policies_add_and_leave_their_verdict() {
    let added = || vec!["from the policy".to_owned()];
    let additions = [notice(2), Addition::Policy("from the policy".to_owned())];
    for (verdict, result, blocked) in [
        (Verdict::Accept, "done", false),
        (Verdict::Replace("replaced".to_owned()), "replaced", false),
        (Verdict::Block("feedback".to_owned()), "feedback", true),
    ] {
        let guard = reminding();
        let policy = Scripted { review: Review { verdict, additions: added() }, ..Scripted::default() };
        let report = Pipeline::with_policy(&guard, &policy).run(&call("t", ""), || Ok("done".to_owned()));
        assert_eq!((report.status, report.result.as_str(), report.blocked), (Status::Succeeded, result, blocked));
        assert_eq!(report.additions, additions);
        assert!(report.faults.is_empty());
        assert_eq!(*policy.seen.borrow(), ["before: t", "after: Succeeded done"]);
    }
}

#[test]
fn r2_a_later_policys_denial_counts_and_the_body_does_not_run() {
    let guard = reminding();
    let policy = Scripted { before: Some(Decision::Deny("not today".to_owned())), ..Scripted::default() };
    let report = Pipeline::with_policy(&guard, &policy).run(&call("t", ""), || unreachable!("it is denied"));
    assert_eq!((report.status, report.result.as_str()), (Status::Denied, "not today"));
    assert_eq!(report.additions, [notice(2)]);
    assert_eq!(*policy.seen.borrow(), ["before: t", "after: Denied not today"]);
}

#[test]
fn r2_a_failure_counts() {
    let guard = reminding();
    let report = Pipeline::new(&guard).run(&call("t", ""), || Err("no such file".to_owned()));
    assert_eq!((report.status, report.result.as_str()), (Status::Failed, "no such file"));
    assert_eq!(report.additions, [notice(2)]);
}

#[test]
fn the_guards_denial_comes_before_any_other_policy() {
    let guard = reminding();
    let policy = Scripted::default();
    let report = Pipeline::with_policy(&guard, &policy).run(&call("limited", ""), || unreachable!("it is denied"));
    let reason = "tool limited exceeded its per-step limit of 0";
    assert_eq!((report.status, report.result.as_str()), (Status::Denied, reason));
    assert_eq!(*policy.seen.borrow(), [format!("after: Denied {reason}")]);
}

#[test]
fn q9_an_ask_runs_when_approved_and_is_a_denial_otherwise() {
    let reason = "tool search exceeded its per-step limit of 1";
    for (approves, status, result) in [(true, Status::Succeeded, "found"), (false, Status::Denied, reason)] {
        let guard = guard(r#"{"toolCallLimit":{"limits":{"search":1},"onExceeded":"ask"}}"#);
        begin_step(&guard);
        let policy = Scripted { approves, ..Scripted::default() };
        let pipeline = Pipeline::with_policy(&guard, &policy);
        assert_eq!(pipeline.run(&call("search", "1"), || Ok("found".to_owned())).status, Status::Succeeded);
        let report = pipeline.run(&call("search", "2"), || Ok("found".to_owned()));
        assert_eq!((report.status, report.result.as_str()), (status, result));
        assert!(policy.seen.borrow().contains(&format!("ask: {reason}")));
    }
    let guard = guard(r#"{"toolCallLimit":{"limits":{"search":1},"onExceeded":"ask"}}"#);
    begin_step(&guard);
    let pipeline = Pipeline::new(&guard);
    pipeline.run(&call("search", ""), || Ok(String::new()));
    assert_eq!(pipeline.run(&call("search", ""), || unreachable!("nobody can be asked")).result, reason);
}

#[test]
fn b6_a_call_that_any_quota_may_concern_is_denied_if_it_could_not_be_checked() {
    let limits = Limits { text: 200, ..Limits::default() };
    for (config, status) in [
        (r#"{"toolCallLimit":{"turnLimits":{"t":9}}}"#, Status::Denied),
        (r#"{"toolCallLimit":{"agentLimits":{"t":9}}}"#, Status::Denied),
        (r#"{"toolCallLimit":{"totals":{"turn":9}}}"#, Status::Denied),
        (r#"{"toolCallLimit":{"agentLimits":{"other":9}}}"#, Status::Succeeded),
        (r#"{"toolCallLimit":{"enabled":false,"limits":{"t":9},"totals":{"turn":9}}}"#, Status::Succeeded),
        (r#"{"observe":true,"toolCallLimit":{"limits":{"t":9}}}"#, Status::Succeeded),
    ] {
        let guard = Component::embedded().unwrap().with_limits(limits).guard(config).unwrap();
        begin_step(&guard);
        let report = Pipeline::new(&guard).run(&call("t", &"x".repeat(201)), || Ok(String::new()));
        assert_eq!(report.status, status, "under {config}");
    }
}

#[test]
fn b8_an_approval_is_told_before_the_outcome() {
    let guard = guard(r#"{"repeatToolReminder":{"askAt":2,"resetOn":["approval"]}}"#);
    begin_step(&guard);
    let policy = Scripted { approves: true, ..Scripted::default() };
    let pipeline = Pipeline::with_policy(&guard, &policy);
    let counts = [(); 4].map(|()| {
        assert_eq!(pipeline.run(&call("t", ""), || Ok(String::new())).status, Status::Succeeded);
        guard.count("main").unwrap()
    });
    // The second call is asked about, and begins anew; the third would be its second again.
    assert_eq!(counts, [1, 1, 1, 1]);
    let asked = policy.seen.borrow().iter().filter(|seen| seen.starts_with("ask: tool t repeated 2 times")).count();
    assert_eq!(asked, 3);
}

#[test]
fn a_fault_drops_the_notice_and_denies_only_what_is_limited() {
    let limits = Limits { text: 200, ..Limits::default() };
    let config = r#"{"toolCallLimit":{"limits":{"limited":9}}}"#;
    let guard = Component::embedded().unwrap().with_limits(limits).guard(config).unwrap();
    begin_step(&guard);
    let long = "x".repeat(201);
    let pipeline = Pipeline::new(&guard);

    let report = pipeline.run(&call("free", &long), || Ok("done".to_owned()));
    assert_eq!((report.status, report.result.as_str(), report.faults.len()), (Status::Succeeded, "done", 2));

    let report = pipeline.run(&call("limited", &long), || unreachable!("it is denied"));
    assert_eq!(
        report.result,
        "the limit of tool limited could not be checked: arguments: 201 bytes, and no text of more than 200 is sent"
    );
    assert_eq!((report.status, report.faults.len()), (Status::Denied, 2));
    // It can be found out of neither whether it is limited.
    let report = pipeline.run(&call(&long, ""), || unreachable!("it is denied"));
    assert_eq!(report.status, Status::Denied);
}
