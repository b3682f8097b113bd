//! What is due at a count: a notice, a question, a denial (R3, B2); and the other settings that a tool can have of its own (B4).

use crate::canonical::MemberNames;
use crate::texts::Tone;

/// The settings of a tool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// The counts at which a notice is due (R3), in ascending order. Each at least 2, by default 3, 5 and 8.
    pub thresholds: Vec<u64>,
    /// After the highest threshold, a notice is due again each time that so many more have been counted (B2); 0 for never, the default.
    pub every: u64,
    /// The counts at which a notice is due whatever the results (B1), in ascending order. By default there are none.
    pub any_result_thresholds: Vec<u64>,
    /// From this count on a person is asked before the call (B2).
    pub ask_at: Option<u64>,
    /// From this count on the call is denied (B2).
    pub deny_at: Option<u64>,
    /// Whether calls are equal only if their results are, too (B1). By default results do not count.
    pub compare_results: bool,
    /// Members of results that do not count (B1).
    pub ignore_result_fields: MemberNames,
    /// Members of arguments, at their top, that do not count (B4).
    pub ignore_arguments: MemberNames,
    /// Whether equal calls of one step count once (B5). By default each counts.
    pub siblings_once: bool,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            thresholds: vec![3, 5, 8],
            every: 0,
            any_result_thresholds: Vec::new(),
            ask_at: None,
            deny_at: None,
            compare_results: false,
            ignore_result_fields: MemberNames::default(),
            ignore_arguments: MemberNames::default(),
            siblings_once: false,
        }
    }
}

/// What the ladder says before a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Rung {
    Allow,
    Ask,
    Deny,
}

impl Settings {
    /// The notice that is due at a count, if one is.
    pub fn due(&self, count: u32) -> Option<Tone> {
        due(&self.thresholds, self.every, count)
    }

    /// The notice that is due at a count of calls whatever their results (B1). It tells which call, since it is one of many.
    pub fn due_whatever_the_result(&self, count: u32) -> Option<Tone> {
        self.any_result_thresholds.binary_search(&u64::from(count)).ok().map(|_| Tone::Detailed)
    }

    /// What is due before the call that brings a count (B2).
    pub fn rung(&self, count: u32) -> Rung {
        let reached = |at: Option<u64>| at.is_some_and(|at| u64::from(count) >= at);
        if reached(self.deny_at) {
            Rung::Deny
        } else if reached(self.ask_at) {
            Rung::Ask
        } else {
            Rung::Allow
        }
    }

    /// Whether anything can be due before a call.
    pub fn has_rungs(&self) -> bool {
        self.ask_at.is_some() || self.deny_at.is_some()
    }
}

/// The notice that thresholds, in ascending order, say is due at a count (R3, B2).
pub fn due(thresholds: &[u64], every: u64, count: u32) -> Option<Tone> {
    let count = u64::from(count);
    match thresholds.binary_search(&count) {
        Ok(0) => Some(Tone::Gentle),
        Ok(_) => Some(Tone::Detailed),
        Err(_) => {
            let beyond = count.checked_sub(*thresholds.last()?)?;
            (every > 0 && beyond.is_multiple_of(every)).then_some(Tone::Detailed)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Rung, Settings, due};
    use crate::texts::Tone::{Detailed, Gentle};

    fn all(thresholds: &[u64], every: u64) -> Vec<(u32, crate::texts::Tone)> {
        (0..20).filter_map(|count| Some((count, due(thresholds, every, count)?))).collect()
    }

    #[test]
    fn r3_the_lowest_threshold_is_gentle() {
        assert_eq!(all(&[3, 5, 8], 0), [(3, Gentle), (5, Detailed), (8, Detailed)]);
        assert_eq!(all(&[], 0), []);
    }

    #[test]
    fn b2_every_goes_on_after_the_highest_threshold() {
        assert_eq!(all(&[3, 8], 3), [(3, Gentle), (8, Detailed), (11, Detailed), (14, Detailed), (17, Detailed)]);
        assert_eq!(all(&[], 3), []);
    }

    #[test]
    fn b2_rungs() {
        let settings = Settings { ask_at: Some(4), deny_at: Some(6), ..Settings::default() };
        let rungs: Vec<_> = (3..8).map(|count| settings.rung(count)).collect();
        assert_eq!(rungs, [Rung::Allow, Rung::Ask, Rung::Ask, Rung::Deny, Rung::Deny]);
        assert!(settings.has_rungs() && !Settings::default().has_rungs());
        assert_eq!(Settings::default().rung(u32::MAX), Rung::Allow);
    }
}
