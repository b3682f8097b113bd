//! DeepSeek Harness (DSH): `session.jsonl`, on disk mostly `session.jsonl.zstd`.
//!
//! The first line is a header; each other line is an event `{"type", "data"}`. One file holds one agent. Of
//! what stands there more than once, `tool/call` is read, where the arguments are as the model wrote them.
//! A fork repeats the history of its parent: as many events as its header says. (`session/end-seed` does not tell: each time that a session
//! is resumed, it gets one.)

use std::borrow::Cow;
use std::collections::BTreeSet;

use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::value::RawValue;

use crate::format::{Format, Probe, Reader, as_it_is};
use crate::log::{AgentLog, Log};
use crate::text::{arguments, content, parse, result};

pub const FORMAT: Format = Format {
    name: "dsh",
    title: "DeepSeek Harness: session.jsonl",
    signs: "a line of type turn/start, step/start, tool/call … with data, or of type session with an id and no timestamp",
    recognises,
    identify: None,
    repeats_calls: true,
    steady: as_it_is,
    reader: || Box::<Dsh>::default(),
};

/// The types of events that make a log one of DSH; most of them are read.
const EVENTS: [&str; 12] = [
    "session/end-seed",
    "turn/start",
    "turn/end",
    "step/start",
    "step/end",
    "user/message",
    "tool/call",
    "tool/result",
    "tool/code-dispatch-start",
    "tool/code-dispatch",
    // As later versions call these two.
    "tool/ptc-dispatch-start",
    "tool/ptc-dispatch",
];

fn recognises(line: &Probe<'_>) -> bool {
    match line.text("type").as_deref() {
        // A header of pi, of the same type, has a timestamp in place of these.
        Some("session") => line.has(&["id"]) && !line.has(&["timestamp"]),
        Some(kind) => EVENTS.contains(&kind) && line.has(&["data"]),
        None => false,
    }
}

#[derive(Default)]
struct Dsh {
    surveyed: Position,
    read: Position,
    /// The calls that turn out never to have been dispatched, if need be long after their step.
    not_dispatched: BTreeSet<String>,
    session: Option<String>,
}

/// How far a log has been gone through.
#[derive(Default)]
struct Position {
    /// How many events a fork has of its parent.
    seed_length: u64,
    events: u64,
}

impl Position {
    /// Goes on to a line, and tells whether it is one of the parent's history.
    fn inherits(&mut self, line: &Line<'_>, json: &str) -> bool {
        if line.kind.as_deref() == Some("session") {
            self.seed_length = self.seed_length.max(line.seed_length.unwrap_or_default());
            return false;
        }
        // Events have numbers; those of snapshots have none, and are counted.
        let number = line.seq.unwrap_or(self.events);
        let inherits = number < self.seed_length;
        self.events = number + if inherits && line.seq.is_none() { events_in(line, json) } else { 1 };
        inherits
    }
}

/// How many events a line stands for: a row of chunks has one for each of its texts.
fn events_in(line: &Line<'_>, json: &str) -> u64 {
    #[derive(Deserialize)]
    struct Row {
        data: Chunks,
    }
    #[derive(Deserialize)]
    struct Chunks {
        #[serde(alias = "args")]
        texts: Vec<IgnoredAny>,
    }
    let is_row = line.kind.as_deref().is_some_and(|kind| kind.ends_with("-chunks"));
    let row = is_row.then(|| serde_json::from_str::<Row>(json).ok()).flatten();
    row.map_or(1, |row| row.data.texts.len() as u64)
}

#[derive(Deserialize)]
struct Line<'a> {
    #[serde(borrow, rename = "type")]
    kind: Option<Cow<'a, str>>,
    id: Option<String>,
    seq: Option<u64>,
    #[serde(rename = "seedLength")]
    seed_length: Option<u64>,
    #[serde(borrow)]
    data: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct TurnNumber {
    turn: u32,
}

#[derive(Deserialize, Clone, Copy)]
struct StepNumber {
    turn: u32,
    step: u32,
}

#[derive(Deserialize)]
struct UserMessage {
    source: Source,
}

#[derive(Deserialize)]
struct Source {
    kind: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ToolCall {
    turn: Option<u32>,
    step: Option<u32>,
    call_id: String,
    name: String,
    arguments: String,
}

#[derive(Deserialize)]
struct ToolResult<'a> {
    #[serde(borrow)]
    message: ResultMessage<'a>,
    error: Option<ResultError>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ResultMessage<'a> {
    #[serde(borrow)]
    content: Vec<ResultBlock<'a>>,
    // Later versions have these here, and the content of the result itself.
    tool_call_id: Option<String>,
    is_error: Option<bool>,
}

/// A block of type `tool-result`; others have no id.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ResultBlock<'a> {
    tool_call_id: Option<String>,
    #[serde(borrow)]
    text: Option<Cow<'a, str>>,
    #[serde(borrow)]
    content: Option<&'a RawValue>,
    is_error: Option<bool>,
}

#[derive(Deserialize)]
struct ResultError {
    code: Option<String>,
}

