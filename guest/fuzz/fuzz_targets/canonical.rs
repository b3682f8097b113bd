//! C1 to C7: two arguments, divided by a NUL, are the same call if, and only if, they have the same value.
#![no_main]

mod naive;

use libfuzzer_sys::{Corpus, fuzz_target};
use loop_guard_guest::guard::{Call, Guard, Outcome, Status};
use naive::Json;

fuzz_target!(|text: &str| -> Corpus {
    let Some((one, other)) = text.split_once('\0') else { return Corpus::Reject };
    let mut guard = Guard::default();
    for arguments in [one, other] {
        let canonical = guard.canonical(arguments);
        assert_eq!(value(&canonical), value(arguments), "of {arguments:?}: {canonical:?}");
        assert_eq!(guard.canonical(&canonical), canonical, "of {arguments:?}");
    }
    let equal = value(one) == value(other);
    assert_eq!(guard.canonical(one) == guard.canonical(other), equal, "the texts of {one:?} and {other:?}");
    for arguments in [one, other] {
        let call = Call { agent: Some("a".into()), id: "1".into(), name: "t".into(), arguments: arguments.into() };
        guard.post_execute(call, Outcome { status: Status::Succeeded, content: String::new() });
    }
    assert_eq!(guard.count("a") == 2, equal, "the digests of {one:?} and {other:?}");
    Corpus::Keep
});

fn value(arguments: &str) -> Json {
    match Json::parse(arguments) {
        Some(value) => value.meaning(),
        None if arguments.is_empty() => Json::Object(Vec::new()),
        None => Json::String(arguments.to_owned()),
    }
}
