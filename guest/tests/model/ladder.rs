//! A naive model of streaks and of the ladder of answers to them (B1 to B3, B5): it keeps the whole history, and looks for what repeats
//! in all of it.

use proptest::prelude::*;

/// What an agent does. Calls can enclose others, overlap, and never end.
#[derive(Debug, Clone)]
pub enum Move {
    /// A step begins, perhaps with a person's message.
    Step { prompted: bool },
    /// A call begins that runs if it may, and then has this result; by their places in [`CALLS`] and [`CONTENTS`].
    Begin { call: usize, content: usize },
    /// Of the calls that have begun, the one that began first or last ends.
    End { first: bool },
}

pub const CALLS: [&str; 3] = ["a", "b", "c"];
pub const CONTENTS: [&str; 2] = ["one", "two"];

/// What the guard says of a move.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Said {
    /// Before a call: `ask` or `deny`, and the reason.
    pub before: Option<(&'static str, String)>,
    /// After it: the summaries of notices.
    pub after: Vec<String>,
}

/// A guard that can be driven beside the model.
pub trait Guarded {
    fn step(&mut self, prompted: bool);
    fn pre(&mut self, id: &str, tool: &str) -> Option<(&'static str, String)>;
    fn post(&mut self, id: &str, tool: &str, denied: bool, content: &str) -> Vec<String>;
}

/// A session of an agent with a guard: the calls that have begun and not ended.
#[derive(Debug, Clone, Default)]
pub struct Session {
    begun: usize,
    open: Vec<Open>,
}

#[derive(Debug, Clone)]
struct Open {
    id: usize,
    call: usize,
    content: usize,
    denied: bool,
}

impl Session {
    /// What is said of each move.
    pub fn answers(&mut self, guard: &mut impl Guarded, moves: &[Move]) -> Vec<Said> {
        let answer = |next: &Move| match *next {
            Move::Step { prompted } => {
                guard.step(prompted);
                Said::default()
            }
            Move::Begin { call, content } => {
                self.begun += 1;
                let before = guard.pre(&self.begun.to_string(), CALLS[call]);
                let denied = before.as_ref().is_some_and(|(rung, _)| *rung == "deny");
                self.open.push(Open { id: self.begun, call, content, denied });
                Said { before, after: Vec::new() }
            }
            Move::End { first } => match self.take(first) {
                Some(Open { id, call, content, denied }) => {
                    let after = guard.post(&id.to_string(), CALLS[call], denied, CONTENTS[content]);
                    Said { before: None, after }
                }
                None => Said::default(),
            },
        };
        moves.iter().map(answer).collect()
    }

    fn take(&mut self, first: bool) -> Option<Open> {
        if self.open.is_empty() {
            return None;
        }
        Some(self.open.remove(if first { 0 } else { self.open.len() - 1 }))
    }
}

/// A call that is made: itself, and its result where that counts.
type Unit = (usize, usize);

/// The units of an agent, in the order that they are taken in.
#[derive(Debug, Clone)]
struct Units<T> {
    all: Vec<T>,
    /// Those before the ones that have no order, and these.
    before: Vec<T>,
    siblings: Vec<T>,
}

/// The model, which is a guard of its own.
#[derive(Debug, Clone)]
pub struct Model {
    ladder: Ladder,
    units: Units<Unit>,
    /// The calls of the step that have been made and count once.
    counted: Vec<usize>,
    /// The calls whose end is waited for, and whether they were denied.
    pending: Vec<(String, usize, bool)>,
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
    /// Whether equal calls of a step count once, of each of [`CALLS`].
    pub once: [bool; 3],
}

fn place(tool: &str) -> usize {
    CALLS.iter().position(|call| *call == tool).unwrap_or_default()
}

fn calls(units: &[Unit]) -> Vec<usize> {
    units.iter().map(|(call, _)| *call).collect()
}

impl<T: PartialEq + Clone> Units<T> {
    /// What comes next has its place behind all that is there.
    fn settle(&mut self) {
        self.before.clone_from(&self.all);
        self.siblings.clear();
    }

    fn extend(&mut self, ladder: &Ladder, unit: T, once: bool) {
        if once {
            self.siblings.push(unit);
            self.all = ladder.order(&self.before, &self.siblings);
        } else {
            self.all.push(unit);
            self.settle();
        }
    }
}

impl Guarded for Model {
    fn step(&mut self, prompted: bool) {
        self.units.settle();
        self.counted.clear();
        self.pending.clear();
        if prompted {
            self.units = Units { all: Vec::new(), before: Vec::new(), siblings: Vec::new() };
        }
    }

