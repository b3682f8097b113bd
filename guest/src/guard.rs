//! The guard: a configuration, the state of its agents, and the hooks that bring the two together.

use crate::agents::Agents;
use crate::config::Config;
use crate::explain::explain;
use crate::limit::{self, ActiveStep, Caller};
use crate::reminder::{self, Chain, Reader};

pub use crate::config::Problem;
pub use crate::limit::Decision;
pub use crate::reminder::Notice;

/// A guard, as the contract describes it. Each method is the hook of its name.
#[derive(Debug)]
pub struct Guard {
    config: Config,
    agents: Agents<Agent>,
    reader: Reader,
}

/// What is remembered of an agent.
#[derive(Debug, Default)]
struct Agent {
    chain: Chain,
    active: Option<ActiveStep>,
}

impl Default for Guard {
    fn default() -> Self {
        Self::new(Config::default())
    }
}

impl Guard {
    fn new(config: Config) -> Self {
        let max_agents = usize::try_from(config.max_agents).unwrap_or(usize::MAX);
        Self { config, agents: Agents::new(max_agents), reader: Reader::default() }
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

    /// A step begins (Q2), and a prompt ends the agent's chain (R12).
    pub fn step(&mut self, agent: &str, turn: u32, step: u32, prompted: bool) {
        let agent = self.agents.get_or_insert(agent);
        agent.active = Some(ActiveStep::new(turn, step));
        if prompted {
            agent.chain = Chain::default();
        }
    }

    /// Whether a call may run.
    pub fn pre_execute(&mut self, agent: Option<&str>, tool: &str) -> Decision {
        let caller = match agent {
            None => Caller::Nobody,
            Some(agent) => Caller::Agent(self.agents.get(agent).and_then(|agent| agent.active.as_mut())),
        };
        limit::decide(&self.config.tool_call_limit, caller, tool)
    }

    /// A call has reached an outcome, whichever it is (R2).
    pub fn post_execute(&mut self, agent: Option<&str>, tool: &str, arguments: String) -> Option<Notice> {
        let config = &self.config.repeat_tool_reminder;
        let agent = agent?;
        if !reminder::tracks(config, tool) {
            // A use all the same (S4).
            self.agents.get(agent);
            return None;
        }
        let chain = &mut self.agents.get_or_insert(agent).chain;
        reminder::observe(config, chain, &mut self.reader, tool, arguments)
    }

    /// The step that was begun last broke (Q7).
    pub fn step_aborted(&mut self, agent: &str, turn: u32, step: u32) {
        if let Some(agent) = self.agents.get(agent) {
            agent.active.take_if(|active| active.is(turn, step));
        }
    }

    /// A turn ended (Q7).
    pub fn turn_ended(&mut self, agent: &str, turn: u32) {
        if let Some(agent) = self.agents.get(agent) {
            agent.active.take_if(|active| active.is_in(turn));
        }
    }

    /// An agent ended (R13, Q7).
    pub fn agent_ended(&mut self, agent: &str) {
        self.agents.remove(agent);
    }

    /// The configuration in force, as JSON.
    pub fn describe(&self) -> String {
        self.config.to_json()
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
}

#[cfg(test)]
mod tests {
    use super::{Decision, Guard};

    fn guard(config: &str) -> Guard {
        let mut guard = Guard::default();
        assert_eq!(guard.configure(config), Ok(()));
        guard
    }

    fn limited() -> Guard {
        guard(r#"{"toolCallLimit":{"limits":{"t":1}}}"#)
    }

    fn calls(guard: &mut Guard, agent: &str, tool: &str, times: usize) -> Vec<String> {
        (0..times)
            .filter_map(|_| guard.post_execute(Some(agent), tool, "{}".to_owned()))
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
            assert_eq!(guard.post_execute(None, "t", String::new()), None);
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
        assert_eq!(guard.pre_execute(Some("a"), "t"), no_step());
        assert_eq!(calls(&mut guard, "a", "t", 3), ["t × 3"]);
    }

    #[test]
    fn r2_r14_a_denied_call_counts_and_the_reminder_denies_nothing() {
        let mut guard = limited();
        guard.step("a", 1, 1, false);
        assert_eq!(guard.pre_execute(Some("a"), "t"), Decision::Allow);
        calls(&mut guard, "a", "t", 1);
        assert_eq!(guard.pre_execute(Some("a"), "t"), exceeded());
        calls(&mut guard, "a", "t", 1);
        assert_eq!(guard.pre_execute(Some("a"), "t"), exceeded());
        assert_eq!(calls(&mut guard, "a", "t", 1), ["t × 3"]);
        guard.step("a", 1, 2, false);
        assert_eq!(guard.pre_execute(Some("a"), "t"), Decision::Allow);
    }

    #[test]
    fn r14_the_reminder_never_denies() {
        let mut guard = guard(r#"{"repeatToolReminder":{"thresholds":[2]}}"#);
        guard.step("a", 1, 1, false);
        for _ in 0..9 {
            assert_eq!(guard.pre_execute(Some("a"), "t"), Decision::Allow);
            calls(&mut guard, "a", "t", 1);
        }
    }

    #[test]
    fn s1_the_same_calls_get_the_same_answers() {
        let answers = || {
            let mut guard = limited();
            guard.step("a", 1, 1, true);
            let decisions = [guard.pre_execute(Some("a"), "t"), guard.pre_execute(Some("a"), "t")];
            (decisions, calls(&mut guard, "a", "t", 9), guard.describe(), guard.explain("t"))
        };
        assert_eq!(answers(), answers());
    }

    #[test]
    fn q2_each_step_starts_a_fresh_table_for_its_agent() {
        let mut guard = limited();
        guard.step("a", 1, 1, false);
        guard.step("b", 1, 1, false);
        assert_eq!(guard.pre_execute(Some("a"), "t"), Decision::Allow);
        assert_eq!(guard.pre_execute(Some("a"), "t"), exceeded());
        assert_eq!(guard.pre_execute(Some("b"), "t"), Decision::Allow);
        guard.step("a", 1, 1, false);
        assert_eq!(guard.pre_execute(Some("a"), "t"), Decision::Allow);
        assert_eq!(guard.pre_execute(Some("b"), "t"), exceeded());
    }

    #[test]
    fn q4_no_outcome_gives_a_slot_back() {
        let mut guard = limited();
        guard.step("a", 1, 1, false);
        assert_eq!(guard.pre_execute(Some("a"), "t"), Decision::Allow);
        guard.post_execute(Some("a"), "t", String::new());
        assert_eq!(guard.pre_execute(Some("a"), "t"), exceeded());
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
        assert_eq!(guard.pre_execute(Some("a"), "t"), Decision::Allow);
        guard.step_aborted("a", 2, 3);
        assert_eq!(guard.pre_execute(Some("a"), "t"), no_step());
        guard.step("a", 2, 4, false);
        guard.turn_ended("a", 2);
        assert_eq!(guard.pre_execute(Some("a"), "t"), no_step());
        guard.step("a", 2, 4, false);
        assert_eq!(guard.pre_execute(Some("a"), "t"), Decision::Allow);
    }

    #[test]
    fn q8_a_call_made_inside_another_counts_in_the_current_step() {
        let mut guard = guard(r#"{"toolCallLimit":{"limits":{"t":2}}}"#);
        guard.step("a", 1, 1, false);
        assert_eq!(guard.pre_execute(Some("a"), "run_code"), Decision::Allow);
        assert_eq!(guard.pre_execute(Some("a"), "t"), Decision::Allow);
        assert_eq!(guard.pre_execute(Some("a"), "t"), Decision::Allow);
        assert!(matches!(guard.pre_execute(Some("a"), "t"), Decision::Deny(_)));
    }

    #[test]
    fn s4_a_forgotten_agent_starts_anew_and_its_limited_calls_wait_for_a_step() {
        let mut guard = guard(r#"{"maxAgents":2,"toolCallLimit":{"limits":{"t":1}}}"#);
        guard.step("a", 1, 1, false);
        calls(&mut guard, "a", "x", 2);
        guard.step("b", 1, 1, false);
        // A use of any kind counts, an untracked or unlimited call's too.
        guard.pre_execute(Some("a"), "x");
        guard.step("c", 1, 1, false);
        assert_eq!(guard.pre_execute(Some("b"), "t"), no_step());
        assert_eq!(guard.count("a"), 2);
        guard.step("d", 1, 1, false);
        guard.step("e", 1, 1, false);
        assert_eq!(guard.count("a"), 0);
        assert_eq!(guard.pre_execute(Some("a"), "t"), no_step());
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
        assert_eq!(guard.pre_execute(Some("a"), "t"), Decision::Allow);
        assert_eq!(guard.configure(&before), Ok(()));
        assert_eq!(guard.describe(), before);
        assert_eq!(guard.count("a"), 0);
        assert_eq!(guard.pre_execute(Some("a"), "t"), no_step());
    }
}
