//! Runs a script against a component.

use std::collections::HashMap;

use similar::{ChangeTag, TextDiff};
use thiserror::Error;

use super::format::{Action, Answer, Call, Ending, Event, ExpectedNotice, Restored, Script};
use crate::component::Component;
use crate::error::{CallError, ConfigureError, RestoreError};
use crate::guard::Guard;
use crate::types::{Decision, Notice, Outcome, Status, StepStart, ToolCall};

/// An event that was not answered as expected.
#[derive(Debug)]
pub struct Mismatch {
    /// The line of the event.
    pub line: usize,
    /// What was answered.
    pub actual: Answer,
    /// What was expected and what was answered, as lines that begin with `-`, `+` or a space.
    pub diff: String,
}

/// Why a script could not be run to its end.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum Failure {
    /// Its configuration is rejected.
    #[error("the configuration is rejected: {0}")]
    Configuration(ConfigureError),
    /// The component failed.
    #[error("line {line}: {error}")]
    Call {
        /// The line of the event.
        line: usize,
        /// What went wrong.
        error: CallError,
    },
    /// The component's answer to `describe` or `explain` is not JSON.
    #[error("line {line}: the answer is not JSON: {error}")]
    NotJson {
        /// The line of the event.
        line: usize,
        /// What is wrong with it.
        error: serde_json::Error,
    },
}

impl Script {
    /// Runs the script against a fresh guard, and lists what was not answered as expected.
    ///
    /// # Errors
    ///
    /// What kept it from being run to its end.
    pub fn run(&self, component: &Component) -> Result<Vec<Mismatch>, Failure> {
        let config = self.config.as_deref().unwrap_or("{}");
        let guard = component.guard(config).map_err(Failure::Configuration)?;
        let mut mismatches = Vec::new();
        let mut snapshots = HashMap::new();
        for event in &self.events {
            let actual = answer(&guard, event, &mut snapshots)?;
            if !event.expect.accepts(&actual) {
                let diff = diff(&event.expect, &actual);
                mismatches.push(Mismatch { line: event.line, actual, diff });
            }
        }
        Ok(mismatches)
    }
}

impl Answer {
    /// Whether an answer says what is expected. What an expected notice leaves out may be anything.
    pub(super) fn accepts(&self, actual: &Self) -> bool {
        self.decision == actual.decision
            && self.problems == actual.problems
            && self.restored == actual.restored
            && self.stats == actual.stats
            && self.count == actual.count
            && self.text == actual.text
            && self.json == actual.json
            && match (&self.notices, &actual.notices) {
                (Some(expected), Some(actual)) => {
                    expected.len() == actual.len() && expected.iter().zip(actual).all(|(a, b)| a.accepts(b))
                }
                (expected, actual) => expected.is_none() && actual.is_none(),
            }
    }
}

impl ExpectedNotice {
    fn accepts(&self, actual: &Self) -> bool {
        self.summary == actual.summary
            && (self.plugin.is_none() || self.plugin == actual.plugin)
            && (self.text.is_none() || self.text == actual.text)
    }
}

/// The snapshots that a script has taken, by their names.
type Snapshots<'a> = HashMap<&'a str, Vec<u8>>;