    fn pre(&mut self, id: &str, tool: &str) -> Option<(&'static str, String)> {
        let call = place(tool);
        let Units { all, before, siblings } = &self.units;
        let mut units = Units { all: calls(all), before: calls(before), siblings: calls(siblings) };
        let mut seen = self.counted.clone();
        for call in self.pending.iter().map(|(_, call, _)| *call).chain([call]) {
            let once = self.ladder.once[call];
            if !once || !seen.contains(&call) {
                units.extend(&self.ladder, call, once);
            }
            if once {
                seen.push(call);
            }
        }
        let units = units.all;
        let mut before = None;
        for (period, length) in self.ladder.streaks(&units) {
            let (laps, number) = (length / period, length.div_ceil(period));
            let rung = match (self.ladder.deny_at, self.ladder.ask_at) {
                (Some(deny), _) if laps >= deny as usize => "deny",
                (_, Some(ask)) if laps >= ask as usize => "ask",
                _ => continue,
            };
            let goes_on = units[units.len() - period..].contains(&call);
            if goes_on && before.as_ref().is_none_or(|(known, _)| (*known, rung) == ("ask", "deny")) {
                before = Some((rung, format!("tool {tool} repeated {number} times with identical arguments")));
            }
        }
        let denied = before.as_ref().is_some_and(|(rung, _)| *rung == "deny");
        self.pending.push((id.to_owned(), call, denied));
        before
    }

