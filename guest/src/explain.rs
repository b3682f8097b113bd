//! Which settings apply to a tool, and where they come from.

use crate::config::{Config, LimitConfig, Patterns, ReminderConfig, limit_field, pointer_token, settings_to_json};
use crate::guard::tracks;
use crate::json::{self, Object};
use crate::limit::{Concerns, Span};
use crate::pattern::Pattern;

/// Explains a tool, in JSON. A `from` is the JSON Pointer of the entry that decides, null where it is a default. What goes beyond the
/// two guards (B1 to B10) is told where it is not off.
pub fn explain(config: &Config, tool: &str) -> String {
    let mut object = Object::default();
    object.push("tool", &json::string(tool));
    object.push("repeatToolReminder", &explain_reminder(&config.repeat_tool_reminder, tool));
    object.push("toolCallLimit", &explain_limit(&config.tool_call_limit, tool));
    let failures = &config.repeated_failure_reminder;
    if !failures.thresholds.is_empty() {
        let mut section = Object::default();
        section.push("watched", &failures.watches(tool).to_string());
        section.push(
            "from",
            &pointer(tracking_source("repeatedFailureReminder", failures.enabled, &failures.tracked, tool)),
        );
        object.push("repeatedFailureReminder", &section.finish());
    }
    if config.observe {
        object.push("observe", "true");
    }
    object.finish()
}

fn explain_reminder(config: &ReminderConfig, tool: &str) -> String {
    let mut section = Object::default();
    section.push("tracked", &tracks(config, tool).to_string());
    section.push("from", &pointer(tracking_source("repeatToolReminder", config.enabled, &config.tracked, tool)));
    let entry = config.entry_of(tool).map(|(place, _)| format!("/repeatToolReminder/tools/{place}"));
    let (settings, differ) = settings_to_json(config.settings_of(tool));
    if entry.is_some() || differ {
        section.push("settings", &settings.finish());
        section.push("settingsFrom", &pointer(entry));
    }
    section.finish()
}

fn explain_limit(config: &LimitConfig, tool: &str) -> String {
    let number = |limit: Option<u64>| json::optional(limit.map(|limit| limit.to_string()));
    let concerns = Concerns::of(config, tool);
    let source = |span| pointer(limit_source(config, &concerns, span, tool));
    let mut section = Object::default();
    section.push("limit", &number(concerns.own(Span::Step)));
    section.push("onExceeded", &json::string(config.on_exceeded()));
    section.push("from", &source(Span::Step));
    for (span, name) in [(Span::Turn, "turnLimit"), (Span::Agent, "agentLimit")] {
        let limit = concerns.own(span);
        if limit.is_some() {
            section.push(name, &number(limit));
            section.push(&format!("{name}From"), &source(span));
        }
    }
    let mut totals = Object::default();
    for span in Span::ALL {
        if let Some(total) = concerns.total(span) {
            totals.push(span.name(), &total.to_string());
        }
    }
    if !totals.is_empty() {
        section.push("totals", &totals.finish());
    }
    section.finish()
}

fn pointer(pointer: Option<String>) -> String {
    json::optional(pointer.map(|pointer| json::string(&pointer)))
}

fn tracking_source(section: &str, enabled: bool, tracked: &Patterns, tool: &str) -> Option<String> {
    let first_match = |patterns: &[Pattern]| patterns.iter().position(|pattern| pattern.matches(tool));
    let entry = if !enabled {
        "enabled".to_owned()
    } else if let Some(index) = first_match(&tracked.exclude) {
        format!("exclude/{index}")
    } else if let Some(index) = first_match(&tracked.include) {
        format!("include/{index}")
    } else if !tracked.include.is_empty() {
        "include".to_owned()
    } else {
        return None;
    };
    Some(format!("/{section}/{entry}"))
}

fn limit_source(config: &LimitConfig, concerns: &Concerns, span: Span, tool: &str) -> Option<String> {
    if !config.enabled {
        Some("/toolCallLimit/enabled".to_owned())
    } else {
        concerns.own(span).map(|_| format!("/toolCallLimit/{}/{}", limit_field(span), pointer_token(tool)))
    }
}

#[cfg(test)]
mod tests {
    use super::explain;
    use crate::config::Config;

    #[track_caller]
    fn check(config: &str, tool: &str, expected: &str) {
        let config = Config::parse(config).unwrap_or_else(|problems| unreachable!("{problems:?}"));
        assert_eq!(explain(&config, tool), expected);
    }

    #[test]
    fn the_entry_that_decides_is_named() {
        let config = r#"{"repeatToolReminder":{"include":["mcp__*","read"],"exclude":["x","*_poll"]},
            "toolCallLimit":{"limits":{"a/b":2},"onExceeded":"ask"}}"#;
        check(
            config,
            "read",
            r#"{"tool":"read","repeatToolReminder":{"tracked":true,"from":"/repeatToolReminder/include/1"},"toolCallLimit":{"limit":null,"onExceeded":"ask","from":null}}"#,
        );
        check(
            config,
            "mcp__poll",
            r#"{"tool":"mcp__poll","repeatToolReminder":{"tracked":false,"from":"/repeatToolReminder/exclude/1"},"toolCallLimit":{"limit":null,"onExceeded":"ask","from":null}}"#,
        );
        check(
            config,
            "a/b",
            r#"{"tool":"a/b","repeatToolReminder":{"tracked":false,"from":"/repeatToolReminder/include"},"toolCallLimit":{"limit":2,"onExceeded":"ask","from":"/toolCallLimit/limits/a~1b"}}"#,
        );
        check(
            "{}",
            "read",
            r#"{"tool":"read","repeatToolReminder":{"tracked":true,"from":null},"toolCallLimit":{"limit":null,"onExceeded":"deny","from":null}}"#,
        );
        check(
            r#"{"repeatToolReminder":{"enabled":false},"toolCallLimit":{"enabled":false,"limits":{"read":1}}}"#,
            "read",
            r#"{"tool":"read","repeatToolReminder":{"tracked":false,"from":"/repeatToolReminder/enabled"},"toolCallLimit":{"limit":null,"onExceeded":"deny","from":"/toolCallLimit/enabled"}}"#,
        );
    }
}
