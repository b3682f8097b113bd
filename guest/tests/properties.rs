//! The guard against a naive model, natively. `host-test` does the same through the component.
#![allow(missing_docs, clippy::indexing_slicing, clippy::cast_possible_truncation, reason = "tests")]

#[path = "model/json.rs"]
mod json;
#[path = "model/ladder.rs"]
mod ladder;
mod model;
#[path = "model/native.rs"]
mod native;

use json::{Choices, IGNORE_ANYWHERE, IGNORE_AT_TOP, values};
use ladder::{CALLS, CONTENTS, Move, Said, ladders, moves};
use loop_guard_guest::guard::{Call, Decision, Guard, Outcome, Status};
use model::{agree, configs, hooks};
use proptest::prelude::*;

/// What the guard says of each move.
fn answers(guard: &mut Guard, moves: &[Move]) -> Vec<Said> {
    let mut answer = |next: &Move| {
        let Move::Call { call, content } = *next else {
            guard.step("a", 1, 1, true);
            return Said::default();
        };
        let call = Call { agent: Some("a".into()), id: "1".into(), name: CALLS[call].into(), arguments: String::new() };
        let (before, status) = match guard.pre_execute(call.clone()) {
            Decision::Allow => (None, Status::Succeeded),
            Decision::Ask(reason) => (Some(("ask", reason)), Status::Succeeded),
            Decision::Deny(reason) => (Some(("deny", reason)), Status::Denied),
        };
        let notices = guard.post_execute(call, &Outcome { status, content: CONTENTS[content].to_owned() });
        Said { before, after: notices.into_iter().map(|notice| notice.summary).collect() }
    };
    moves.iter().map(&mut answer).collect()
}

/// How long the streak is after two calls, each with its arguments and its result.
fn count(config: &str, calls: [[&str; 2]; 2]) -> u32 {
    let mut guard = Guard::default();
    assert_eq!(guard.configure(config), Ok(()));
    for [arguments, content] in calls {
        let call = Call { agent: Some("a".into()), id: "1".into(), name: "t".into(), arguments: arguments.into() };
        guard.post_execute(call, &Outcome { status: Status::Succeeded, content: content.into() });
    }
    guard.count("a")
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn any_sequence_of_hooks_is_answered_as_the_model_does(config in configs(), hooks in hooks()) {
        let mut guard = Guard::default();
        prop_assert_eq!(guard.configure(&config.json()), Ok(()));
        agree(&mut guard, config, &hooks)?;
    }

    #[test]
    fn b1_b2_b3_any_sequence_of_calls_is_answered_as_the_ladder_has_it(ladder in ladders(), moves in moves()) {
        let mut guard = Guard::default();
        prop_assert_eq!(guard.configure(&ladder.json()), Ok(()));
        prop_assert_eq!(answers(&mut guard, &moves), ladder.answers(&moves));
    }

    #[test]
    fn b8_a_guard_goes_on_from_a_snapshot_as_if_nothing_had_happened(
        ladder in ladders(), first in moves(), second in moves()
    ) {
        let mut guard = Guard::default();
        prop_assert_eq!(guard.configure(&ladder.json()), Ok(()));
        answers(&mut guard, &first);
        let snapshot = guard.snapshot();
        let mut other = Guard::default();
        prop_assert!(other.restore(&snapshot).is_err() || guard.describe() == other.describe());
        prop_assert_eq!(other.configure(&ladder.json()), Ok(()));
        prop_assert_eq!(other.restore(&snapshot), Ok(()));
        prop_assert_eq!(other.snapshot(), snapshot);
        prop_assert_eq!(answers(&mut other, &second), answers(&mut guard, &second));
        prop_assert_eq!(other.stats(), guard.stats());
    }

    #[test]
    fn b8_no_bytes_trap(bytes: Vec<u8>, cut: prop::sample::Index) {
        let mut guard = Guard::default();
        prop_assert!(guard.restore(&bytes).is_err());
        let mut snapshot = guard.snapshot();
        snapshot.truncate(cut.index(snapshot.len()));
        prop_assert!(guard.restore(&snapshot).is_err());
    }

    #[test]
    fn c2_c4_spellings_of_one_value_are_equal(value in values(), a: Vec<u8>, b: Vec<u8>) {
        let mut guard = Guard::default();
        let (mut a, mut b) = (Choices(&a), Choices(&b));
        let (one, other) = (value.spell(&mut a), value.shuffled(&mut b).spell(&mut b));
        prop_assert_eq!(guard.canonical(&one), guard.canonical(&other), "of {} and {}", one, other);
    }

    #[test]
    fn c2_c4_a_changed_value_is_never_equal(value in values(), choices: Vec<u8>, spelling: Vec<u8>) {
        let mut guard = Guard::default();
        let mut spelling = Choices(&spelling);
        let changed = value.changed(&mut Choices(&choices));
        let (one, other) = (value.spell(&mut spelling), changed.spell(&mut spelling));
        prop_assert_ne!(guard.canonical(&one), guard.canonical(&other), "of {} and {}", one, other);
    }

    #[test]
    fn b4_members_that_are_ignored_at_the_top_make_no_difference(
        value in values(), more in values(), change: Vec<u8>, choices: Vec<u8>, spelling: Vec<u8>
    ) {
        let one = value.spell(&mut Choices(&spelling));
        let other = value.spell_with_ignored(&more, 1, &choices, &spelling);
        prop_assert_eq!(count(IGNORE_AT_TOP, [[&one, ""], [&other, ""]]), 2, "of {} and {}", one, other);
        let other = value.changed(&mut Choices(&change)).spell_with_ignored(&more, 1, &choices, &spelling);
        prop_assert_eq!(count(IGNORE_AT_TOP, [[&one, ""], [&other, ""]]), 1, "of {} and {}", one, other);
    }

    #[test]
    fn b1_members_of_results_that_are_ignored_make_no_difference(
        value in values(), more in values(), change: Vec<u8>, choices: Vec<u8>, spelling: Vec<u8>
    ) {
        let one = value.spell(&mut Choices(&spelling));
        let other = value.spell_with_ignored(&more, usize::MAX, &choices, &spelling);
        prop_assert_eq!(count(IGNORE_ANYWHERE, [["", &one], ["", &other]]), 2, "of {} and {}", one, other);
        let other = value.changed(&mut Choices(&change)).spell_with_ignored(&more, usize::MAX, &choices, &spelling);
        prop_assert_eq!(count(IGNORE_ANYWHERE, [["", &one], ["", &other]]), 1, "of {} and {}", one, other);
    }

    #[test]
    fn c2_a_canonical_text_is_its_own_canonical_text(value in values(), spelling: Vec<u8>) {
        let mut guard = Guard::default();
        let canonical = guard.canonical(&value.spell(&mut Choices(&spelling)));
        prop_assert_eq!(guard.canonical(&canonical), canonical);
    }

    #[test]
    fn c3_any_text_has_a_canonical_text_that_is_json(text: String) {
        let mut guard = Guard::default();
        let canonical = guard.canonical(&text);
        prop_assert!(serde_json::from_str::<&serde_json::value::RawValue>(&canonical).is_ok(), "{}", canonical);
        prop_assert_eq!(guard.canonical(&canonical), canonical);
    }

    #[test]
    fn a_described_configuration_means_the_same(config in configs()) {
        let mut guard = Guard::default();
        prop_assert_eq!(guard.configure(&config.json()), Ok(()));
        let described = guard.describe();
        prop_assert_eq!(guard.configure(&described), Ok(()));
        prop_assert_eq!(guard.describe(), described);
    }
}
