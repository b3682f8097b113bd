//! The tool-call limit (Q1 to Q10, B6): quotas of calls in a step, in a turn, and in the life of an agent.

use crate::config::{LimitConfig, Quotas};
use crate::names::Names;
use crate::persist::{Persist, Sink, Source, persist};

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

/// The number of calls for each limited tool (Q1).
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Limits {
    /// The place of each tool in `limits`.
    places: Names,
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
        self.places.iter().filter_map(|(tool, place)| Some((tool, *self.limits.get(place)?)))
    }

    /// The place and the limit of a tool that has one.
    fn get(&self, tool: &str) -> Option<(u32, u64)> {
        let place = self.places.get(tool)?;
        Some((u32::try_from(place).ok()?, *self.limits.get(place)?))
    }
}

/// How long a quota lasts (B6). A call must fit those of all three.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Span {
    Step,
    Turn,
    Agent,
}

impl Span {
    /// All of them, in the order in which they are tried.
    pub const ALL: [Self; 3] = [Self::Step, Self::Turn, Self::Agent];

    /// What it is called.
    pub fn name(self) -> &'static str {
        match self {
            Self::Step => "step",
            Self::Turn => "turn",
            Self::Agent => "agent",
        }
    }
}

/// The step that an agent is in, and the slots that its calls have taken.
#[derive(Debug, Default)]
pub struct Slots {
    /// The turn of the step that began last.
    turn: Option<u32>,
    /// That step, for as long as it is active.
    active: Option<u32>,
    step: Taken,
    /// Those of the turn and of the agent, where any are counted.
    wider: Option<Box<Wider>>,
}

/// Slots that outlive a step.
#[derive(Debug, Default)]
struct Wider {
    turn: Taken,
    agent: Taken,
}

/// Slots that have been taken.
#[derive(Debug, Default)]
struct Taken {
    /// By each tool, by its place in the configuration, in ascending order.
    by_tool: Vec<(u32, u32)>,
    /// By all tools, where there is a total.
    total: u32,
}

persist!(Slots { turn, active, step, wider });

persist!(Wider { turn, agent });

impl Persist for Taken {
    fn write(&self, sink: &mut Sink) {
        sink.list(&self.by_tool);
        self.total.write(sink);
    }

    fn read(source: &mut Source<'_>) -> Self {
        Self { by_tool: source.list(usize::MAX), total: Persist::read(source) }
    }
}

impl Taken {
    fn by(&self, tool: u32) -> u32 {
        let place = self.by_tool.binary_search_by_key(&tool, |(tool, _)| *tool).ok();
        place.and_then(|place| self.by_tool.get(place)).map(|(_, taken)| *taken).unwrap_or_default()
    }

    fn take(&mut self, tool: u32) {
        match self.by_tool.binary_search_by_key(&tool, |(tool, _)| *tool) {
            Err(place) => self.by_tool.insert(place, (tool, 1)),
            Ok(place) => {
                if let Some((_, taken)) = self.by_tool.get_mut(place) {
                    *taken = taken.saturating_add(1);
                }
            }
        }
    }
}

impl Slots {
    /// A step begins, with all its slots free (Q2), and those of its turn if it is another one (B6). Says whether it is.
    pub fn begin_step(&mut self, turn: u32, step: u32) -> bool {
        self.active = Some(step);
        self.step = Taken::default();
        let is_other = self.turn.replace(turn) != Some(turn);
        if is_other && let Some(wider) = &mut self.wider {
            wider.turn = Taken::default();
        }
        is_other
    }

    /// The step of these numbers broke (Q7).
    pub fn abort(&mut self, turn: u32, step: u32) {
        let is_in_turn = self.turn == Some(turn);
        self.active.take_if(|active| is_in_turn && *active == step);
    }

    /// A turn ended (Q7).
    pub fn end_turn(&mut self, turn: u32) {
        let is_in_turn = self.turn == Some(turn);
        self.active.take_if(|_| is_in_turn);
    }

