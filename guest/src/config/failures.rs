//! The section `repeatedFailureReminder` (B7).

use super::reader::Place;
use super::settings::read_thresholds;
use super::{Patterns, read_patterns, read_texts, write_texts};
use crate::json::Object;
use crate::texts::Texts;

/// The section `repeatedFailureReminder` (B7).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FailureConfig {
    /// Whether the reminder works at all. By default it does, but there are no thresholds.
    pub enabled: bool,
    /// The counts of failures at which a notice is due, in ascending order. By default there are none.
    pub thresholds: Vec<u64>,
    /// After the highest threshold, a notice is due again each time that so many more have been counted; 0 for never, the default.
    pub every: u64,
    /// The tools that are watched.
    pub tracked: Patterns,
    /// Whether a denial is a failure. By default it is nothing.
    pub count_denied: bool,
    /// The words of notices.
    pub texts: Texts,
}

impl Default for FailureConfig {
    fn default() -> Self {
        Self {
            enabled: true,
            thresholds: Vec::new(),
            every: 0,
            tracked: Patterns::default(),
            count_denied: false,
            texts: Texts::of_failures(),
        }
    }
}

impl FailureConfig {
    /// Whether calls of a tool are watched.
    pub fn watches(&self, tool: &str) -> bool {
        self.enabled && !self.thresholds.is_empty() && self.tracked.has(tool)
    }

    pub(super) fn read(&mut self, section: &Place<'_>) {
        let mut every = None;
        for (field, value) in section.members_unless_null() {
            match &*field {
                "enabled" => value.boolean(&mut self.enabled),
                "thresholds" => {
                    let mut thresholds = None;
                    read_thresholds(&value, true, &mut thresholds);
                    self.thresholds = thresholds.unwrap_or_default();
                }
                "every" => {
                    value.count(0, &mut self.every);
                    every = Some(value);
                }
                "include" => read_patterns(&value, &mut self.tracked.include),
                "exclude" => read_patterns(&value, &mut self.tracked.exclude),
                "countDenied" => value.boolean(&mut self.count_denied),
                "texts" => read_texts(&value, &mut self.texts),
                _ => value.reject("unknown field"),
            }
        }
        if self.every > 0
            && self.thresholds.is_empty()
            && let Some(every) = every
        {
            every.reject("goes on after the highest threshold, and there is none: add for example \"thresholds\": [3]");
        }
    }

    /// The section as JSON; none if nothing differs from the default.
    pub(super) fn write(&self) -> Option<String> {
        let defaults = Self::default();
        if *self == defaults {
            return None;
        }
        let mut object = Object::default();
        object.push("enabled", &self.enabled.to_string());
        object.push_list("thresholds", &mut self.thresholds.iter().map(u64::to_string));
        object.push("every", &self.every.to_string());
        self.tracked.write(&mut object);
        object.push("countDenied", &self.count_denied.to_string());
        write_texts(&self.texts, &defaults.texts, &mut object);
        Some(object.finish())
    }
}
