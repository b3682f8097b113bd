//! A naive model of streaks and of the ladder of answers to them (B1 to B3): it keeps the whole history, and looks for what repeats in
//! all of it.

use proptest::prelude::*;

/// What an agent does, one call after another.
#[derive(Debug, Clone)]
pub enum Move {
    /// A person's message enters with a new step.
    Prompt,
    /// A call that runs if it may, and then has this result; by their places in [`CALLS`] and [`CONTENTS`].
    Call { call: usize, content: usize },
}

pub const CALLS: [&str; 3] = ["a", "b", "c"];
pub const CONTENTS: [&str; 2] = ["one", "two"];

/// What the guard says of a call.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Said {
    /// Before it: `ask` or `deny`, and the reason.
    pub before: Option<(&'static str, String)>,
    /// After it: the summaries of notices.
    pub after: Vec<String>,
}

#[derive(Debug, Clone)]
pub struct Ladder {
    pub thresholds: Vec<u32>,
    pub every: u32,
    pub any_result_thresholds: Vec<u32>,
    pub ask_at: Option<u32>,
    pub deny_at: Option<u32>,
    pub compare: bool,
    pub max_period: usize,
}

impl Ladder {
    pub fn json(&self) -> String {
        let number = |number: Option<u32>| number.map_or("null".to_owned(), |number| number.to_string());
        format!(
            r#"{{"repeatToolReminder":{{"thresholds":{:?},"every":{},"anyResultThresholds":{:?},"askAt":{},"denyAt":{},"results":"{}","maxPeriod":{}}}}}"#,
            self.thresholds,
            self.every,
            self.any_result_thresholds,
            number(self.ask_at),
            number(self.deny_at),
            if self.compare { "compare" } else { "ignore" },
            self.max_period,
        )
    }

    /// What is said of each move.
    pub fn answers(&self, moves: &[Move]) -> Vec<Said> {
        // Calls, and the results that their units have.
        let mut history: Vec<(usize, usize)> = Vec::new();
        let answer = |next: &Move| {
            let Move::Call { call, content } = *next else {
                history.clear();
                return Said::default();
            };
            let calls: Vec<_> = history.iter().map(|(call, _)| *call).chain([call]).collect();
            let mut before = None;
            for (period, length) in self.streaks(&calls) {
                let (laps, number) = (length / period, length.div_ceil(period));
                let rung = match (self.deny_at, self.ask_at) {
                    (Some(deny), _) if laps >= deny as usize => "deny",
                    (_, Some(ask)) if laps >= ask as usize => "ask",
                    _ => continue,
                };
                if before.as_ref().is_none_or(|(known, _)| (*known, rung) == ("ask", "deny")) {
                    let reason = format!("tool {} repeated {number} times with identical arguments", CALLS[call]);
                    before = Some((rung, reason));
                }
            }
            let denied = before.as_ref().is_some_and(|(rung, _)| *rung == "deny");
            // A call that is denied goes on with its last unit, as far back as the longest period remembers; else its result is the denial.
            let remembered = history.iter().rev().take(self.max_period);
            let last = remembered.filter(|_| denied).find(|(known, _)| *known == call).map(|(_, result)| *result);
            let result = match (self.compare, denied) {
                (false, _) => 0,
                (true, true) => last.unwrap_or(CONTENTS.len()),
                (true, false) => content,
            };
            history.push((call, result));
            let name = |period: usize| {
                let names = history[history.len() - period..].iter().map(|(call, _)| CALLS[*call]);
                names.collect::<Vec<_>>().join(" → ")
            };
            let complete = |streaks: Vec<(usize, usize)>, due: &dyn Fn(u32) -> bool| {
                let complete = streaks.into_iter().filter(|(period, length)| length % period == 0);
                let due = complete.filter(|(period, length)| due((length / period) as u32));
                due.last().map(|(period, length)| format!("{} × {}", name(period), length / period))
            };
            let highest = self.thresholds.iter().copied().max().unwrap_or(0);
            let by_count = |count: u32| {
                self.thresholds.contains(&count)
                    || (self.every > 0 && count > highest && (count - highest).is_multiple_of(self.every))
            };
            let after = complete(self.streaks(&history), &by_count)
                .or_else(|| complete(self.streaks(&calls), &|count| self.any_result_thresholds.contains(&count)));
            Said { before, after: after.into_iter().collect() }
        };
        moves.iter().map(answer).collect()
    }

    /// The periods that speak, each with how many of the last units it explains: the longest end that repeats with it.
    fn streaks<T: PartialEq>(&self, units: &[T]) -> Vec<(usize, usize)> {
        let mut streaks: Vec<(usize, usize)> = Vec::new();
        for period in 1..=self.max_period {
            let repeats = |length: &usize| {
                let end = &units[units.len() - length..];
                end.iter().zip(end.iter().skip(period)).all(|(one, other)| one == other)
            };
            let length = (1..=units.len()).filter(repeats).max().unwrap_or(0);
            if (period == 1 || length > period) && streaks.iter().all(|(_, smaller)| length > *smaller) {
                streaks.push((period, length));
            }
        }
        streaks
    }
}

pub fn ladders() -> impl Strategy<Value = Ladder> {
    let thresholds = |least| prop::sample::subsequence(vec![2_u32, 3, 5], least..=3);
    (
        thresholds(1),
        0_u32..4,
        thresholds(0),
        prop::option::of(2_u32..5),
        prop::option::of(2_u32..6),
        any::<bool>(),
        1_usize..=5,
    )
        .prop_map(|(thresholds, every, any_result_thresholds, ask_at, deny_at, compare, max_period)| Ladder {
            thresholds,
            every,
            any_result_thresholds,
            // One that is not below the other is no configuration.
            ask_at: ask_at.filter(|ask| deny_at.is_none_or(|deny| *ask < deny)),
            deny_at,
            compare,
            max_period,
        })
}

/// Moves in which short sequences come again.
pub fn moves() -> impl Strategy<Value = Vec<Move>> {
    let call = (0..CALLS.len(), prop_oneof![3 => Just(0_usize), 1 => Just(1)]);
    let call = call.prop_map(|(call, content)| Move::Call { call, content });
    let lap = (prop::collection::vec(call, 1..5), 1_usize..7);
    let laps = lap.prop_map(|(lap, times)| lap.iter().cloned().cycle().take(lap.len() * times).collect::<Vec<_>>());
    let part = prop_oneof![9 => laps, 1 => Just(vec![Move::Prompt])];
    prop::collection::vec(part, 0..8).prop_map(|parts| parts.concat())
}
