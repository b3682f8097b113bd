//! mini-swe-agent: trajectories of version 1, where a call is a block of shell code in a message, and of later ones.

use std::borrow::Cow;
use std::collections::BTreeSet;

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::Status;
use crate::format::{Format, Probe, Reader, as_it_is};
use crate::log::{AgentLog, Log};
use crate::text::{arguments, array, command, content, parse, result};

pub const FORMAT: Format = Format {
    name: "mini-swe-agent",
    title: "mini-swe-agent: .traj.json",
    signs: "an object with messages and a trajectory_format mini-swe-agent-…",
    recognises,
    identify: None,
    repeats_calls: false,
    steady: as_it_is,
    reader: || Box::new(MiniSweAgent),
};

fn recognises(object: &Probe<'_>) -> bool {
    let named = object.text("trajectory_format").is_some_and(|format| format.starts_with("mini-swe-agent"));
    let version = |info: Probe<'_>| info.has(&["mini_version"]);
    object.is_array("messages") && (named || object.object("info").is_some_and(version))
}

struct MiniSweAgent;

#[derive(Deserialize)]
struct Trajectory<'a> {
    #[serde(borrow)]
    messages: Vec<&'a RawValue>,
    instance_id: Option<String>,
}

/// A message; in the shape of OpenAI's Responses API, those of the model and its tools have a type in place of a role.
#[derive(Deserialize)]
struct Message<'a> {
    #[serde(borrow)]
    role: Option<Cow<'a, str>>,
    #[serde(borrow)]
    object: Option<Cow<'a, str>>,
    #[serde(borrow, rename = "type")]
    kind: Option<Cow<'a, str>>,
    #[serde(borrow)]
    content: Option<&'a RawValue>,
    #[serde(borrow)]
    output: Option<&'a RawValue>,
    #[serde(borrow)]
    tool_calls: Option<Vec<ToolCall<'a>>>,
    #[serde(alias = "call_id")]
    tool_call_id: Option<String>,
    #[serde(borrow)]
    extra: Option<Extra<'a>>,
}

#[derive(Deserialize)]
struct ToolCall<'a> {
    id: Option<String>,
    #[serde(borrow)]
    function: Function<'a>,
}

#[derive(Deserialize)]
struct Function<'a> {
    name: String,
    #[serde(borrow)]
    arguments: Option<&'a RawValue>,
}

/// An item of the output of the Responses API.
#[derive(Deserialize)]
struct Item<'a> {
    #[serde(borrow, rename = "type")]
    kind: Cow<'a, str>,
    call_id: Option<String>,
    name: Option<String>,
    #[serde(borrow)]
    arguments: Option<&'a RawValue>,
}

#[derive(Deserialize, Default)]
struct Extra<'a> {
    #[serde(borrow)]
    actions: Option<Vec<Action<'a>>>,
    returncode: Option<i64>,
    #[serde(borrow)]
    exception_info: Option<Cow<'a, str>>,
    #[serde(borrow)]
    interrupt_type: Option<Cow<'a, str>>,
}

#[derive(Deserialize)]
struct Action<'a> {
    #[serde(borrow, alias = "action")]
    command: Option<Cow<'a, str>>,
    tool_call_id: Option<String>,
}

/// What a message is.
#[derive(PartialEq, Eq)]
enum Part {
    Response,
    /// A complaint about a response that stands only inside of it.
    FormatError,
    Person,
    Result,
    Other,
}

impl Reader for MiniSweAgent {
    fn read(&mut self, piece: &str, _array: usize, log: &mut Log<'_>) -> Result<(), String> {
        let Trajectory { messages, instance_id } = parse(piece)?;
        let session = log.begin(instance_id);
        // The task is the first thing that a person says.
        log.session(&session).prompt();
        let mut parsed = Vec::new();
        for json in messages {
            match parse::<Message<'_>>(json.get()) {
                Ok(message) => parsed.push(message),
                Err(reason) => log.skip(json.get(), format!("message: {reason}")),
            }
        }
        let agent = log.session(&session);
        never_executed(&parsed).iter().for_each(|id| agent.not_dispatched(id));
        let rejected = rejected(&parsed);
        for (place, message) in parsed.into_iter().enumerate() {
            read_message(message, rejected.contains(&place), agent);
        }
        agent.end();
        Ok(())
    }
}

const NOT_EXECUTED: &str = "action was not executed";

