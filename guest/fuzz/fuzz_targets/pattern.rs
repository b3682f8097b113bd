//! R8: a pattern and a name, divided by a line break, against a naive matcher.
#![no_main]

use libfuzzer_sys::{Corpus, fuzz_target};
use loop_guard_guest::guard::{Call, Guard, Outcome, Status};
use serde_json::json;

fuzz_target!(|text: &str| -> Corpus {
    let Some((pattern, name)) = text.split_once('\n') else { return Corpus::Reject };
    let mut guard = Guard::default();
    let config = json!({ "repeatToolReminder": { "include": [pattern] } });
    assert_eq!(guard.configure(&config.to_string()), Ok(()));
    let call = Call { agent: Some("a".into()), id: "1".into(), name: name.into(), arguments: String::new() };
    guard.post_execute(call, Outcome { status: Status::Succeeded, content: String::new() });
    assert_eq!(guard.count("a") == 1, matches(pattern, name), "{pattern:?} {name:?}");
    Corpus::Keep
});

/// Keeps the set of all places in the pattern that can have been reached so far.
fn matches(pattern: &str, name: &str) -> bool {
    let pattern: Vec<char> = pattern.chars().collect();
    let mut reached = vec![false; pattern.len() + 1];
    reached[0] = true;
    pass_stars(&pattern, &mut reached);
    for character in name.chars() {
        let mut next = vec![false; pattern.len() + 1];
        for (place, expected) in pattern.iter().enumerate().filter(|(place, _)| reached[*place]) {
            match expected {
                '*' => next[place] = true,
                _ => next[place + 1] |= *expected == character,
            }
        }
        pass_stars(&pattern, &mut next);
        reached = next;
    }
    reached[pattern.len()]
}

fn pass_stars(pattern: &[char], reached: &mut [bool]) {
    for (place, character) in pattern.iter().enumerate() {
        reached[place + 1] |= reached[place] && *character == '*';
    }
}
