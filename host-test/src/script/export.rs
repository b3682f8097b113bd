//! Writes a script as JSON, for hosts in other languages: YAML's numbers and booleans differ between
//! languages, and arguments must arrive as the same text everywhere.

use serde::Serialize;

use super::format::{Action, Answer, Script};

/// A script as JSON: everything is filled in, and arguments and configurations are raw text.
#[derive(Debug, Serialize)]
pub struct Exported<'a> {
    name: &'a str,
    about: &'a str,
    rules: &'a [String],
    config: Option<&'a str>,
    events: Vec<ExportedEvent<'a>>,
}

#[derive(Debug, Serialize)]
struct ExportedEvent<'a> {
    line: usize,
    #[serde(flatten)]
    action: &'a Action,
    expect: &'a Answer,
}

impl Script {
    /// The script in the form that hosts in other languages replay; `name` tells it from others.
    pub fn export<'a>(&'a self, name: &'a str) -> Exported<'a> {
        let events = self.events.iter();
        Exported {
            name,
            about: &self.about,
            rules: &self.rules,
            config: self.config.as_deref(),
            events: events
                .map(|event| ExportedEvent { line: event.line, action: &event.action, expect: &event.expect })
                .collect(),
        }
    }
}
