//! The guard: a configuration, the state of its agents, and the hooks that bring the two together.

use crate::agents::Agents;
use crate::config::{Config, ReminderConfig};
use crate::explain::explain;
use crate::failures::{self, Failures};
use crate::ladder::Rung;
use crate::limit::{self, Concerns, NoAgent, Slots};
use crate::persist::persist;
use crate::preview::preview;
use crate::reminder::{self, Chain, Foreseen, Reader};
use crate::resume;

pub use crate::config::Problem;
pub use crate::limit::Decision;
pub use crate::reminder::{Notice, Outcome, Status};
pub use crate::stats::Stats;

/// A guard, as the contract describes it. Each method is the hook of its name.
#[derive(Debug)]
pub struct Guard {
    config: Config,
    /// Whether calls must be looked at before they run.
    looks_ahead: bool,
    agents: Agents<Agent>,
    reader: Reader,
}

/// What is remembered of an agent.
#[derive(Debug, Default)]
struct Agent {
    chain: Chain,
    slots: Slots,
    failures: Failures,
    stats: Stats,
}

persist!(Agent { chain, slots, failures, stats });

/// A tool call that a model made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Call {
    /// The agent that owns it, if the host has one for it.
    pub agent: Option<String>,
    /// Pairs its two hooks.
    pub id: String,
    /// The tool's name.
    pub name: String,
    /// The raw JSON text of its arguments.
    pub arguments: String,
}

/// Something that happened to an agent beside its calls (B8).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event {
    /// Its context was compacted.
    Compacted,
    /// A person approved a call of it.
    Approved,
}

/// The figures of an agent (B9).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentStats {
    /// The agent.
    pub agent: String,
    /// Its figures.
    pub stats: Stats,
}

impl Default for Guard {
    fn default() -> Self {
        Self::new(Config::default())
    }
}

impl Guard {
    fn new(config: Config) -> Self {
        let looks_ahead = config.repeat_tool_reminder.looks_ahead();
        let agents = Agents::new(usize::try_from(config.max_agents).unwrap_or(usize::MAX));
        Self { config, looks_ahead, agents, reader: Reader::default() }
    }

    /// Puts a configuration in force, and forgets all state.
    ///
    /// # Errors
    ///
    /// All problems of the configuration; nothing has changed then.
    pub fn configure(&mut self, config: &str) -> Result<(), Vec<Problem>> {
        *self = Self::new(Config::parse(config)?);
        Ok(())
    }

    /// Whether results are looked at.
    pub fn needs_content(&self) -> bool {
        self.config.repeat_tool_reminder.compares_results()
    }

    /// A step begins (Q2, B6); a prompt, and where it is so configured another turn, ends the agent's chain (R12, B8).
    pub fn step(&mut self, agent: &str, turn: u32, step: u32, prompted: bool) {
        let reset_on = self.config.repeat_tool_reminder.reset_on;
        let agent = self.agents.get_or_insert(agent);
        let is_other_turn = agent.slots.begin_step(turn, step);
        agent.chain.begin_step();
        if (prompted && reset_on.prompt) || (is_other_turn && reset_on.turn) {
            agent.chain.reset();
        }
        if prompted {
            agent.failures.reset();
        }
    }

