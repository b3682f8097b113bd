//! The exports of the component: they translate between the contract's types and the guard's.

use std::cell::RefCell;

use crate::guard;
use exports::loop_guard::plugin::guard::{
    Decision, Event, Guest as Hooks, Needs, Notice, Outcome, Problem, Status, StepStart, ToolCall,
};
use exports::loop_guard::plugin::introspection::{Guest as Introspection, Stat};
use exports::loop_guard::plugin::resume::Guest as Resume;

wit_bindgen::generate!({ path: "../wit", world: "plugin" });

struct Component;
export!(Component);

thread_local! {
    /// The one guard of this instance. Instances share nothing.
    static GUARD: RefCell<guard::Guard> = RefCell::default();
}

fn with<T>(hook: impl FnOnce(&mut guard::Guard) -> T) -> T {
    GUARD.with_borrow_mut(hook)
}

impl Hooks for Component {
    fn configure(config: String) -> Result<Needs, Vec<Problem>> {
        match with(|guard| guard.configure(&config).map(|()| guard.needs_content())) {
            Ok(content) => Ok(Needs { content }),
            Err(problems) => Err(problems.into_iter().map(Problem::from).collect()),
        }
    }

    fn step(StepStart { agent, turn, step, prompted }: StepStart) {
        with(|guard| guard.step(&agent, turn, step, prompted));
    }

    fn pre_execute(call: ToolCall) -> Decision {
        with(|guard| guard.pre_execute(call.into())).into()
    }

    fn post_execute(call: ToolCall, outcome: Outcome) -> Vec<Notice> {
        let notices = with(|guard| guard.post_execute(call.into(), outcome.into()));
        notices.into_iter().map(Notice::from).collect()
    }

    fn step_aborted(agent: String, turn: u32, step: u32) {
        with(|guard| guard.step_aborted(&agent, turn, step));
    }

    fn turn_ended(agent: String, turn: u32) {
        with(|guard| guard.turn_ended(&agent, turn));
    }

    fn agent_ended(agent: String) {
        with(|guard| guard.agent_ended(&agent));
    }

    fn noted(agent: String, event: Event) {
        let event = match event {
            Event::Compacted => guard::Event::Compacted,
            Event::Approved => guard::Event::Approved,
        };
        with(|guard| guard.noted(&agent, event));
    }
}

impl Introspection for Component {
    fn describe() -> String {
        with(|guard| guard.describe())
    }

    fn canonical(text: String) -> String {
        with(|guard| guard.canonical(&text))
    }

    fn count(agent: String) -> u32 {
        with(|guard| guard.count(&agent))
    }

    fn explain(tool: String) -> String {
        with(|guard| guard.explain(&tool))
    }

    fn stats() -> Vec<Stat> {
        with(|guard| guard.stats()).into_iter().map(Stat::from).collect()
    }
}

impl Resume for Component {
    fn snapshot() -> Vec<u8> {
        with(|guard| guard.snapshot())
    }

    fn restore(state: Vec<u8>) -> Result<(), String> {
        with(|guard| guard.restore(&state))
    }
}

impl From<ToolCall> for guard::Call {
    fn from(ToolCall { agent, id, name, arguments }: ToolCall) -> Self {
        Self { agent, id, name, arguments }
    }
}

impl From<Outcome> for guard::Outcome {
    fn from(Outcome { status, content }: Outcome) -> Self {
        let status = match status {
            Status::Succeeded => guard::Status::Succeeded,
            Status::Failed => guard::Status::Failed,
            Status::Denied => guard::Status::Denied,
        };
        Self { status, content: content.unwrap_or_default() }
    }
}

impl From<guard::AgentStats> for Stat {
    fn from(guard::AgentStats { agent, stats }: guard::AgentStats) -> Self {
        let guard::Stats { calls, notices, asks, denials, .. } = stats;
        Self { agent, calls, notices, asks, denials, longest: stats.longest(), summary: stats.summary() }
    }
}

impl From<guard::Decision> for Decision {
    fn from(decision: guard::Decision) -> Self {
        match decision {
            guard::Decision::Allow => Self::Allow,
            guard::Decision::Deny(reason) => Self::Deny(reason),
            guard::Decision::Ask(reason) => Self::Ask(reason),
        }
    }
}

impl From<guard::Notice> for Notice {
    fn from(guard::Notice { plugin, summary, text }: guard::Notice) -> Self {
        Self { plugin: plugin.to_owned(), summary, text }
    }
}

impl From<guard::Problem> for Problem {
    fn from(guard::Problem { path, message }: guard::Problem) -> Self {
        Self { path, message }
    }
}
