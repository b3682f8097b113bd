//! Replays recorded sessions: those of this repository, and more where `LOOP_GUARD_SESSIONS` names a folder of them.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test fails by panicking")]

use std::fs;
use std::path::{Path, PathBuf};

use loop_guard::recorded::{Agent, Call, CallResult, Event, Inherited, Input, Recording, Sink, Skipped, search};
use loop_guard::replay::{Moment, Place, Totals, Watcher, replay};
use loop_guard::{Component, Guard, Status};

/// What a log of one agent holds.
#[derive(Default)]
struct Read {
    agents: Vec<Agent>,
    events: Vec<Event>,
    skipped: Vec<Skipped>,
}

impl Sink for Read {
    fn agent(&mut self, agent: &Agent) {
        self.agents.push(agent.clone());
    }

    fn event(&mut self, _: &Agent, event: Event) {
        self.events.push(event);
    }

    fn skipped(&mut self, skipped: Skipped) {
        self.skipped.push(skipped);
    }
}

fn open(log: &str) -> Recording {
    Recording::open(Input::bytes("unnamed", log.as_bytes()), None).unwrap()
}

fn read(log: &str) -> Read {
    let mut read = Read::default();
    open(log).read(&Inherited::default(), &mut read).unwrap();
    read
}

/// Keeps the calls at which the guard reminds, with the summaries.
#[derive(Default)]
struct Notices(Vec<(String, String)>);

impl Watcher for Notices {
    fn moment(&mut self, _: &Agent, _: Place, moment: &Moment<'_>) {
        if let Moment::Ended { call, notices, .. } = moment {
            self.0.extend(notices.iter().map(|notice| (call.id.clone(), notice.summary.clone())));
        }
    }
}

fn totals_of(recording: &Recording, guard: &Guard) -> Totals {
    let mut agents = replay(recording, &Inherited::default(), guard, &mut Notices::default()).unwrap().agents;
    assert_eq!(agents.len(), 1);
    agents.remove(0).1
}

fn step(turn: u32, step: u32, prompted: bool) -> Event {
    Event::Step { turn, step, prompted }
}

fn pre(id: &str, tool: &str, arguments: &str) -> Event {
    Event::Pre(Call { id: id.to_owned(), tool: tool.to_owned(), arguments: arguments.to_owned() })
}

fn post(id: &str, status: Status, content: &str) -> Event {
    Event::Post { id: id.to_owned(), result: CallResult { status, content: content.to_owned() } }
}

#[test]
fn dsh_prompts_may_stand_after_the_start_of_their_step() {
    let log = r#"
{"type":"session","version":0,"id":"s1"}
{"type":"turn/start","data":{"turn":1}}
{"type":"step/start","data":{"turn":1,"step":1}}
{"type":"user/message","data":{"source":{"kind":"plugin","plugin":"x"}}}
{"type":"user/message","data":{"source":{"kind":"user"}}}
{"type":"tool/call","data":{"turn":1,"step":1,"callId":"a","name":"t","arguments":""}}
{"type":"tool/result","data":{"turn":1,"step":1,"message":{"content":[{"type":"tool-result","toolCallId":"a","content":[{"type":"text","text":"one"},{"type":"image"},{"type":"text","text":"two"}],"isError":false}]}}}
{"type":"user/message","data":{"source":{"kind":"user"}}}
{"type":"step/end","data":{"turn":1,"step":1}}
{"type":"step/start","data":{"turn":1,"step":2}}
{"type":"user/message","data":{"source":{"kind":"plugin","plugin":"repeat-tool-reminder"}}}
{"type":"step/end","data":{"turn":1,"step":2}}
{"type":"turn/end","data":{"turn":1}}
"#;
    let recording = read(log.trim_start());
    assert_eq!(recording.agents, [Agent { session: "s1".to_owned(), id: "s1".to_owned() }]);
    assert_eq!(recording.skipped, []);
    assert_eq!(
        recording.events,
        [
            step(1, 1, true),
            pre("a", "t", ""),
            post("a", Status::Succeeded, "one\ntwo"),
            step(1, 2, true),
            Event::TurnEnded { turn: 1 },
        ]
    );
}

