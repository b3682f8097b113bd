//! Chooses thresholds and quotas from recorded sessions.
//!
//! A [`Study`] watches replays. It keeps how long the streaks of equal calls were, and whether they brought one and the same result (the
//! agent was stuck) or changing ones (it polled); and how often each tool was called in one step. From that it
//! tells what each first threshold and each quota would do, and [advises](Study::advice) which to take.

use std::collections::{BTreeMap, HashMap};
use std::ops::RangeInclusive;

use crate::recorded::Agent;
use crate::replay::{Moment, Place, Streak, Watcher};

/// The first thresholds that are compared.
pub const THRESHOLDS: RangeInclusive<u32> = 2..=20;

/// How many steps must have used a tool before a quota for it is advised, and how many of a hundred such steps may be denied a call.
const STEPS_FOR_A_LIMIT: usize = 20;
const PERCENT_DENIED: usize = 1;

/// How long the streaks of a tool must be, and how many, before it is called one that polls.
const POLLING_LENGTH: u32 = 3;
const POLLING_STREAKS: usize = 2;

/// What was seen in recorded sessions.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Study {
    /// How many streaks of at least two calls there were, by their kind.
    streaks: BTreeMap<Repetition, usize>,
    /// For each agent, the longest of its streaks, and the longest stretch with one and the same result.
    agents: Vec<(u32, u32)>,
    calls: usize,
    /// For each tool, in how many steps it was called how often.
    tools: BTreeMap<String, BTreeMap<u32, usize>>,
    /// Calls before any step had begun: of formats that tell of tools alone.
    stepless: usize,
}

/// A streak of equal calls.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Repetition {
    tool: String,
    /// How many calls.
    length: u32,
    /// How many of them, from the first, had one and the same result.
    same: u32,
}

/// What a first threshold would do.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Sweep {
    /// The threshold.
    pub threshold: u32,
    /// Sessions (agents of them) that were stuck when they would have been reminded.
    pub stuck_sessions: usize,
    /// Others that would have been reminded: all they did was poll.
    pub polling_sessions: usize,
    /// Streaks that would have been reminded while their results were all the same.
    pub stuck_notices: usize,
    /// Streaks that would have been reminded after their results had changed.
    pub polling_notices: usize,
    /// Stuck streaks that ended with the very call that would have been reminded: the agent helped itself.
    pub needless_notices: usize,
    /// Calls that continued stuck streaks after that notice.
    pub saved: usize,
}

impl Sweep {
    /// All sessions that would have been reminded.
    pub fn sessions(&self) -> usize {
        self.stuck_sessions + self.polling_sessions
    }

    /// All first notices.
    pub fn notices(&self) -> usize {
        self.stuck_notices + self.polling_notices
    }
}

/// How a tool was called.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolUse {
    /// The tool.
    pub tool: String,
    /// How many calls.
    pub calls: usize,
    /// In how many steps.
    pub steps: usize,
    /// The median of the calls in a step that had one.
    pub median: u32,
    /// Of 100 steps with a call, 99 had at most so many.
    pub most_of_99: u32,
    /// The most calls in one step.
    pub most: u32,
    /// In how many steps it was called how often.
    pub per_step: BTreeMap<u32, usize>,
}

/// A configuration, and what it is based on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Advice {
    /// The thresholds, the first of which was chosen.
    pub thresholds: Vec<u32>,
    /// Tools that only poll.
    pub exclude: Vec<String>,
    /// Quotas for tools whose calls come in rare bursts.
    pub limits: BTreeMap<String, u32>,
    /// What the first threshold does without the excluded tools.
    pub sweep: Sweep,
}

impl Study {
    /// A watcher of one replay, whose study can be [added](Self::add) to this one.
    pub fn watcher() -> StudyWatcher {
        StudyWatcher::default()
    }

    /// Adds what was seen in other sessions.
    pub fn add(&mut self, other: Self) {
        for (streak, count) in other.streaks {
            *self.streaks.entry(streak).or_default() += count;
        }
        self.agents.extend(other.agents);
        self.calls += other.calls;
        for (tool, steps) in other.tools {
            let known = self.tools.entry(tool).or_default();
            steps.into_iter().for_each(|(calls, steps)| *known.entry(calls).or_default() += steps);
        }
        self.stepless += other.stepless;
    }

