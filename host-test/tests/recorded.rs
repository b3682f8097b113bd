//! Replays recorded sessions: those of this repository, and more where `LOOP_GUARD_SESSIONS` names a folder of them.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test fails by panicking")]

use std::fs;
use std::path::{Path, PathBuf};

use loop_guard::recorded::{Call, CallResult, Event, Recording, dsh};
use loop_guard::replay::{Moment, Totals, replay};
use loop_guard::{Component, Status};

fn read(log: &str) -> Recording {
    dsh::read(log.as_bytes(), "unnamed").unwrap()
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
    assert_eq!(recording.session, "s1");
    assert_eq!(recording.agent, "s1");
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
    let totals = replay(&read(&log), &component.guard("{}").unwrap()).unwrap().totals;
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
    let totals = replay(&read(&log), &guard).unwrap().totals;
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
{"type":"session","version":0,"id":"child","parentSession":"parent","seedLength":4}
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
    assert_eq!(recording.session, "unnamed");
}

#[test]
fn the_examples_replay_as_the_demo_shows_them() {
    let component = Component::embedded().unwrap();
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("recorded/dsh");
    let totals = |name: &str, config: &str| {
        let recording = read(&fs::read_to_string(folder.join(name)).unwrap());
        assert_eq!(recording.skipped, []);
        replay(&recording, &component.guard(config).unwrap()).unwrap().totals
    };
    assert_eq!(
        totals("stuck-on-a-grep.jsonl", "{}"),
        Totals { calls: 10, notices: 3, denied: 0, asked: 0, longest_run: 8, diverged: None }
    );
    let limited = |on_exceeded: &str| {
        let config = format!(r#"{{"toolCallLimit":{{"limits":{{"web_search":2}},"onExceeded":"{on_exceeded}"}}}}"#);
        totals("eight-searches-at-once.jsonl", &config)
    };
    assert_eq!(
        limited("deny"),
        Totals { calls: 9, notices: 0, denied: 6, asked: 0, longest_run: 1, diverged: Some("call_3".to_owned()) }
    );
    assert_eq!(limited("ask"), Totals { calls: 9, notices: 0, denied: 0, asked: 6, longest_run: 1, diverged: None });
    assert_eq!(
        totals("patient-with-a-job.jsonl", r#"{"repeatToolReminder":{"exclude":["*_status"]}}"#),
        Totals { calls: 10, notices: 0, denied: 0, asked: 0, longest_run: 4, diverged: None }
    );
}

/// The folder with more recorded sessions. Tests that need it are ignored; `make test` includes them where it is named.
fn more_sessions() -> PathBuf {
    // A relative path is one from the workspace, where cargo was called.
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(std::env::var_os("LOOP_GUARD_SESSIONS").unwrap())
}

#[test]
#[ignore = "needs LOOP_GUARD_SESSIONS"]
fn more_dsh_sessions_replay_without_a_bad_line() {
    let folder = more_sessions();
    let component = Component::embedded().unwrap();
    let mut replayed = 0;
    for entry in fs::read_dir(folder.join("dsh")).unwrap() {
        let path = entry.unwrap().path();
        let recording = dsh::read(fs::read(&path).unwrap().as_slice(), "unnamed").unwrap();
        assert_eq!(recording.skipped, [], "{}", path.display());
        replay(&recording, &component.guard("{}").unwrap()).unwrap();
        replayed += 1;
    }
    assert!(replayed > 0, "{} holds no sessions of DSH", folder.display());
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
    let replay = replay(&read(&log), &Component::embedded().unwrap().guard("{}").unwrap()).unwrap();
    let mut given = Vec::new();
    for moment in &replay.moments {
        if let Moment::Call(replayed) = moment {
            given.extend(replayed.notices.iter().map(|notice| (replayed.call.id.clone(), notice.summary.clone())));
        }
    }
    assert_eq!(given, logged);
    let literal = [("call_3", "todo_write × 3"), ("call_5", "todo_write × 5")];
    assert_eq!(given, literal.map(|(call, summary)| (call.to_owned(), summary.to_owned())));
}