#[test]
fn dsh_what_was_never_dispatched_is_left_out_and_a_lost_outcome_is_none() {
    let log = r#"
{"type":"session","version":0,"id":"s2"}
{"type":"step/start","data":{"turn":1,"step":1}}
{"type":"tool/call","data":{"turn":1,"step":1,"callId":"a","name":"t","arguments":"{}"}}
{"type":"tool/call","data":{"turn":1,"step":1,"callId":"b","name":"t","arguments":"{}"}}
{"type":"tool/call","data":{"turn":1,"step":1,"callId":"c","name":"t","arguments":"{}"}}
{"type":"tool/call","data":{"turn":1,"step":1,"callId":"d","name":"t","arguments":"{}"}}
{"type":"tool/result","data":{"message":{"content":[{"type":"tool-result","toolCallId":"a","content":[],"isError":true}]},"error":{"name":"AbortError","code":"ABORTED"}}}
{"type":"tool/result","data":{"message":{"content":[{"type":"tool-result","toolCallId":"b","content":[],"isError":true}]},"error":{"name":"AbortError","code":"ABORTED_BEFORE_DISPATCH"}}}
{"type":"tool/result","data":{"message":{"content":[{"type":"tool-result","toolCallId":"c","content":[],"isError":true}]},"error":{"code":"TOOL_NOT_STARTED"}}}
{"type":"tool/result","data":{"message":{"content":[{"type":"tool-result","toolCallId":"d","content":[],"isError":true}]},"error":{"code":"TOOL_OUTCOME_UNKNOWN"}}}
"#;
    assert_eq!(
        read(log.trim_start()).events,
        [step(1, 1, false), pre("a", "t", "{}"), pre("d", "t", "{}"), post("a", Status::Failed, "")]
    );
}

#[test]
fn dsh_a_call_may_turn_out_late_never_to_have_been_dispatched() {
    let log = r#"
{"type":"session","version":0,"id":"s"}
{"type":"step/start","data":{"turn":1,"step":1}}
{"type":"tool/call","data":{"turn":1,"step":1,"callId":"a","name":"run_code","arguments":""}}
{"type":"tool/code-dispatch-start","data":{"parentCallId":"a","subCallId":"a:1","name":"read","arguments":{}}}
{"type":"step/end","data":{"turn":1,"step":1}}
{"type":"tool/result","data":{"message":{"content":[{"type":"tool-result","toolCallId":"a","content":[],"isError":true}]},"error":{"code":"TOOL_NOT_STARTED"}}}
"#;
    assert_eq!(read(log.trim_start()).events, [step(1, 1, false)]);
}

#[test]
fn dsh_a_late_result_does_not_hide_a_prompt() {
    let log = r#"
{"type":"session","version":0,"id":"s"}
{"type":"step/start","data":{"turn":1,"step":1}}
{"type":"tool/call","data":{"turn":1,"step":1,"callId":"a","name":"t","arguments":"{}"}}
{"type":"step/start","data":{"turn":1,"step":2}}
{"type":"tool/result","data":{"message":{"content":[{"type":"tool-result","toolCallId":"a","content":[]}]}}}
{"type":"user/message","data":{"source":{"kind":"user"}}}
"#;
    let events = read(log.trim_start()).events;
    assert_eq!(events, [step(1, 1, false), pre("a", "t", "{}"), step(1, 2, true), post("a", Status::Succeeded, "")]);
}

#[test]
fn dsh_a_call_that_stands_twice_is_one() {
    let call = r#"{"type":"tool/call","data":{"turn":1,"step":1,"callId":"a","name":"t","arguments":"{}"}}"#;
    let result = r#"{"type":"tool/result","data":{"message":{"content":[{"toolCallId":"a","content":[]}]}}}"#;
    let other = call.replace("\"a\"", "\"b\"") + "\n" + &result.replace("\"a\"", "\"b\"");
    let log = format!("{call}\n{call}\n{result}\n{call}\n{result}\n{other}\n");
    let component = Component::embedded().unwrap();
    let totals = totals_of(&open(&log), &component.guard("{}").unwrap());
    assert_eq!((totals.calls, totals.notices, totals.longest_run), (2, 0, 2));
}

#[test]
fn dsh_a_call_whose_step_has_no_beginning_brings_it() {
    let log = r#"{"type":"tool/call","data":{"turn":3,"step":2,"callId":"a","name":"t","arguments":"{}"}}"#;
    assert_eq!(read(log).events, [step(3, 2, false), pre("a", "t", "{}")]);
}

#[test]
fn dsh_text_that_was_cut_inside_of_a_character_is_read() {
    let log = r#"
{"type":"tool/call","data":{"turn":1,"step":1,"callId":"a","name":"t","arguments":"{\"a\":\"\ud83d"}}
{"type":"tool/result","data":{"message":{"content":[{"toolCallId":"a","content":[{"text":"cut \ud83d"}],"isError":null},{"type":"text"}]}}}
"#;
    let recording = read(log.trim_start());
    assert_eq!(recording.skipped, []);
    let expected =
        [step(1, 1, false), pre("a", "t", "{\"a\":\"\u{fffd}"), post("a", Status::Succeeded, "cut \u{fffd}")];
    assert_eq!(recording.events, expected);
}

