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

impl Hook {
    fn agent(&self) -> Option<usize> {
        match *self {
            Self::Pre { agent, .. } | Self::Post { agent, .. } => agent,
            Self::Step { agent, .. }
            | Self::StepAborted { agent, .. }
            | Self::TurnEnded { agent, .. }
            | Self::AgentEnded { agent } => Some(agent),
        }
    }
}

/// What the guard answers: the decision to a pre, the summary and text of each notice to a post. Of a text that the model expects, the beginning.
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
    fn stats(&mut self) -> Vec<Stats>;
}

/// The figures of an agent (B9).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Stats {
    pub agent: String,
    pub calls: u32,
    pub notices: u32,
    pub asks: u32,
    pub denials: u32,
    pub longest: u32,
    pub summary: String,
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

/// How long a quota lasts, as its reason calls it (B6).
pub const SPANS: [&str; 3] = ["step", "turn", "agent"];

/// A configuration, as the model sees it.
#[derive(Debug, Clone)]
pub struct Config {
    pub thresholds: Vec<u32>,
    pub exclude_poll: bool,
    /// In each span, the limit of each tool.
    pub limits: [Vec<Option<u64>>; 3],
    /// In each span, the limit of all tools together.
    pub totals: [Option<u64>; 3],
    pub ask: bool,
    pub max_agents: usize,
    pub failures: Option<Failures>,
    /// B9.
    pub observe: bool,
}

/// The reminder of failures (B7). It has texts of its own (B10).
#[derive(Debug, Clone)]
pub struct Failures {
    pub threshold: u32,
    pub every: u32,
    pub count_denied: bool,
}

