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
use ladder::{Guarded, Session, ladders, moves};
use loop_guard_guest::guard::{Call, Decision, Guard, Outcome, Status};
use model::{agree, configs, hooks};
use proptest::prelude::*;

impl Guarded for Guard {
    fn step(&mut self, prompted: bool) {
        Guard::step(self, "a", 1, 1, prompted);
    }

    fn pre(&mut self, id: &str, tool: &str) -> Option<(&'static str, String)> {
        match self.pre_execute(bare(id, tool)) {
            Decision::Allow => None,
            Decision::Ask(reason) => Some(("ask", reason)),
            Decision::Deny(reason) => Some(("deny", reason)),
        }
    }

    fn post(&mut self, id: &str, tool: &str, denied: bool, content: &str) -> Vec<String> {
        let status = if denied { Status::Denied } else { Status::Succeeded };
        let notices = self.post_execute(bare(id, tool), Outcome { status, content: content.to_owned() });
        notices.into_iter().map(|notice| notice.summary).collect()
    }
}

fn bare(id: &str, tool: &str) -> Call {
    Call { agent: Some("a".to_owned()), id: id.to_owned(), name: tool.to_owned(), arguments: String::new() }
}

/// How long the streak is after two calls, each with its arguments and its result.
fn count(config: &str, calls: [[&str; 2]; 2]) -> u32 {
    let mut guard = Guard::default();
    assert_eq!(guard.configure(config), Ok(()));
    for [arguments, content] in calls {
        let call = Call { agent: Some("a".into()), id: "1".into(), name: "t".into(), arguments: arguments.into() };
        guard.post_execute(call, Outcome { status: Status::Succeeded, content: content.into() });
    }
    guard.count("a")
}

/// A part of a text, and what it says of the second call of `say {tool}` with arguments that are no JSON.
fn part() -> impl Strategy<Value = (String, String)> {
    let filled = [("{{", "{"), ("}", "}"), ("{tool}", "say {tool}"), ("{count}", "2"), ("{arguments}", r#""[{{] ""#)];
    let filled = prop::sample::select(filled.to_vec()).prop_map(|(text, said)| (text.to_owned(), said.to_owned()));
    prop_oneof![filled, "[^{]{0,3}".prop_map(|text| (text.clone(), text))]
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
    fn b1_b2_b3_b5_any_sequence_of_calls_is_answered_as_the_ladder_has_it(ladder in ladders(), moves in moves()) {
        let mut guard = Guard::default();
        prop_assert_eq!(guard.configure(&ladder.json()), Ok(()));
        let expected = Session::default().answers(&mut ladder::Model::new(ladder), &moves);
        prop_assert_eq!(Session::default().answers(&mut guard, &moves), expected);
    }

    #[test]
    fn b8_a_guard_goes_on_from_a_snapshot_as_if_nothing_had_happened(
        ladder in ladders(), first in moves(), second in moves()
    ) {
        let (mut guard, mut session) = (Guard::default(), Session::default());
        prop_assert_eq!(guard.configure(&ladder.json()), Ok(()));
        session.answers(&mut guard, &first);
        let snapshot = guard.snapshot();
        let mut other = Guard::default();
        prop_assert!(other.restore(&snapshot).is_err() || guard.describe() == other.describe());
        prop_assert_eq!(other.configure(&ladder.json()), Ok(()));
        prop_assert_eq!(other.restore(&snapshot), Ok(()));
        prop_assert_eq!(other.snapshot(), snapshot);
        prop_assert_eq!(session.clone().answers(&mut other, &second), session.answers(&mut guard, &second));
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
    fn b10_texts_of_ones_own_say_what_they_are_written_to_say(parts in prop::collection::vec(part(), 0..6)) {
        let (texts, said): (Vec<_>, Vec<_>) = parts.into_iter().unzip();
        let mut guard = Guard::default();
        let text = serde_json::Value::from(texts.concat());
        let config = format!(r#"{{"repeatToolReminder":{{"thresholds":[2],"texts":{{"gentle":{text}}}}}}}"#);
        prop_assert_eq!(guard.configure(&config), Ok(()));
        let call = Call { arguments: "[{{] ".into(), ..bare("2", "say {tool}") };
        guard.post_execute(call.clone(), Outcome { status: Status::Failed, content: String::new() });
        let notices = guard.post_execute(call, Outcome { status: Status::Failed, content: String::new() });
        prop_assert_eq!(notices.into_iter().map(|notice| notice.text).collect::<Vec<_>>(), [said.concat()]);
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
