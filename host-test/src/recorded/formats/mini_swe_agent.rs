//! mini-swe-agent: trajectories of version 1, where a call is a block of shell code in a message, and of later ones.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::recorded::format::{Format, Probe, Reader, tells_nothing};
use crate::recorded::log::{AgentLog, Log};
use crate::recorded::text::{arguments, command, content, parse, result};

pub const FORMAT: Format = Format {
    name: "mini-swe-agent",
    title: "mini-swe-agent: .traj.json",
    signs: "an object with messages and a trajectory_format mini-swe-agent-…",
    recognises,
    identify: tells_nothing,
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

#[derive(Deserialize)]
struct Message<'a> {
    #[serde(borrow)]
    role: Cow<'a, str>,
    #[serde(borrow)]
    content: Option<&'a RawValue>,
    #[serde(borrow)]
    tool_calls: Option<Vec<ToolCall<'a>>>,
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

#[derive(Deserialize)]
struct Extra<'a> {
    #[serde(borrow)]
    actions: Option<Vec<Action<'a>>>,
    returncode: Option<i64>,
}

#[derive(Deserialize)]
struct Action<'a> {
    #[serde(borrow, alias = "action")]
    command: Option<Cow<'a, str>>,
    tool_call_id: Option<String>,
}

impl Reader for MiniSweAgent {
    fn read(&mut self, piece: &str, _array: usize, log: &mut Log<'_>) -> Result<(), String> {
        let Trajectory { messages, instance_id } = parse(piece)?;
        let session = instance_id.unwrap_or_else(|| log.name().to_owned());
        // The task is the one thing that a person says.
        log.session(&session).prompt();
        let mut answered = 0;
        for json in messages {
            if let Err(reason) = message(json.get(), &mut answered, log.session(&session)) {
                log.skip(json.get(), format!("message: {reason}"));
            }
        }
        log.session(&session).end();
        Ok(())
    }
}

/// Reads a message; `answered` counts the calls of the step that have an observation.
fn message(json: &str, answered: &mut usize, agent: &mut AgentLog) -> Result<(), String> {
    let message: Message<'_> = parse(json)?;
    match &*message.role {
        "assistant" => {
            let written = content(message.content);
            agent.next_step();
            *answered = 0;
            let actions = message.extra.and_then(|extra| extra.actions);
            match (message.tool_calls, actions) {
                // Of the calls that the model wrote, those became actions that were well formed.
                (Some(calls), actions) if !calls.is_empty() => {
                    let ran = |call: &ToolCall<'_>| match &actions {
                        Some(actions) => actions.iter().any(|action| action.tool_call_id == call.id),
                        None => true,
                    };
                    for call in calls.into_iter().filter(ran) {
                        agent.call_or_number(call.id, call.function.name, arguments(call.function.arguments));
                    }
                }
                (_, Some(actions)) => {
                    for Action { command: action, tool_call_id } in actions {
                        agent.call_or_number(tool_call_id, "bash", command(action.as_deref().unwrap_or_default()));
                    }
                }
                _ => {
                    if let Some(action) = only_block(&written) {
                        agent.call_or_number(None, "bash", command(action));
                    }
                }
            }
        }
        "tool" | "user" => {
            let returncode = message.extra.as_ref().and_then(|extra| extra.returncode);
            let text = content(message.content);
            let failed = returncode.or_else(|| written_returncode(&text)).is_some_and(|code| code != 0);
            agent.result_or_next(message.tool_call_id, result(failed, text));
        }
        _ => {}
    }
    Ok(())
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
