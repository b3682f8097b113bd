//! The tool-call limit (Q1 to Q10): a quota for each tool in each step of an agent.

use std::collections::BTreeMap;
use std::rc::Rc;

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

/// The number of calls per step for each limited tool (Q1).
///
/// The map is of the same type as that of the agents, so that the component contains its code once.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Limits {
    /// The place of each tool in `limits`.
    places: BTreeMap<Rc<str>, usize>,
    limits: Vec<u64>,
}

impl Limits {
    /// Sets the limit of a tool that has none yet.
    pub fn insert(&mut self, tool: &str, limit: u64) {
        self.places.insert(tool.into(), self.limits.len());
        self.limits.push(limit);
    }

    /// The tools that have a limit, in the order of their names, and their limits.
    pub fn iter(&self) -> impl Iterator<Item = (&str, u64)> {
        self.places.iter().filter_map(|(tool, place)| Some((&**tool, *self.limits.get(*place)?)))
    }

    /// The place and the limit of a tool that has one.
    fn get(&self, tool: &str) -> Option<(usize, u64)> {
        let place = *self.places.get(tool)?;
        Some((place, *self.limits.get(place)?))
    }
}

/// An agent's active step, and the slots that its calls have taken (Q2).
#[derive(Debug)]
pub struct ActiveStep {
    turn: u32,
    step: u32,
    /// How many of its slots each tool has taken, by its place in the configuration, in ascending order.
    taken: Vec<(usize, u64)>,
}

impl ActiveStep {
    /// A step begins, with all its slots free.
    pub fn new(turn: u32, step: u32) -> Self {
        Self { turn, step, taken: Vec::new() }
    }

    /// Whether this is the step of these numbers (Q7).
    pub fn is(&self, turn: u32, step: u32) -> bool {
        self.is_in(turn) && self.step == step
    }

    /// Whether this is a step of that turn (Q7).
    pub fn is_in(&self, turn: u32) -> bool {
        self.turn == turn
    }

    /// Takes one of a tool's `limit` slots if one is free. `tool` is its place in the configuration.
    fn take_slot(&mut self, tool: usize, limit: u64) -> bool {
        match self.taken.binary_search_by_key(&tool, |(tool, _)| *tool) {
            Err(place) => {
                let free = limit > 0;
                if free {
                    self.taken.insert(place, (tool, 1));
                }
                free
            }
            Ok(place) => self.taken.get_mut(place).is_some_and(|(_, taken)| {
                let free = *taken < limit;
                *taken += u64::from(free);
                free
            }),
        }
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
    let Some((place, limit)) = find(config, tool) else { return Decision::Allow };
    let step = match caller {
        Caller::Nobody => {
            return Decision::Deny("per-step tool limit requires an agent context".to_owned());
        }
        Caller::Agent(None) => {
            return Decision::Deny("per-step tool limit has no active agent step".to_owned());
        }
        Caller::Agent(Some(step)) => step,
    };
    if step.take_slot(place, limit) {
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
    find(config, tool).map(|(_, limit)| limit)
}

fn find(config: &LimitConfig, tool: &str) -> Option<(usize, u64)> {
    config.limits.get(tool).filter(|_| config.enabled)
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
