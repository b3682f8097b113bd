//! What a guard has done to an agent so far (B9).

use crate::persist::persist;
use crate::streak::Repetition;

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
    /// What that streak repeats, and its period.
    name: Box<str>,
    period: u8,
    /// Whether it still goes on.
    goes_on: bool,
}

persist!(Stats { calls, notices, asks, denials, longest, name, period, goes_on });

impl Stats {
    /// A streak goes on, or begins.
    pub fn counted(&mut self, streak: Repetition, name: impl FnOnce() -> String) {
        let (period, count) = (u8::try_from(streak.period).unwrap_or_default(), streak.laps());
        if count > self.longest {
            // Of one call, which most agents have made when they are new, nothing is kept.
            if count > 1 && (!self.goes_on || self.period != period) {
                (self.name, self.period) = (name().into(), period);
                self.goes_on = true;
            }
            self.longest = count;
        } else if count < self.longest || count == 1 {
            self.goes_on = false;
        }
    }

    /// The count of the longest streak.
    pub fn longest(&self) -> u32 {
        self.longest
    }

    /// The longest streak in a line; empty if no call was repeated.
    pub fn summary(&self) -> String {
        if self.longest < 2 { String::new() } else { format!("{} × {}", self.name, self.longest) }
    }
}

#[cfg(test)]
mod tests {
    use super::Stats;
    use crate::streak::Repetition;

    #[test]
    fn b9_the_longest_streak_is_remembered() {
        let mut stats = Stats::default();
        assert_eq!(stats.summary(), "");
        let mut summary = |period: u32, count, name: &str| {
            stats.counted(Repetition { period: period as usize, units: period * count }, || name.to_owned());
            stats.summary()
        };
        for (period, count, name, longest) in [
            (1, 1, "a", ""),
            (1, 1, "b", ""),
            (1, 2, "b", "b × 2"),
            (1, 3, "b", "b × 3"),
            (1, 1, "c", "b × 3"),
            (1, 2, "c", "b × 3"),
            (1, 3, "c", "b × 3"),
            (1, 4, "c", "c × 4"),
            (2, 5, "d → e", "d → e × 5"),
        ] {
            assert_eq!(summary(period, count, name), longest);
        }
    }
}
