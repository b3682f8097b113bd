//! The repeat-tool reminder (R1 to R15): tells a model that it repeats a call.

use crate::canonical::{Canonicalizer, Key};
use crate::config::ReminderConfig;
use crate::preview::preview;
use crate::recent::{RecentCalls, Ticket};

/// A text for the model, to be appended after all results of the step (R14).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Notice {
    /// The guard that speaks.
    pub plugin: &'static str,
    /// One line for people.
    pub summary: String,
    /// The text for the model.
    pub text: String,
}

/// An agent's run of equal calls (R1).
#[derive(Debug, Default)]
pub struct Chain {
    last: Key,
    count: u32,
    /// The text of the last call, for as long as it is recent.
    text: Option<Ticket>,
}

impl Chain {
    /// How many times the last tracked call has been made in a row; 0 without one.
    pub fn count(&self) -> u32 {
        self.count
    }

    /// Counts a call (R1, R2).
    fn extend(&mut self, same: bool) {
        self.count = if same { self.count.saturating_add(1) } else { 1 };
    }
}

/// What it takes to tell calls apart, shared by all agents.
#[derive(Debug, Default)]
pub struct Reader {
    pub canonicalizer: Canonicalizer,
    recent: RecentCalls,
}

/// Whether calls of a tool are tracked (R8).
pub fn tracks(config: &ReminderConfig, tool: &str) -> bool {
    config.enabled
        && (config.include.is_empty() || config.include.iter().any(|pattern| pattern.matches(tool)))
        && !config.exclude.iter().any(|pattern| pattern.matches(tool))
}

/// Counts a tracked call that has reached an outcome, and gives the notice if one is due (R3).
pub fn observe(
    config: &ReminderConfig,
    chain: &mut Chain,
    reader: &mut Reader,
    tool: &str,
    arguments: String,
) -> Option<Notice> {
    if chain.text.is_some_and(|text| reader.recent.is_same(text, tool, &arguments)) {
        chain.extend(true);
        return notice(config, chain.count, &mut reader.canonicalizer, tool, &arguments);
    }
    let same = reader.canonicalizer.identify(tool, &arguments, &mut chain.last);
    chain.extend(same);
    let notice = notice(config, chain.count, &mut reader.canonicalizer, tool, &arguments);
    chain.text = reader.recent.keep(tool, arguments);
    notice
}

fn notice(
    config: &ReminderConfig,
    count: u32,
    canonicalizer: &mut Canonicalizer,
    tool: &str,
    arguments: &str,
) -> Option<Notice> {
    let place = config.thresholds.binary_search(&u64::from(count)).ok()?;
    let text = if place == 0 {
        GENTLE.to_owned()
    } else {
        detailed(tool, count, &preview(&canonicalizer.text(arguments), config.arguments_preview_chars))
    };
    Some(Notice { plugin: "repeat-tool-reminder", summary: format!("{tool} × {count}"), text })
}

/// R4.
const GENTLE: &str = "You keep repeating the exact same tool call. Study the result it already gave you before you call it \
    again: if the task is not done yet, change your approach or the arguments.";

/// R5.
fn detailed(tool: &str, count: u32, arguments: &str) -> String {
    format!(
        "Repeated tool call detected:\n\
         - tool: {tool}\n\
         - consecutive_calls: {count}\n\
         - arguments: {arguments}\n\
         Calling it again in this way makes no progress. Work with the results you have: choose another action or \
         other arguments. Finishing is fine once there is enough evidence."
    )
}

#[cfg(test)]
mod tests {
    use super::{Chain, Notice, Reader, observe, tracks};
    use crate::config::{Config, ReminderConfig};

