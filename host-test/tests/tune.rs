//! What `tune` tells of thresholds and quotas is what the guard does under them.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test fails by panicking")]

use std::path::Path;

use loop_guard::recorded::{Inherited, Input, Recording, search};
use loop_guard::replay::{Totals, replay};
use loop_guard::tune::{Study, Sweep};
use loop_guard::{Component, Guard};

/// A log with these calls, each in a step of its own: tool, and result. All calls of a tool are equal.
fn log(calls: &[(&str, &str)]) -> Recording {
    let mut text = String::from("{\"type\":\"session\",\"version\":0,\"id\":\"s\"}\n");
    for (step, (tool, result)) in calls.iter().enumerate() {
        text += &format!(
            "{{\"type\":\"tool/call\",\"data\":{{\"turn\":1,\"step\":{step},\"callId\":\"{step}\",\"name\":\"{tool}\",\"arguments\":\"{{}}\"}}}}\n\
             {{\"type\":\"tool/result\",\"data\":{{\"message\":{{\"content\":[{{\"toolCallId\":\"{step}\",\"content\":[{{\"text\":\"{result}\"}}]}}]}}}}}}\n"
        );
    }
    Recording::open(Input::bytes("s", text.into_bytes()), None).unwrap()
}

fn study(recordings: &[Recording], guard: impl Fn() -> Guard) -> Study {
    let mut study = Study::default();
    for recording in recordings {
        let mut watcher = Study::watcher();
        replay(recording, &Inherited::default(), &guard(), &mut watcher).unwrap();
        study.add(watcher.study());
    }
    study
}

fn defaults() -> Guard {
    Component::embedded().unwrap().guard("{}").unwrap()
}

#[test]
fn streaks_are_split_by_their_results() {
    let stuck = log(&[("grep", "none"); 6]);
    let polling = log(&[
        ("job", "1 %"),
        ("job", "2 %"),
        ("job", "2 %"),
        ("job", "4 %"),
        ("job", "5 %"),
        ("ls", "x"),
        ("ls", "x"),
    ]);
    let study = study(&[stuck, polling], defaults);
    let sweep = study.sweep();
    assert_eq!(sweep.len(), 19, "2 to 20");
    assert_eq!(
        sweep[0],
        Sweep {
            threshold: 2,
            stuck_sessions: 2,
            polling_sessions: 0,
            stuck_notices: 2,
            polling_notices: 1,
            needless_notices: 1,
            saved: 4,
        }
    );
    assert_eq!(
        sweep[2],
        Sweep {
            threshold: 4,
            stuck_sessions: 1,
            polling_sessions: 1,
            stuck_notices: 1,
            polling_notices: 1,
            needless_notices: 0,
            saved: 2,
        }
    );
    assert_eq!(sweep[5], Sweep { threshold: 7, ..Sweep::default() });
    // At 3, three are saved and one poll is disturbed; at 2, four are saved and two notices are in vain. They are worth the same, and 3 reminds less.
    let advice = study.advice();
    assert_eq!((advice.thresholds, advice.exclude), (vec![3, 5, 8], vec![]));
}

#[test]
fn tools_that_only_poll_are_excluded_and_bursts_are_limited() {
    let mut calls = Vec::new();
    for poll in ["a", "b"] {
        calls.extend([("job", "1 %"), ("job", "2 %"), ("job", "3 %"), ("other", poll)]);
    }
    let advice = study(&[log(&calls)], defaults).advice();
    assert_eq!(advice.exclude, ["job"]);
    assert_eq!(advice.thresholds, [3, 5, 8]);

    // 200 steps with one search, and one with eight.
    let mut text = String::new();
    let mut call = |step: usize, number: usize| {
        text += &format!(
            "{{\"type\":\"tool/call\",\"data\":{{\"turn\":1,\"step\":{step},\"callId\":\"{step}.{number}\",\"name\":\"search\",\"arguments\":\"{{\\\"q\\\":{step}{number}}}\"}}}}\n"
        );
    };
    (1..=200).for_each(|step| call(step, 0));
    (0..8).for_each(|number| call(201, number));
    let recording = Recording::open(Input::bytes("s", text.into_bytes()), None).unwrap();
    let study = study(&[recording], defaults);
    let tools = study.tools();
    let search = &tools[0];
    assert_eq!((search.calls, search.steps, search.median, search.most_of_99, search.most), (208, 201, 1, 1, 8));
    assert_eq!([1, 2, 7, 8].map(|limit| search.denied_at(limit)), [7, 6, 1, 0]);
    assert_eq!(study.advice().limits.into_iter().collect::<Vec<_>>(), [("search".to_owned(), 1)]);
}

#[test]
fn without_a_streak_the_defaults_are_advised() {
    let advice = study(&[log(&[("a", ""), ("b", ""), ("c", "")])], defaults).advice();
    assert_eq!((advice.thresholds, advice.sweep.saved), (vec![3, 5, 8], 0));
}

/// The notices of the sweep, and the denials of each limit, are those of a replay under that very configuration.
#[test]
fn the_numbers_are_those_of_replays() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("recorded");
    let recordings: Vec<_> =
        search(&folder).unwrap().inputs.into_iter().filter_map(|input| Recording::open(input, None).ok()).collect();
    assert!(recordings.len() > 80, "{} recordings", recordings.len());
    let component = Component::embedded().unwrap();
    let study = study(&recordings, || component.guard("{}").unwrap());
    let totals = |config: &str| {
        let mut sum = Totals::default();
        for recording in &recordings {
            let guard = component.guard(config).unwrap();
            for (_, totals) in replay(recording, &Inherited::default(), &guard, &mut Study::watcher()).unwrap().agents {
                sum.calls += totals.calls;
                sum.notices += totals.notices;
                sum.denied += totals.denied;
            }
        }
        sum
    };
    for sweep in study.sweep() {
        let totals = totals(&format!(r#"{{"repeatToolReminder":{{"thresholds":[{}]}}}}"#, sweep.threshold));
        assert_eq!(sweep.stuck_notices + sweep.polling_notices, totals.notices, "at {}", sweep.threshold);
        assert_eq!(study.calls(), totals.calls);
    }
    for tool in study.tools() {
        for limit in 1..=tool.most {
            let name = serde_json::to_string(&tool.tool).unwrap();
            let totals = totals(&format!(r#"{{"toolCallLimit":{{"limits":{{{name}:{limit}}}}}}}"#));
            // Calls outside of any step fail closed (Q6), and are in no distribution.
            let stepless = study.stepless_calls();
            let expected = tool.denied_at(limit);
            assert!(
                (expected..=expected + stepless).contains(&totals.denied),
                "{name} at {limit}: {} and not {expected}",
                totals.denied
            );
        }
    }
}
