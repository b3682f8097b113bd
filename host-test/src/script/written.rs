//! The format of scripted sessions as people write it, and how it resolves to what is meant.

use serde::{Deserialize, Deserializer};
use serde_saphyr::Spanned;

use super::format::{self, Action, Answer, Call, Ending, Restored};
use crate::json::JsonText;
use crate::types::{self, Decision, Status};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Script {
    pub about: String,
    pub rules: Vec<String>,
    pub config: Option<Configuration>,
    pub events: Vec<Spanned<Event>>,
}

/// A value, or a string with JSON text.
#[derive(Deserialize)]
#[serde(transparent)]
pub struct Configuration(JsonText);

/// Exactly one of these, and what is expected of it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Event {
    #[serde(default, deserialize_with = "some")]
    step: Option<Step>,
    #[serde(default, deserialize_with = "some")]
    call: Option<CallEvent>,
    #[serde(default, deserialize_with = "some")]
    pre: Option<Pre>,
    #[serde(default, deserialize_with = "some")]
    post: Option<Post>,
    #[serde(default, deserialize_with = "some")]
    step_aborted: Option<StepAborted>,
    #[serde(default, deserialize_with = "some")]
    turn_ended: Option<TurnEnded>,
    #[serde(default, deserialize_with = "some")]
    agent_ended: Option<Agent>,
    #[serde(default, deserialize_with = "some")]
    configure: Option<Configuration>,
    #[serde(default, deserialize_with = "some")]
    noted: Option<Noted>,
    #[serde(default, deserialize_with = "some")]
    snapshot: Option<Snapshot>,
    #[serde(default, deserialize_with = "some")]
    restore: Option<Restore>,
    #[serde(default, deserialize_with = "some")]
    stats: Option<Nothing>,
    #[serde(default, deserialize_with = "some")]
    count: Option<Agent>,
    #[serde(default, deserialize_with = "some")]
    canonical: Option<String>,
    #[serde(default, deserialize_with = "some")]
    describe: Option<Nothing>,
    #[serde(default, deserialize_with = "some")]
    explain: Option<Tool>,
    expect: Option<Answer>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Step {
    #[serde(default = "main_agent")]
    agent: String,
    turn: u32,
    step: u32,
    #[serde(default)]
    prompted: bool,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct CallEvent {
    #[serde(default = "some_main_agent")]
    agent: Option<String>,
    id: Option<String>,
    tool: String,
    #[serde(default, deserialize_with = "some")]
    arguments: Option<JsonText>,
    raw: Option<String>,
    #[serde(default = "succeeded")]
    outcome: Status,
    content: Option<String>,
    #[serde(default = "yes")]
    approved: bool,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Pre {
    #[serde(default = "some_main_agent")]
    agent: Option<String>,
    id: String,
    tool: String,
    #[serde(default, deserialize_with = "some")]
    arguments: Option<JsonText>,
    raw: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Post {
    #[serde(default, deserialize_with = "some")]
    agent: Option<Option<String>>,
    id: String,
    tool: Option<String>,
    #[serde(default, deserialize_with = "some")]
    arguments: Option<JsonText>,
    raw: Option<String>,
    #[serde(default = "succeeded")]
    outcome: Status,
    content: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct StepAborted {
    #[serde(default = "main_agent")]
    agent: String,
    turn: u32,
    step: u32,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct TurnEnded {
    #[serde(default = "main_agent")]
    agent: String,
    turn: u32,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Agent {
    #[serde(default = "main_agent")]
    agent: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Noted {
    #[serde(default = "main_agent")]
    agent: String,
    event: types::Event,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Snapshot {
    #[serde(default = "only_snapshot")]
    name: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Restore {
    #[serde(default = "only_snapshot")]
    name: String,
    keep: Option<usize>,
    flip: Option<usize>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Tool {
    tool: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Nothing {}

impl Configuration {
    /// The configuration as JSON text.
    pub fn resolve(self) -> String {
        let Self(JsonText(text)) = self;
        serde_json::from_str::<String>(&text).unwrap_or(text)
    }
}

impl Event {
    /// What the event means; `earlier` are those before it.
    pub fn resolve(self, line: usize, earlier: &[format::Event]) -> Result<format::Event, String> {
        let expect = self.expect.unwrap_or_default();
        let mut actions = Vec::new();
        if let Some(Step { agent, turn, step, prompted }) = self.step {
            actions.push(Action::Step { agent, turn, step, prompted });
        }
        if let Some(call) = self.call {
            let id = call.id.unwrap_or_else(|| format!("line-{line}"));
            let arguments = arguments(call.arguments, call.raw)?;
            let result = Ending { outcome: call.outcome, content: call.content };
            let approved = call.approved;
            let call = Call { agent: call.agent, id, tool: call.tool, arguments };
            actions.push(Action::Call { call, result, approved });
        }
        if let Some(pre) = self.pre {
            let arguments = arguments(pre.arguments, pre.raw)?;
            actions.push(Action::Pre { call: Call { agent: pre.agent, id: pre.id, tool: pre.tool, arguments } });
        }
        if let Some(post) = self.post {
            let result = Ending { outcome: post.outcome, content: post.content };
            let call = match post.tool {
                Some(tool) => {
                    let agent = post.agent.unwrap_or_else(some_main_agent);
                    Call { agent, id: post.id, tool, arguments: arguments(post.arguments, post.raw)? }
                }
                None if post.arguments.is_some() || post.raw.is_some() => {
                    return Err("a post with arguments needs a tool; without both, it has those of its pre".to_owned());
                }
                None => call_of_pre(earlier, post.agent.as_ref(), &post.id)?,
            };
            actions.push(Action::Post { call, result });
        }
        if let Some(StepAborted { agent, turn, step }) = self.step_aborted {
            actions.push(Action::StepAborted { agent, turn, step });
        }
        if let Some(TurnEnded { agent, turn }) = self.turn_ended {
            actions.push(Action::TurnEnded { agent, turn });
        }
        if let Some(Agent { agent }) = self.agent_ended {
            actions.push(Action::AgentEnded { agent });
        }
        if let Some(config) = self.configure {
            actions.push(Action::Configure { config: config.resolve() });
        }
        if let Some(Noted { agent, event }) = self.noted {
            actions.push(Action::Noted { agent, event });
        }
        if let Some(Snapshot { name }) = self.snapshot {
            actions.push(Action::Snapshot { name });
        }
        if let Some(Restore { name, keep, flip }) = self.restore {
            let is_taken =
                |event: &format::Event| matches!(&event.action, Action::Snapshot { name: taken } if *taken == name);
            if !earlier.iter().any(is_taken) {
                return Err(format!("no snapshot before this restore has the name {name:?}"));
            }
            actions.push(Action::Restore { name, keep, flip });
        }
        if let Some(Nothing {}) = self.stats {
            actions.push(Action::Stats);
        }
        if let Some(Agent { agent }) = self.count {
            actions.push(Action::Count { agent });
        }
        if let Some(text) = self.canonical {
            actions.push(Action::Canonical { text });
        }
        if let Some(Nothing {}) = self.describe {
            actions.push(Action::Describe);
        }
        if let Some(Tool { tool }) = self.explain {
            actions.push(Action::Explain { tool });
        }
        match <[Action; 1]>::try_from(actions) {
            Ok([action]) => {
                let expect = complete(&action, expect)?;
                Ok(format::Event { line, action, expect })
            }
            Err(actions) => Err(format!(
                "an event is exactly one of step, call, pre, post, step-aborted, turn-ended, agent-ended, \
                 configure, noted, snapshot, restore, stats, count, canonical, describe, explain; this one is {}",
                actions.len()
            )),
        }
    }
}

/// The call that an earlier pre of this id began, of this agent if one is named.
fn call_of_pre(earlier: &[format::Event], agent: Option<&Option<String>>, id: &str) -> Result<Call, String> {
    let call = earlier.iter().rev().find_map(|event| match &event.action {
        Action::Pre { call } if call.id == id && agent.is_none_or(|agent| *agent == call.agent) => Some(call.clone()),
        _ => None,
    });
    call.ok_or_else(|| format!("no pre before this post has the id {id:?}; without one, a post needs a tool"))
}

fn arguments(value: Option<JsonText>, raw: Option<String>) -> Result<String, String> {
    match (value, raw) {
        (Some(_), Some(_)) => Err("a call has either arguments or raw, not both".to_owned()),
        (Some(JsonText(text)), None) | (None, Some(text)) => Ok(text),
        (None, None) => Ok(String::new()),
    }
}

/// Fills in what is expected where nothing is said, and rejects what the action cannot answer.
fn complete(action: &Action, expect: Answer) -> Result<Answer, String> {
    let given = expect.clone();
    let mut answer = Answer::default();
    match action {
        Action::Call { .. } => {
            answer.decision = Some(expect.decision.unwrap_or(Decision::Allow));
            answer.notices = Some(expect.notices.unwrap_or_default());
        }
        Action::Pre { .. } => answer.decision = Some(expect.decision.unwrap_or(Decision::Allow)),
        Action::Post { .. } => answer.notices = Some(expect.notices.unwrap_or_default()),
        Action::Configure { .. } => answer.problems = Some(expect.problems.unwrap_or_default()),
        Action::Restore { .. } => answer.restored = Some(expect.restored.unwrap_or(Restored::Accepted)),
        Action::Stats => answer.stats = Some(expect.stats.ok_or("stats needs `expect: {stats: […]}`")?),
        Action::Count { .. } => answer.count = Some(expect.count.ok_or("count needs `expect: {count: N}`")?),
        Action::Canonical { .. } => {
            answer.text = Some(expect.text.ok_or("canonical needs `expect: {text: …}`")?);
        }
        Action::Describe | Action::Explain { .. } => {
            answer.json = Some(expect.json.ok_or("describe and explain need `expect: {json: …}`")?);
        }
        Action::Step { .. }
        | Action::StepAborted { .. }
        | Action::TurnEnded { .. }
        | Action::AgentEnded { .. }
        | Action::Noted { .. }
        | Action::Snapshot { .. } => {}
    }
    let surplus = [
        ("decision", given.decision.is_some() && answer.decision.is_none()),
        ("notices", given.notices.is_some() && answer.notices.is_none()),
        ("problems", given.problems.is_some() && answer.problems.is_none()),
        ("restored", given.restored.is_some() && answer.restored.is_none()),
        ("stats", given.stats.is_some() && answer.stats.is_none()),
        ("count", given.count.is_some() && answer.count.is_none()),
        ("text", given.text.is_some() && answer.text.is_none()),
        ("json", given.json.is_some() && answer.json.is_none()),
    ];
    match surplus.iter().find(|(_, surplus)| *surplus) {
        Some((field, _)) => Err(format!("this event has no {field} to expect")),
        None => Ok(answer),
    }
}

/// Tells a value that is null from one that is missing.
fn some<'de, D: Deserializer<'de>, T: Deserialize<'de>>(deserializer: D) -> Result<Option<T>, D::Error> {
    T::deserialize(deserializer).map(Some)
}

fn only_snapshot() -> String {
    "snapshot".to_owned()
}

fn main_agent() -> String {
    "main".to_owned()
}

#[allow(clippy::unnecessary_wraps, reason = "the default of an option")]
fn some_main_agent() -> Option<String> {
    Some(main_agent())
}

fn succeeded() -> Status {
    Status::Succeeded
}

fn yes() -> bool {
    true
}
