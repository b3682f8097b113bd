//! The words of notices (R4, R5, B10): texts with places for what they tell of.

use std::fmt::Write;

/// A text with placeholders: `{tool}`, `{count}` and `{arguments}`. `{{` is a brace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Template {
    source: Box<str>,
    parts: Vec<Part>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Part {
    Text(Box<str>),
    Tool,
    Count,
    Arguments,
}

/// The two texts of a reminder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Texts {
    /// At the lowest threshold.
    pub gentle: Template,
    /// At all others.
    pub detailed: Template,
}

/// Which of the two.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tone {
    Gentle,
    Detailed,
}

impl Template {
    /// Reads a text with placeholders.
    ///
    /// # Errors
    ///
    /// What is wrong with the first of them.
    pub fn parse(source: &str) -> Result<Self, String> {
        let mut parts = Vec::new();
        let mut text = String::new();
        let mut rest = source;
        while let Some((before, after)) = rest.split_once('{') {
            text.push_str(before);
            if let Some(after) = after.strip_prefix('{') {
                text.push('{');
                rest = after;
                continue;
            }
            let Some((name, after)) = after.split_once('}') else {
                return Err("a placeholder is not closed: a brace that is none is written {{".to_owned());
            };
            if !text.is_empty() {
                parts.push(Part::Text(std::mem::take(&mut text).into()));
            }
            parts.push(match name {
                "tool" => Part::Tool,
                "count" => Part::Count,
                "arguments" => Part::Arguments,
                _ => {
                    return Err(format!(
                        "unknown placeholder {{{name}}}: there are {{tool}}, {{count}} and {{arguments}}, and a brace is written {{{{"
                    ));
                }
            });
            rest = after;
        }
        text.push_str(rest);
        if !text.is_empty() {
            parts.push(Part::Text(text.into()));
        }
        Ok(Self { source: source.into(), parts })
    }

    /// The text as it was written.
    pub fn source(&self) -> &str {
        &self.source
    }

    /// The text with its places filled. The arguments are asked for only where they stand.
    pub fn fill(&self, tool: &str, count: u32, arguments: impl FnOnce() -> String) -> String {
        let quoted = if self.parts.contains(&Part::Arguments) { arguments() } else { String::new() };
        let mut filled = String::new();
        for part in &self.parts {
            match part {
                Part::Text(text) => filled.push_str(text),
                Part::Tool => filled.push_str(tool),
                Part::Count => _ = write!(filled, "{count}"),
                Part::Arguments => filled.push_str(&quoted),
            }
        }
        filled
    }
}

impl Texts {
    /// Texts that are known to have no unknown placeholder.
    fn built_in(gentle: &str, detailed: &str) -> Self {
        let template = |text: &str| {
            Template::parse(text)
                .unwrap_or_else(|_| Template { source: text.into(), parts: vec![Part::Text(text.into())] })
        };
        Self { gentle: template(gentle), detailed: template(detailed) }
    }

    /// Those of repeated calls.
    pub fn of_repetitions() -> Self {
        Self::built_in(
            "You keep repeating the exact same tool call. Study the result it already gave you before you call it again: if the \
             task is not done yet, change your approach or the arguments.",
            "Repeated tool call detected:\n\
             - tool: {tool}\n\
             - consecutive_calls: {count}\n\
             - arguments: {arguments}\n\
             Calling it again in this way makes no progress. Work with the results you have: choose another action or \
             other arguments. Finishing is fine once there is enough evidence.",
        )
    }

    /// Those of repeated failures (B7).
    pub fn of_failures() -> Self {
        Self::built_in(
            "This tool has failed several times in a row. Read what the failures say before you call it again: if they have one \
             cause, other arguments will not help.",
            "Repeated tool failure detected:\n\
             - tool: {tool}\n\
             - consecutive_failures: {count}\n\
             - last_arguments: {arguments}\n\
             Find out why it fails, or do without it: use another tool, or say what is missing.",
        )
    }

    /// The text of a tone.
    pub fn of(&self, tone: Tone) -> &Template {
        match tone {
            Tone::Gentle => &self.gentle,
            Tone::Detailed => &self.detailed,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Template, Texts, Tone};

    fn fill(source: &str) -> Result<String, String> {
        Template::parse(source).map(|template| template.fill("grep", 3, || "{\"a\":1}".to_owned()))
    }

    #[test]
    fn b10_placeholders_are_filled_and_braces_written_twice() {
        for (source, expected) in [
            ("", ""),
            ("plain", "plain"),
            ("{tool} × {count}: {arguments}", "grep × 3: {\"a\":1}"),
            ("{tool}{tool}", "grepgrep"),
            ("{{tool}", "{tool}"),
            ("a } b {{ c", "a } b { c"),
            ("{{{tool}}", "{grep}"),
            ("请不要重复调用 {tool}。", "请不要重复调用 grep。"),
        ] {
            assert_eq!(fill(source), Ok(expected.to_owned()), "of {source}");
        }
    }

    #[test]
    fn b10_unknown_placeholders_are_problems() {
        let known = ": there are {tool}, {count} and {arguments}, and a brace is written {{";
        for (source, placeholder) in
            [("{tol}", "{tol}"), ("{}", "{}"), ("a {Tool} b", "{Tool}"), ("{ tool }", "{ tool }")]
        {
            assert_eq!(fill(source), Err(format!("unknown placeholder {placeholder}{known}")), "of {source}");
        }
        assert_eq!(fill("a {tool"), Err("a placeholder is not closed: a brace that is none is written {{".to_owned()));
    }

    #[test]
    fn built_in_texts_have_their_places() {
        for (texts, count) in
            [(Texts::of_repetitions(), "consecutive_calls: 3"), (Texts::of_failures(), "consecutive_failures: 3")]
        {
            let text = texts.of(Tone::Detailed).fill("grep", 3, || "{}".to_owned());
            assert!(
                text.contains("- tool: grep\n") && text.contains(count) && text.contains("arguments: {}\n"),
                "{text}"
            );
            assert!(!texts.of(Tone::Gentle).source().contains('{'));
        }
    }
}