fn answer<'a>(guard: &Guard, event: &'a Event, snapshots: &mut Snapshots<'a>) -> Result<Answer, Failure> {
    let line = event.line;
    let fault = |error| Failure::Call { line, error };
    let mut answer = Answer::default();
    match &event.action {
        Action::Step { agent, turn, step, prompted } => {
            let (turn, step, prompted) = (*turn, *step, *prompted);
            guard.step(&StepStart { agent, turn, step, prompted }).map_err(fault)?;
        }
        Action::Call { call, result, approved } => {
            let decision = guard.pre_execute(&call.as_types()).map_err(fault)?;
            let runs = match decision {
                Decision::Allow => true,
                Decision::Ask(_) => *approved,
                Decision::Deny(_) => false,
            };
            let status = if runs { result.outcome } else { Status::Denied };
            answer.decision = Some(decision);
            answer.notices = Some(post_execute(guard, call, status, result).map_err(fault)?);
        }
        Action::Pre { call } => {
            answer.decision = Some(guard.pre_execute(&call.as_types()).map_err(fault)?);
        }
        Action::Post { call, result } => {
            answer.notices = Some(post_execute(guard, call, result.outcome, result).map_err(fault)?);
        }
        Action::StepAborted { agent, turn, step } => guard.step_aborted(agent, *turn, *step).map_err(fault)?,
        Action::TurnEnded { agent, turn } => guard.turn_ended(agent, *turn).map_err(fault)?,
        Action::AgentEnded { agent } => guard.agent_ended(agent).map_err(fault)?,
        Action::Configure { config } => {
            answer.problems = Some(match guard.configure(config) {
                Ok(_) => Vec::new(),
                Err(ConfigureError::Problems(problems)) => problems,
                Err(ConfigureError::Call(error)) => return Err(fault(error)),
            });
        }
        Action::Noted { agent, event } => guard.noted(agent, *event).map_err(fault)?,
        Action::Snapshot { name } => {
            snapshots.insert(name, guard.snapshot().map_err(fault)?);
        }
        Action::Restore { name, keep, flip } => {
            let mut bytes = snapshots.get(&**name).cloned().unwrap_or_default();
            bytes.truncate(keep.unwrap_or(bytes.len()));
            if let Some(byte) = flip.and_then(|place| bytes.get_mut(place)) {
                *byte ^= 1;
            }
            answer.restored = Some(match guard.restore(&bytes) {
                Ok(()) => Restored::Accepted,
                Err(RestoreError::Refused(reason)) => Restored::Refused(reason),
                Err(RestoreError::Call(error)) => return Err(fault(error)),
            });
        }
        Action::Stats => answer.stats = Some(guard.stats().map_err(fault)?),
        Action::Count { agent } => answer.count = Some(guard.count(agent).map_err(fault)?),
        Action::Canonical { text } => answer.text = Some(guard.canonical(text).map_err(fault)?),
        Action::Describe => answer.json = Some(json(line, &guard.describe().map_err(fault)?)?),
        Action::Explain { tool } => answer.json = Some(json(line, &guard.explain(tool).map_err(fault)?)?),
    }
    Ok(answer)
}

fn post_execute(guard: &Guard, call: &Call, status: Status, result: &Ending) -> Result<Vec<ExpectedNotice>, CallError> {
    let outcome = Outcome { status, content: result.content.as_deref() };
    let notices = guard.post_execute(&call.as_types(), &outcome)?;
    Ok(notices.into_iter().map(ExpectedNotice::from).collect())
}

fn json(line: usize, text: &str) -> Result<serde_json::Value, Failure> {
    serde_json::from_str(text).map_err(|error| Failure::NotJson { line, error })
}

fn diff(expected: &Answer, actual: &Answer) -> String {
    let yaml = |answer: &Answer| answer.to_yaml().unwrap_or_else(|error| format!("no YAML: {error}"));
    let (expected, actual) = (yaml(expected), yaml(actual));
    let diff = TextDiff::from_lines(&expected, &actual);
    let line = |tag, value: &str| {
        let sign = match tag {
            ChangeTag::Delete => '-',
            ChangeTag::Insert => '+',
            ChangeTag::Equal => ' ',
        };
        format!("{sign} {value}")
    };
    diff.iter_all_changes().map(|change| line(change.tag(), change.value())).collect()
}

impl Call {
    fn as_types(&self) -> ToolCall<'_> {
        ToolCall { agent: self.agent.as_deref(), id: &self.id, name: &self.tool, arguments: &self.arguments }
    }
}

impl From<Notice> for ExpectedNotice {
    fn from(Notice { plugin, summary, text }: Notice) -> Self {
        Self { plugin: Some(plugin), summary, text: Some(text) }
    }
}
