//! Streaks: sequences of calls that repeat themselves (R1, B1, B3).
//!
//! A *unit* is a call, or a call with its result. A streak of period p is a sequence of p units that is made again and again; each
//! time is a *lap*. The plain case is the period 1: one unit, again and again.

use crate::canonical::{Key, KeyBuffer};
use crate::persist::{Persist, Sink, Source, persist};

/// The longest period that can be looked for (B3).
pub const MAX_PERIOD: usize = 8;

/// What an agent's last calls repeat.
///
/// Two kinds of streaks are followed side by side: of calls alone, which can be told before a call has a result, and of calls with their
/// results. Where no result counts they are one and the same.
#[derive(Debug, Clone, Default)]
pub struct Streaks {
    /// The last units, the latest last: as many as the longest period.
    last: Vec<Unit>,
    /// For each period, from 1: how many of the last units equal the one that many before, calls alone and with their results.
    matched: Vec<[u32; 2]>,
}

/// Which of the two kinds.
const CALLS: usize = 0;
const RESULTS: usize = 1;

/// A tracked call that has been made.
#[derive(Debug, Clone)]
pub struct Unit {
    /// What tells it from other calls.
    pub call: Key,
    /// What tells its outcome from others; none if it does not count.
    pub outcome: Option<Key>,
}

persist!(Unit { call, outcome });

impl Unit {
    /// Whether another one is the same, as a call alone and with its outcome.
    fn equals(&self, other: &Self) -> [bool; 2] {
        let same = self.call == other.call;
        [same, same && self.outcome == other.outcome]
    }

    fn without_outcome(&self) -> Self {
        Self { call: self.call.clone(), outcome: None }
    }
}

impl Persist for Streaks {
    fn write(&self, sink: &mut Sink) {
        sink.list(&self.last);
        sink.list(&self.matched.iter().map(|[calls, results]| (*calls, *results)).collect::<Vec<_>>());
    }

    fn read(source: &mut Source<'_>) -> Self {
        let last = source.list(MAX_PERIOD);
        let matched = source.list(MAX_PERIOD).into_iter().map(|(calls, results)| [calls, results]).collect();
        Self { last, matched }
    }
}

/// A sequence that repeats itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Repetition {
    /// How many units make a lap.
    pub period: usize,
    /// How many of the last units are of this streak.
    pub units: u32,
}

impl Repetition {
    /// How many laps are complete.
    pub fn laps(self) -> u32 {
        self.units / self.length()
    }

    /// The lap that the last unit is of, complete or not.
    pub fn current_lap(self) -> u32 {
        self.units.div_ceil(self.length())
    }

    /// Whether the last unit completes a lap.
    pub fn completes_a_lap(self) -> bool {
        self.units.is_multiple_of(self.length())
    }

    fn length(self) -> u32 {
        length(self.period).max(1)
    }
}

impl Streaks {
    /// The last unit.
    pub fn last(&self) -> Option<&Unit> {
        self.last.last()
    }

    /// The streak with the most laps; of equals, that with the shortest period.
    pub fn longest(&self) -> Option<Repetition> {
        self.of_results().reduce(|one, other| if other.laps() > one.laps() { other } else { one })
    }

    /// Whether a call is one of the last units, as many as a period has.
    pub fn has(&self, call: &Key, period: usize) -> bool {
        self.last.iter().rev().take(period).any(|unit| unit.call == *call)
    }

    /// The last unit whose call is this one, if it is among those that are remembered.
    pub fn last_of(&self, call: &Key) -> Option<&Unit> {
        self.last.iter().rev().find(|unit| unit.call == *call)
    }

    /// The tools of the last units, as many as a period has.
    pub fn tools(&self, period: usize) -> impl Iterator<Item = &str> {
        let first = self.last.len().saturating_sub(period);
        self.last.iter().skip(first).map(|unit| unit.call.tool())
    }

