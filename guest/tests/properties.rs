//! The guard against a naive model, natively. `host-test` does the same through the component.
#![allow(missing_docs, clippy::indexing_slicing, clippy::cast_possible_truncation, reason = "tests")]

#[path = "model/json.rs"]
mod json;
mod model;
#[path = "model/native.rs"]
mod native;

use json::{Choices, values};
use loop_guard_guest::guard::Guard;
use model::{agree, configs, hooks};
use proptest::prelude::*;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn any_sequence_of_hooks_is_answered_as_the_model_does(config in configs(), hooks in hooks()) {
        let mut guard = Guard::default();
        prop_assert_eq!(guard.configure(&config.json()), Ok(()));
        agree(&mut guard, config, &hooks)?;
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