    /// Whether a call may run.
    pub fn pre_execute(&mut self, call: Call) -> Decision {
        let Config { repeat_tool_reminder: reminder, tool_call_limit: limit, observe, .. } = &self.config;
        let concerns = Concerns::of(limit, &call.name);
        let Some(agent) = call.agent.as_deref() else {
            return in_force(*observe, limit::decide(limit.asks, &concerns, Err(NoAgent), &call.name));
        };
        let looks_ahead = self.looks_ahead && tracks(reminder, &call.name);
        if !looks_ahead && concerns.is_empty() {
            // A use all the same (S4).
            self.agents.get(agent);
            return Decision::Allow;
        }
        // A use in any case (S4).
        let agent = match looks_ahead || concerns.outlive_steps() {
            true => Some(self.agents.get_or_insert(agent)),
            false => self.agents.get(agent),
        };
        let slots = agent.as_deref().map(|agent| &agent.slots);
        let quota = limit::decide(limit.asks, &concerns, Ok(slots), &call.name);
        let Some(agent) = agent else { return in_force(*observe, quota) };
        let foreseen = looks_ahead.then(|| reminder::foresee(reminder, &agent.chain, &mut self.reader, &call));
        let (rung, number) =
            foreseen.as_ref().map_or((Rung::Allow, 0), |Foreseen { rung, number, .. }| (*rung, *number));
        let fits = quota == Decision::Allow;
        let decision = answer(quota, rung, || reminder::reason(&call.name, number));
        match decision {
            Decision::Allow => {}
            Decision::Ask(_) => agent.stats.asks = agent.stats.asks.saturating_add(1),
            Decision::Deny(_) => agent.stats.denials = agent.stats.denials.saturating_add(1),
        }
        let denied = matches!(decision, Decision::Deny(_)) && !observe;
        // In a trial every call runs.
        if *observe || (fits && !denied) {
            agent.slots.take(&concerns);
        }
        if let Some(foreseen) = foreseen {
            agent.chain.expect(foreseen, denied);
        }
        in_force(*observe, decision)
    }

    /// A call has reached an outcome, whichever it is (R2).
    pub fn post_execute(&mut self, call: Call, outcome: Outcome) -> Vec<Notice> {
        let Config { repeat_tool_reminder: reminder, repeated_failure_reminder: failure, observe, .. } = &self.config;
        let Some(agent) = call.agent.as_deref() else { return Vec::new() };
        let (tracked, watched) = (tracks(reminder, &call.name), failure.watches(&call.name));
        // A use in any case (S4).
        let agent = match tracked || watched {
            true => Some(self.agents.get_or_insert(agent)),
            false => self.agents.get(agent),
        };
        let Some(Agent { chain, failures, stats, .. }) = agent else { return Vec::new() };
        stats.calls = stats.calls.saturating_add(1);
        let failed = if watched {
            let canonicalizer = &mut self.reader.canonicalizer;
            let quoted =
                || preview(&canonicalizer.text(&call.arguments), reminder.arguments_preview_chars).into_owned();
            failures::observe(failure, failures, &call.name, outcome.status, quoted)
        } else {
            None
        };
        let mut notices = Vec::new();
        if tracked {
            notices.extend(reminder::observe(reminder, chain, stats, &mut self.reader, call, outcome));
        }
        notices.extend(failed);
        stats.notices = stats.notices.saturating_add(u32::try_from(notices.len()).unwrap_or_default());
        if *observe { Vec::new() } else { notices }
    }

    /// The step that was begun last broke (Q7).
    pub fn step_aborted(&mut self, agent: &str, turn: u32, step: u32) {
        if let Some(agent) = self.agents.get(agent) {
            agent.slots.abort(turn, step);
        }
    }

    /// A turn ended (Q7).
    pub fn turn_ended(&mut self, agent: &str, turn: u32) {
        if let Some(agent) = self.agents.get(agent) {
            agent.slots.end_turn(turn);
        }
    }

    /// An agent ended (R13, Q7).
    pub fn agent_ended(&mut self, agent: &str) {
        self.agents.remove(agent);
    }

    /// Something happened to an agent that can end its chain (B8).
    pub fn noted(&mut self, agent: &str, event: Event) {
        let reset_on = self.config.repeat_tool_reminder.reset_on;
        let resets = match event {
            Event::Compacted => reset_on.compaction,
            Event::Approved => reset_on.approval,
        };
        if let Some(agent) = self.agents.get(agent).filter(|_| resets) {
            agent.chain.reset();
        }
    }

    /// The configuration in force, as JSON.
    pub fn describe(&mut self) -> String {
        self.config.json()
    }

    /// The canonical form of a call's arguments.
    pub fn canonical(&mut self, arguments: &str) -> String {
        self.reader.canonicalizer.text(arguments)
    }

