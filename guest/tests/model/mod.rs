//! A deliberately naive model of the guard: it keeps the whole history, and answers each question by reading it.
//! Any guard, native or in a component, is driven beside it.

use proptest::prelude::*;

/// A call of the guard.
#[derive(Debug, Clone)]
pub enum Hook {
    Step { agent: usize, turn: u32, step: u32, prompted: bool },
    Pre { agent: Option<usize>, tool: usize },
    Post { agent: Option<usize>, tool: usize, value: usize, spelling: usize },
    StepAborted { agent: usize, turn: u32, step: u32 },
    TurnEnded { agent: usize, turn: u32 },
    AgentEnded { agent: usize },
}

/// What the guard answers: the decision to a pre, the summary and text of the notice to a post.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reply {
    Nothing,
    Allow,
    Deny(String),
    Ask(String),
    Notices(Vec<(String, String)>),
}

/// A guard that can be driven beside the model.
pub trait Subject {
    fn call(&mut self, hook: &Hook) -> Reply;
    fn count(&mut self, agent: &str) -> u32;
}

pub const AGENTS: [&str; 4] = ["a", "b", "", "日本"];
pub const TOOLS: [&str; 4] = ["search", "read", "job_poll", "__proto__"];

/// Arguments: in each row the same value, spelled in several ways; the first is canonical.
pub const VALUES: [[&str; 3]; 5] = [
    ["{}", "", " {\n} "],
    [r#"{"a":1,"b":[true]}"#, r#"{"b":[true],"a":1.0}"#, r#"{"a":9,"b":[ true ],"\u0061":10e-1}"#],
    [r#"{"a":9007199254740993}"#, r#"{ "a": 9007199254740993 }"#, r#"{"a":9007199254740993.0}"#],
    [r#"{"a":9007199254740992}"#, r#"{"a":9007199254740992e0}"#, r#"{"a":900719925474099.2e1}"#],
    [r#""{a""#, "{a", r#""\u007ba""#],
];

/// A configuration, as the model sees it.
#[derive(Debug, Clone)]
pub struct Config {
    pub thresholds: Vec<u32>,
    pub exclude_poll: bool,
    pub limits: Vec<Option<u64>>,
    pub ask: bool,
    pub max_agents: usize,
}

impl Config {
    pub fn json(&self) -> String {
        let limits: Vec<_> = TOOLS
            .iter()
            .zip(&self.limits)
            .filter_map(|(tool, limit)| limit.map(|limit| format!("{tool:?}:{limit}")))
            .collect();
        format!(
            r#"{{"repeatToolReminder":{{"thresholds":{:?},"exclude":{}}},"toolCallLimit":{{"limits":{{{}}},"onExceeded":{}}},"maxAgents":{}}}"#,
            self.thresholds,
            if self.exclude_poll { r#"["*_poll"]"# } else { "[]" },
            limits.join(","),
            if self.ask { r#""ask""# } else { r#""deny""# },
            self.max_agents,
        )
    }
}

#[derive(Debug)]
pub struct Model {
    config: Config,
    /// All that happened, with the replies, and what was forgotten.
    history: Vec<(Hook, Reply)>,
    /// The agents that are remembered, the one that was idle longest first.
    remembered: Vec<usize>,
}

impl Model {
    pub fn new(config: Config) -> Self {
        Self { config, history: Vec::new(), remembered: Vec::new() }
    }

    pub fn call(&mut self, hook: &Hook) -> Reply {
        self.remember(hook);
        let reply = match hook {
            Hook::Pre { agent, tool } => self.decide(*agent, *tool),
            Hook::Post { agent, tool, value, .. } => {
                Reply::Notices(agent.map(|agent| self.notice(agent, *tool, *value)).unwrap_or_default())
            }
            _ => Reply::Nothing,
        };
        self.history.push((hook.clone(), reply.clone()));
        reply
    }

    /// R1, R12, R13: how many of the last tracked calls are the same, back to what ends the chain.
    pub fn count(&self, agent: usize) -> u32 {
        let mut last = None;
        let mut count = 0;
        for (hook, _) in self.history.iter().rev() {
            match hook {
                Hook::Step { agent: a, prompted: true, .. } | Hook::AgentEnded { agent: a } if *a == agent => break,
                Hook::Post { agent: Some(a), tool, value, .. } if *a == agent && self.tracks(*tool) => {
                    if *last.get_or_insert((*tool, *value)) != (*tool, *value) {
                        break;
                    }
                    count += 1;
                }
                _ => {}
            }
        }
        count
    }

    /// R8.
    fn tracks(&self, tool: usize) -> bool {
        !(self.config.exclude_poll && TOOLS[tool] == "job_poll")
    }

    /// R3 to R7, where the call at hand is not yet in the history.
    fn notice(&self, agent: usize, tool: usize, value: usize) -> Vec<(String, String)> {
        if !self.tracks(tool) {
            return Vec::new();
        }
        let before = self.history.iter().rev().find_map(|(hook, _)| match hook {
            Hook::Post { agent: Some(a), tool, value, .. } if *a == agent && self.tracks(*tool) => {
                Some((*tool, *value))
            }
            _ => None,
        });
        let count = if before == Some((tool, value)) { self.count(agent) + 1 } else { 1 };
        if !self.config.thresholds.contains(&count) {
            return Vec::new();
        }
        let name = TOOLS[tool];
        let text = if self.config.thresholds.iter().all(|threshold| *threshold >= count) {
            "gentle".to_owned()
        } else {
            format!("tool: {name}\n- consecutive_calls: {count}\n- arguments: {}\n", VALUES[value][0])
        };
        vec![(format!("{name} × {count}"), text)]
    }

    /// Q1 to Q9.
    fn decide(&self, agent: Option<usize>, tool: usize) -> Reply {
        let Some(limit) = self.config.limits[tool] else { return Reply::Allow };
        let Some(agent) = agent else {
            return Reply::Deny("per-step tool limit requires an agent context".to_owned());
        };
        let mut taken = 0;
        let mut ended: Vec<&Hook> = Vec::new();
        for (hook, reply) in self.history.iter().rev() {
            match hook {
                Hook::Step { agent: a, turn, step, .. } if *a == agent => {
                    let over = ended.iter().any(|hook| match hook {
                        Hook::StepAborted { turn: t, step: s, .. } => (t, s) == (turn, step),
                        Hook::TurnEnded { turn: t, .. } => t == turn,
                        _ => true,
                    });
                    if over {
                        break;
                    }
                    if taken < limit {
                        return Reply::Allow;
                    }
                    let reason = format!("tool {} exceeded its per-step limit of {limit}", TOOLS[tool]);
                    return if self.config.ask && limit > 0 { Reply::Ask(reason) } else { Reply::Deny(reason) };
                }
                Hook::StepAborted { agent: a, .. }
                | Hook::TurnEnded { agent: a, .. }
                | Hook::AgentEnded { agent: a }
                    if *a == agent =>
                {
                    ended.push(hook);
                }
                Hook::Pre { agent: Some(a), tool: t } if *a == agent && *t == tool && *reply == Reply::Allow => {
                    taken += 1;
                }
                _ => {}
            }
        }
        Reply::Deny("per-step tool limit has no active agent step".to_owned())
    }

    /// S4: whoever is one too many is forgotten, as if it had ended.
    fn remember(&mut self, hook: &Hook) {
        let (agent, creates) = match hook {
            Hook::Step { agent, .. } => (*agent, true),
            Hook::Post { agent: Some(agent), tool, .. } => (*agent, self.tracks(*tool)),
            Hook::Pre { agent: Some(agent), .. }
            | Hook::StepAborted { agent, .. }
            | Hook::TurnEnded { agent, .. }
            | Hook::AgentEnded { agent } => (*agent, false),
            Hook::Pre { agent: None, .. } | Hook::Post { agent: None, .. } => return,
        };
        let known = self.remembered.contains(&agent);
        self.remembered.retain(|remembered| *remembered != agent);
        if !matches!(hook, Hook::AgentEnded { .. }) && (known || creates) {
            self.remembered.push(agent);
        }
        if self.remembered.len() > self.config.max_agents {
            let idle = self.remembered.remove(0);
            self.history.push((Hook::AgentEnded { agent: idle }, Reply::Nothing));
        }
    }
}

pub fn configs() -> impl Strategy<Value = Config> {
    (
        prop::sample::subsequence(vec![2_u32, 3, 4, 5], 1..=4).prop_shuffle(),
        any::<bool>(),
        prop::collection::vec(prop::option::of(0_u64..3), TOOLS.len()),
        any::<bool>(),
        1_usize..=5,
    )
        .prop_map(|(thresholds, exclude_poll, limits, ask, max_agents)| Config {
            thresholds,
            exclude_poll,
            limits,
            ask,
            max_agents,
        })
}

/// Sequences of hooks in which calls repeat often, and numbers of turns and steps meet again.
pub fn hooks() -> impl Strategy<Value = Vec<Hook>> {
    let agent = || prop_oneof![3 => Just(0), 1 => 0..AGENTS.len()];
    let caller = || prop_oneof![20 => agent().prop_map(Some), 1 => Just(None)];
    let tool = || prop_oneof![3 => Just(0), 2 => 0..TOOLS.len()];
    let value = || prop_oneof![3 => Just(1), 1 => 0..VALUES.len()];
    let hook = prop_oneof![
        3 => (agent(), 0_u32..3, 0_u32..3, prop::bool::weighted(0.2))
            .prop_map(|(agent, turn, step, prompted)| Hook::Step { agent, turn, step, prompted }),
        6 => (caller(), tool()).prop_map(|(agent, tool)| Hook::Pre { agent, tool }),
        12 => (caller(), tool(), value(), 0_usize..3)
            .prop_map(|(agent, tool, value, spelling)| Hook::Post { agent, tool, value, spelling }),
        1 => (agent(), 0_u32..3, 0_u32..3).prop_map(|(agent, turn, step)| Hook::StepAborted { agent, turn, step }),
        1 => (agent(), 0_u32..3).prop_map(|(agent, turn)| Hook::TurnEnded { agent, turn }),
        1 => agent().prop_map(|agent| Hook::AgentEnded { agent }),
    ];
    prop::collection::vec(hook, 0..80)
}

/// Drives a guard and the model side by side.
pub fn agree(subject: &mut impl Subject, config: Config, hooks: &[Hook]) -> Result<(), TestCaseError> {
    let mut model = Model::new(config);
    for (index, hook) in hooks.iter().enumerate() {
        let expected = model.call(hook);
        let actual = subject.call(hook);
        match (&expected, &actual) {
            (Reply::Notices(expected), Reply::Notices(actual)) => {
                prop_assert_eq!(expected.len(), actual.len(), "hook {} {:?}: {:?}", index, hook, actual);
                for ((summary, text), (actual_summary, actual_text)) in expected.iter().zip(actual) {
                    prop_assert_eq!(summary, actual_summary, "hook {} {:?}", index, hook);
                    let detailed = actual_text.starts_with("Repeated tool call detected:\n");
                    if text == "gentle" {
                        prop_assert!(!detailed, "hook {} {:?}: {}", index, hook, actual_text);
                    } else {
                        prop_assert!(
                            detailed && actual_text.contains(text),
                            "hook {} {:?}: {}",
                            index,
                            hook,
                            actual_text
                        );
                    }
                }
            }
            _ => prop_assert_eq!(&expected, &actual, "hook {} {:?}", index, hook),
        }
    }
    for (index, agent) in AGENTS.iter().enumerate() {
        prop_assert_eq!(model.count(index), subject.count(agent), "count of {:?}", agent);
    }
    Ok(())
}
