//! What a scripted session says.

use serde::{Deserialize, Deserializer, Serialize};
use thiserror::Error;

use super::written;
use crate::json::{JsonText, from_yaml};
use crate::types::{self, Decision, Problem, Stat, Status};

/// A scripted session. As JSON it is what hosts in other languages replay: everything is filled in, and arguments and
/// configurations are raw text, since YAML's numbers and booleans differ between languages.
#[derive(Debug, Clone, Serialize)]
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
#[derive(Debug, Clone, Serialize)]
pub struct Event {
    /// The line at which it stands, from 1.
    pub line: usize,
    /// What happens.
    #[serde(flatten)]
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
    /// Something is noted.
    Noted {
        /// The agent.
        agent: String,
        /// What happened to it.
        event: types::Event,
    },
    /// A snapshot is taken, and kept under a name.
    Snapshot {
        /// The name.
        name: String,
    },
    /// A snapshot is restored.
    Restore {
        /// Its name.
        name: String,
        /// Only so many of its first bytes.
        keep: Option<usize>,
        /// With the lowest bit of the byte at this place flipped.
        flip: Option<usize>,
    },
    /// The figures of all agents are asked.
    Stats,
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
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
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
    /// To a restore.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub restored: Option<Restored>,
    /// To a stats.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stats: Option<Vec<Stat>>,
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

/// Whether a snapshot was restored.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Restored {
    /// It was.
    Accepted,
    /// It was not, for this reason.
    Refused(String),
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
            let event = event.value.resolve(line, &events).map_err(|message| ScriptError { line, column, message })?;
            events.push(event);
        }
        let config = written.config.map(|config| config.resolve());
        Ok(Self { about: written.about, rules: written.rules, config, events })
    }
}

impl Answer {
    /// The answer as it stands in a script, without what goes without saying.
    pub(super) fn to_yaml(&self) -> Result<String, serde_saphyr::ser::Error> {
        let mut said = self.clone();
        said.decision.take_if(|decision| *decision == Decision::Allow);
        said.notices.take_if(|notices| notices.is_empty());
        said.problems.take_if(|problems| problems.is_empty());
        said.restored.take_if(|restored| *restored == Restored::Accepted);
        if said == Self::default() { Ok(String::new()) } else { serde_saphyr::to_string(&said) }
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
