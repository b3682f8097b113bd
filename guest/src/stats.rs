//! What a guard has done to an agent so far (B9).

use crate::persist::persist;

/// The figures of an agent. In a trial they tell of what would have been given.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Stats {
    /// Calls that have reached an outcome.
    pub calls: u32,
    /// Notices.
    pub notices: u32,
    /// Calls that a person was to decide about.
    pub asks: u32,
    /// Calls that were denied.
    pub denials: u32,
    /// The most laps of any streak.
    longest: u32,
    /// What that streak repeats.
    name: String,
    /// Whether it still goes on.
    goes_on: bool,
}

persist!(Stats { calls, notices, asks, denials, longest, name, goes_on });

impl Stats {
    /// A streak has a count now.
    pub fn counted(&mut self, count: u32, name: impl FnOnce() -> String) {
        if count > self.longest {
            self.longest = count;
            if !self.goes_on {
                self.name = name();
                self.goes_on = true;
            }
        } else if count < self.longest {
            self.goes_on = false;
        }
    }

    /// The count of the longest streak.
    pub fn longest(&self) -> u32 {
        self.longest
    }

    /// The longest streak in a line; empty without one.
    pub fn summary(&self) -> String {
        if self.longest == 0 { String::new() } else { format!("{} × {}", self.name, self.longest) }
    }
}

#[cfg(test)]
mod tests {
    use super::Stats;

    #[test]
    fn b9_the_longest_streak_is_remembered() {
        let mut stats = Stats::default();
        assert_eq!(stats.summary(), "");
        for (count, name) in [(1, "a"), (2, "a"), (3, "a"), (1, "b"), (2, "b"), (3, "b")] {
            stats.counted(count, || name.to_owned());
        }
        assert_eq!(stats.summary(), "a × 3");
        stats.counted(4, || "b".to_owned());
        assert_eq!((stats.longest(), stats.summary().as_str()), (4, "b × 4"));
    }
}