    fn post(&mut self, id: &str, tool: &str, denied: bool, content: &str) -> Vec<String> {
        let call = place(tool);
        let pending = self.pending.iter().position(|(pending, _, _)| pending == id);
        // One that is no longer waited for, the guard does not know to have denied. Nor does it wait for those before one that ends.
        let denied_by_guard = denied && pending.is_some();
        self.pending.drain(..pending.map_or(0, |place| place + 1));
        let once = self.ladder.once[call];
        if once && self.counted.contains(&call) {
            return Vec::new();
        }
        if once {
            self.counted.push(call);
        }
        // One that the guard denied goes on with the last unit of its call, as far back as the longest period remembers.
        let mut remembered = self.units.all.iter().rev().take(self.ladder.max_period);
        let last = remembered.find(|(known, _)| denied_by_guard && *known == call).map(|(_, result)| *result);
        let own = CONTENTS.iter().position(|known| *known == content).unwrap_or_default() + if denied { 10 } else { 0 };
        let result = if self.ladder.compare { last.unwrap_or(own) } else { 0 };
        self.units.extend(&self.ladder, (call, result), once);
        let units = &self.units.all;
        let name = |period: usize| {
            let names = units[units.len() - period..].iter().map(|(call, _)| CALLS[*call]);
            names.collect::<Vec<_>>().join(" → ")
        };
        let complete = |streaks: Vec<(usize, usize)>, due: &dyn Fn(u32) -> bool| {
            let complete = streaks.into_iter().filter(|(period, length)| length % period == 0);
            let due = complete.filter(|(period, length)| due((length / period) as u32));
            due.last().map(|(period, length)| format!("{} × {}", name(period), length / period))
        };
        let Ladder { thresholds, every, any_result_thresholds, .. } = &self.ladder;
        let highest = thresholds.iter().copied().max().unwrap_or(0);
        let by_count = |count: u32| {
            thresholds.contains(&count) || (*every > 0 && count > highest && (count - highest).is_multiple_of(*every))
        };
        let notice = complete(self.ladder.streaks(units), &by_count)
            .or_else(|| complete(self.ladder.streaks(&calls(units)), &|count| any_result_thresholds.contains(&count)));
        notice.into_iter().collect()
    }
}

impl Model {
    pub fn new(ladder: Ladder) -> Self {
        let units = Units { all: Vec::new(), before: Vec::new(), siblings: Vec::new() };
        Self { ladder, units, counted: Vec::new(), pending: Vec::new() }
    }
}

impl Ladder {
    pub fn json(&self) -> String {
        let number = |number: Option<u32>| number.map_or("null".to_owned(), |number| number.to_string());
        let entry = |(tool, once): (&&str, bool)| {
            format!(r#"{{"match":{tool:?},"siblings":"{}"}}"#, if once { "once" } else { "each" })
        };
        format!(
            r#"{{"repeatToolReminder":{{"thresholds":{:?},"every":{},"anyResultThresholds":{:?},"askAt":{},"denyAt":{},"results":"{}","maxPeriod":{},"tools":[{}]}}}}"#,
            self.thresholds,
            self.every,
            self.any_result_thresholds,
            number(self.ask_at),
            number(self.deny_at),
            if self.compare { "compare" } else { "ignore" },
            self.max_period,
            CALLS.iter().zip(self.once).map(entry).collect::<Vec<_>>().join(","),
        )
    }

    /// Units with those behind them that have no order: of all orders, the one with the most laps; of several, that in which they came,
    /// or that of the shortest period (B5).
    fn order<T: PartialEq + Clone>(&self, history: &[T], siblings: &[T]) -> Vec<T> {
        let mut orders = vec![(history.to_vec(), siblings.to_vec())];
        let mut best: Option<(usize, usize, Vec<T>)> = None;
        while let Some((made, left)) = orders.pop() {
            if left.is_empty() {
                let streaks = self.streaks(&made);
                let laps = streaks.iter().map(|(period, length)| length / period).max().unwrap_or_default();
                let period =
                    streaks.iter().find(|(period, length)| length / period == laps).map_or(0, |(period, _)| *period);
                let is_as_they_came = made[history.len()..] == *siblings;
                let period = if is_as_they_came { 0 } else { period };
                if best.as_ref().is_none_or(|(most, shortest, _)| laps > *most || (laps == *most && period < *shortest))
                {
                    best = Some((laps, period, made));
                }
                continue;
            }
            for place in 0..left.len() {
                let (mut made, mut left) = (made.clone(), left.clone());
                made.push(left.remove(place));
                orders.push((made, left));
            }
        }
        best.map(|(_, _, units)| units).unwrap_or_default()
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
        prop_oneof![any::<bool>().prop_map(|once| [once; 3]), any::<[bool; 3]>()],
    )
        .prop_map(|(thresholds, every, any_result_thresholds, ask_at, deny_at, compare, max_period, once)| {
            Ladder {
                thresholds,
                every,
                any_result_thresholds,
                // One that is not below the other is no configuration.
                ask_at: ask_at.filter(|ask| deny_at.is_none_or(|deny| *ask < deny)),
                deny_at,
                compare,
                max_period,
                once,
            }
        })
}

/// Moves in which short sequences come again: calls one after another, at once, or inside another.
pub fn moves() -> impl Strategy<Value = Vec<Move>> {
    let call = (0..CALLS.len(), prop_oneof![3 => Just(0_usize), 1 => Just(1)]);
    let begin = || call.clone().prop_map(|(call, content)| Move::Begin { call, content });
    let begins = || prop::collection::vec(begin(), 1..5);
    let end = |first| Move::End { first };
    let step = || (0_u32..6).prop_map(|chance| (chance < 3).then_some(Move::Step { prompted: chance == 0 }));
    let one_by_one = begins().prop_map(move |calls| calls.into_iter().flat_map(|call| [call, end(false)]).collect());
    let at_once = begins().prop_shuffle().prop_map(move |calls| {
        let ends = vec![end(true); calls.len()];
        [calls, ends].concat()
    });
    let lap = prop_oneof![3 => one_by_one, 2 => at_once];
    let laps = (step(), lap, 1_usize..7).prop_map(|(step, lap, times): (_, Vec<Move>, usize)| {
        std::iter::repeat_n(step.into_iter().chain(lap).collect::<Vec<_>>(), times).collect::<Vec<_>>().concat()
    });
    let laps = laps.boxed();
    let inside = (begin(), laps.clone(), any::<bool>())
        .prop_map(move |(call, laps, ends)| [vec![call], laps, vec![end(false); usize::from(ends)]].concat());
    let odd =
        prop_oneof![begin(), any::<bool>().prop_map(end), any::<bool>().prop_map(|prompted| Move::Step { prompted })];
    let part = prop_oneof![6 => laps, 2 => inside, 1 => odd.prop_map(|odd| vec![odd])];
    prop::collection::vec(part, 0..8).prop_map(|parts| parts.concat())
}
