//! The section `repeatedFailureReminder` (B7).

use super::Patterns;
use super::field::{self, Field, Section, Value};
use super::reader::{MAX_SAFE, Place};
use crate::texts::Texts;

/// The section `repeatedFailureReminder` (B7).
#[derive(Debug, PartialEq, Eq)]
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

    fn fields(&mut self) -> Vec<Field<'_>> {
        vec![
            Field::new("enabled", Value::Flag(&mut self.enabled)),
            Field::new("thresholds", Value::Thresholds(true, &mut self.thresholds)),
            Field::new("every", Value::Count(0, MAX_SAFE, &mut self.every)),
            Field::new("include", Value::Patterns(&mut self.tracked.include)),
            Field::new("exclude", Value::Patterns(&mut self.tracked.exclude)),
            Field::new("countDenied", Value::Flag(&mut self.count_denied)),
            Field::beyond("texts", self.texts.object()),
        ]
    }
}

impl Section for FailureConfig {
    fn read(&mut self, place: &Place<'_>) {
        let given = field::read(place.members(), self.fields());
        // Thresholds that are wrong have problems of their own.
        if self.every > 0
            && given.place("thresholds").is_none_or(Place::is_empty_array)
            && let Some(every) = given.place("every")
        {
            every.reject("goes on after the highest threshold, and there is none: add for example \"thresholds\": [3]");
        }
    }

    fn json(&mut self) -> String {
        field::write(self.fields(), Self::default().fields()).finish()
    }
}