/// The places of results that say that a call was not executed, and whether a person had rejected it.
fn not_executed(messages: &[Message<'_>]) -> Vec<(usize, bool)> {
    let was_not = |message: &Message<'_>| {
        message
            .extra
            .as_ref()
            .and_then(|extra| extra.exception_info.as_deref())
            .is_some_and(|info| info.contains(NOT_EXECUTED))
    };
    let places = messages.iter().enumerate().filter(|(_, message)| was_not(message)).map(|(place, _)| place);
    let rejection = |message: &Message<'_>| message.interrupt() == Some("UserRejection");
    let is_rejected = |place: &usize| {
        let later = messages.get(*place..).unwrap_or_default();
        later.iter().take_while(|message| message.part() != Part::Response).any(rejection)
    };
    places.map(|place| (place, is_rejected(&place))).collect()
}

fn rejected(messages: &[Message<'_>]) -> BTreeSet<usize> {
    not_executed(messages).into_iter().filter(|(_, rejected)| *rejected).map(|(place, _)| place).collect()
}

/// The calls that were not executed, without a person's doing: the command that submits, mostly.
fn never_executed(messages: &[Message<'_>]) -> Vec<String> {
    let places = not_executed(messages).into_iter().filter(|(_, rejected)| !rejected);
    places.filter_map(|(place, _)| messages.get(place)?.tool_call_id.clone()).collect()
}

impl Message<'_> {
    fn interrupt(&self) -> Option<&str> {
        self.extra.as_ref()?.interrupt_type.as_deref()
    }

    fn part(&self) -> Part {
        match (self.role.as_deref(), self.object.as_deref(), self.kind.as_deref(), self.interrupt()) {
            (Some("user"), _, _, Some("FormatError")) => Part::FormatError,
            (Some("user"), _, _, Some("UserRejection" | "UserNewTask" | "UserInterruption")) => Part::Person,
            (Some("assistant"), ..) | (None, Some("response"), ..) => Part::Response,
            (Some("tool" | "user"), ..) | (None, _, Some("function_call_output"), _) => Part::Result,
            _ => Part::Other,
        }
    }
}

fn read_message(message: Message<'_>, rejected: bool, agent: &mut AgentLog) {
    match message.part() {
        Part::Response => {
            agent.next_step();
            calls(message, agent);
        }
        Part::FormatError => agent.next_step(),
        Part::Person => agent.prompt(),
        Part::Result => {
            let text = content(message.content.or(message.output));
            let returncode = message.extra.as_ref().and_then(|extra| extra.returncode);
            let failed = returncode.or_else(|| written_returncode(&text)).is_some_and(|code| code != 0);
            let mut result = result(failed, text);
            if rejected {
                result.status = Status::Denied;
            }
            agent.result_or_next(message.tool_call_id, result);
        }
        Part::Other => {}
    }
}

/// Of the calls that the model wrote, those ran that became actions.
fn calls(message: Message<'_>, agent: &mut AgentLog) {
    let actions = message.extra.and_then(|extra| extra.actions);
    let ran = |id: &Option<String>| {
        actions.as_ref().is_none_or(|actions| actions.iter().any(|action| action.tool_call_id == *id))
    };
    let items = array::<Item<'_>>(message.output).unwrap_or_default();
    let written = message.tool_calls.unwrap_or_default();
    if !written.is_empty() {
        for call in written.into_iter().filter(|call| ran(&call.id)) {
            agent.call_or_number(call.id, call.function.name, arguments(call.function.arguments));
        }
    } else if !items.is_empty() {
        for item in items.into_iter().filter(|item| item.kind == "function_call" && ran(&item.call_id)) {
            agent.call_or_number(item.call_id, item.name.unwrap_or_default(), arguments(item.arguments));
        }
    } else if let Some(actions) = actions {
        for Action { command: action, tool_call_id } in actions {
            agent.call_or_number(tool_call_id, "bash", command(action.as_deref().unwrap_or_default()));
        }
    } else if let Some(action) = only_block(&content(message.content)) {
        agent.call_or_number(None, "bash", command(action));
    }
}

/// The one block of shell code of a message. With none, or several, nothing was run.
fn only_block(text: &str) -> Option<&str> {
    let mut blocks = text.split("```bash").skip(1).filter_map(|rest| {
        let (block, _) = rest.split_once('\n')?.1.split_once("\n```")?;
        Some(block.trim())
    });
    let block = blocks.next()?;
    blocks.next().is_none().then_some(block)
}

/// The exit status, as an observation of version 1 tells it to the model.
fn written_returncode(text: &str) -> Option<i64> {
    text.trim_start().strip_prefix("<returncode>")?.split_once("</returncode>")?.0.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::only_block;

    #[test]
    fn a_command_runs_if_it_is_the_only_block() {
        assert_eq!(only_block("so\n```bash\nls\n```\n"), Some("ls"));
        assert_eq!(only_block("```bash\nls\n```\n```bash\npwd\n```"), None);
        assert_eq!(only_block("```\nls\n```"), None);
        assert_eq!(only_block("```bash\nls"), None);
    }
}
