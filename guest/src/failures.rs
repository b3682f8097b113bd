//! The repeated-failure reminder (B7): tells a model that a tool keeps failing, whatever its arguments.

use crate::canonical::Key;
use crate::config::FailureConfig;
use crate::ladder::due;
use crate::persist::{Persist, Sink, Source, persist};
use crate::reminder::{Notice, Status};

/// So many tools are followed for an agent; one more, and the one that failed longest ago is forgotten.
const MOST_TOOLS: usize = 16;

/// The tools of an agent whose last calls failed, the one that failed last at the end.
#[derive(Debug, Default)]
pub struct Failures(Vec<Failing>);

#[derive(Debug)]
struct Failing {
    tool: Key,
    count: u32,
}

persist!(Failing { tool, count });

impl Persist for Failures {
    fn write(&self, sink: &mut Sink) {
        sink.list(&self.0);
    }

    fn read(source: &mut Source<'_>) -> Self {
        Self(source.list(MOST_TOOLS))
    }
}

impl Failures {
    /// A prompt: all begins anew.
    pub fn reset(&mut self) {
        self.0.clear();
    }

    fn take(&mut self, tool: &Key) -> u32 {
        let place = self.0.iter().position(|failing| failing.tool == *tool);
        place.map(|place| self.0.remove(place).count).unwrap_or_default()
    }

    fn put(&mut self, tool: Key, count: u32) {
        if self.0.len() == MOST_TOOLS {
            self.0.remove(0);
        }
        self.0.push(Failing { tool, count });
    }
}

/// Counts a call of a tool that is watched, and gives the notice if one is due. `arguments` are those that it quotes.
pub fn observe(
    config: &FailureConfig,
    failures: &mut Failures,
    tool: &str,
    status: Status,
    arguments: impl FnOnce() -> String,
) -> Option<Notice> {
    let failed = match status {
        Status::Denied if !config.count_denied => return None,
        Status::Denied | Status::Failed => true,
        Status::Succeeded => false,
    };
    if !failed && failures.0.is_empty() {
        return None;
    }
    let key = Key::of(tool);
    let count = failures.take(&key).saturating_add(1);
    if !failed {
        return None;
    }
    failures.put(key, count);
    let tone = due(&config.thresholds, config.every, count)?;
    let text = config.texts.of(tone).fill(tool, count, arguments);
    Some(Notice { plugin: "repeated-failure-reminder", summary: format!("{tool} failed × {count}"), text })
}

#[cfg(test)]
mod tests {
    use super::{Failures, observe};
    use crate::config::Config;
    use crate::reminder::Status::{self, Denied, Failed, Succeeded};

    fn summaries(config: &str, calls: &[(&str, Status)]) -> Vec<(usize, String)> {
        let json = format!(r#"{{"repeatedFailureReminder":{config}}}"#);
        let config = Config::parse(&json).unwrap_or_default().repeated_failure_reminder;
        let mut failures = Failures::default();
        let call = |(place, (tool, status)): (usize, &(&str, Status))| {
            let notice = observe(&config, &mut failures, tool, *status, String::new)?;
            Some((place + 1, notice.summary))
        };
        calls.iter().enumerate().filter_map(call).collect()
    }

    fn summary(call: usize, text: &str) -> (usize, String) {
        (call, text.to_owned())
    }

    #[test]
    fn b7_failures_of_one_tool_count_and_its_success_resets_them() {
        let (a, b) = (("a", Failed), ("b", Failed));
        assert_eq!(summaries("{}", &[a; 9]), []);
        assert_eq!(summaries(r#"{"thresholds":[3]}"#, &[a, b, a, ("b", Succeeded), a]), [summary(5, "a failed × 3")]);
        assert_eq!(summaries(r#"{"thresholds":[2]}"#, &[a, ("a", Succeeded), a]), []);
        let every = r#"{"thresholds":[2],"every":2}"#;
        assert_eq!(
            summaries(every, &[a; 6]),
            [summary(2, "a failed × 2"), summary(4, "a failed × 4"), summary(6, "a failed × 6")]
        );
    }

    #[test]
    fn b7_denials_are_transparent_unless_they_count() {
        let calls = [("a", Failed), ("a", Denied), ("a", Failed)];
        assert_eq!(summaries(r#"{"thresholds":[2]}"#, &calls), [summary(3, "a failed × 2")]);
        assert_eq!(summaries(r#"{"thresholds":[2],"countDenied":true}"#, &calls), [summary(2, "a failed × 2")]);
    }

    #[test]
    fn b7_sixteen_tools_are_followed_and_the_least_recent_is_dropped() {
        let names: Vec<_> = (0..17).map(|number| number.to_string()).collect();
        let first = |number: usize| names.iter().take(number).map(|name| (name.as_str(), Failed));
        let again = |number: usize| first(number).chain([("0", Failed)]).collect::<Vec<_>>();
        assert_eq!(summaries(r#"{"thresholds":[2]}"#, &again(16)), [summary(17, "0 failed × 2")]);
        assert_eq!(summaries(r#"{"thresholds":[2]}"#, &again(17)), []);
    }
}