/// A call that a program of the tool `run_code` made.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct CodeDispatchStart<'a> {
    parent_call_id: Option<String>,
    sub_call_id: String,
    name: String,
    #[serde(borrow)]
    arguments: Option<&'a RawValue>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct CodeDispatch<'a> {
    sub_call_id: String,
    #[serde(borrow)]
    content: Option<&'a RawValue>,
    is_error: Option<bool>,
}

impl Reader for Dsh {
    fn needs_survey(&self) -> bool {
        true
    }

    fn survey(&mut self, line: &str) {
        let mentions = |text: &str| memchr::memmem::find(line.as_bytes(), text.as_bytes()).is_some();
        let in_vain = mentions("ABORTED_BEFORE_DISPATCH") || mentions("TOOL_NOT_STARTED");
        // Most lines are chunks of messages, and need no parsing, unless they are those of a parent.
        let Position { seed_length, events } = self.surveyed;
        if !(in_vain || events < seed_length || mentions("seedLength")) {
            return;
        }
        let Ok(parsed) = parse::<Line<'_>>(line) else { return };
        if !self.surveyed.inherits(&parsed, line) && in_vain {
            self.not_dispatched.extend(never_dispatched(&parsed).unwrap_or_default());
        }
    }

    fn read(&mut self, json: &str, _array: usize, log: &mut Log<'_>) -> Result<(), String> {
        let line: Line<'_> = parse(json)?;
        let inherits = self.read.inherits(&line, json);
        let Some(kind) = line.kind.as_deref() else { return Ok(()) };
        if kind == "session" {
            let session = self.session.get_or_insert(line.id.unwrap_or_else(|| log.name().to_owned())).clone();
            self.agent(&session, log);
            return Ok(());
        }
        if inherits || !EVENTS.contains(&kind) {
            return Ok(());
        }
        let session = self.session.get_or_insert_with(|| log.name().to_owned()).clone();
        let data = line.data.map_or("null", RawValue::get);
        event(kind, data, self.agent(&session, log)).map_err(|error| format!("{kind}: {error}"))
    }
}

impl Dsh {
    fn agent<'l>(&self, session: &str, log: &'l mut Log<'_>) -> &'l mut AgentLog {
        let agent = log.session(session);
        if agent.numbers() == (0, 0) {
            self.not_dispatched.iter().for_each(|id| agent.not_dispatched(id));
        }
        agent
    }
}

fn event(kind: &str, data: &str, agent: &mut AgentLog) -> Result<(), String> {
    match kind {
        "turn/end" => {
            let TurnNumber { turn } = parse(data)?;
            agent.end_numbered_turn(turn);
        }
        "step/start" => {
            let StepNumber { turn, step } = parse(data)?;
            agent.start_step(turn, step);
        }
        "step/end" => agent.close_step(),
        "user/message" => {
            let UserMessage { source } = parse(data)?;
            if source.kind == "user" {
                agent.prompt_after_start();
            }
        }
        "tool/call" => {
            let ToolCall { turn, step, call_id, name, arguments } = parse(data)?;
            if let Some(numbers) = turn.zip(step)
                && agent.numbers() != numbers
            {
                // The line that began the step is missing.
                agent.start_step(numbers.0, numbers.1);
            }
            agent.call(call_id, name, arguments);
        }
        "tool/result" => tool_result(parse(data)?, agent),
        "tool/code-dispatch-start" | "tool/ptc-dispatch-start" => {
            let call: CodeDispatchStart<'_> = parse(data)?;
            agent.nested_call(call.sub_call_id, call.name, arguments(call.arguments), call.parent_call_id);
        }
        "tool/code-dispatch" | "tool/ptc-dispatch" => {
            let CodeDispatch { sub_call_id, content: text, is_error } = parse(data)?;
            agent.result(sub_call_id, result(is_error == Some(true), content(text)));
        }
        _ => {}
    }
    Ok(())
}

fn tool_result(ToolResult { message, error }: ToolResult<'_>, agent: &mut AgentLog) {
    let code = error.and_then(|error| error.code);
    // The call ran, and how it ended is lost: that is no outcome.
    if code.as_deref() == Some("TOOL_OUTCOME_UNKNOWN") {
        return;
    }
    if let Some(id) = message.tool_call_id {
        let texts: Vec<_> = message.content.into_iter().filter_map(|block| block.text).collect();
        return agent.result(id, result(message.is_error == Some(true), texts.join("\n")));
    }
    for ResultBlock { tool_call_id, content: text, is_error, .. } in message.content {
        if let Some(id) = tool_call_id {
            agent.result(id, result(is_error == Some(true), content(text)));
        }
    }
}

/// The calls that a result says were never dispatched.
fn never_dispatched(line: &Line<'_>) -> Option<Vec<String>> {
    let data = line.data.filter(|_| line.kind.as_deref() == Some("tool/result"))?;
    let ToolResult { message, error } = parse(data.get()).ok()?;
    let in_vain = matches!(&*error?.code?, "ABORTED_BEFORE_DISPATCH" | "TOOL_NOT_STARTED");
    in_vain.then(|| {
        message.content.into_iter().filter_map(|block| block.tool_call_id).chain(message.tool_call_id).collect()
    })
}