    /// The key of a call: the one that is kept already, if it is one of the last.
    pub fn key(&self, call: &KeyBuffer) -> Key {
        let known = self.last.iter().rev().find(|unit| unit.call == *call);
        known.map_or_else(|| call.to_key(), |unit| unit.call.clone())
    }

    /// The same, of calls alone.
    pub fn without_outcomes(&self) -> Self {
        let last = self.last.iter().map(Unit::without_outcome).collect();
        Self { last, matched: self.matched.iter().map(|matched| [matched[CALLS]; 2]).collect() }
    }

    /// A unit is made.
    pub fn extend(&mut self, unit: Unit, max_period: usize) {
        self.matched.resize(max_period, [0; 2]);
        let mut before = self.last.iter().rev();
        for matched in &mut self.matched {
            let [calls, results] = before.next().map_or([false; 2], |before| before.equals(&unit));
            let one_more = |matched: u32, same: bool| if same { matched.saturating_add(1) } else { 0 };
            *matched = [one_more(matched[CALLS], calls), one_more(matched[RESULTS], results)];
        }
        if self.last.len() >= max_period.max(1) {
            self.last.remove(0);
        }
        self.last.push(unit);
    }

    /// What is repeated, calls alone.
    pub fn of_calls(&self) -> impl Iterator<Item = Repetition> {
        self.repetitions(CALLS)
    }

    /// What is repeated, with results.
    pub fn of_results(&self) -> impl Iterator<Item = Repetition> {
        self.repetitions(RESULTS)
    }

    /// The same after more units, which are made in the order that goes on with a cycle of this period; those that do not, in
    /// the order that they have.
    fn after(&self, units: &[Unit], period: usize, max_period: usize) -> Self {
        let (mut streaks, mut rest) = (self.clone(), units.to_vec());
        while !rest.is_empty() {
            let expected = streaks.last.len().checked_sub(period).and_then(|place| streaks.last.get(place));
            let goes_on = |expected: &Unit| rest.iter().position(|unit| unit.equals(expected)[RESULTS]);
            let place = expected.and_then(goes_on).unwrap_or_default();
            streaks.extend(rest.remove(place), max_period);
        }
        streaks
    }

    fn laps(&self) -> u32 {
        self.longest().map(Repetition::laps).unwrap_or_default()
    }

    /// The streaks, the shortest period first.
    fn repetitions(&self, kind: usize) -> Repetitions<'_> {
        Repetitions { matched: &self.matched, kind, period: 0, explained: 0 }
    }
}

/// The units of a step that have no order (B5).
#[derive(Debug, Clone, Default)]
pub struct Siblings {
    /// The streaks before them.
    before: Streaks,
    units: Vec<Unit>,
}

/// So many are put in order.
const MOST_SIBLINGS: usize = 64;

impl Siblings {
    /// One more is made: all of them are put in the order in which the longest streak has the most laps; of several, that in which they came.
    pub fn extend(&mut self, streaks: &mut Streaks, unit: Unit, max_period: usize) {
        if self.units.is_empty() || self.units.len() == MOST_SIBLINGS {
            *self = Self { before: streaks.clone(), units: Vec::new() };
        }
        self.units.push(unit);
        *streaks = self.before.after(&self.units, usize::MAX, max_period);
        for period in 2..=max_period {
            let other = self.before.after(&self.units, period, max_period);
            if other.laps() > streaks.laps() {
                *streaks = other;
            }
        }
    }

    /// What comes next has its place behind them.
    pub fn clear(&mut self) {
        self.units.clear();
    }

    /// The same, of calls alone.
    pub fn without_outcomes(&self) -> Self {
        let units = self.units.iter().map(Unit::without_outcome).collect();
        Self { before: self.before.without_outcomes(), units }
    }
}

impl Persist for Siblings {
    fn write(&self, sink: &mut Sink) {
        self.before.write(sink);
        sink.list(&self.units);
    }

