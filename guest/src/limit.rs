//! The tool-call limit (Q1 to Q10): a quota for each tool in each step of an agent.

use std::collections::BTreeMap;

use crate::config::{LimitConfig, OnExceeded};

/// Whether a call may run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Decision {
    /// It may.
    Allow,
    /// It must not, for this reason.
    Deny(String),
    /// A person decides, and is shown this reason.
    Ask(String),
}

/// An agent's active step, and the slots that its calls have taken (Q2).
#[derive(Debug)]
pub struct ActiveStep {
    turn: u32,
    step: u32,
    taken: BTreeMap<Box<str>, u64>,
}

impl ActiveStep {
    /// A step begins, with all its slots free.
    pub fn new(turn: u32, step: u32) -> Self {
        Self { turn, step, taken: BTreeMap::new() }
    }

    /// Whether this is the step of these numbers (Q7).
    pub fn is(&self, turn: u32, step: u32) -> bool {
        self.is_in(turn) && self.step == step
    }

    /// Whether this is a step of that turn (Q7).
    pub fn is_in(&self, turn: u32) -> bool {
        self.turn == turn
    }

    /// Takes one of a tool's `limit` slots if one is free.
    fn take_slot(&mut self, tool: &str, limit: u64) -> bool {
        let taken = self.taken.get(tool).copied().unwrap_or_default();
        let free = taken < limit;
        if free {
            self.taken.insert(tool.into(), taken + 1);
        }
        free
    }
}

/// Who makes a call.
#[derive(Debug)]
pub enum Caller<'a> {
    /// The host has no agent for it.
    Nobody,
    /// An agent; without an active step it is none.
    Agent(Option<&'a mut ActiveStep>),
}

/// Decides whether a call may run, and takes its slot if it may (Q3).
pub fn decide(config: &LimitConfig, caller: Caller<'_>, tool: &str) -> Decision {
    let Some(limit) = limit_of(config, tool) else { return Decision::Allow };
    let step = match caller {
        Caller::Nobody => {
            return Decision::Deny("per-step tool limit requires an agent context".to_owned());
        }
        Caller::Agent(None) => {
            return Decision::Deny("per-step tool limit has no active agent step".to_owned());
        }
        Caller::Agent(Some(step)) => step,
    };
    if step.take_slot(tool, limit) {
        return Decision::Allow;
    }
    let reason = format!("tool {tool} exceeded its per-step limit of {limit}");
    match config.on_exceeded {
        OnExceeded::Ask if limit > 0 => Decision::Ask(reason),
        OnExceeded::Ask | OnExceeded::Deny => Decision::Deny(reason),
    }
}

/// The limit of a tool; none if it has none (Q1).
pub fn limit_of(config: &LimitConfig, tool: &str) -> Option<u64> {
    config.limits.get(tool).copied().filter(|_| config.enabled)
}

#[cfg(test)]
mod tests {
    use super::{ActiveStep, Caller, Decision, decide};
    use crate::config::{Config, LimitConfig};

    fn config(json: &str) -> LimitConfig {
        let json = format!(r#"{{"toolCallLimit":{json}}}"#);
        Config::parse(&json).unwrap_or_default().tool_call_limit
    }

    fn deny(reason: &str) -> Decision {
        Decision::Deny(reason.to_owned())
    }

    fn ask(reason: &str) -> Decision {
        Decision::Ask(reason.to_owned())
    }

    #[test]
    fn q1_a_tool_that_is_not_listed_needs_nothing() {
        let config = config(r#"{"limits":{"search":1}}"#);
        assert_eq!(decide(&config, Caller::Nobody, "read"), Decision::Allow);
        assert_eq!(decide(&config, Caller::Agent(None), "Search"), Decision::Allow);
    }

    #[test]
    fn q3_n_calls_pass_and_the_next_is_denied() {
        let config = config(r#"{"limits":{"search":2,"__proto__":1}}"#);
        let mut step = ActiveStep::new(1, 1);
        let mut call = |tool| decide(&config, Caller::Agent(Some(&mut step)), tool);
        assert_eq!(call("search"), Decision::Allow);
        assert_eq!(call("search"), Decision::Allow);
        assert_eq!(call("search"), deny("tool search exceeded its per-step limit of 2"));
        assert_eq!(call("search"), deny("tool search exceeded its per-step limit of 2"));
        assert_eq!(call("__proto__"), Decision::Allow);
        assert_eq!(call("__proto__"), deny("tool __proto__ exceeded its per-step limit of 1"));
        assert_eq!(call("constructor"), Decision::Allow);
    }

    #[test]
    fn q5_zero_denies_every_call_whatever_on_exceeded_says() {
        for config in [config(r#"{"limits":{"t":0}}"#), config(r#"{"limits":{"t":0},"onExceeded":"ask"}"#)] {
            let mut step = ActiveStep::new(1, 1);
            assert_eq!(
                decide(&config, Caller::Agent(Some(&mut step)), "t"),
                deny("tool t exceeded its per-step limit of 0")
            );
        }
    }

    #[test]
    fn q6_fails_closed_without_agent_or_step_even_where_it_asks() {
        for config in [config(r#"{"limits":{"t":1}}"#), config(r#"{"limits":{"t":0},"onExceeded":"ask"}"#)] {
            assert_eq!(decide(&config, Caller::Nobody, "t"), deny("per-step tool limit requires an agent context"));
            assert_eq!(decide(&config, Caller::Agent(None), "t"), deny("per-step tool limit has no active agent step"));
        }
    }

    #[test]
    fn q9_asks_each_time_anew_and_takes_no_slot() {
        let config = config(r#"{"limits":{"t":1},"onExceeded":"ask"}"#);
        let mut step = ActiveStep::new(1, 1);
        let mut call = || decide(&config, Caller::Agent(Some(&mut step)), "t");
        assert_eq!(call(), Decision::Allow);
        for _ in 0..3 {
            assert_eq!(call(), ask("tool t exceeded its per-step limit of 1"));
        }
    }

    #[test]
    fn the_guard_can_be_switched_off() {
        let config = config(r#"{"enabled":false,"limits":{"t":0}}"#);
        assert_eq!(decide(&config, Caller::Nobody, "t"), Decision::Allow);
    }
}
