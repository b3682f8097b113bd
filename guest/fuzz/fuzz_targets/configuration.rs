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
            let mut paths: Vec<_> = problems.into_iter().map(|problem| problem.path).collect();
            if paths.len() > 1000 {
                assert_eq!(paths.len(), expected.len(), "of {text:?}");
            } else {
                // What two fields say together comes behind what each of them says.
                paths.sort();
                assert_eq!(paths, expected, "of {text:?}");
            }
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
            "repeatToolReminder" if *value != Json::Null => {
                members(value, path, found, reminder);
                let section = rungs(value, (None, None));
                contradiction(value, section, path, found);
                if let Some(Json::Array(entries)) = field_of(value, "tools") {
                    for (index, entry) in entries.iter().enumerate() {
                        let path = format!("{path}/tools/{index}");
                        members(entry, &path, found, tool_entry);
                        if let Json::Object(_) = entry {
                            check(field_of(entry, "match").is_some(), &path, found);
                            contradiction(entry, rungs(entry, section), &path, found);
                        }
                    }
                }
            }
            "toolCallLimit" if *value != Json::Null => members(value, path, found, limit),
            "repeatedFailureReminder" if *value != Json::Null => {
                members(value, path, found, failures);
                let has_thresholds = matches!(field_of(value, "thresholds"), Some(Json::Array(all)) if all.iter().any(|one| whole(one, 2)));
                let goes_on = field_of(value, "every").is_some_and(|every| whole(every, 1));
                check(has_thresholds || !goes_on, &format!("{path}/every"), found);
            }
            "repeatToolReminder" | "toolCallLimit" | "repeatedFailureReminder" => {}
            "observe" => check(matches!(value, Json::Null | Json::Bool(_)), path, found),
            "maxAgents" => check(*value == Json::Null || whole(value, 1), path, found),
            _ => check(false, path, found),
        }),
    }
    found.sort();
    if found.len() > 1000 {
        found.truncate(1000);
        found.push(String::new());
    }
    found
}

/// The first member of an object with this name.
fn field_of<'a>(value: &'a Json, name: &str) -> Option<&'a Json> {
    let Json::Object(members) = value else { return None };
    members.iter().find(|(known, _)| known == name).map(|(_, value)| value)
}

/// `askAt` and `denyAt`, as they are given or, if they are not, as they are elsewhere.
fn rungs<'a>(
    value: &'a Json,
    (ask, deny): (Option<&'a Json>, Option<&'a Json>),
) -> (Option<&'a Json>, Option<&'a Json>) {
    let given = |name| field_of(value, name).filter(|number| whole(number, 2));
    (given("askAt").or(ask), given("denyAt").or(deny))
}

fn contradiction(value: &Json, rungs: (Option<&Json>, Option<&Json>), path: &str, found: &mut Vec<String>) {
    let (Some(ask), Some(deny)) = rungs else { return };
    let place = ["askAt", "denyAt"].into_iter().find(|name| field_of(value, name).is_some());
    if let Some(place) = place {
        check(number(ask) < number(deny), &format!("{path}/{place}"), found);
    }
}

fn setting(field: &str, value: &Json, path: &str, found: &mut Vec<String>) -> bool {
    match (field, value) {
        (
            "thresholds"
            | "every"
            | "results"
            | "ignoreResultFields"
            | "anyResultThresholds"
            | "askAt"
            | "denyAt"
            | "siblings",
            Json::Null,
        ) => {}
        ("thresholds" | "anyResultThresholds", Json::Array(thresholds)) => {
            for (index, threshold) in thresholds.iter().enumerate() {
                let good = whole(threshold, 2) && !thresholds[..index].contains(threshold);
                check(good, &format!("{path}/{index}"), found);
            }
            check(field == "anyResultThresholds" || !thresholds.is_empty(), path, found);
        }
        ("every", _) => check(whole(value, 0), path, found),
        ("askAt" | "denyAt", _) => check(whole(value, 2), path, found),
        ("results", Json::String(name)) => check(name == "ignore" || name == "compare", path, found),
        ("siblings", Json::String(name)) => check(name == "each" || name == "once", path, found),
        ("ignoreResultFields", Json::Array(names)) => strings(names, path, found),
        ("thresholds" | "anyResultThresholds" | "results" | "siblings" | "ignoreResultFields", _) => {
            check(false, path, found);
        }
        _ => return false,
    }
    true
}

