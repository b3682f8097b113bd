//! Rewrites the expectations of a script.

use super::format::{Answer, Decision, ScriptError};
use super::run::Mismatch;

impl Answer {
    /// The answer as it stands in a script, without what goes without saying.
    pub(super) fn to_yaml(&self) -> String {
        let mut said = self.clone();
        said.decision.take_if(|decision| *decision == Decision::Allow);
        said.notices.take_if(|notices| notices.is_empty());
        said.problems.take_if(|problems| problems.is_empty());
        let nothing = said.decision.is_none()
            && said.notices.is_none()
            && said.problems.is_none()
            && said.count.is_none()
            && said.text.is_none()
            && said.json.is_none();
        if nothing { String::new() } else { serde_saphyr::to_string(&said).unwrap_or_else(|error| error.to_string()) }
    }
}

/// The text of a script in which each mismatch is replaced by what was answered. All else stays as it is,
/// comments included.
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
        let answer = mismatch.actual.to_yaml();
        let mut blessed = Vec::new();
        if !answer.is_empty() {
            blessed.push(format!("{indent}expect:"));
            blessed.extend(answer.lines().map(|line| format!("{indent}{indent}{line}")));
        }
        lines.splice(start..end, blessed);
    }
    Ok(lines.join("\n") + "\n")
}
