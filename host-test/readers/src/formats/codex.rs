//! Codex CLI: `rollout-*.jsonl`.
//!
//! Each line is `{timestamp, type, payload}`; the oldest files have bare items in place of that. Items carry no step: a new one begins
//! with the first item of the model that follows an output, a person's message, or a count of the tokens of a response.

use std::borrow::Cow;
use std::collections::HashMap;

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::CallResult;
use crate::Status;
use crate::format::{Format, Identity, Probe, Reader};
use crate::log::{AgentLog, Log};
use crate::text::{arguments, content, parse};

pub const FORMAT: Format = Format {
    name: "codex",
    title: "Codex CLI: rollout-*.jsonl",
    signs: "a line of type session_meta, response_item, event_msg or turn_context with a payload",
    recognises,
    identify: Some(identify),
    repeats_calls: false,
    steady,
    reader: || Box::<Codex>::default(),
};

fn recognises(line: &Probe<'_>) -> bool {
    let kind = line.text("type");
    let known =
        matches!(kind.as_deref(), Some("session_meta" | "response_item" | "event_msg" | "turn_context" | "compacted"));
    (known && line.has(&["payload"])) || (kind.is_none() && line.has(&["id", "timestamp", "instructions"]))
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
    /// Lines with a lower number are history that was copied from a parent.
    first: u64,
    /// The items that come belong to the step that was begun last.
    in_step: bool,
    /// How calls ended whose outputs are yet to come.
    ended: HashMap<String, Status>,
}

#[derive(Deserialize)]
struct Line<'a> {
    #[serde(borrow, rename = "type")]
    kind: Option<Cow<'a, str>>,
    ordinal: Option<u64>,
    id: Option<String>,
    #[serde(borrow)]
    payload: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Payload<'a> {
    #[serde(borrow, rename = "type")]
    kind: Option<Cow<'a, str>>,
    id: Option<String>,
    subagent_history_start_ordinal: Option<u64>,
    #[serde(borrow)]
    role: Option<Cow<'a, str>>,
    #[serde(borrow)]
    content: Option<&'a RawValue>,
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
    item: Option<Completed<'a>>,
    success: Option<bool>,
}

/// An item of event `item_completed`.
#[derive(Deserialize)]
struct Completed<'a> {
    #[serde(borrow, rename = "type")]
    kind: Cow<'a, str>,
    id: Option<String>,
    #[serde(borrow)]
    status: Option<Cow<'a, str>>,
}

impl Reader for Codex {
    fn read(&mut self, line: &str, _array: usize, log: &mut Log<'_>) -> Result<(), String> {
        let json = line;
        let line: Line<'_> = parse(json)?;
        if line.ordinal.is_some_and(|ordinal| ordinal < self.first) {
            return Ok(());
        }
        let Some(kind) = line.kind.as_deref() else {
            // The first line of the oldest files.
            let session = self.session.get_or_insert_with(|| line.id.unwrap_or_else(|| log.name().to_owned()));
            log.session(session);
            return Ok(());
        };
        let (kind, payload) = match (kind, line.payload) {
            ("session_meta" | "event_msg" | "response_item" | "token_usage_record", Some(payload)) => {
                (kind, payload.get())
            }
            ("message" | "reasoning" | "function_call" | "function_call_output" | "local_shell_call", None) => {
                ("bare", json)
            }
            _ => return Ok(()),
        };
        let payload: Payload<'_> = parse(payload).map_err(|error| format!("{kind}: {error}"))?;
        // A fork has its parent's header as well, after its own.
        if kind == "session_meta" && self.session.is_none() {
            self.session.clone_from(&payload.id);
            self.first = payload.subagent_history_start_ordinal.unwrap_or_default();
        }
        let session = self.session.get_or_insert_with(|| log.name().to_owned());
        let agent = log.session(session);
        let type_of_payload = payload.kind.clone();
        match (kind, type_of_payload.as_deref()) {
            ("event_msg", Some(event)) => self.event(event, payload, agent),
            ("response_item", Some(item)) => self.item(item, &payload, agent),
            ("bare", Some(item)) => {
                // Without events, a person's messages stand among what the program says in their place.
                if payload.role.as_deref() == Some("user") && !content(payload.content).trim_start().starts_with('<') {
                    self.prompt(agent);
                }
                self.item(item, &payload, agent);
            }
            ("token_usage_record", _) => self.in_step = false,
            _ => {}
        }
        Ok(())
    }
}

impl Codex {
    fn prompt(&mut self, agent: &mut AgentLog) {
        agent.prompt();
        self.in_step = false;
    }