    /// How many agents were seen.
    pub fn sessions(&self) -> usize {
        self.agents.len()
    }

    /// How many calls were seen.
    pub fn calls(&self) -> usize {
        self.calls
    }

    /// How many of them came before any step had begun: formats that tell of tools alone have no steps.
    pub fn stepless_calls(&self) -> usize {
        self.stepless
    }

    /// What each first threshold would do.
    pub fn sweep(&self) -> Vec<Sweep> {
        THRESHOLDS.map(|threshold| self.at(threshold, &[])).collect()
    }

    /// What a first threshold would do if these tools were excluded. (What an excluded tool's calls separate is
    /// not joined.)
    fn at(&self, threshold: u32, excluded: &[String]) -> Sweep {
        let mut sweep = Sweep { threshold, ..Sweep::default() };
        for (longest, same) in &self.agents {
            if *same >= threshold {
                sweep.stuck_sessions += 1;
            } else if *longest >= threshold {
                sweep.polling_sessions += 1;
            }
        }
        for (Repetition { tool, length, same }, count) in &self.streaks {
            if *length < threshold || excluded.contains(tool) {
                continue;
            }
            if *same < threshold {
                sweep.polling_notices += count;
                continue;
            }
            sweep.stuck_notices += count;
            sweep.needless_notices += if *length == threshold { *count } else { 0 };
            sweep.saved += (length - threshold) as usize * count;
        }
        sweep
    }

    /// How each tool was called, the most bursty first.
    pub fn tools(&self) -> Vec<ToolUse> {
        let mut tools: Vec<_> = self.tools.iter().map(|(tool, per_step)| ToolUse::new(tool, per_step)).collect();
        tools.sort_by(|one, other| other.most.cmp(&one.most).then(other.calls.cmp(&one.calls)));
        tools
    }

    /// Which configuration fits these sessions.
    ///
    /// A tool is excluded if several of its streaks reached three calls and none of these was stuck. The first threshold
    /// is the one at which the calls that a heeded reminder saves most outnumber the notices that save none: on
    /// polls, and on streaks that end by themselves. Of several such, it is the one with the fewest notices; where nothing is
    /// saved, the guard's default, 3. The others follow at the distances of the default. A tool has a limit if
    /// its calls come in rare bursts: at most 1 of 100 of its steps would be denied a call, and the largest of
    /// them had at least twice as many.
    pub fn advice(&self) -> Advice {
        let exclude = self.polling_tools();
        let worth = |sweep: &Sweep| sweep.saved as i128 - (sweep.polling_notices + sweep.needless_notices) as i128;
        let sweeps = THRESHOLDS.map(|threshold| self.at(threshold, &exclude));
        // Of equal ones the last is taken: the highest, which reminds least.
        let best = sweeps.max_by_key(worth).filter(|best| worth(best) > 0);
        let sweep = best.unwrap_or_else(|| self.at(3, &exclude));
        let first = sweep.threshold;
        let limits =
            self.tools().into_iter().filter_map(|tool| Some((tool.tool.clone(), tool.advised_limit()?))).collect();
        Advice { thresholds: vec![first, first + 2, first + 5], exclude, limits, sweep }
    }

    fn polling_tools(&self) -> Vec<String> {
        let mut tools: BTreeMap<&str, (usize, bool)> = BTreeMap::new();
        for (Repetition { tool, length, same }, count) in &self.streaks {
            if *length >= POLLING_LENGTH {
                let (streaks, stuck) = tools.entry(tool).or_default();
                *streaks += count;
                *stuck |= *same >= POLLING_LENGTH;
            }
        }
        let polls = |(streaks, stuck): &(usize, bool)| *streaks >= POLLING_STREAKS && !stuck;
        tools.into_iter().filter(|(_, seen)| polls(seen)).map(|(tool, _)| tool.to_owned()).collect()
    }
}