impl Config {
    pub fn json(&self) -> String {
        let limits = self.limits.each_ref().map(|limits| {
            let limit = |(tool, limit): (&&str, &Option<u64>)| limit.map(|limit| format!("{tool:?}:{limit}"));
            TOOLS.iter().zip(limits).filter_map(limit).collect::<Vec<_>>().join(",")
        });
        let total = |(span, total): (&&str, &Option<u64>)| total.map(|total| format!("{span:?}:{total}"));
        let failures = self.failures.as_ref().map_or(String::new(), |Failures { threshold, every, count_denied }| {
            format!(
                r#","repeatedFailureReminder":{{"thresholds":[{threshold}],"every":{every},"countDenied":{count_denied},"texts":{{"gentle":"{{tool}} fails","detailed":"{{{{{{tool}}}}: {{count}}, {{arguments}}"}}}}"#
            )
        });
        format!(
            r#"{{"repeatToolReminder":{{"thresholds":{:?},"exclude":{}}},"toolCallLimit":{{"limits":{{{}}},"turnLimits":{{{}}},"agentLimits":{{{}}},"totals":{{{}}},"onExceeded":{}}},"maxAgents":{},"observe":{}{failures}}}"#,
            self.thresholds,
            if self.exclude_poll { r#"["*_poll"]"# } else { "[]" },
            limits[0],
            limits[1],
            limits[2],
            SPANS.iter().zip(&self.totals).filter_map(total).collect::<Vec<_>>().join(","),
            if self.ask { r#""ask""# } else { r#""deny""# },
            self.max_agents,
            self.observe,
        )
    }

    /// Whether a quota of a span concerns a tool.
    fn concerns(&self, span: usize, tool: usize) -> bool {
        self.limits[span][tool].is_some() || self.totals[span].is_some()
    }
}

/// What became of a hook.
#[derive(Debug)]
struct Happened {
    hook: Hook,
    /// The answer; in a trial, what would have been the answer.
    reply: Reply,
    /// Whether its agent was remembered.
    known: bool,
}

#[derive(Debug)]
pub struct Model {
    config: Config,
    /// All that happened, and what was forgotten.
    history: Vec<Happened>,
    /// The agents that are remembered, the one that was idle longest first.
    remembered: Vec<usize>,
}

impl Model {
    pub fn new(config: Config) -> Self {
        Self { config, history: Vec::new(), remembered: Vec::new() }
    }

    pub fn call(&mut self, hook: &Hook) -> Reply {
        let known = self.remember(hook);
        let reply = match hook {
            Hook::Pre { agent, tool } => self.decide(*agent, *tool),
            Hook::Post { agent: Some(agent), tool, value, spelling } => {
                let repeated = self.notice(*agent, *tool, *value);
                Reply::Notices(repeated.into_iter().chain(self.failure(*agent, *tool, *value, *spelling)).collect())
            }
            Hook::Post { agent: None, .. } => Reply::Notices(Vec::new()),
            _ => Reply::Nothing,
        };
        self.history.push(Happened { hook: hook.clone(), reply: reply.clone(), known });
        match reply {
            Reply::Notices(_) if self.config.observe => Reply::Notices(Vec::new()),
            Reply::Deny(_) | Reply::Ask(_) if self.config.observe => Reply::Allow,
            reply => reply,
        }
    }

    /// What happened to an agent since it was forgotten, the latest first (R13, S4).
    fn life(&self, agent: usize) -> impl Iterator<Item = &Happened> {
        let of_agent = self.history.iter().rev().filter(move |happened| happened.hook.agent() == Some(agent));
        of_agent.take_while(|happened| !matches!(happened.hook, Hook::AgentEnded { .. }))
    }

    /// R1, R12, R13: how many of the last tracked calls are the same, back to what ends the chain.
    pub fn count(&self, agent: usize) -> u32 {
        self.count_from(self.life(agent))
    }

    fn count_from<'a>(&self, life: impl Iterator<Item = &'a Happened>) -> u32 {
        let mut last = None;
        let mut count = 0;
        for Happened { hook, .. } in life {
            match hook {
                Hook::Step { prompted: true, .. } => break,
                Hook::Post { tool, value, .. } if self.tracks(*tool) => {
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

    /// B9.
    pub fn stats(&self) -> Vec<Stats> {
        let stats = |agent: &usize| {
            let life: Vec<_> = self.life(*agent).filter(|happened| happened.known).collect();
            let mut stats = Stats { agent: AGENTS[*agent].to_owned(), ..Stats::default() };
            for (place, Happened { hook, reply, .. }) in life.iter().enumerate().rev() {
                match reply {
                    Reply::Ask(_) => stats.asks += 1,
                    Reply::Deny(_) => stats.denials += 1,
                    Reply::Notices(notices) => {
                        stats.calls += 1;
                        stats.notices += notices.len() as u32;
                    }
                    Reply::Nothing | Reply::Allow => {}
                }
                let count = self.count_from(life[place..].iter().copied());
                if let Hook::Post { tool, .. } = hook
                    && count > stats.longest
                {
                    stats.longest = count;
                    stats.summary = if count > 1 { format!("{} × {count}", TOOLS[*tool]) } else { String::new() };
                }
            }
            stats
        };
        self.remembered.iter().map(stats).collect()
    }

    /// R8.
    fn tracks(&self, tool: usize) -> bool {
        !(self.config.exclude_poll && TOOLS[tool] == "job_poll")
    }

    /// R3 to R7, where the call at hand is not yet in the history.
    fn notice(&self, agent: usize, tool: usize, value: usize) -> Option<(String, String)> {
        if !self.tracks(tool) {
            return None;
        }
        let before = self.life(agent).find_map(|Happened { hook, .. }| match hook {
            Hook::Post { tool, value, .. } if self.tracks(*tool) => Some((*tool, *value)),
            _ => None,
        });
        let count = if before == Some((tool, value)) { self.count(agent) + 1 } else { 1 };
        if !self.config.thresholds.contains(&count) {
            return None;
        }
        let name = TOOLS[tool];
        let text = if self.config.thresholds.iter().all(|threshold| *threshold >= count) {
            "You keep repeating the exact same tool call.".to_owned()
        } else {
            format!(
                "Repeated tool call detected:\n- tool: {name}\n- consecutive_calls: {count}\n- arguments: {}\n",
                VALUES[value][0]
            )
        };
        Some((format!("{name} × {count}"), text))
    }

    /// B7, where the call at hand is not yet in the history.
    fn failure(&self, agent: usize, tool: usize, value: usize, spelling: usize) -> Option<(String, String)> {
        let Failures { threshold, every, count_denied } = self.config.failures.as_ref()?;
        let failed = |spelling: usize| [Some(false), Some(true), count_denied.then_some(true)][spelling];
        if failed(spelling) != Some(true) {
            return None;
        }
        let outcomes = self.life(agent).map_while(|Happened { hook, .. }| match hook {
            Hook::Step { prompted: true, .. } => None,
            Hook::Post { tool: t, spelling, .. } if *t == tool => Some(failed(*spelling)),
            _ => Some(None),
        });
        let count = 1 + outcomes.flatten().take_while(|failed| *failed).count() as u32;
        let text = match count.checked_sub(*threshold)? {
            0 => format!("{} fails", TOOLS[tool]),
            beyond if *every > 0 && beyond.is_multiple_of(*every) => {
                format!("{{{}}}: {count}, {}", TOOLS[tool], VALUES[value][0])
            }
            _ => return None,
        };
        Some((format!("{} failed × {count}", TOOLS[tool]), text))
    }

    /// Q1 to Q9, B6.
    fn decide(&self, agent: Option<usize>, tool: usize) -> Reply {
        let concerns = [0, 1, 2].map(|span| self.config.concerns(span, tool));
        if concerns == [false; 3] {
            return Reply::Allow;
        }
        let Some(agent) = agent else {
            return Reply::Deny("per-step tool limit requires an agent context".to_owned());
        };
        if (concerns[0] || concerns[1]) && !self.is_in_step(agent) {
            return Reply::Deny("per-step tool limit has no active agent step".to_owned());
        }
        let of_tool = (0..3).filter_map(|span| {
            let limit = self.config.limits[span][tool].filter(|limit| self.taken(agent, span, Some(tool)) >= *limit)?;
            Some((limit, format!("tool {} exceeded its per-{} limit of {limit}", TOOLS[tool], SPANS[span])))
        });
        let of_all = (0..3).filter_map(|span| {
            let total = self.config.totals[span].filter(|total| self.taken(agent, span, None) >= *total)?;
            Some((total, format!("tool calls exceeded the per-{} total of {total}", SPANS[span])))
        });
        match of_tool.chain(of_all).next() {
            None => Reply::Allow,
            Some((limit, reason)) if self.config.ask && limit > 0 => Reply::Ask(reason),
            Some((_, reason)) => Reply::Deny(reason),
        }
    }

    /// Q7.
    fn is_in_step(&self, agent: usize) -> bool {
        let mut ended: Vec<&Hook> = Vec::new();
        for Happened { hook, .. } in self.life(agent) {
            match hook {
                Hook::Step { turn, step, .. } => {
                    return !ended.iter().any(|hook| match hook {
                        Hook::StepAborted { turn: t, step: s, .. } => (t, s) == (turn, step),
                        Hook::TurnEnded { turn: t, .. } => t == turn,
                        _ => false,
                    });
                }
                hook => ended.push(hook),
            }
        }
        false
    }

    /// How many calls of a tool, or of all, have taken a slot of a span.
    fn taken(&self, agent: usize, span: usize, tool: Option<usize>) -> u64 {
        let life: Vec<_> = self.life(agent).collect();
        let (mut taken, mut last_turn) = (0, None);
        for Happened { hook, reply, .. } in life.into_iter().rev() {
            match hook {
                Hook::Step { turn, .. } => {
                    let is_over = [true, last_turn != Some(turn), false][span];
                    if is_over {
                        taken = 0;
                    }
                    last_turn = Some(turn);
                }
                Hook::Pre { tool: t, .. } if tool.is_none_or(|tool| tool == *t) => {
                    taken += u64::from(self.config.observe || *reply == Reply::Allow);
                }
                _ => {}
            }
        }
        taken
    }

    /// S4: whoever is one too many is forgotten, as if it had ended. Says whether the agent of this hook is remembered.
    fn remember(&mut self, hook: &Hook) -> bool {
        let Some(agent) = hook.agent() else { return false };
        let creates = match hook {
            Hook::Step { .. } => true,
            Hook::Post { tool, .. } => self.tracks(*tool) || self.config.failures.is_some(),
            Hook::Pre { tool, .. } => self.config.concerns(2, *tool),
            Hook::StepAborted { .. } | Hook::TurnEnded { .. } | Hook::AgentEnded { .. } => false,
        };
        let known = creates || self.remembered.contains(&agent);
        self.remembered.retain(|remembered| *remembered != agent);
        if known && !matches!(hook, Hook::AgentEnded { .. }) {
            self.remembered.push(agent);
        }
        if self.remembered.len() > self.config.max_agents {
            let idle = self.remembered.remove(0);
            let forgotten = Hook::AgentEnded { agent: idle };
            self.history.push(Happened { hook: forgotten, reply: Reply::Nothing, known: true });
        }
        known
    }
}

pub fn configs() -> impl Strategy<Value = Config> {
    let limits = |probability| prop::collection::vec(prop::option::weighted(probability, 0_u64..5), TOOLS.len());
    let failures = (2_u32..4, 0_u32..3, any::<bool>()).prop_map(|(threshold, every, count_denied)| Failures {
        threshold,
        every,
        count_denied,
    });
    (
        prop::sample::subsequence(vec![2_u32, 3, 4, 5], 1..=4).prop_shuffle(),
        any::<bool>(),
        [limits(0.5), limits(0.2), limits(0.2)],
        prop::array::uniform3(prop::option::weighted(0.2, 0_u64..9)),
        any::<bool>(),
        1_usize..=5,
        prop::option::of(failures),
        prop::bool::weighted(0.2),
    )
        .prop_map(|(thresholds, exclude_poll, limits, totals, ask, max_agents, failures, observe)| Config {
            thresholds,
            exclude_poll,
            limits,
            totals,
            ask,
            max_agents,
            failures,
            observe,
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
                    prop_assert!(actual_text.starts_with(text), "hook {} {:?}: {}", index, hook, actual_text);
                }
            }
            _ => prop_assert_eq!(&expected, &actual, "hook {} {:?}", index, hook),
        }
    }
    for (index, agent) in AGENTS.iter().enumerate() {
        prop_assert_eq!(model.count(index), subject.count(agent), "count of {:?}", agent);
    }
    prop_assert_eq!(model.stats(), subject.stats());
    Ok(())
}