    fn event(&mut self, event: &str, payload: Payload<'_>, agent: &mut AgentLog) {
        match (event, payload.item) {
            ("user_message", _) => self.prompt(agent),
            ("item_completed", Some(item)) if item.kind == "UserMessage" => self.prompt(agent),
            ("item_completed", Some(Completed { kind, id: Some(id), status: Some(status) }))
                if kind == "CommandExecution" =>
            {
                let status = match &*status {
                    "failed" => Status::Failed,
                    "declined" => Status::Denied,
                    _ => Status::Succeeded,
                };
                self.ended.insert(id, status);
            }
            ("patch_apply_end", _) => {
                if let (Some(id), Some(false)) = (payload.call_id, payload.success) {
                    self.ended.insert(id, Status::Failed);
                }
            }
            ("task_started" | "turn_started", _) => self.in_step = false,
            ("task_complete" | "turn_complete" | "turn_aborted", _) => {
                agent.end_turn();
                self.in_step = false;
                self.ended.clear();
            }
            _ => {}
        }
    }

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
                let ended = id.as_ref().and_then(|id| self.ended.remove(id));
                let status = ended.unwrap_or_else(|| written_status(&text));
                return agent.result_or_next(id, CallResult { status, content: text });
            }
            _ => return,
        };
        self.model_speaks(agent);
        let name = tool.map(str::to_owned).or_else(|| item.name.clone()).unwrap_or_default();
        let name = match item.namespace.as_deref().map(|namespace| namespace.trim_end_matches('_')) {
            Some(namespace) if !namespace.is_empty() => format!("{namespace}__{name}"),
            _ => name,
        };
        agent.call_or_number(id, name, arguments(text));
    }

    /// An item of the model: the first one after outputs or a person's message begins a step.
    fn model_speaks(&mut self, agent: &mut AgentLog) {
        if !std::mem::replace(&mut self.in_step, true) {
            agent.next_step();
        }
    }
}

/// Outputs have no mark of failure: an exit status stands in the lines before the output itself, or beside it.
fn written_status(output: &str) -> Status {
    #[derive(Deserialize)]
    struct Structured {
        metadata: Metadata,
    }
    #[derive(Deserialize)]
    struct Metadata {
        exit_code: i64,
    }
    let code = if output.starts_with('{') {
        serde_json::from_str::<Structured>(output).ok().map(|output| output.metadata.exit_code)
    } else {
        header(output).find_map(|line| {
            let code = line.strip_prefix("Exit code: ").or_else(|| line.strip_prefix("Process exited with code "))?;
            code.trim().parse().ok()
        })
    };
    let says = |texts: &[&str]| texts.iter().any(|text| header(output).any(|line| line.starts_with(text)));
    if header(output).any(|line| line.contains("rejected by user") || line.contains("Rejected(")) {
        Status::Denied
    } else if code.is_some_and(|code| code != 0) || says(&FAILURES) {
        Status::Failed
    } else {
        Status::Succeeded
    }
}

/// How outputs begin that the program writes in place of a tool that did not run, or not to its end.
const FAILURES: [&str; 6] = [
    "unsupported call: ",
    "unsupported custom tool call: ",
    "failed to parse function arguments: ",
    "apply_patch verification failed",
    "exec_command failed",
    "aborted by user",
];

/// The lines before the output itself.
fn header(output: &str) -> impl Iterator<Item = &str> {
    output.lines().take(8).take_while(|line| *line != "Output:")
}

/// An output without what differs each time: an id, and how long it took.
fn steady(output: &str) -> Cow<'_, str> {
    if output.starts_with('{') {
        #[derive(Deserialize)]
        struct Structured<'a> {
            #[serde(borrow)]
            output: Cow<'a, str>,
        }
        return serde_json::from_str::<Structured<'_>>(output).map_or(Cow::Borrowed(output), |output| output.output);
    }
    let changes = |line: &str| line.starts_with("Chunk ID: ") || line.starts_with("Wall time: ");
    if !header(output).any(changes) {
        return Cow::Borrowed(output);
    }
    let lines = header(output).count();
    let kept = output.split_inclusive('\n').enumerate().filter(|(number, line)| *number >= lines || !changes(line));
    Cow::Owned(kept.map(|(_, line)| line).collect())
}

#[cfg(test)]
mod tests {
    use super::{steady, written_status};
    use crate::Status;

    #[test]
    fn an_exit_status_is_told_before_the_output() {
        for (output, status) in [
            ("Chunk ID: 1\nWall time: 0.1 seconds\nProcess exited with code 1\nOutput:\n", Status::Failed),
            ("Exit code: 0\nWall time: 0.1 seconds\nOutput:\nExit code: 1\n", Status::Succeeded),
            ("{\"output\":\"\",\"metadata\":{\"exit_code\":2,\"duration_seconds\":0.1}}", Status::Failed),
            ("Process running with session ID 3\nOutput:\n", Status::Succeeded),
        ] {
            assert_eq!(written_status(output), status, "of {output}");
        }
    }

    #[test]
    fn what_differs_each_time_is_not_compared() {
        let output = |wall: &str| {
            format!("Chunk ID: {wall}\nWall time: {wall}\nProcess exited with code 1\nOutput:\nWall time: 1\n")
        };
        assert_eq!(steady(&output("0.1")), steady(&output("0.2")));
        assert_eq!(steady(&output("0.1")), "Process exited with code 1\nOutput:\nWall time: 1\n");
        assert_eq!(steady("plain"), "plain");
        assert_eq!(steady("{\"output\":\"a\\n\",\"metadata\":{\"exit_code\":2,\"duration_seconds\":0.1}}"), "a\n");
    }
}
