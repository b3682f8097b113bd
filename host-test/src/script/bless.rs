//! Rewrites the expectations of a script.

use super::format::ScriptError;
use super::run::Mismatch;

/// The text of a script in which each mismatch is replaced by what was answered. All else stays as it is,
/// comments included, except for those inside of an `expect`.
///
/// # Errors
///
/// An event's `expect` must be its last key, and begin a line: then it can be told from the rest.
pub fn bless(yaml: &str, mismatches: &[Mismatch]) -> Result<String, ScriptError> {
    let mut lines: Vec<String> = yaml.lines().map(str::to_owned).collect();
    // From the last to the first, so that the numbers of the lines before stay right.
    for mismatch in mismatches.iter().rev() {
        let first = mismatch.line.saturating_sub(1);
        let indent = "  ";
        let belongs = |line: &str| line.starts_with(indent) || line.trim().is_empty();
        let length = lines.iter().skip(first + 1).take_while(|line| belongs(line)).count();
        let mut end = first + 1 + length;
        while lines.get(end - 1).is_some_and(|line| line.trim().is_empty()) {
            end -= 1;
        }
        let event = lines.get(first..end).unwrap_or_default();
        if event.first().is_some_and(|line| line.contains("expect:")) {
            let message = "`expect` must begin a line of its own to be rewritten".to_owned();
            return Err(ScriptError { line: mismatch.line, column: 1, message });
        }
        let start = event.iter().position(|line| line.starts_with("  expect:")).map_or(end, |offset| first + offset);
        let answer = mismatch.actual.to_yaml().map_err(|error| {
            let message = format!("the answer cannot be written as YAML: {error}");
            ScriptError { line: mismatch.line, column: 1, message }
        })?;
        let mut blessed = Vec::new();
        if !answer.is_empty() {
            blessed.push(format!("{indent}expect:"));
            blessed.extend(answer.lines().map(|line| format!("{indent}{indent}{line}")));
        }
        lines.splice(start..end, blessed);
    }
    Ok(lines.join("\n") + "\n")
}