#[test]
fn a_denied_call_counts_even_if_the_log_has_no_result_of_it() {
    let call = |id: u32, step: u32| {
        format!(
            r#"{{"type":"tool/call","data":{{"turn":1,"step":{step},"callId":"{id}","name":"t","arguments":"{{}}"}}}}"#
        )
    };
    let log = [call(1, 1), call(2, 2), call(3, 3)].join("\n");
    let guard = Component::embedded().unwrap().guard(r#"{"toolCallLimit":{"limits":{"t":0}}}"#).unwrap();
    let totals = totals_of(&open(&log), &guard);
    assert_eq!((totals.denied, totals.notices, totals.diverged.as_deref()), (3, 1, Some("1")));
}

#[test]
fn dsh_calls_made_by_code_have_their_pair_inside_the_outer_one() {
    let log = r#"
{"type":"session","version":0,"id":"s3"}
{"type":"step/start","data":{"turn":1,"step":1}}
{"type":"tool/call","data":{"turn":1,"step":1,"callId":"a","name":"run_code","arguments":"{\"code\":\"…\"}"}}
{"type":"tool/code-dispatch-start","data":{"rootCallId":"a","parentCallId":"a","subCallId":"a:code:1","name":"read","arguments":{"b":9007199254740993, "a":1}}}
{"type":"tool/code-dispatch-start","data":{"rootCallId":"a","parentCallId":"a","subCallId":"a:code:2","name":"read","arguments":{}}}
{"type":"tool/code-dispatch","data":{"rootCallId":"a","parentCallId":"a","subCallId":"a:code:2","name":"read","arguments":{},"isError":true,"content":[{"type":"text","text":"no"}]}}
{"type":"tool/code-dispatch","data":{"rootCallId":"a","parentCallId":"a","subCallId":"a:code:1","name":"read","arguments":{},"isError":false,"content":[]}}
{"type":"tool/result","data":{"message":{"content":[{"type":"tool-result","toolCallId":"a","content":[],"isError":false}]}}}
"#;
    assert_eq!(
        read(log.trim_start()).events,
        [
            step(1, 1, false),
            pre("a", "run_code", r#"{"code":"…"}"#),
            pre("a:code:1", "read", r#"{"b":9007199254740993, "a":1}"#),
            pre("a:code:2", "read", "{}"),
            post("a:code:1", Status::Succeeded, ""),
            post("a:code:2", Status::Failed, "no"),
            post("a", Status::Succeeded, ""),
        ]
    );
}

#[test]
fn dsh_a_fork_starts_after_the_history_of_its_parent() {
    let log = r#"
{"type":"session","version":0,"id":"child","parentSession":"parent","seedLength":3}
{"type":"step/start","data":{"turn":1,"step":1}}
{"type":"tool/call","data":{"turn":1,"step":1,"callId":"a","name":"t","arguments":"{}"}}
{"type":"session/end-seed","data":{}}
{"type":"step/start","data":{"turn":2,"step":1}}
{"type":"tool/call","data":{"turn":2,"step":1,"callId":"b","name":"t","arguments":"{}"}}
"#;
    assert_eq!(read(log.trim_start()).events, [step(2, 1, false), pre("b", "t", "{}")]);
}

#[test]
fn dsh_without_a_header_the_file_names_the_session() {
    let recording = read("{\"type\":\"turn/start\",\"data\":{\"turn\":1}}\n");
    assert_eq!(recording.agents, [Agent { session: "unnamed".to_owned(), id: "unnamed".to_owned() }]);
}

#[test]
fn the_examples_replay_as_the_demo_shows_them() {
    let component = Component::embedded().unwrap();
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("recorded/dsh");
    let totals = |name: &str, config: &str| {
        totals_of(&open(&fs::read_to_string(folder.join(name)).unwrap()), &component.guard(config).unwrap())
    };
    assert_eq!(
        totals("stuck-on-a-grep.jsonl", "{}"),
        Totals { calls: 10, notices: 3, longest_run: 8, stuck: 7, after_notice: 5, ..Totals::default() }
    );
    let limited = |on_exceeded: &str| {
        let config = format!(r#"{{"toolCallLimit":{{"limits":{{"web_search":2}},"onExceeded":"{on_exceeded}"}}}}"#);
        totals("eight-searches-at-once.jsonl", &config)
    };
    assert_eq!(
        limited("deny"),
        Totals { calls: 9, denied: 6, longest_run: 1, diverged: Some("call_3".to_owned()), ..Totals::default() }
    );
    assert_eq!(limited("ask"), Totals { calls: 9, asked: 6, longest_run: 1, ..Totals::default() });
    assert_eq!(
        totals("patient-with-a-job.jsonl", r#"{"repeatToolReminder":{"exclude":["*_status"]}}"#),
        Totals { calls: 10, longest_run: 4, stuck: 1, ..Totals::default() }
    );
}

/// The folder with more recorded sessions. Tests that need it are ignored; `make test` includes them where it is named.
fn more_sessions() -> PathBuf {
    // A relative path is one from the workspace, where cargo was called.
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(std::env::var_os("LOOP_GUARD_SESSIONS").unwrap())
}

#[test]
#[ignore = "needs LOOP_GUARD_SESSIONS"]
fn more_sessions_replay_without_a_bad_line() {
    let component = Component::embedded().unwrap();
    let inputs = search(&more_sessions()).unwrap().inputs;
    assert!(inputs.len() >= 5, "{} holds {} sessions", more_sessions().display(), inputs.len());
    for input in inputs {
        let recording = Recording::open(input, None).unwrap();
        let replay =
            replay(&recording, &Inherited::default(), &component.guard("{}").unwrap(), &mut Notices::default());
        assert_eq!(replay.unwrap().skipped, 0, "{}", recording.input().name());
    }
}

/// A parent and its fork, and a parent and the child that it started beside itself: each has its own calls alone.
#[test]
#[ignore = "needs LOOP_GUARD_SESSIONS"]
fn the_dsh_samples_keep_parents_and_children_apart() {
    let calls = |name: &str| {
        let log = fs::read_to_string(more_sessions().join("dsh").join(name)).unwrap();
        let read = read(&log);
        let calls = read.events.into_iter().filter_map(|event| match event {
            Event::Pre(call) => Some(call.tool),
            _ => None,
        });
        (read.agents.into_iter().map(|agent| agent.id).collect::<Vec<_>>().join(" "), calls.collect::<Vec<_>>())
    };
    let fork = "deepseek-ai__subagent-fork-in-process__session";
    assert_eq!(
        calls(&format!("{fork}.jsonl")),
        ("96cf59c9-b347-48b9-b234-a5200913ad05".to_owned(), vec!["subagent_fork".to_owned()])
    );
    assert_eq!(calls(&format!("{fork}.1.jsonl")), ("ada8966c-9fa3-441b-8721-37ff1e795e6a".to_owned(), vec![]));
    let parallel = "deepseek-ai__subagent-parallel__session";
    assert_eq!(
        calls(&format!("{parallel}.jsonl")),
        ("aaaaaaaa-0000-4000-8000-000000000001".to_owned(), vec!["subagent".to_owned(), "subagent".to_owned()])
    );
    assert_eq!(calls(&format!("{parallel}.1.jsonl")), ("bbbbbbbb-0000-4000-8000-000000000002".to_owned(), vec![]));
}

/// The notices that DSH's own guard gave stand in its log: a replay gives the same, at the same calls.
#[test]
#[ignore = "needs LOOP_GUARD_SESSIONS"]
fn the_dsh_sample_gives_the_notices_that_its_log_has() {
    let folder = more_sessions();
    let log = fs::read_to_string(folder.join("dsh/deepseek-ai__repeat-tool-reminder__session.jsonl")).unwrap();
    let mut calls = 0;
    let mut logged = Vec::new();
    for line in log.lines() {
        let line: serde_json::Value = serde_json::from_str(line).unwrap();
        let source = &line["data"]["source"];
        match line["type"].as_str().unwrap() {
            "tool/call" => calls += 1,
            "user/message" if source["plugin"] == "repeat-tool-reminder" => {
                logged.push((format!("call_{calls}"), source["summary"].as_str().unwrap().to_owned()));
            }
            _ => {}
        }
    }
    let mut given = Notices::default();
    replay(&open(&log), &Inherited::default(), &Component::embedded().unwrap().guard("{}").unwrap(), &mut given)
        .unwrap();
    let Notices(given) = given;
    assert_eq!(given, logged);
    let literal = [("call_3", "todo_write × 3"), ("call_5", "todo_write × 5")];
    assert_eq!(given, literal.map(|(call, summary)| (call.to_owned(), summary.to_owned())));
}
