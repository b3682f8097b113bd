//! The format of scripted sessions, as it is written and as it is meant.

use serde::{Deserialize, Deserializer, Serialize};
use serde_saphyr::Spanned;
use thiserror::Error;

use crate::json::{JsonText, from_yaml};
use crate::types::{Problem, Status};

/// A scripted session.
#[derive(Debug, Clone)]
pub struct Script {
    /// What the session shows, in a sentence.
    pub about: String,
    /// The rules that it shows.
    pub rules: Vec<String>,
    /// The configuration as JSON text; none means the defaults.
    pub config: Option<String>,
    /// What happens.
    pub events: Vec<Event>,
}

/// Something that happens, and the expected answer.
#[derive(Debug, Clone)]
pub struct Event {
    /// The line at which it stands, from 1.
    pub line: usize,
    /// What happens.
    pub action: Action,
    /// The expected answer.
    pub expect: Answer,
}

/// What happens.
#[derive(Debug, Clone, Serialize)]
#[serde(tag = "action", rename_all = "kebab-case")]
pub enum Action {
    /// A step is proposed.
    Step {
        /// The agent.
        agent: String,
        /// The number of its turn.
        turn: u32,
        /// Its number within the turn.
        step: u32,
        /// Whether a person's message enters with it.
        prompted: bool,
    },
    /// A call runs: its pre-execute, then its post-execute.
    Call {
        /// The call.
        #[serde(flatten)]
        call: Call,
        /// Its outcome, unless somebody denies it.
        #[serde(flatten)]
        result: Ending,
        /// How a person answers if the guard asks.
        approved: bool,
    },
    /// A call begins: its pre-execute alone.
    Pre {
        /// The call.
        #[serde(flatten)]
        call: Call,
    },
    /// A call ends: its post-execute alone.
    Post {
        /// The call.
        #[serde(flatten)]
        call: Call,
        /// Its outcome.
        #[serde(flatten)]
        result: Ending,
    },
    /// The step that was begun last broke.
    StepAborted {
        /// The agent.
        agent: String,
        /// The number of the turn.
        turn: u32,
        /// The number of the step.
        step: u32,
    },
    /// A turn ended.
    TurnEnded {
        /// The agent.
        agent: String,
        /// The number of the turn.
        turn: u32,
    },
    /// An agent ended.
    AgentEnded {
        /// The agent.
        agent: String,
    },
    /// Another configuration is put in force.
    Configure {
        /// It, as JSON text.
        config: String,
    },
    /// The agent's count is asked.
    Count {
        /// The agent.
        agent: String,
    },
    /// The canonical form of a text is asked.
    Canonical {
        /// The text.
        text: String,
    },
    /// The configuration in force is asked.
    Describe,
    /// The settings of a tool are asked.
    Explain {
        /// The tool.
        tool: String,
    },
}

/// A call.
#[derive(Debug, Clone, Serialize)]
pub struct Call {
    /// The agent, if it has one.
    pub agent: Option<String>,
    /// Its id.
    pub id: String,
    /// Its tool.
    pub tool: String,
    /// The raw text of its arguments.
    pub arguments: String,
}

/// How a call ends.
#[derive(Debug, Clone, Serialize)]
pub struct Ending {
    /// Its status.
    pub outcome: Status,
    /// Its result.
    pub content: Option<String>,
}

/// An answer, as it is expected or as it was given. What an event cannot answer is none.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Answer {
    /// To a call or a pre.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decision: Option<Decision>,
    /// To a call or a post.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub notices: Option<Vec<ExpectedNotice>>,
    /// To a configure.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problems: Option<Vec<Problem>>,
    /// To a count.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub count: Option<u32>,
    /// To a canonical.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// To a describe or an explain, as a value.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "json_value")]
    pub json: Option<serde_json::Value>,
}

/// Whether a call may run, as scripts write it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Decision {
    /// It may.
    Allow,
    /// It must not, for this reason.
    Deny(String),
    /// A person is asked, and shown this reason.
    Ask(String),
}

/// A notice. An expected one need not say everything.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ExpectedNotice {
    /// The guard that speaks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plugin: Option<String>,
    /// The line for people.
    pub summary: String,
    /// The text for the model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
}