impl ToolUse {
    fn new(tool: &str, per_step: &BTreeMap<u32, usize>) -> Self {
        let steps = per_step.values().sum();
        let calls = per_step.iter().map(|(calls, steps)| *calls as usize * steps).sum();
        // The calls of the step that has this many steps of a hundred below or beside it.
        let percentile = |percent: usize| {
            let mut seen = 0;
            let mut counts = per_step.iter();
            let found = counts.find(|(_, steps_with)| {
                seen += **steps_with;
                seen * 100 >= steps * percent
            });
            found.map_or(0, |(calls, _)| *calls)
        };
        let (median, most_of_99) = (percentile(50), percentile(99));
        let most = per_step.keys().last().copied().unwrap_or_default();
        Self { tool: tool.to_owned(), calls, steps, median, most_of_99, most, per_step: per_step.clone() }
    }

    /// How many calls a limit would deny.
    pub fn denied_at(&self, limit: u32) -> usize {
        self.per_step.iter().map(|(calls, steps)| calls.saturating_sub(limit) as usize * steps).sum()
    }

    fn advised_limit(&self) -> Option<u32> {
        let denied_steps = |limit| self.per_step.range(limit + 1..).map(|(_, steps)| steps).sum::<usize>();
        let limit = (1..self.most).find(|limit| denied_steps(*limit) * 100 <= self.steps * PERCENT_DENIED)?;
        (self.steps >= STEPS_FOR_A_LIMIT && self.most >= limit * 2).then_some(limit)
    }
}

/// Watches one replay for a [`Study`].
#[derive(Debug, Default)]
pub struct StudyWatcher {
    agents: HashMap<Agent, Watched>,
    study: Study,
}

#[derive(Debug, Default)]
struct Watched {
    streak: Option<Repetition>,
    longest: u32,
    longest_same: u32,
    /// The calls of the step at hand, by tool.
    step: BTreeMap<String, u32>,
}

impl StudyWatcher {
    /// What was seen.
    pub fn study(mut self) -> Study {
        for (_, mut agent) in std::mem::take(&mut self.agents) {
            agent.end_streak(&mut self.study);
            agent.end_step(&mut self.study);
            self.study.agents.push((agent.longest, agent.longest_same));
        }
        // The order of a hash map is not that of the sessions.
        self.study.agents.sort_unstable();
        self.study
    }
}

impl Watcher for StudyWatcher {
    fn agent(&mut self, agent: &Agent) {
        self.agents.insert(agent.clone(), Watched::default());
    }

    fn moment(&mut self, agent: &Agent, place: Place, moment: &Moment<'_>) {
        let Some(watched) = self.agents.get_mut(agent) else { return };
        match moment {
            Moment::Step { .. } => watched.end_step(&mut self.study),
            Moment::Began { call, .. } => {
                self.study.calls += 1;
                if place == Place::default() {
                    self.study.stepless += 1;
                } else {
                    *watched.step.entry(call.tool.clone()).or_default() += 1;
                }
            }
            Moment::Ended { call, streak: Some(streak), .. } => watched.count(&call.tool, *streak, &mut self.study),
            Moment::Ended { streak: None, .. } => {}
        }
    }
}

impl Watched {
    fn count(&mut self, tool: &str, Streak { count, same_results, .. }: Streak, study: &mut Study) {
        match &mut self.streak {
            Some(streak) if count > 1 => {
                streak.length = count;
                streak.same = if same_results { count } else { streak.same };
            }
            _ => {
                self.end_streak(study);
                self.streak = Some(Repetition { tool: tool.to_owned(), length: count, same: count });
            }
        }
    }

    fn end_streak(&mut self, study: &mut Study) {
        let Some(streak) = self.streak.take() else { return };
        self.longest = self.longest.max(streak.length);
        self.longest_same = self.longest_same.max(streak.same);
        if streak.length > 1 {
            *study.streaks.entry(streak).or_default() += 1;
        }
    }

    fn end_step(&mut self, study: &mut Study) {
        for (tool, calls) in std::mem::take(&mut self.step) {
            *study.tools.entry(tool).or_default().entry(calls).or_default() += 1;
        }
    }
}