    fn read(source: &mut Source<'_>) -> Self {
        Self { before: Persist::read(source), units: source.list(MOST_SIBLINGS) }
    }
}

/// What is repeated, the shortest period first. A period is silent while a smaller one explains at least as many units (B3).
struct Repetitions<'a> {
    matched: &'a [[u32; 2]],
    kind: usize,
    /// The period that was looked at last.
    period: usize,
    /// How many units the periods so far explain.
    explained: u32,
}

impl Iterator for Repetitions<'_> {
    type Item = Repetition;

    fn next(&mut self) -> Option<Repetition> {
        loop {
            let matched = *self.matched.get(self.period)?.get(self.kind)?;
            self.period += 1;
            if matched == 0 && self.period > 1 {
                continue;
            }
            let (period, units) = (self.period, matched.saturating_add(length(self.period)));
            if units > self.explained {
                self.explained = units;
                return Some(Repetition { period, units });
            }
        }
    }
}

/// A period as a number of units.
fn length(period: usize) -> u32 {
    u32::try_from(period).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::Strategy as _;

    use super::{Siblings, Streaks, Unit};
    use crate::canonical::{Canonicalizer, Omitted};

    fn unit(name: char) -> Unit {
        let call = Canonicalizer::default().call(&name.to_string(), "{}", Omitted::Nothing).to_key();
        Unit { call, outcome: None }
    }

    /// The repetitions after each of some calls, as (period, units).
    fn repetitions(calls: &str, max_period: usize) -> Vec<Vec<(usize, u32)>> {
        let mut streaks = Streaks::default();
        calls
            .chars()
            .map(|name| {
                streaks.extend(unit(name), max_period);
                streaks.of_calls().map(|repetition| (repetition.period, repetition.units)).collect()
            })
            .collect()
    }

    fn last(calls: &str, max_period: usize) -> Vec<(usize, u32)> {
        repetitions(calls, max_period).pop().unwrap_or_default()
    }

    #[test]
    fn r1_the_plain_streak() {
        assert_eq!(repetitions("AAB", 1), [vec![(1, 1)], vec![(1, 2)], vec![(1, 1)]]);
        assert_eq!(last("ABABAB", 1), [(1, 1)]);
    }

    #[test]
    fn b3_cycles_are_found_and_a_smaller_period_silences_a_larger_one() {
        assert_eq!(last("ABABAB", 2), [(1, 1), (2, 6)]);
        assert_eq!(last("ABCABCABC", 4), [(1, 1), (3, 9)]);
        assert_eq!(last("AAA", 4), [(1, 3)]);
        assert_eq!(last("ABABABAB", 8), [(1, 1), (2, 8)]);
        assert_eq!(last("AABAABAA", 4), [(1, 2), (3, 8)]);
        assert_eq!(last("XABABAC", 4), [(1, 1)]);
        assert_eq!(last("XABABACB", 4), [(1, 1), (3, 4)]);
        assert_eq!(last("ABCDEFGHABCDEFGH", 8), [(1, 1), (8, 16)]);
        assert_eq!(last("ABCDEFGHIABCDEFGHI", 8), [(1, 1)]);
    }

    #[test]
    fn b3_laps() {
        let lap = |calls| {
            let mut streaks = Streaks::default();
            for name in str::chars(calls) {
                streaks.extend(unit(name), 2);
            }
            streaks.of_calls().last().map(|streak| (streak.laps(), streak.current_lap(), streak.completes_a_lap()))
        };
        assert_eq!(lap("ABABA"), Some((2, 3, false)));
        assert_eq!(lap("ABABAB"), Some((3, 3, true)));
        assert_eq!(lap("BABABA"), Some((3, 3, true)));
        assert_eq!(lap(""), None);
    }

    #[test]
    fn b3_no_more_units_are_kept_than_the_longest_period_has() {
        let mut streaks = Streaks::default();
        for name in "ABCABCABCABC".chars() {
            streaks.extend(unit(name), 3);
        }
        assert_eq!(streaks.last.len(), 3);
        assert_eq!(streaks.tools(3).collect::<String>(), "ABC");
    }

    proptest::proptest! {
        #[test]
        fn b3_what_a_history_repeats_is_found_in_it(calls in "[ABC]{1,30}", max_period in 1_usize..=8) {
            // Naively: of all ends of the history that repeat with a period, the longest.
            let history: Vec<_> = calls.chars().collect();
            let explained = |period: usize| {
                let repeats = |length: &usize| {
                    let end = history.iter().rev().take(*length);
                    end.clone().zip(end.skip(period)).all(|(one, other)| one == other)
                };
                (1..=history.len()).filter(repeats).max().unwrap_or_default()
            };
            let mut expected: Vec<(usize, u32)> = Vec::new();
            for period in 1..=max_period {
                let units = u32::try_from(explained(period)).unwrap_or_default();
                let repeats = period == 1 || units as usize > period;
                if repeats && expected.iter().all(|(_, smaller)| units > *smaller) {
                    expected.push((period, units));
                }
            }
            proptest::prop_assert_eq!(last(&calls, max_period), expected);
        }

        #[test]
        fn b5_no_order_of_a_step_makes_more_laps(
            before in "[ABCD]{0,12}", step in proptest::sample::subsequence(vec!['A', 'B', 'C', 'D', 'E'], 1..=5).prop_shuffle(),
            max_period in 1_usize..=8,
        ) {
            let mut streaks = Streaks::default();
            before.chars().for_each(|name| streaks.extend(unit(name), max_period));
            // Naively: of all orders, the most laps.
            let mut expected = 0;
            let mut orders = vec![(streaks.clone(), step.clone())];
            while let Some((made, left)) = orders.pop() {
                if left.is_empty() {
                    expected = expected.max(made.laps());
                }
                for place in 0..left.len() {
                    let (mut made, mut left) = (made.clone(), left.clone());
                    made.extend(unit(left.remove(place)), max_period);
                    orders.push((made, left));
                }
            }
            let mut siblings = Siblings::default();
            step.iter().for_each(|name| siblings.extend(&mut streaks, unit(*name), max_period));
            proptest::prop_assert_eq!(streaks.laps(), expected);
        }
    }

    #[test]
    fn b5_the_calls_of_a_step_have_no_order() {
        let after = |steps: &str, max_period| {
            let (mut streaks, mut siblings) = (Streaks::default(), Siblings::default());
            for step in steps.split(' ') {
                siblings.clear();
                for name in step.chars() {
                    siblings.extend(&mut streaks, unit(name), max_period);
                }
            }
            streaks.of_results().map(|repetition| (repetition.period, repetition.units)).collect::<Vec<_>>()
        };
        for max_period in [2, 3, 8] {
            assert_eq!(after("AB BA AB", max_period), [(1, 1), (2, 6)]);
            assert_eq!(after("AB AB BA AB", max_period), [(1, 1), (2, 8)]);
            assert_eq!(after("X AB BA AB", max_period), [(1, 1), (2, 6)]);
            assert_eq!(after("X Y Z AB BA AB BA", max_period), [(1, 1), (2, 8)]);
            assert_eq!(after("AB B B", max_period), [(1, 3)]);
            assert_eq!(after("AB AC", max_period).first(), Some(&(1, 1)));
        }
        assert_eq!(after("ABC BCA CAB", 3), [(1, 1), (3, 9)]);
        assert_eq!(after("X Y Z W ABC BCA CAB ACB", 8), [(1, 1), (3, 12)]);
        assert_eq!(after("A B B A", 2), [(1, 1)], "they are of different steps");
        // Neither order of the third step makes three laps of it.
        assert_eq!(after("B A BA A B", 2), [(1, 1)]);
    }
}