    fn config(json: &str) -> ReminderConfig {
        let json = format!(r#"{{"repeatToolReminder":{json}}}"#);
        Config::parse(&json).unwrap_or_default().repeat_tool_reminder
    }

    /// The notices for a sequence of calls, with the number of the call, from 1.
    fn notices(config: &ReminderConfig, calls: &[(&str, &str)]) -> Vec<(usize, Notice)> {
        let mut chain = Chain::default();
        let mut reader = Reader::default();
        let notice = |(i, (tool, arguments)): (usize, &(&str, &str))| {
            Some((i + 1, observe(config, &mut chain, &mut reader, tool, (*arguments).to_owned())?))
        };
        calls.iter().enumerate().filter_map(notice).collect()
    }

    fn summaries(config: &ReminderConfig, calls: &[(&str, &str)]) -> Vec<(usize, String)> {
        notices(config, calls).into_iter().map(|(call, notice)| (call, notice.summary)).collect()
    }

    fn summary(call: usize, text: &str) -> (usize, String) {
        (call, text.to_owned())
    }

    #[test]
    fn r1_equal_calls_count_and_any_other_starts_again() {
        let a = ("grep", r#"{"p":1,"q":2}"#);
        let respelled = ("grep", r#"{ "q": 2.0, "p": 1 }"#);
        let other_arguments = ("grep", r#"{"p":1}"#);
        let other_tool = ("rg", r#"{"p":1,"q":2}"#);
        let config = config("{}");
        assert_eq!(summaries(&config, &[a, respelled, a]), [summary(3, "grep × 3")]);
        assert_eq!(summaries(&config, &[a, a, other_arguments, a, a]), []);
        assert_eq!(summaries(&config, &[a, a, other_tool, a, a, a]), [summary(6, "grep × 3")]);
    }

    #[test]
    fn r3_notices_at_three_five_and_eight() {
        let calls = [("t", "{}"); 12];
        assert_eq!(summaries(&config("{}"), &calls), [summary(3, "t × 3"), summary(5, "t × 5"), summary(8, "t × 8")]);
        assert_eq!(summaries(&config(r#"{"thresholds":[9,2]}"#), &calls), [summary(2, "t × 2"), summary(9, "t × 9")]);
    }

    #[test]
    fn r3_r4_r5_the_lowest_threshold_gets_the_gentle_text() {
        let notices = notices(&config(r#"{"thresholds":[3,2]}"#), &[("t", r#"{"b":1,"a":"x"}"#); 3]);
        let texts: Vec<_> = notices.iter().map(|(call, notice)| (*call, notice.text.as_str())).collect();
        assert_eq!(
            texts,
            [
                (
                    2,
                    "You keep repeating the exact same tool call. Study the result it already gave you before you \
                     call it again: if the task is not done yet, change your approach or the arguments."
                ),
                (
                    3,
                    "Repeated tool call detected:\n- tool: t\n- consecutive_calls: 3\n- arguments: \
                     {\"a\":\"x\",\"b\":1}\nCalling it again in this way makes no progress. Work with the results you \
                     have: choose another action or other arguments. Finishing is fine once there is enough evidence."
                ),
            ]
        );
    }

    #[test]
    fn r6_the_preview_is_cut_and_the_key_is_not() {
        let config = config(r#"{"thresholds":[2,3],"argumentsPreviewChars":4}"#);
        let calls = [("t", r#"{"a":1}"#), ("t", r#"{"a":2}"#), ("t", r#"{"a":2}"#), ("t", r#"{"a":2}"#)];
        let notices = notices(&config, &calls);
        assert_eq!(notices.iter().map(|(call, _)| *call).collect::<Vec<_>>(), [3, 4]);
        assert!(notices.iter().any(|(_, notice)| notice.text.contains("- arguments: {\"a\"… (+3 more chars)\n")));
    }

    #[test]
    fn r7_plugin_and_summary() {
        let notices = notices(&config(r#"{"thresholds":[2]}"#), &[("web_search", ""); 2]);
        let (_, notice) = notices.into_iter().next().unwrap_or_else(|| unreachable!("a notice at 2"));
        assert_eq!((notice.plugin, notice.summary.as_str()), ("repeat-tool-reminder", "web_search \u{d7} 2"));
    }

    #[test]
    fn r8_include_and_exclude() {
        let all = config("{}");
        assert!(tracks(&all, "grep") && tracks(&all, ""));
        let some = config(r#"{"include":["mcp__*","grep"],"exclude":["*_poll","nothing"]}"#);
        assert!(tracks(&some, "grep") && tracks(&some, "mcp__read"));
        assert!(!tracks(&some, "rg") && !tracks(&some, "mcp__job_poll"));
        assert!(!tracks(&config(r#"{"enabled":false}"#), "grep"));
    }

    #[test]
    fn the_count_saturates() {
        let mut chain = Chain::default();
        chain.extend(false);
        chain.count = u32::MAX;
        chain.extend(true);
        assert_eq!(chain.count(), u32::MAX);
    }
}