    /// The agent's current count.
    pub fn count(&self, agent: &str) -> u32 {
        self.agents.peek(agent).map(|agent| agent.chain.count()).unwrap_or_default()
    }

    /// Which settings apply to a tool, as JSON.
    pub fn explain(&self, tool: &str) -> String {
        explain(&self.config, tool)
    }

    /// The figures of all agents that are remembered, the one that was idle longest first (B9).
    pub fn stats(&self) -> Vec<AgentStats> {
        let stats = |(agent, state): (&str, &Agent)| AgentStats { agent: agent.to_owned(), stats: state.stats.clone() };
        self.agents.iter().map(stats).collect()
    }

    /// All counts (B8).
    pub fn snapshot(&mut self) -> Vec<u8> {
        resume::snapshot(&self.describe(), self.agents.iter())
    }

    /// Goes on with the counts of a snapshot (B8).
    ///
    /// # Errors
    ///
    /// Why it is refused; nothing has changed then.
    pub fn restore(&mut self, snapshot: &[u8]) -> Result<(), String> {
        let states = resume::restore(&self.describe(), snapshot)?;
        let mut agents = self.agents.emptied();
        for (name, state) in states {
            *agents.get_or_insert(&name) = state;
        }
        self.agents = agents;
        Ok(())
    }
}

/// Whether calls of a tool are tracked (R8).
pub fn tracks(config: &ReminderConfig, tool: &str) -> bool {
    config.enabled && config.tracked.has(tool)
}

/// Of the answer of the quotas and that of the ladder, the stricter; of two that are equally strict, that of the quotas (B2).
fn answer(quota: Decision, rung: Rung, reason: impl FnOnce() -> String) -> Decision {
    match (quota, rung) {
        (Decision::Deny(reason), _) => Decision::Deny(reason),
        (_, Rung::Deny) => Decision::Deny(reason()),
        (Decision::Ask(reason), _) => Decision::Ask(reason),
        (Decision::Allow, Rung::Ask) => Decision::Ask(reason()),
        (Decision::Allow, Rung::Allow) => Decision::Allow,
    }
}

/// In a trial nothing is denied, and nobody is asked (B9).
fn in_force(observe: bool, decision: Decision) -> Decision {
    if observe { Decision::Allow } else { decision }
}

#[cfg(test)]
mod tests {
    use super::{Call, Decision, Guard, Outcome, Status};

    fn guard(config: &str) -> Guard {
        let mut guard = Guard::default();
        assert_eq!(guard.configure(config), Ok(()));
        guard
    }

