//! R15, Q10: any text as a configuration. Its problems stand where a naive reading finds them, and one that is
//! accepted means the same when it is described.
#![no_main]

mod naive;

use libfuzzer_sys::fuzz_target;
use loop_guard_guest::guard::Guard;
use naive::{Json, Number};
use num_bigint::BigInt;

fuzz_target!(|text: &str| {
    let mut guard = Guard::default();
    let defaults = guard.describe();
    let expected = problems(text);
    match guard.configure(text) {
        Ok(()) => {
            assert_eq!(expected, [""; 0], "of {text:?}");
            let described = guard.describe();
            assert_eq!(guard.configure(&described), Ok(()), "{described:?}, of {text:?}");
            assert_eq!(guard.describe(), described, "of {text:?}");
        }
        Err(problems) => {
            let paths: Vec<_> = problems.into_iter().map(|problem| problem.path).collect();
            assert_eq!(paths, expected, "of {text:?}");
            assert_eq!(guard.describe(), defaults, "of {text:?}");
        }
    }
});

/// Where the problems are.
fn problems(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    match Json::parse(text) {
        None => found.push(String::new()),
        Some(root) => members(&root, "", &mut found, |field, value, path, found| match field {
            "repeatToolReminder" if *value != Json::Null => members(value, path, found, reminder),
            "toolCallLimit" if *value != Json::Null => members(value, path, found, limit),
            "repeatToolReminder" | "toolCallLimit" => {}
            "maxAgents" => check(*value == Json::Null || whole(value, 1), path, found),
            _ => check(false, path, found),
        }),
    }
    if found.len() > 1000 {
        found.truncate(1000);
        found.push(String::new());
    }
    found
}

fn reminder(field: &str, value: &Json, path: &str, found: &mut Vec<String>) {
    match (field, value) {
        ("enabled" | "thresholds" | "include" | "exclude" | "argumentsPreviewChars", Json::Null) => {}
        ("enabled", _) => check(matches!(value, Json::Bool(_)), path, found),
        ("thresholds", Json::Array(thresholds)) => {
            for (index, threshold) in thresholds.iter().enumerate() {
                let good = whole(threshold, 2) && !thresholds[..index].contains(threshold);
                check(good, &format!("{path}/{index}"), found);
            }
            check(!thresholds.is_empty(), path, found);
        }
        ("include" | "exclude", Json::Array(patterns)) => {
            for (index, pattern) in patterns.iter().enumerate() {
                check(matches!(pattern, Json::String(_)), &format!("{path}/{index}"), found);
            }
        }
        ("argumentsPreviewChars", _) => check(whole(value, 1), path, found),
        _ => check(false, path, found),
    }
}

fn limit(field: &str, value: &Json, path: &str, found: &mut Vec<String>) {
    match (field, value) {
        ("enabled" | "limits" | "onExceeded", Json::Null) => {}
        ("enabled", _) => check(matches!(value, Json::Bool(_)), path, found),
        ("limits", _) => members(value, path, found, |tool, limit, path, found| {
            check(tool != "*" && whole(limit, 0), path, found);
        }),
        ("onExceeded", Json::String(action)) => check(action == "deny" || action == "ask", path, found),
        _ => check(false, path, found),
    }
}

fn members(value: &Json, path: &str, found: &mut Vec<String>, read: impl Fn(&str, &Json, &str, &mut Vec<String>)) {
    let Json::Object(members) = value else { return check(false, path, found) };
    for (index, (name, value)) in members.iter().enumerate() {
        let path = format!("{path}/{}", name.replace('~', "~0").replace('/', "~1"));
        if members[..index].iter().any(|(earlier, _)| earlier == name) {
            found.push(path);
        } else {
            read(name, value, &path, found);
        }
    }
}

fn check(good: bool, path: &str, found: &mut Vec<String>) {
    if !good {
        found.push(path.to_owned());
    }
}

/// Whether a value is a whole number from `min` to 2^53 − 1.
fn whole(value: &Json, min: u32) -> bool {
    let Json::Number(Number { negative, digits, exponent }) = value else { return false };
    if *negative || *exponent < BigInt::ZERO || *exponent > BigInt::from(20) {
        return false;
    }
    let zeros = "0".repeat(exponent.to_string().parse().unwrap_or(0));
    let value: BigInt = format!("0{digits}{zeros}").parse().unwrap_or_default();
    value >= BigInt::from(min) && value <= BigInt::from((1_i64 << 53) - 1)
}
