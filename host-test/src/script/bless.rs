//! Rewrites the expectations of a script.

use super::format::{Event, Script, ScriptError};
use super::run::Mismatch;

/// The text of a script in which each mismatch is replaced by what was answered. All else stays as it is,
/// comments included, except for those inside of an `expect`.
///
/// # Errors
///
/// Events must be the items of a block sequence at the margin, and an `expect` their last key on a line of its own: then
/// it can be told from the rest. Nothing is rewritten that would not read as the same events.
pub fn bless(yaml: &str, mismatches: &[Mismatch]) -> Result<String, ScriptError> {
    let ending = if yaml.contains("\r\n") { "\r\n" } else { "\n" };
    let mut lines: Vec<String> = yaml.lines().map(str::to_owned).collect();
    // From the last to the first, so that the numbers of the lines before stay right.
    for mismatch in mismatches.iter().rev() {
        replace(&mut lines, mismatch)?;
    }
    let blessed = lines.join(ending) + ending;
    if is_blessed(yaml, &blessed, mismatches) {
        return Ok(blessed);
    }
    let line = mismatches.first().map_or(1, |mismatch| mismatch.line);
    let message = "cannot be rewritten: events must be items of a block sequence at the margin, and `expect` the last \
        key of its event on a line of its own"
        .to_owned();
    Err(ScriptError { line, column: 1, message })
}

/// Replaces what is expected of one event.
fn replace(lines: &mut Vec<String>, mismatch: &Mismatch) -> Result<(), ScriptError> {
    let first = mismatch.line.saturating_sub(1);
    let belongs = |line: &str| line.starts_with(INDENT) || line.trim().is_empty();
    let length = lines.iter().skip(first + 1).take_while(|line| belongs(line)).count();
    let mut end = (first + 1 + length).min(lines.len());
    while end > first + 1 && lines.get(end - 1).is_some_and(|line| line.trim().is_empty()) {
        end -= 1;
    }
    let event = lines.get(first..end).unwrap_or_default();
    let start = event.iter().position(|line| line.starts_with("  expect:")).map_or(end, |offset| first + offset);
    let answer = mismatch.actual.to_yaml().map_err(|error| {
        let message = format!("the answer cannot be written as YAML: {error}");
        ScriptError { line: mismatch.line, column: 1, message }
    })?;
    let mut blessed = Vec::new();
    if !answer.is_empty() {
        blessed.push(format!("{INDENT}expect:"));
        blessed.extend(answer.lines().map(|line| format!("{INDENT}{INDENT}{line}")));
    }
    lines.splice(start..end, blessed);
    Ok(())
}

/// The indentation of an event's keys.
const INDENT: &str = "  ";

/// Whether the new text has the same events, and expects what was answered.
fn is_blessed(old: &str, new: &str, mismatches: &[Mismatch]) -> bool {
    let (Ok(old), Ok(new)) = (Script::parse(old), Script::parse(new)) else { return false };
    let actions = |script: &Script| {
        serde_json::to_value(script.events.iter().map(|event| &event.action).collect::<Vec<_>>()).ok()
    };
    let is_met = |(old, new): (&Event, &Event)| match mismatches.iter().find(|mismatch| mismatch.line == old.line) {
        Some(mismatch) => new.expect.accepts(&mismatch.actual),
        None => new.expect == old.expect,
    };
    old.events.len() == new.events.len()
        && actions(&old) == actions(&new)
        && old.events.iter().zip(&new.events).all(is_met)
}