    fn limited() -> Guard {
        guard(r#"{"toolCallLimit":{"limits":{"t":1}}}"#)
    }

    fn call(agent: Option<&str>, tool: &str) -> Call {
        Call { agent: agent.map(str::to_owned), id: "1".to_owned(), name: tool.to_owned(), arguments: "{}".to_owned() }
    }

    fn pre(guard: &mut Guard, agent: &str, tool: &str) -> Decision {
        guard.pre_execute(call(Some(agent), tool))
    }

    fn succeeded() -> Outcome {
        Outcome { status: Status::Succeeded, content: String::new() }
    }

    fn calls(guard: &mut Guard, agent: &str, tool: &str, times: usize) -> Vec<String> {
        (0..times)
            .flat_map(|_| guard.post_execute(call(Some(agent), tool), succeeded()))
            .map(|notice| notice.summary)
            .collect()
    }

    fn exceeded() -> Decision {
        Decision::Deny("tool t exceeded its per-step limit of 1".to_owned())
    }

    fn no_step() -> Decision {
        Decision::Deny("per-step tool limit has no active agent step".to_owned())
    }

    #[test]
    fn r9_an_untracked_call_neither_counts_nor_resets() {
        let mut guard = guard(r#"{"repeatToolReminder":{"exclude":["x"]}}"#);
        assert_eq!(calls(&mut guard, "a", "t", 2), [""; 0]);
        assert_eq!(calls(&mut guard, "a", "x", 9), [""; 0]);
        assert_eq!(guard.count("a"), 2);
        assert_eq!(calls(&mut guard, "a", "t", 1), ["t × 3"]);
    }

    #[test]
    fn r10_a_call_without_an_agent_is_ignored() {
        let mut guard = Guard::default();
        for _ in 0..9 {
            assert_eq!(guard.post_execute(call(None, "t"), succeeded()), []);
        }
    }

    #[test]
    fn r11_agents_never_mix() {
        let mut guard = Guard::default();
        for _ in 0..2 {
            assert_eq!(calls(&mut guard, "a", "t", 1), [""; 0]);
            assert_eq!(calls(&mut guard, "b", "t", 1), [""; 0]);
        }
        assert_eq!((guard.count("a"), guard.count("b"), guard.count("c")), (2, 2, 0));
        assert_eq!(calls(&mut guard, "b", "t", 1), ["t × 3"]);
        assert_eq!(calls(&mut guard, "a", "t", 1), ["t × 3"]);
    }

    #[test]
    fn r12_a_prompt_resets_and_nothing_else_does() {
        let mut guard = Guard::default();
        calls(&mut guard, "a", "t", 2);
        guard.step("a", 1, 2, false);
        guard.step_aborted("a", 1, 2);
        guard.turn_ended("a", 1);
        guard.step("a", 2, 1, false);
        guard.step("b", 2, 1, true);
        assert_eq!(guard.count("a"), 2);
        guard.step("a", 3, 1, true);
        assert_eq!(guard.count("a"), 0);
    }

    #[test]
    fn r13_an_ended_agent_is_forgotten() {
        let mut guard = limited();
        guard.step("a", 1, 1, false);
        calls(&mut guard, "a", "t", 2);
        guard.agent_ended("a");
        assert_eq!(guard.count("a"), 0);
        assert_eq!(pre(&mut guard, "a", "t"), no_step());
        assert_eq!(calls(&mut guard, "a", "t", 3), ["t × 3"]);
    }

    #[test]
    fn r2_r14_a_denied_call_counts_and_the_reminder_denies_nothing() {
        let mut guard = limited();
        guard.step("a", 1, 1, false);
        assert_eq!(pre(&mut guard, "a", "t"), Decision::Allow);
        calls(&mut guard, "a", "t", 1);
        assert_eq!(pre(&mut guard, "a", "t"), exceeded());
        calls(&mut guard, "a", "t", 1);
        assert_eq!(pre(&mut guard, "a", "t"), exceeded());
        assert_eq!(calls(&mut guard, "a", "t", 1), ["t × 3"]);
        guard.step("a", 1, 2, false);
        assert_eq!(pre(&mut guard, "a", "t"), Decision::Allow);
    }

    #[test]
    fn r14_the_reminder_never_denies() {
        let mut guard = guard(r#"{"repeatToolReminder":{"thresholds":[2]}}"#);
        guard.step("a", 1, 1, false);
        for _ in 0..9 {
            assert_eq!(pre(&mut guard, "a", "t"), Decision::Allow);
            calls(&mut guard, "a", "t", 1);
        }
    }

    #[test]
    fn s1_the_same_calls_get_the_same_answers() {
        let answers = || {
            let mut guard = limited();
            guard.step("a", 1, 1, true);
            let decisions = [pre(&mut guard, "a", "t"), pre(&mut guard, "a", "t")];
            (decisions, calls(&mut guard, "a", "t", 9), guard.describe(), guard.explain("t"))
        };
        assert_eq!(answers(), answers());
    }

    #[test]
    fn q2_each_step_starts_a_fresh_table_for_its_agent() {
        let mut guard = limited();
        guard.step("a", 1, 1, false);
        guard.step("b", 1, 1, false);
        assert_eq!(pre(&mut guard, "a", "t"), Decision::Allow);
        assert_eq!(pre(&mut guard, "a", "t"), exceeded());
        assert_eq!(pre(&mut guard, "b", "t"), Decision::Allow);
        guard.step("a", 1, 1, false);
        assert_eq!(pre(&mut guard, "a", "t"), Decision::Allow);
        assert_eq!(pre(&mut guard, "b", "t"), exceeded());
    }

    #[test]
    fn q4_no_outcome_gives_a_slot_back() {
        let mut guard = limited();
        guard.step("a", 1, 1, false);
        assert_eq!(pre(&mut guard, "a", "t"), Decision::Allow);
        guard.post_execute(call(Some("a"), "t"), succeeded());
        assert_eq!(pre(&mut guard, "a", "t"), exceeded());
    }

    #[test]
    fn q7_only_the_active_step_and_turn_end_it() {
        let mut guard = limited();
        guard.step("a", 2, 3, false);
        guard.step_aborted("a", 2, 2);
        guard.step_aborted("a", 1, 3);
        guard.turn_ended("a", 1);
        guard.step_aborted("b", 2, 3);
        guard.turn_ended("b", 2);
        guard.agent_ended("b");
        assert_eq!(pre(&mut guard, "a", "t"), Decision::Allow);
        guard.step_aborted("a", 2, 3);
        assert_eq!(pre(&mut guard, "a", "t"), no_step());
        guard.step("a", 2, 4, false);
        guard.turn_ended("a", 2);
        assert_eq!(pre(&mut guard, "a", "t"), no_step());
        guard.step("a", 2, 4, false);
        assert_eq!(pre(&mut guard, "a", "t"), Decision::Allow);
    }

    #[test]
    fn q8_a_call_made_inside_another_counts_in_the_current_step() {
        let mut guard = guard(r#"{"toolCallLimit":{"limits":{"t":2}}}"#);
        guard.step("a", 1, 1, false);
        assert_eq!(pre(&mut guard, "a", "run_code"), Decision::Allow);
        assert_eq!(pre(&mut guard, "a", "t"), Decision::Allow);
        assert_eq!(pre(&mut guard, "a", "t"), Decision::Allow);
        assert!(matches!(pre(&mut guard, "a", "t"), Decision::Deny(_)));
    }

    #[test]
    fn s4_a_forgotten_agent_starts_anew_and_its_limited_calls_wait_for_a_step() {
        let mut guard = guard(r#"{"maxAgents":2,"toolCallLimit":{"limits":{"t":1}}}"#);
        guard.step("a", 1, 1, false);
        calls(&mut guard, "a", "x", 2);
        guard.step("b", 1, 1, false);
        // A use of any kind counts, an untracked or unlimited call's too.
        pre(&mut guard, "a", "x");
        guard.step("c", 1, 1, false);
        assert_eq!(pre(&mut guard, "b", "t"), no_step());
        assert_eq!(guard.count("a"), 2);
        guard.step("d", 1, 1, false);
        guard.step("e", 1, 1, false);
        assert_eq!(guard.count("a"), 0);
        assert_eq!(pre(&mut guard, "a", "t"), no_step());
        assert_eq!(calls(&mut guard, "a", "x", 3), ["x × 3"]);
    }

    #[test]
    fn configure_forgets_all_state_and_a_failed_one_changes_nothing() {
        let mut guard = limited();
        guard.step("a", 1, 1, false);
        calls(&mut guard, "a", "t", 2);
        let before = guard.describe();
        let problems = guard.configure(r#"{"maxAgents":0,"x":1}"#).err().unwrap_or_default();
        assert_eq!(problems.iter().map(|problem| problem.path.as_str()).collect::<Vec<_>>(), ["/maxAgents", "/x"]);
        assert_eq!(guard.describe(), before);
        assert_eq!(guard.count("a"), 2);
        assert_eq!(pre(&mut guard, "a", "t"), Decision::Allow);
        assert_eq!(guard.configure(&before), Ok(()));
        assert_eq!(guard.describe(), before);
        assert_eq!(guard.count("a"), 0);
        assert_eq!(pre(&mut guard, "a", "t"), no_step());
    }
}
