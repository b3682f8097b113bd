//! The configuration: its fields, their defaults, and what is wrong with one that is rejected (R15, Q10).

mod failures;
mod field;
mod limit;
mod parts;
mod reader;
mod reminder;
mod settings;

use std::cell::RefCell;

use crate::pattern::Pattern;
use crate::texts::Texts;
pub use failures::FailureConfig;
use field::{Field, Value};
pub use limit::{LimitConfig, Quotas, field as limit_field};
pub use reader::pointer_token;
use reader::{MAX_SAFE, Place};
pub use reminder::{ReminderConfig, settings_to_json};

/// The whole configuration.
#[derive(Debug, PartialEq, Eq)]
pub struct Config {
    /// The repeat-tool reminder.
    pub repeat_tool_reminder: ReminderConfig,
    /// The tool-call limit.
    pub tool_call_limit: LimitConfig,
    /// The repeated-failure reminder.
    pub repeated_failure_reminder: FailureConfig,
    /// How many agents are remembered (S4). At least 1, by default 100,000.
    pub max_agents: u64,
    /// Whether this is a trial (B9). By default it is not.
    pub observe: bool,
}

/// Something wrong in a configuration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// Where: a JSON Pointer (RFC 6901).
    pub path: String,
    /// What is wrong, and what would be right.
    pub message: String,
}

/// Which tools something is about (R8).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Patterns {
    /// These. If empty, all.
    pub include: Vec<Pattern>,
    /// But not these.
    pub exclude: Vec<Pattern>,
}

impl Patterns {
    /// Whether it is about a tool.
    pub fn has(&self, tool: &str) -> bool {
        (self.include.is_empty() || self.include.iter().any(|pattern| pattern.matches(tool)))
            && !self.exclude.iter().any(|pattern| pattern.matches(tool))
    }
}

impl Default for Config {
    fn default() -> Self {
        Self {
            repeat_tool_reminder: ReminderConfig::default(),
            tool_call_limit: LimitConfig::default(),
            repeated_failure_reminder: FailureConfig::default(),
            max_agents: 100_000,
            observe: false,
        }
    }
}

impl Config {
    /// Reads a configuration.
    ///
    /// # Errors
    ///
    /// All its problems, in the order of the text.
    pub fn parse(json: &str) -> Result<Self, Vec<Problem>> {
        let problems = RefCell::default();
        let mut config = Self::default();
        if let Some(root) = Place::root(json, &problems) {
            field::read(root.members(), config.fields());
        }
        let problems = problems.into_inner();
        if problems.is_empty() { Ok(config) } else { Err(problems) }
    }

    /// The configuration as JSON: every field of the two guards, and of what goes beyond them (B1 to B10) what is not off. Read again,
    /// it means the same.
    pub fn json(&mut self) -> String {
        field::write(self.fields(), Self::default().fields()).finish()
    }

    fn fields(&mut self) -> Vec<Field<'_>> {
        vec![
            Field::new("repeatToolReminder", Value::Section(&mut self.repeat_tool_reminder)),
            Field::new("toolCallLimit", Value::Section(&mut self.tool_call_limit)),
            Field::beyond("repeatedFailureReminder", Value::Section(&mut self.repeated_failure_reminder)),
            Field::new("maxAgents", Value::Count(1, MAX_SAFE, &mut self.max_agents)),
            Field::beyond("observe", Value::Flag(&mut self.observe)),
        ]
    }
}

impl Texts {
    fn object(&mut self) -> Value<'_> {
        Value::Object(vec![
            Field::new("gentle", Value::Text(&mut self.gentle)),
            Field::new("detailed", Value::Text(&mut self.detailed)),
        ])
    }
}

#[cfg(test)]
mod tests {
    use super::Config;

    #[track_caller]
    fn rejected(json: &str, expected: &[(&str, &str)]) {
        let problems = Config::parse(json).err().unwrap_or_default();
        let problems: Vec<_> =
            problems.iter().map(|problem| (problem.path.as_str(), problem.message.as_str())).collect();
        assert_eq!(problems, expected, "of {json}");
    }

