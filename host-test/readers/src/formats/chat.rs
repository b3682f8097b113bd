//! Chat-completion messages: arrays of `{role, content, tool_calls}`, as many frameworks and data sets keep them.
//!
//! A conversation is an object with `messages`, or an array of messages, or a file with a message a line. Tool calls stand
//! as in OpenAI's API, flat (`{id, name, arguments}`), or as content blocks of Anthropic's API.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::format::{Format, Probe, Reader, as_it_is};
use crate::log::{AgentLog, Log};
use crate::text::{arguments, array, content, parse, result};

pub const FORMAT: Format = Format {
    name: "chat",
    title: "chat-completion messages with tool_calls",
    signs: "an object with messages that have roles, or an array of such messages",
    recognises,
    identify: None,
    repeats_calls: false,
    steady: as_it_is,
    reader: || Box::new(Chat),
};

fn recognises(object: &Probe<'_>) -> bool {
    let is_message = |object: &Probe<'_>| match object.text("role").or_else(|| object.text("type")).as_deref() {
        Some("system" | "developer" | "user" | "human") => object.has(&["content"]),
        Some("assistant" | "ai" | "tool" | "function") => object.has(&["content"]) || object.has(&["tool_calls"]),
        _ => false,
    };
    is_message(object) || object.objects("messages").iter().any(is_message)
}

struct Chat;

/// An object that holds a conversation; whatever names it is its session.
#[derive(Deserialize)]
struct Holder<'a> {
    #[serde(borrow)]
    messages: Option<Vec<&'a RawValue>>,
    #[serde(borrow)]
    id: Option<&'a RawValue>,
    #[serde(borrow)]
    session_id: Option<&'a RawValue>,
    #[serde(borrow)]
    conversation_id: Option<&'a RawValue>,
    #[serde(borrow)]
    instance_id: Option<&'a RawValue>,
}

impl Reader for Chat {
    fn read(&mut self, piece: &str, array: usize, log: &mut Log<'_>) -> Result<(), String> {
        let holder: Holder<'_> = parse(piece)?;
        let Some(messages) = holder.messages else {
            let session = match array {
                0 | 1 => log.name().to_owned(),
                array => format!("{}#{array}", log.name()),
            };
            return message(piece, log.session(&session));
        };
        let id = holder.session_id.or(holder.conversation_id).or(holder.instance_id).or(holder.id);
        let session = log.begin(id.map(|id| content(Some(id))));
        conversation(&messages, &session, log);
        log.session(&session).end();
        Ok(())
    }
}

/// Reads the messages of a conversation. Those that cannot be read are left out.
pub fn conversation(messages: &[&RawValue], session: &str, log: &mut Log<'_>) {
    log.session(session);
    log.each("message", messages.iter().copied(), |json, log| message(json, log.session(session)));
}

#[derive(Deserialize)]
struct Message<'a> {
    #[serde(borrow, alias = "type")]
    role: Cow<'a, str>,
    #[serde(borrow)]
    content: Option<&'a RawValue>,
    #[serde(borrow)]
    tool_calls: Option<Vec<&'a RawValue>>,
    #[serde(borrow)]
    function_call: Option<Function<'a>>,
    tool_call_id: Option<String>,
    id: Option<String>,
    #[serde(default)]
    is_error: bool,
    #[serde(default)]
    error: Option<&'a RawValue>,
    status: Option<String>,
    #[serde(borrow)]
    tool_messages: Option<Vec<&'a RawValue>>,
}

/// A call, flat or with its function inside.
#[derive(Deserialize)]
struct ToolCall<'a> {
    #[serde(alias = "tool_call_id")]
    id: Option<String>,
    #[serde(borrow, alias = "custom")]
    function: Option<Function<'a>>,
    name: Option<String>,
    #[serde(borrow, alias = "args", alias = "input")]
    arguments: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Function<'a> {
    name: String,
    #[serde(borrow, alias = "input")]
    arguments: Option<&'a RawValue>,
}

/// A block of content.
#[derive(Deserialize)]
struct Block<'a> {
    #[serde(borrow, rename = "type")]
    kind: Option<Cow<'a, str>>,
    id: Option<String>,
    name: Option<String>,
    #[serde(borrow)]
    input: Option<&'a RawValue>,
    tool_use_id: Option<String>,
    #[serde(borrow)]
    content: Option<&'a RawValue>,
    is_error: Option<bool>,
}

/// Reads a message.
fn message(json: &str, agent: &mut AgentLog) -> Result<(), String> {
    let message: Message<'_> = parse(json)?;
    let blocks: Vec<Block<'_>> = array(message.content).unwrap_or_default();
    match &*message.role {
        "user" | "human" => {
            let mut results =
                blocks.into_iter().filter(|block| block.kind.as_deref() == Some("tool_result")).peekable();
            // A simulated user's own calls are no words.
            let silent = message.tool_calls.is_some() && content(message.content).is_empty();
            if results.peek().is_none() && !silent {
                agent.prompt();
            }
            for block in results {
                let outcome = result(block.is_error == Some(true), content(block.content));
                agent.result(block.tool_use_id.unwrap_or_default(), outcome);
            }
        }
        "assistant" | "ai" => {
            let calls: Vec<ToolCall<'_>> = message
                .tool_calls
                .unwrap_or_default()
                .iter()
                .map(|call| parse(call.get()))
                .collect::<Result<_, _>>()?;
            agent.next_step();
            for call in calls {
                let (name, text) = match call.function {
                    Some(function) => (function.name, function.arguments),
                    None => (call.name.unwrap_or_default(), call.arguments),
                };
                agent.call_or_number(call.id, name, arguments(text));
            }
            if let Some(function) = message.function_call {
                agent.call_or_number(None, function.name, arguments(function.arguments));
            }
            for block in blocks {
                if block.kind.as_deref() == Some("tool_use") {
                    agent.call_or_number(block.id, block.name.unwrap_or_default(), arguments(block.input));
                }
            }
        }
        "tool" | "function" => {
            let is_error = match message.error.map(RawValue::get) {
                None | Some("null" | "false") => false,
                Some(_) => true,
            };
            let failed = message.is_error || is_error || message.status.as_deref() == Some("error");
            let outcome = result(failed, content(message.content));
            agent.result_or_next(message.tool_call_id.or(message.id), outcome);
            // Several results in one message.
            for json in message.tool_messages.unwrap_or_default() {
                self::message(json.get(), agent)?;
            }
        }
        _ => {}
    }
    Ok(())
}
