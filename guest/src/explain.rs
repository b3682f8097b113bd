//! Which settings apply to a tool, and where they come from.

use crate::config::{Config, LimitConfig, ReminderConfig, pointer_token};
use crate::json;
use crate::limit::limit_of;
use crate::pattern::Pattern;
use crate::reminder::tracks;

/// Explains a tool, in JSON. A `from` is the JSON Pointer of the entry that decides, null where it is a default.
pub fn explain(Config { repeat_tool_reminder: reminder, tool_call_limit: limit, .. }: &Config, tool: &str) -> String {
    let pointer = |pointer: Option<String>| json::optional(pointer.map(|pointer| json::string(&pointer)));
    format!(
        r#"{{"tool":{},"repeatToolReminder":{{"tracked":{},"from":{}}},"toolCallLimit":{{"limit":{},"onExceeded":"{}","from":{}}}}}"#,
        json::string(tool),
        tracks(reminder, tool),
        pointer(tracking_source(reminder, tool)),
        json::optional(limit_of(limit, tool).map(|limit| limit.to_string())),
        limit.on_exceeded.name(),
        pointer(limit_source(limit, tool)),
    )
}

fn tracking_source(config: &ReminderConfig, tool: &str) -> Option<String> {
    let first_match = |patterns: &[Pattern]| patterns.iter().position(|pattern| pattern.matches(tool));
    if !config.enabled {
        Some("/repeatToolReminder/enabled".to_owned())
    } else if let Some(index) = first_match(&config.exclude) {
        Some(format!("/repeatToolReminder/exclude/{index}"))
    } else if let Some(index) = first_match(&config.include) {
        Some(format!("/repeatToolReminder/include/{index}"))
    } else if !config.include.is_empty() {
        Some("/repeatToolReminder/include".to_owned())
    } else {
        None
    }
}

fn limit_source(config: &LimitConfig, tool: &str) -> Option<String> {
    if !config.enabled {
        Some("/toolCallLimit/enabled".to_owned())
    } else {
        limit_of(config, tool).map(|_| format!("/toolCallLimit/limits/{}", pointer_token(tool)))
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