    #[track_caller]
    fn accepted(json: &str) -> Config {
        Config::parse(json).unwrap_or_else(|problems| unreachable!("{json}: {problems:?}"))
    }

    #[track_caller]
    fn in_force(json: &str) -> String {
        accepted(json).json()
    }

    const DEFAULTS: &str = r#"{"repeatToolReminder":{"enabled":true,"thresholds":[3,5,8],"include":[],"exclude":[],"argumentsPreviewChars":500},"toolCallLimit":{"enabled":true,"limits":{},"onExceeded":"deny"},"maxAgents":100000}"#;

    #[test]
    fn missing_and_null_mean_the_default() {
        for json in [
            "{}",
            " {\n}\t",
            r#"{"repeatToolReminder":null,"toolCallLimit":null,"maxAgents":null}"#,
            r#"{"repeatToolReminder":{},"toolCallLimit":{}}"#,
            r#"{"repeatToolReminder":{"enabled":null,"thresholds":null,"include":null,"exclude":null,"argumentsPreviewChars":null},
                "toolCallLimit":{"enabled":null,"limits":null,"onExceeded":null}}"#,
            DEFAULTS,
        ] {
            assert_eq!(in_force(json), DEFAULTS, "of {json}");
        }
    }

    #[test]
    fn every_field_is_read() {
        let json = r#"{"repeatToolReminder":{"enabled":false,"thresholds":[2,9],"include":["a*"],"exclude":["b"],"argumentsPreviewChars":1},"toolCallLimit":{"enabled":false,"limits":{"":0,"__proto__":9007199254740991,"constructor":2},"onExceeded":"ask"},"maxAgents":7}"#;
        assert_eq!(in_force(json), json);
    }

    #[test]
    fn whole_numbers_may_be_spelled_in_any_way() {
        let config = accepted(
            r#"{"repeatToolReminder":{"thresholds":[3.0,5e0]},"toolCallLimit":{"limits":{"a":-0,"b":1e2}},"maxAgents":10e-1}"#,
        );
        assert_eq!(config.repeat_tool_reminder.settings.thresholds, [3, 5]);
        assert_eq!(config.tool_call_limit.quotas[0].limits.iter().collect::<Vec<_>>(), [("a", 0), ("b", 100)]);
        assert_eq!(config.max_agents, 1);
    }

    #[test]
    fn what_is_no_json_object_is_rejected_as_a_whole() {
        for json in ["null", "[]", "1", "\"{}\"", "true"] {
            rejected(json, &[("", "must be an object")]);
        }
    }

    #[test]
    fn what_is_no_json_is_rejected_where_it_ceases_to_be() {
        for (json, expected) in [
            ("", "the text ends too early at line 1 column 1"),
            ("{\"maxAgents\":\n1", "the text ends too early at line 2 column 2"),
            ("{\"maxAgents\":\n1,}", "unexpected } at line 2 column 3"),
            ("\u{feff}{}", "unexpected character U+FEFF at line 1 column 1"),
            ("{} x", "unexpected x at line 1 column 4"),
            ("{\"é\":@}", "unexpected @ at line 1 column 6"),
            ("{\"a\":\"\n\"}", "unexpected character U+000A at line 1 column 7"),
            (r#"{"a":"\x"}"#, "unexpected x at line 1 column 8"),
            (r#"{"a":"\u00g0"}"#, "unexpected g at line 1 column 11"),
            ("{\"a\":\"\\u00é0\"}", "unexpected character U+00E9 at line 1 column 11"),
            (r#"{"a":01}"#, "unexpected 0 at line 1 column 6"),
            (r#"{"a":nul}"#, "unexpected n at line 1 column 6"),
            (
                r#"{"toolCallLimit":{"limits":{"\ud800":1}}}"#,
                "an escape for half of a surrogate pair at line 1 column 30",
            ),
            (r#"["\ud83d\u0041"]"#, "an escape for half of a surrogate pair at line 1 column 3"),
        ] {
            rejected(json, &[("", &format!("not valid JSON: {expected}"))]);
        }
        let nested = format!("{{\"a\":{}", "[".repeat(200));
        rejected(&nested, &[("", "not valid JSON: nested deeper than 127 levels at line 1 column 132")]);
    }

    #[test]
    fn unknown_and_repeated_fields_are_rejected_anywhere() {
        rejected(
            r#"{"observ":true,"repeatToolReminder":{"treshold":3},"toolCallLimit":{"a/b~c":1}}"#,
            &[
                ("/observ", "unknown field"),
                ("/repeatToolReminder/treshold", "unknown field"),
                ("/toolCallLimit/a~1b~0c", "unknown field"),
            ],
        );
        rejected(
            r#"{"maxAgents":1,"maxAgents":1,"toolCallLimit":{"limits":{"a":1,"b":2,"\u0061":3}}}"#,
            &[("/maxAgents", "given more than once"), ("/toolCallLimit/limits/a", "given more than once")],
        );
    }

    #[test]
    fn r15_thresholds() {
        let thresholds = |json: &str| format!(r#"{{"repeatToolReminder":{{"thresholds":{json}}}}}"#);
        let at = "/repeatToolReminder/thresholds";
        rejected(&thresholds("[]"), &[(at, "must not be empty")]);
        for json in ["3", "{}", "\"3\"", "true"] {
            rejected(&thresholds(json), &[(at, "must be an array of integers >= 2")]);
        }
        let first = format!("{at}/0");
        for json in ["1", "0", "-3", "2.5", "\"3\"", "null", "true", "[3]", "{}", "1e-400"] {
            rejected(&thresholds(&format!("[{json}]")), &[(&first, "must be an integer >= 2")]);
        }
        rejected(&thresholds("[1e400]"), &[(&first, "must be at most 9007199254740991")]);
        rejected(
            &thresholds("[3,1,5,3.0,5]"),
            &[
                ("/repeatToolReminder/thresholds/1", "must be an integer >= 2"),
                ("/repeatToolReminder/thresholds/3", "must not contain duplicates"),
                ("/repeatToolReminder/thresholds/4", "must not contain duplicates"),
            ],
        );
    }

    #[test]
    fn b2_rungs_count_from_two_on_and_zero_is_none() {
        let section = |section: &str| format!(r#"{{"repeatToolReminder":{section}}}"#);
        for json in ["1", "-1", "2.5", "\"3\"", "false", "[]"] {
            rejected(
                &section(&format!(r#"{{"askAt":{json}}}"#)),
                &[("/repeatToolReminder/askAt", "must be an integer >= 2, or 0 for never")],
            );
        }
        let too_large = &[("/repeatToolReminder/denyAt", "must be at most 9007199254740991")];
        rejected(&section(r#"{"denyAt":9007199254740992}"#), too_large);
        assert_eq!(in_force(&section(r#"{"askAt":0,"denyAt":-0.0}"#)), DEFAULTS);
        let settings = |json: &str| {
            let reminder = accepted(&section(json)).repeat_tool_reminder;
            (reminder.settings_of("t").ask_at, reminder.settings_of("t").deny_at)
        };
        assert_eq!(settings(r#"{"askAt":2,"denyAt":3}"#), (Some(2), Some(3)));
        assert_eq!(settings(r#"{"askAt":4,"denyAt":0}"#), (Some(4), None));
        assert_eq!(settings(r#"{"askAt":4,"tools":[{"match":"t","askAt":0,"denyAt":3}]}"#), (None, Some(3)));
        assert_eq!(settings(r#"{"askAt":4,"tools":[{"match":"t","askAt":null}]}"#), (Some(4), None));
    }

    #[test]
    fn b7_every_needs_thresholds() {
        let section = |section: &str| format!(r#"{{"repeatedFailureReminder":{section}}}"#);
        let problem = (
            "/repeatedFailureReminder/every",
            r#"goes on after the highest threshold, and there is none: add for example "thresholds": [3]"#,
        );
        rejected(&section(r#"{"every":2}"#), &[problem]);
        rejected(&section(r#"{"every":2,"thresholds":[ ]}"#), &[problem]);
        rejected(&section(r#"{"every":2,"thresholds":null}"#), &[problem]);
        let wrong = ("/repeatedFailureReminder/thresholds/0", "must be an integer >= 2");
        rejected(&section(r#"{"every":2,"thresholds":[1]}"#), &[wrong]);
        accepted(&section(r#"{"every":0}"#));
        accepted(&section(r#"{"every":2,"thresholds":[3]}"#));
    }

    #[test]
    fn r15_wrong_types() {
        rejected(
            r#"{"repeatToolReminder":{"enabled":1,"include":"a","exclude":["a",1,null],"argumentsPreviewChars":0}}"#,
            &[
                ("/repeatToolReminder/enabled", "must be true or false"),
                ("/repeatToolReminder/include", "must be an array of strings"),
                ("/repeatToolReminder/exclude/1", "must be a string"),
                ("/repeatToolReminder/exclude/2", "must be a string"),
                ("/repeatToolReminder/argumentsPreviewChars", "must be an integer >= 1"),
            ],
        );
        for json in ["1.5", "-1", "\"500\"", "[]", "false"] {
            rejected(
                &format!(r#"{{"repeatToolReminder":{{"argumentsPreviewChars":{json}}}}}"#),
                &[("/repeatToolReminder/argumentsPreviewChars", "must be an integer >= 1")],
            );
        }
        rejected(
            r#"{"repeatToolReminder":[],"toolCallLimit":"x","maxAgents":0}"#,
            &[
                ("/repeatToolReminder", "must be an object"),
                ("/toolCallLimit", "must be an object"),
                ("/maxAgents", "must be an integer >= 1"),
            ],
        );
    }

    #[test]
    fn q10_limits() {
        for json in
            ["-1", "1.5", "\"1\"", "true", "[]", "{}", "null", "9007199254740992", "9007199254740991.2", "1e400"]
        {
            rejected(
                &format!(r#"{{"toolCallLimit":{{"limits":{{"a":{json}}}}}}}"#),
                &[("/toolCallLimit/limits/a", "must be a non-negative safe integer (0 to 9007199254740991)")],
            );
        }
        rejected(
            r#"{"toolCallLimit":{"limits":{"*":1,"web_*":1},"onExceeded":"Deny","enabled":"yes"}}"#,
            &[
                ("/toolCallLimit/limits/*", "wildcards are not supported here: name each tool"),
                ("/toolCallLimit/onExceeded", r#"must be "deny" or "ask""#),
                ("/toolCallLimit/enabled", "must be true or false"),
            ],
        );
        rejected(r#"{"toolCallLimit":{"limits":[1]}}"#, &[("/toolCallLimit/limits", "must be an object")]);
    }

    #[test]
    fn the_first_thousand_problems_are_reported() {
        let thresholds = vec!["0"; 5000].join(",");
        let problems = Config::parse(&format!(r#"{{"repeatToolReminder":{{"thresholds":[{thresholds}]}}}}"#));
        let problems = problems.err().unwrap_or_default();
        assert_eq!(problems.len(), 1001);
        assert!(problems.last().is_some_and(|problem| {
            problem.path.is_empty() && problem.message == "there are more problems: these are the first 1000"
        }));
    }

    #[test]
    fn nesting_of_any_depth_is_answered() {
        let deep = "[".repeat(1_000_000) + &"]".repeat(1_000_000);
        let message = |column: u32| format!("not valid JSON: nested deeper than 127 levels at line 1 column {column}");
        rejected(&deep, &[("", &message(128))]);
        rejected(&format!(r#"{{"maxAgents":{deep}}}"#), &[("", &message(140))]);
    }
}