    fn taken(&self, span: Span) -> Option<&Taken> {
        match (span, self.wider.as_deref()) {
            (Span::Step, _) => Some(&self.step),
            (Span::Turn, wider) => wider.map(|wider| &wider.turn),
            (Span::Agent, wider) => wider.map(|wider| &wider.agent),
        }
    }

    fn taken_mut(&mut self, span: Span) -> &mut Taken {
        match span {
            Span::Step => &mut self.step,
            Span::Turn => &mut self.wider.get_or_insert_default().turn,
            Span::Agent => &mut self.wider.get_or_insert_default().agent,
        }
    }

    /// A call runs: it takes a slot of each quota that concerns it (Q3, B6).
    pub fn take(&mut self, Concerns(concerns): &Concerns) {
        for (span, concern) in Span::ALL.into_iter().zip(concerns) {
            let Some(Concern { own, total }) = concern else { continue };
            let taken = self.taken_mut(span);
            if let Some((place, _)) = own {
                taken.take(*place);
            }
            if total.is_some() {
                taken.total = taken.total.saturating_add(1);
            }
        }
    }
}

/// The quotas that concern a call, of a step, a turn and an agent.
#[derive(Debug)]
pub struct Concerns([Option<Concern>; 3]);

/// Quotas of one span that concern a call.
#[derive(Debug)]
struct Concern {
    /// The place of its tool among those that are limited, and the limit.
    own: Option<(u32, u64)>,
    /// The limit of all tools together.
    total: Option<u64>,
}

impl Concerns {
    /// Those for a call of a tool; none if limits are not enforced.
    pub fn of(config: &LimitConfig, tool: &str) -> Self {
        Self(config.quotas.each_ref().map(|Quotas { limits, total }| {
            let (own, total) = if config.enabled { (limits.get(tool), *total) } else { (None, None) };
            (own.is_some() || total.is_some()).then_some(Concern { own, total })
        }))
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        matches!(self.0, [None, None, None])
    }

    /// Whether any of them lasts as long as its agent.
    pub fn outlive_steps(&self) -> bool {
        matches!(self.0, [_, _, Some(_)])
    }

    /// The quota of the tool in a span; none if it has none (Q1).
    pub fn own(&self, span: Span) -> Option<u64> {
        self.in_span(span)?.own.map(|(_, limit)| limit)
    }

    /// The quota of all tools together in a span, if there is one (B6).
    pub fn total(&self, span: Span) -> Option<u64> {
        self.in_span(span)?.total
    }

    fn in_span(&self, span: Span) -> Option<&Concern> {
        self.each().find(|(other, _)| *other == span).map(|(_, concern)| concern)
    }

    fn each(&self) -> impl Iterator<Item = (Span, &Concern)> {
        Span::ALL.into_iter().zip(&self.0).filter_map(|(span, concern)| Some((span, concern.as_ref()?)))
    }
}

/// Whether a call of a tool fits all quotas that concern it (Q6, B6). `asks` is whether a person decides if not (Q9). `slots` are those of the agent: `Err` where the host has no
/// agent for the call, none where the agent is not known.
pub fn decide(asks: bool, concerns: &Concerns, slots: Result<Option<&Slots>, NoAgent>, tool: &str) -> Decision {
    let needs_step = match concerns.0 {
        [None, None, None] => return Decision::Allow,
        [None, None, Some(_)] => false,
        _ => true,
    };
    let Ok(slots) = slots else {
        return Decision::Deny("per-step tool limit requires an agent context".to_owned());
    };
    if needs_step && slots.is_none_or(|slots| slots.active.is_none()) {
        return Decision::Deny("per-step tool limit has no active agent step".to_owned());
    }
    let taken = |span| slots.and_then(|slots| slots.taken(span));
    let of_tool = concerns.each().filter_map(|(span, concern)| {
        let (place, limit) = concern.own?;
        let taken = taken(span).map(|taken| taken.by(place)).unwrap_or_default();
        let is_exceeded = u64::from(taken) >= limit;
        is_exceeded.then(|| (limit, format!("tool {tool} exceeded its per-{} limit of {limit}", span.name())))
    });
    let of_all = concerns.each().filter_map(|(span, concern)| {
        let taken = taken(span).map(|taken| taken.total).unwrap_or_default();
        let total = concern.total.filter(|total| u64::from(taken) >= *total)?;
        Some((total, format!("tool calls exceeded the per-{} total of {total}", span.name())))
    });
    match (of_tool.chain(of_all).next(), asks) {
        (None, _) => Decision::Allow,
        (Some((1.., reason)), true) => Decision::Ask(reason),
        (Some((_, reason)), _) => Decision::Deny(reason),
    }
}

