//! Forks: what an agent inherited from its parent is no call of its own, where both files are at hand.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test fails by panicking")]

use std::path::Path;

use loop_guard::recorded::{Agent, Event, Inherited, Input, Lineages, Recording, Sink, Skipped};

#[derive(Default)]
struct Told(Vec<String>);

impl Sink for Told {
    fn agent(&mut self, _: &Agent) {}
    fn event(&mut self, _: &Agent, event: Event) {
        self.0.push(match event {
            Event::Step { turn, step, prompted } => {
                format!("step {turn}.{step}{}", if prompted { " prompted" } else { "" })
            }
            Event::Pre(call) => format!("call {}", call.id),
            Event::Post { id, .. } => format!("result {id}"),
            Event::TurnEnded { turn } => format!("turn {turn} ended"),
        });
    }
    fn skipped(&mut self, skipped: Skipped) {
        unreachable!("{}", skipped.reason);
    }
}

/// What each of these files tells, with what it inherited from another of them left out.
fn told(files: &[(&str, &str)]) -> Vec<String> {
    let open = |(name, text): &(&str, &str)| Recording::open(Input::bytes(*name, text.as_bytes()), None).unwrap();
    let recordings: Vec<_> = files.iter().map(open).collect();
    let lineages = Lineages::new(&recordings);
    let read = |(place, recording): (usize, &Recording)| {
        let mut told = Told::default();
        recording.read(&lineages.inherited(place), &mut told).unwrap();
        told.0.join(", ")
    };
    recordings.iter().enumerate().map(read).collect()
}

fn codex(meta: &str, calls: &[(&str, &str)]) -> String {
    let mut text = format!(r#"{{"timestamp":"t","type":"session_meta","payload":{meta}}}"#) + "\n";
    for (id, arguments) in calls {
        if id.is_empty() {
            text += r#"{"timestamp":"t","type":"event_msg","payload":{"type":"user_message","message":"x"}}"#;
        } else {
            text += &format!(
                r#"{{"timestamp":"t","type":"response_item","payload":{{"type":"function_call","name":"t","call_id":"{id}","arguments":"{arguments}"}}}}"#
            );
            text += &format!(
                "\n{}",
                format_args!(
                    r#"{{"timestamp":"t","type":"response_item","payload":{{"type":"function_call_output","call_id":"{id}","output":"o"}}}}"#
                )
            );
        }
        text.push('\n');
    }
    text
}

#[test]
fn a_fork_of_codex_begins_after_what_its_parent_has_as_well() {
    let parent = codex(r#"{"id":"p"}"#, &[("", ""), ("call_a", "1"), ("call_b", "2"), ("", ""), ("call_c", "3")]);
    let fork = codex(
        r#"{"id":"f","forked_from_id":"p"}"#,
        &[("", ""), ("call_a", "1"), ("call_b", "2"), ("", ""), ("call_d", "4"), ("call_b", "2")],
    );
    let [of_parent, of_fork] = told(&[("p.jsonl", &parent), ("f.jsonl", &fork)]).try_into().unwrap();
    assert_eq!(
        of_parent,
        "step 1.1 prompted, call call_a, result call_a, step 1.2, call call_b, result call_b, step 2.1 prompted, call call_c, result call_c"
    );
    assert_eq!(
        of_fork, "step 2.1 prompted, call call_d, result call_d, step 2.2, call call_b, result call_b",
        "what comes after its first own call is its own"
    );
    // Alone, nothing tells what was copied.
    assert_eq!(told(&[("f.jsonl", &fork)]).first().unwrap().matches("call ").count(), 4);
}

#[test]
fn ids_that_recur_in_other_sessions_are_no_copies() {
    let one = codex(r#"{"id":"one"}"#, &[("call_1", "1")]);
    let other = codex(r#"{"id":"other"}"#, &[("call_1", "1")]);
    assert_eq!(told(&[("a", &one), ("b", &other)]), ["step 1.1, call call_1, result call_1"; 2]);
    // A child whose first call merely has the same id.
    let child = codex(
        r#"{"id":"child","source":{"subagent":{"thread_spawn":{"parent_thread_id":"one"}}}}"#,
        &[("call_1", "2")],
    );
    assert_eq!(told(&[("a", &one), ("c", &child)]), ["step 1.1, call call_1, result call_1"; 2]);
}

#[test]
fn a_checkpoint_of_pi_is_a_copy_of_its_session_and_a_fork_names_the_file_of_its_parent() {
    let header = |id: &str, parent: &str| {
        format!(r#"{{"type":"session","version":3,"id":"{id}","timestamp":"t","cwd":"/"{parent}}}"#) + "\n"
    };
    let call = |id: &str, parent: &str| {
        let message = format!(
            r#"{{"role":"assistant","content":[{{"type":"toolCall","id":"c{id}","name":"t","arguments":{{"n":"{id}"}}}}]}}"#
        );
        format!(r#"{{"type":"message","id":"{id}","parentId":{parent},"timestamp":"t","message":{message}}}"#) + "\n"
    };
    let session = header("s", "") + &call("1", "null") + &call("2", "\"1\"");
    let checkpoint = header("s", "") + &call("1", "null");
    let fork =
        header("f", r#","parentSession":"/home/dev/2026-12-01_s.jsonl""#) + &call("1", "null") + &call("3", "\"1\"");
    assert_eq!(
        told(&[("s.checkpoint.1.jsonl", &checkpoint), ("s.jsonl", &session), ("f.jsonl", &fork)]),
        ["", "step 1.1, call c1, step 1.2, call c2", "step 1.2, call c3"]
    );
}

/// Neither of the two kinds of copies names its parent: each call is one of the two files alone.
#[test]
fn a_copy_of_claude_code_has_the_first_answer_of_its_parent() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("recorded/claude-code");
    for (files, alone, together) in [
        (["recorded.jsonl", "recorded-fork.jsonl"], 13 + 14, 14),
        (["recorded-1.0.44.jsonl", "recorded-1.0.44-continued.jsonl"], 10 + 7, 11),
    ] {
        let recordings = files.map(|name| Recording::open(Input::file(folder.join(name)), None).unwrap());
        let lineages = Lineages::new(&recordings);
        let calls = |place: usize, inherited: &Inherited| {
            let mut told = Told::default();
            recordings[place].read(inherited, &mut told).unwrap();
            told.0.iter().filter(|event| event.starts_with("call ")).count()
        };
        let sum = |inherited: &dyn Fn(usize) -> Inherited| calls(0, &inherited(0)) + calls(1, &inherited(1));
        assert_eq!(sum(&|_| Inherited::default()), alone, "{files:?}");
        assert_eq!(sum(&|place| lineages.inherited(place)), together, "{files:?}");
    }
}