fn strings(values: &[Json], path: &str, found: &mut Vec<String>) {
    for (index, value) in values.iter().enumerate() {
        check(matches!(value, Json::String(_)), &format!("{path}/{index}"), found);
    }
}

fn tool_entry(field: &str, value: &Json, path: &str, found: &mut Vec<String>) {
    match (field, value) {
        ("match", _) => check(matches!(value, Json::String(_)), path, found),
        ("ignoreArguments", Json::Null) => {}
        ("ignoreArguments", Json::Array(names)) => strings(names, path, found),
        _ if setting(field, value, path, found) => {}
        _ => check(false, path, found),
    }
}

fn texts(field: &str, value: &Json, path: &str, found: &mut Vec<String>) {
    let good = match (field, value) {
        ("gentle" | "detailed", Json::Null) => true,
        ("gentle" | "detailed", Json::String(text)) => is_template(text),
        _ => false,
    };
    check(good, path, found);
}

/// Whether all that stands in braces is known. `{{` is a brace.
fn is_template(text: &str) -> bool {
    match text.split_once('{') {
        None => true,
        Some((_, rest)) => match rest.strip_prefix('{') {
            Some(rest) => is_template(rest),
            None => rest
                .split_once('}')
                .is_some_and(|(name, rest)| ["tool", "count", "arguments"].contains(&name) && is_template(rest)),
        },
    }
}

fn failures(field: &str, value: &Json, path: &str, found: &mut Vec<String>) {
    match (field, value) {
        ("enabled" | "thresholds" | "every" | "include" | "exclude" | "countDenied" | "texts", Json::Null) => {}
        ("enabled" | "countDenied", _) => check(matches!(value, Json::Bool(_)), path, found),
        ("thresholds", _) => _ = setting("anyResultThresholds", value, path, found),
        ("every", _) => check(whole(value, 0), path, found),
        ("include" | "exclude", Json::Array(patterns)) => strings(patterns, path, found),
        ("texts", _) => members(value, path, found, texts),
        _ => check(false, path, found),
    }
}

fn reminder(field: &str, value: &Json, path: &str, found: &mut Vec<String>) {
    match (field, value) {
        (
            "enabled" | "include" | "exclude" | "argumentsPreviewChars" | "maxPeriod" | "resetOn" | "texts" | "tools",
            Json::Null,
        ) => {}
        ("enabled", _) => check(matches!(value, Json::Bool(_)), path, found),
        ("include" | "exclude", Json::Array(patterns)) => strings(patterns, path, found),
        ("argumentsPreviewChars", _) => check(whole(value, 1), path, found),
        ("maxPeriod", _) => check(whole(value, 1) && number(value) <= BigInt::from(8), path, found),
        ("resetOn", Json::Array(events)) => {
            for (index, event) in events.iter().enumerate() {
                let is_known = ["prompt", "turn", "compaction", "approval"]
                    .iter()
                    .any(|name| *event == Json::String((*name).to_owned()));
                check(is_known && !events[..index].contains(event), &format!("{path}/{index}"), found);
            }
        }
        ("texts", _) => members(value, path, found, texts),
        // Its entries are read behind all other fields.
        ("tools", Json::Array(_)) => {}
        _ if setting(field, value, path, found) => {}
        _ => check(false, path, found),
    }
}

fn limit(field: &str, value: &Json, path: &str, found: &mut Vec<String>) {
    match (field, value) {
        ("enabled" | "limits" | "turnLimits" | "agentLimits" | "totals" | "onExceeded", Json::Null) => {}
        ("enabled", _) => check(matches!(value, Json::Bool(_)), path, found),
        ("totals", _) => members(value, path, found, |span, total, path, found| {
            let is_known = ["step", "turn", "agent"].contains(&span);
            check(is_known && (*total == Json::Null || whole(total, 0)), path, found);
        }),
        ("limits" | "turnLimits" | "agentLimits", _) => members(value, path, found, |tool, limit, path, found| {
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
    let value = number(value);
    value >= BigInt::from(min) && value <= BigInt::from((1_i64 << 53) - 1)
}

/// A number that is whole, not negative, and not too large by far; of any other value -1.
fn number(value: &Json) -> BigInt {
    match value {
        Json::Number(Number { negative: false, digits, exponent })
            if *exponent >= BigInt::ZERO && *exponent <= BigInt::from(20) =>
        {
            let zeros = "0".repeat(exponent.to_string().parse().unwrap_or(0));
            format!("0{digits}{zeros}").parse().unwrap_or_default()
        }
        _ => BigInt::from(-1),
    }
}