/// The host has no agent for a call.
#[derive(Debug, Clone, Copy)]
pub struct NoAgent;

#[cfg(test)]
mod tests {
    use super::{Concerns, Decision, NoAgent, Slots};
    use crate::config::{Config, LimitConfig};

    /// What an agent's call is answered, which runs if it is allowed.
    fn call(config: &LimitConfig, slots: &mut Slots, tool: &str) -> Decision {
        let decision = decide(config, Ok(Some(slots)), tool);
        if decision == Decision::Allow {
            slots.take(&Concerns::of(config, tool));
        }
        decision
    }

    fn decide(config: &LimitConfig, slots: Result<Option<&Slots>, NoAgent>, tool: &str) -> Decision {
        super::decide(config.asks, &Concerns::of(config, tool), slots, tool)
    }

    fn in_step() -> Slots {
        let mut slots = Slots::default();
        slots.begin_step(1, 1);
        slots
    }

    /// The answers to calls that go on until one is not allowed.
    fn until_refused(config: &LimitConfig, slots: &mut Slots, tool: &str) -> (usize, Decision) {
        let mut allowed = 0;
        loop {
            match call(config, slots, tool) {
                Decision::Allow => allowed += 1,
                other => return (allowed, other),
            }
        }
    }

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
        assert_eq!(decide(&config, Err(NoAgent), "read"), Decision::Allow);
        assert_eq!(decide(&config, Ok(None), "Search"), Decision::Allow);
    }

    #[test]
    fn q3_n_calls_pass_and_the_next_is_denied() {
        let config = config(r#"{"limits":{"search":2,"__proto__":1}}"#);
        let mut slots = in_step();
        let mut call = |tool| call(&config, &mut slots, tool);
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
            assert_eq!(call(&config, &mut in_step(), "t"), deny("tool t exceeded its per-step limit of 0"));
        }
    }

    #[test]
    fn q6_fails_closed_without_agent_or_step_even_where_it_asks() {
        for config in [config(r#"{"limits":{"t":1}}"#), config(r#"{"limits":{"t":0},"onExceeded":"ask"}"#)] {
            assert_eq!(decide(&config, Err(NoAgent), "t"), deny("per-step tool limit requires an agent context"));
            assert_eq!(decide(&config, Ok(None), "t"), deny("per-step tool limit has no active agent step"));
        }
    }

    #[test]
    fn q9_asks_each_time_anew_and_takes_no_slot() {
        let config = config(r#"{"limits":{"t":1},"onExceeded":"ask"}"#);
        let mut slots = in_step();
        let mut call = || call(&config, &mut slots, "t");
        assert_eq!(call(), Decision::Allow);
        for _ in 0..3 {
            assert_eq!(call(), ask("tool t exceeded its per-step limit of 1"));
        }
    }

    #[test]
    fn b6_a_turns_slots_are_those_of_all_its_steps() {
        let config = config(r#"{"turnLimits":{"t":3}}"#);
        let exceeded = deny("tool t exceeded its per-turn limit of 3");
        let mut slots = in_step();
        assert_eq!(call(&config, &mut slots, "t"), Decision::Allow);
        slots.end_turn(1);
        assert_eq!(call(&config, &mut slots, "t"), deny("per-step tool limit has no active agent step"));
        slots.begin_step(1, 2);
        assert_eq!(until_refused(&config, &mut slots, "t"), (2, exceeded.clone()));
        slots.begin_step(2, 1);
        assert_eq!(until_refused(&config, &mut slots, "t"), (3, exceeded));
    }

    #[test]
    fn b6_an_agents_slots_need_no_step_and_never_come_back() {
        let config = config(r#"{"agentLimits":{"t":2}}"#);
        let exceeded = deny("tool t exceeded its per-agent limit of 2");
        let mut slots = Slots::default();
        assert_eq!(until_refused(&config, &mut slots, "t"), (2, exceeded.clone()));
        slots.begin_step(9, 9);
        assert_eq!(until_refused(&config, &mut slots, "t"), (0, exceeded));
        assert_eq!(decide(&config, Err(NoAgent), "t"), deny("per-step tool limit requires an agent context"));
    }

    #[test]
    fn b6_totals_count_all_tools() {
        let config = config(r#"{"totals":{"step":2,"turn":3}}"#);
        let mut slots = in_step();
        assert_eq!(call(&config, &mut slots, "a"), Decision::Allow);
        assert_eq!(until_refused(&config, &mut slots, "b"), (1, deny("tool calls exceeded the per-step total of 2")));
        slots.begin_step(1, 2);
        assert_eq!(until_refused(&config, &mut slots, "c"), (1, deny("tool calls exceeded the per-turn total of 3")));
        assert_eq!(decide(&config, Ok(None), "d"), deny("per-step tool limit has no active agent step"));
        let agent = self::config(r#"{"totals":{"agent":1}}"#);
        let mut slots = Slots::default();
        assert_eq!(until_refused(&agent, &mut slots, "a"), (1, deny("tool calls exceeded the per-agent total of 1")));
    }

    #[test]
    fn b6_a_call_takes_a_slot_of_each_quota_or_of_none() {
        let config = config(r#"{"limits":{"t":7},"turnLimits":{"t":6}}"#);
        let mut slots = in_step();
        assert_eq!(until_refused(&config, &mut slots, "t"), (6, deny("tool t exceeded its per-turn limit of 6")));
        assert_eq!(call(&config, &mut slots, "t"), deny("tool t exceeded its per-turn limit of 6"));
        assert_eq!(slots.step.by(0), 6);
    }

    #[test]
    fn b6_the_first_that_fails_answers() {
        let config = config(
            r#"{"limits":{"t":1},"turnLimits":{"t":1},"agentLimits":{"t":1},"totals":{"step":1,"turn":1,"agent":1}}"#,
        );
        let mut slots = in_step();
        assert_eq!(until_refused(&config, &mut slots, "t"), (1, deny("tool t exceeded its per-step limit of 1")));
        assert_eq!(call(&config, &mut slots, "u"), deny("tool calls exceeded the per-step total of 1"));
        slots.begin_step(1, 2);
        assert_eq!(call(&config, &mut slots, "t"), deny("tool t exceeded its per-turn limit of 1"));
        assert_eq!(call(&config, &mut slots, "u"), deny("tool calls exceeded the per-turn total of 1"));
        slots.begin_step(2, 1);
        assert_eq!(call(&config, &mut slots, "t"), deny("tool t exceeded its per-agent limit of 1"));
        assert_eq!(call(&config, &mut slots, "u"), deny("tool calls exceeded the per-agent total of 1"));
    }

    #[test]
    fn the_guard_can_be_switched_off() {
        let config = config(r#"{"enabled":false,"limits":{"t":0}}"#);
        assert_eq!(decide(&config, Err(NoAgent), "t"), Decision::Allow);
    }
}
