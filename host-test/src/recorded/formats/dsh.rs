//! DeepSeek Harness (DSH): `session.jsonl`, on disk mostly `session.jsonl.zstd`.
//!
//! The first line is a header; each other line is an event `{"type", "data"}`. One file holds one agent. Of
//! what stands there more than once, `tool/call` is read, where the arguments are as the model wrote them.
//! A fork repeats the history of its parent, up to a `session/end-seed`; each time that a session is resumed, it gets another one.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::recorded::format::{Format, Probe, Reader, tells_nothing, as_it_is};
use crate::recorded::log::{AgentLog, Log};
use crate::recorded::text::{arguments, content, parse, result};

pub const FORMAT: Format = Format {
    name: "dsh",
    title: "DeepSeek Harness: session.jsonl",
    signs: "a line of type turn/start, step/start, tool/call … with data, or of type session with a delegationDepth",
    recognises,
    identify: tells_nothing,
    steady: as_it_is,
    reader: || Box::<Dsh>::default(),
};

/// The types of events that are read.
const EVENTS: [&str; 10] = [
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
];

fn recognises(line: &Probe<'_>) -> bool {
    match line.text("type").as_deref() {
        // A header of pi, of the same type, has a timestamp in place of these.
        Some("session") => line.has(&["version", "id"]) && !line.has(&["timestamp"]),
        Some(kind) => EVENTS.contains(&kind) && line.has(&["data"]),
        None => false,
    }
}

#[derive(Default)]
struct Dsh {
    /// How many events a fork has of its parent, as its header tells.
    seed_length: Option<u64>,
    /// How many ends of seeds there are, and have been read; up to which of them all is the history of a parent.
    seeds: usize,
    ended_seeds: usize,
    inherited_seeds: usize,
    /// Whether the end of the parent's history is certain.
    found: bool,
    /// The calls that turn out never to have been dispatched, if need be long after their step, each with the number of ends before it.
    not_dispatched: Vec<(usize, String)>,
    session: Option<String>,
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
struct ResultMessage<'a> {
    #[serde(borrow)]
    content: Vec<ResultBlock<'a>>,
}

/// A block of type `tool-result`; others have no id.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ResultBlock<'a> {
    tool_call_id: Option<String>,
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
        // Most lines are chunks of messages, and need no parsing.
        let mentions = |text: &str| memchr::memmem::find(line.as_bytes(), text.as_bytes()).is_some();
        if mentions("seedLength") || mentions("session/end-seed") {
            let Ok(Line { kind, seq, seed_length, .. }) = parse(line) else { return };
            match kind.as_deref() {
                Some("session") => self.seed_length = self.seed_length.or(seed_length),
                Some("session/end-seed") => self.seed_ends(seq),
                _ => {}
            }
        } else if mentions("ABORTED_BEFORE_DISPATCH") || mentions("TOOL_NOT_STARTED") {
            let calls = never_dispatched(line).unwrap_or_default();
            self.not_dispatched.extend(calls.into_iter().map(|id| (self.seeds, id)));
        }
    }

    fn read(&mut self, line: &str, _array: usize, log: &mut Log<'_>) -> Result<(), String> {
        let Line { kind, id, data, .. } = parse(line)?;
        let Some(kind) = kind.as_deref() else { return Ok(()) };
        if kind == "session" {
            let session = self.session.get_or_insert(id.unwrap_or_else(|| log.name().to_owned())).clone();
            self.agent(&session, log);
            return Ok(());
        }
        if kind == "session/end-seed" {
            self.ended_seeds += 1;
        }
        if self.ended_seeds < self.inherited_seeds || !EVENTS.contains(&kind) {
            return Ok(());
        }
        let session = self.session.get_or_insert_with(|| log.name().to_owned()).clone();
        let data = data.map_or("null", RawValue::get);
        event(kind, data, self.agent(&session, log)).map_err(|error| format!("{kind}: {error}"))
    }
}

impl Dsh {
    /// A fork's history of its parent ends with the event whose number is its length; the ends of that parent's own seeds come before, and
    /// those of times at which the fork was resumed after it. Where events have no numbers, the last end is taken.
    fn seed_ends(&mut self, seq: Option<u64>) {
        self.seeds += 1;
        if let Some(length) = self.seed_length
            && !self.found
        {
            self.inherited_seeds = self.seeds;
            self.found = seq.is_some_and(|seq| seq >= length);
        }
    }

    fn agent<'l>(&self, session: &str, log: &'l mut Log<'_>) -> &'l mut AgentLog {
        let agent = log.session(session);
        if agent.numbers() == (0, 0) {
            let own = self.not_dispatched.iter().filter(|(seeds, _)| *seeds >= self.inherited_seeds);
            own.for_each(|(_, id)| agent.not_dispatched(id));
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
        "tool/code-dispatch-start" => {
            let call: CodeDispatchStart<'_> = parse(data)?;
            agent.nested_call(call.sub_call_id, call.name, arguments(call.arguments), call.parent_call_id);
        }
        "tool/code-dispatch" => {
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
    for ResultBlock { tool_call_id, content: text, is_error } in message.content {
        if let Some(id) = tool_call_id {
            agent.result(id, result(is_error == Some(true), content(text)));
        }
    }
}

/// The calls that a result says were never dispatched.
fn never_dispatched(line: &str) -> Option<Vec<String>> {
    let Line { kind, data, .. } = parse(line).ok()?;
    let ToolResult { message, error } = parse(data.filter(|_| kind.as_deref() == Some("tool/result"))?.get()).ok()?;
    let code = error?.code?;
    let in_vain = matches!(&*code, "ABORTED_BEFORE_DISPATCH" | "TOOL_NOT_STARTED");
    in_vain.then(|| message.content.into_iter().filter_map(|block| block.tool_call_id).collect())
}
