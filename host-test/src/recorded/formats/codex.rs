//! Codex CLI: `rollout-*.jsonl`.
//!
//! Each line is `{timestamp, type, payload}`. Items carry no step: a new one begins with the first item of the model that follows
//! an output, or a person's message.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::recorded::CallResult;
use crate::recorded::format::{Format, Identity, Probe, Reader};
use crate::recorded::log::{AgentLog, Log};
use crate::recorded::text::{arguments, content, parse};
use crate::types::Status;

pub const FORMAT: Format = Format {
    name: "codex",
    title: "Codex CLI: rollout-*.jsonl",
    signs: "a line of type session_meta, response_item, event_msg or turn_context with a payload",
    recognises,
    identify,
    reader: || Box::<Codex>::default(),
};

fn recognises(line: &Probe<'_>) -> bool {
    let kind = line.text("type");
    let known = matches!(kind.as_deref(), Some("session_meta" | "response_item" | "event_msg" | "turn_context" | "compacted"));
    known && line.has(&["payload"])
}

fn identify(line: &Probe<'_>, identity: &mut Identity) {
    if line.text("type").as_deref() == Some("session_meta")
        && identity.session.is_none()
        && let Some(meta) = line.object("payload")
    {
        identity.session = meta.text("id");
        let source = meta.object("source").and_then(|source| source.object("subagent"));
        let spawned = source.and_then(|source| source.object("thread_spawn"));
        identity.parent =
            meta.text("forked_from_id").or_else(|| spawned.and_then(|spawned| spawned.text("parent_thread_id")));
    }
}

#[derive(Default)]
struct Codex {
    session: Option<String>,
    /// The items that come belong to the step that was begun last.
    in_step: bool,
}

#[derive(Deserialize)]
struct Line<'a> {
    #[serde(borrow, rename = "type")]
    kind: Cow<'a, str>,
    #[serde(borrow)]
    payload: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Payload<'a> {
    #[serde(borrow, rename = "type")]
    kind: Option<Cow<'a, str>>,
    id: Option<String>,
    #[serde(borrow)]
    role: Option<Cow<'a, str>>,
    call_id: Option<String>,
    name: Option<String>,
    namespace: Option<String>,
    #[serde(borrow)]
    arguments: Option<&'a RawValue>,
    #[serde(borrow)]
    input: Option<&'a RawValue>,
    #[serde(borrow)]
    action: Option<&'a RawValue>,
    #[serde(borrow)]
    output: Option<&'a RawValue>,
    #[serde(borrow)]
    tools: Option<&'a RawValue>,
    #[serde(borrow)]
    status: Option<&'a RawValue>,
}

impl Reader for Codex {
    fn read(&mut self, line: &str, _array: usize, log: &mut Log<'_>) -> Result<(), String> {
        let Line { kind, payload } = parse(line)?;
        let wanted = matches!(&*kind, "session_meta" | "event_msg" | "response_item");
        let Some(payload) = payload.filter(|_| wanted) else { return Ok(()) };
        let payload: Payload<'_> = parse(payload.get()).map_err(|error| format!("{kind}: {error}"))?;
        // A fork has its parent's header as well, after its own.
        let session = match (&*kind, &payload.id) {
            ("session_meta", Some(id)) => self.session.get_or_insert_with(|| id.clone()),
            _ => self.session.get_or_insert_with(|| log.name().to_owned()),
        };
        let agent = log.session(session);
        match (&*kind, payload.kind.as_deref()) {
            ("event_msg", Some("user_message")) => {
                agent.prompt();
                self.in_step = false;
            }
            ("event_msg", Some("task_started" | "turn_started")) => self.in_step = false,
            ("event_msg", Some("task_complete" | "turn_complete" | "turn_aborted")) => {
                agent.end_turn();
                self.in_step = false;
            }
            ("response_item", Some(item)) => self.item(item, &payload, agent),
            _ => {}
        }
        Ok(())
    }
}

impl Codex {
    fn item(&mut self, kind: &str, item: &Payload<'_>, agent: &mut AgentLog) {
        let id = item.call_id.clone().or_else(|| item.id.clone());
        let (tool, text) = match kind {
            "message" if item.role.as_deref() == Some("assistant") => return self.model_speaks(agent),
            "reasoning" => return self.model_speaks(agent),
            "function_call" => (None, item.arguments),
            "custom_tool_call" => (None, item.input),
            "local_shell_call" => (Some("local_shell"), item.action),
            "web_search_call" => (Some("web_search"), item.action),
            "tool_search_call" => (Some("tool_search"), item.arguments),
            "function_call_output" | "custom_tool_call_output" | "local_shell_call_output" | "tool_search_output" => {
                self.in_step = false;
                let text = content(item.output.or(item.tools));
                return agent.result_or_next(id, CallResult { status: status(&text), content: text });
            }
            _ => return,
        };
        self.model_speaks(agent);
        let name = tool.map(str::to_owned).or_else(|| item.name.clone()).unwrap_or_default();
        let name = match &item.namespace {
            Some(namespace) if !namespace.is_empty() => format!("{namespace}{name}"),
            _ => name,
        };
        agent.call_or_number(id.clone(), name, arguments(text));
        let _ = item.status;
    }

    /// An item of the model: the first one after outputs or a person's message begins a step.
    fn model_speaks(&mut self, agent: &mut AgentLog) {
        if !std::mem::replace(&mut self.in_step, true) {
            agent.next_step();
        }
    }
}

/// Outputs have no mark of failure: an exit status stands in the text.
fn status(output: &str) -> Status {
    #[derive(Deserialize)]
    struct Structured {
        metadata: Metadata,
    }
    #[derive(Deserialize)]
    struct Metadata {
        exit_code: i64,
    }
    let written = |mark: &str| {
        let (_, rest) = output.lines().take(6).find_map(|line| line.split_once(mark))?;
        rest.trim().parse::<i64>().ok()
    };
    let structured = || Some(serde_json::from_str::<Structured>(output).ok()?.metadata.exit_code);
    let code = if output.starts_with('{') { structured() } else { written("xit code: ").or_else(|| written("exited with code ")) };
    match code {
        Some(0) | None => Status::Succeeded,
        Some(_) => Status::Failed,
    }
}