/// What is wrong with a script, and where.
#[derive(Debug, Error)]
#[error("{line}:{column}: {message}")]
pub struct ScriptError {
    /// The line, from 1.
    pub line: usize,
    /// The column, from 1.
    pub column: usize,
    /// What is wrong.
    pub message: String,
}

impl Script {
    /// Reads a script.
    ///
    /// # Errors
    ///
    /// The first thing that is wrong with it.
    pub fn parse(yaml: &str) -> Result<Self, ScriptError> {
        let written: written::Script = from_yaml(yaml).map_err(|error| {
            let place = error.location();
            let at = |number: Option<u64>| number.and_then(|number| usize::try_from(number).ok()).unwrap_or(1);
            ScriptError {
                line: at(place.map(|place| place.line())),
                column: at(place.map(|place| place.column())),
                message: without_place(&error.to_string()),
            }
        })?;
        let mut events = Vec::with_capacity(written.events.len());
        for event in written.events {
            let line = usize::try_from(event.referenced.line()).unwrap_or(1);
            let column = usize::try_from(event.referenced.column()).unwrap_or(1);
            let event = event.value.meant(line, &events).map_err(|message| ScriptError { line, column, message })?;
            events.push(event);
        }
        let config = written.config.map(|config| config.meant());
        Ok(Self { about: written.about, rules: written.rules, config, events })
    }
}

/// The message of a YAML error without the place that it ends with, which is told apart.
fn without_place(message: &str) -> String {
    let message = message.strip_prefix("error: ").unwrap_or(message);
    let end = message.find(" at line ").or_else(|| message.find("\n --> ")).unwrap_or(message.len());
    message.get(..end).unwrap_or(message).to_owned()
}

fn json_value<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<serde_json::Value>, D::Error> {
    let JsonText(text) = JsonText::deserialize(deserializer)?;
    serde_json::from_str(&text).map(Some).map_err(serde::de::Error::custom)
}

/// The format as it is written.
mod written {
    use super::{Action, Answer, Call, Decision, Deserialize, Deserializer, Ending, JsonText, Spanned, Status};

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
    struct Tool {
        tool: String,
    }

    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Nothing {}

    impl Configuration {
        /// The configuration as JSON text.
        pub fn meant(self) -> String {
            let Self(JsonText(text)) = self;
            serde_json::from_str::<String>(&text).unwrap_or(text)
        }
    }

    impl Event {
        /// What the event means; `earlier` are those before it.
        pub fn meant(self, line: usize, earlier: &[super::Event]) -> Result<super::Event, String> {
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
                        return Err(
                            "a post with arguments needs a tool; without both, it has those of its pre".to_owned()
                        );
                    }
                    None => begun(earlier, post.agent.as_ref(), &post.id)?,
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
                actions.push(Action::Configure { config: config.meant() });
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
                    Ok(super::Event { line, action, expect })
                }
                Err(actions) => Err(format!(
                    "an event is exactly one of step, call, pre, post, step-aborted, turn-ended, agent-ended, \
                     configure, count, canonical, describe, explain; this one is {}",
                    actions.len()
                )),
            }
        }
    }

    /// The call that an earlier pre of this id began, of this agent if one is named.
    fn begun(earlier: &[super::Event], agent: Option<&Option<String>>, id: &str) -> Result<Call, String> {
        let call = earlier.iter().rev().find_map(|event| match &event.action {
            Action::Pre { call } if call.id == id && agent.is_none_or(|agent| *agent == call.agent) => {
                Some(call.clone())
            }
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
            Action::Count { .. } => answer.count = Some(expect.count.ok_or("count needs `expect: {count: N}`")?),
            Action::Canonical { .. } => {
                answer.text = Some(expect.text.ok_or("canonical needs `expect: {text: …}`")?);
            }
            Action::Describe | Action::Explain { .. } => {
                answer.json = Some(expect.json.ok_or("describe and explain need `expect: {json: …}`")?);
            }
            Action::Step { .. } | Action::StepAborted { .. } | Action::TurnEnded { .. } | Action::AgentEnded { .. } => {
            }
        }
        let surplus = [
            ("decision", given.decision.is_some() && answer.decision.is_none()),
            ("notices", given.notices.is_some() && answer.notices.is_none()),
            ("problems", given.problems.is_some() && answer.problems.is_none()),
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
}
