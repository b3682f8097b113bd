//! Reads `session.jsonl`, the log of DeepSeek Harness (DSH).
//!
//! The first line is a header; each other line is an event `{"type", "data"}`. One file holds one agent. Of
//! what stands there more than once, `tool/call` is read, where the arguments are as the model wrote them.

use std::borrow::Cow;
use std::io::{self, BufRead};

use serde::Deserialize;
use serde_json::value::RawValue;
use thiserror::Error;

use super::ordering::OpenStep;
use super::{Call, CallResult, Event, Recording, SkippedLine};
use crate::types::Status;

/// Why a file was not read.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ReadError {
    /// The system could not read it.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// It is empty.
    #[error("the file is empty")]
    Empty,
    /// It is something else.
    #[error("not a recorded session: no line is an event of a DSH session.jsonl (such as turn/start or tool/call)")]
    UnknownFormat,
}

/// Reads a session. A line that cannot be read is noted and left out. `name` names the session if it has no id.
///
/// # Errors
///
/// If it cannot be read, is empty, or nothing in it is an event of DSH.
pub fn read(mut input: impl BufRead, name: &str) -> Result<Recording, ReadError> {
    let mut reader = Reader::default();
    let mut line = Vec::new();
    let mut number = 0;
    while input.read_until(b'\n', &mut line)? > 0 {
        number += 1;
        if let Err(reason) = reader.line(&line) {
            reader.skipped.push(SkippedLine { line: number, reason });
        }
        line.clear();
    }
    if number == 0 {
        return Err(ReadError::Empty);
    }
    reader.finish(name)
}

/// What has been read so far.
#[derive(Default)]
struct Reader {
    session: Option<String>,
    /// Whether any line was an event of DSH.
    known: bool,
    step: Option<Step>,
    /// A person's message has been read, and the step that it enters with has not begun.
    prompted: bool,
    events: Vec<Event>,
    skipped: Vec<SkippedLine>,
}

struct Step {
    /// None for what stands outside of any step: late calls and results of the last one.
    number: Option<StepNumber>,
    prompted: bool,
    happened: OpenStep,
}

#[derive(Deserialize)]
struct Line<'a> {
    #[serde(borrow, rename = "type")]
    kind: Option<Cow<'a, str>>,
    id: Option<String>,
    #[serde(borrow)]
    data: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct TurnNumber {
    turn: u32,
}

#[derive(Deserialize)]
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
    call_id: String,
    name: String,
    arguments: String,
}

#[derive(Deserialize)]
struct ToolResult {
    message: ResultMessage,
    error: Option<ResultError>,
}

#[derive(Deserialize)]
struct ResultMessage {
    content: Vec<ResultBlock>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ResultBlock {
    tool_call_id: String,
    #[serde(default)]
    content: Vec<TextBlock>,
    #[serde(default)]
    is_error: bool,
}

#[derive(Deserialize)]
struct TextBlock {
    text: Option<String>,
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
struct CodeDispatch {
    sub_call_id: String,
    #[serde(default)]
    content: Vec<TextBlock>,
    #[serde(default)]
    is_error: bool,
}

impl Reader {
    fn line(&mut self, line: &[u8]) -> Result<(), String> {
        if line.trim_ascii().is_empty() {
            return Err("the line is empty".to_owned());
        }
        let text = std::str::from_utf8(line).map_err(|error| format!("not UTF-8: {error}"))?;
        let line: Line<'_> = serde_json::from_str(text).map_err(|error| format!("not a line of a log: {error}"))?;
        let Some(kind) = line.kind.as_deref() else { return Ok(()) };
        if kind == "session" {
            self.session = line.id;
            self.known = true;
            return Ok(());
        }
        let Some(data) = line.data else { return Ok(()) };
        self.event(kind, data.get()).map_err(|error| format!("{kind}: {error}"))
    }

    fn event(&mut self, kind: &str, data: &str) -> Result<(), serde_json::Error> {
        match kind {
            "session/end-seed" => {
                // What came before is the history of the parent that this session was forked from.
                self.step = None;
                self.events.clear();
            }
            "turn/start" => {}
            "turn/end" => {
                let TurnNumber { turn } = serde_json::from_str(data)?;
                self.close_step();
                self.events.push(Event::TurnEnded { turn });
            }
            "step/start" => {
                let number = Some(serde_json::from_str(data)?);
                self.close_step();
                let prompted = std::mem::take(&mut self.prompted);
                self.step = Some(Step { number, prompted, happened: OpenStep::default() });
            }
            "step/end" => self.close_step(),
            "user/message" => {
                let UserMessage { source } = serde_json::from_str(data)?;
                if source.kind == "user" {
                    self.prompt();
                }
            }
            "tool/call" => {
                let ToolCall { call_id, name, arguments } = serde_json::from_str(data)?;
                self.happened().call(Call { id: call_id, tool: name, arguments }, None);
            }
            "tool/result" => self.tool_result(serde_json::from_str(data)?),
            "tool/code-dispatch-start" => {
                let CodeDispatchStart { parent_call_id, sub_call_id, name, arguments } = serde_json::from_str(data)?;
                let arguments = arguments.map(RawValue::get).unwrap_or_default().to_owned();
                self.happened().call(Call { id: sub_call_id, tool: name, arguments }, parent_call_id);
            }
            "tool/code-dispatch" => {
                let CodeDispatch { sub_call_id, content, is_error } = serde_json::from_str(data)?;
                self.happened().result(sub_call_id, result(content, is_error));
            }
            _ => return Ok(()),
        }
        self.known = true;
        Ok(())
    }

    fn tool_result(&mut self, ToolResult { message, error }: ToolResult) {
        let code = error.and_then(|error| error.code);
        for ResultBlock { tool_call_id, content, is_error } in message.content {
            match code.as_deref() {
                Some("ABORTED_BEFORE_DISPATCH" | "TOOL_NOT_STARTED") => self.happened().not_dispatched(tool_call_id),
                // The call ran, and how it ended is lost: that is no outcome.
                Some("TOOL_OUTCOME_UNKNOWN") => {}
                _ => self.happened().result(tool_call_id, result(content, is_error)),
            }
        }
    }

    /// A person's message enters with the step that has just begun, or else with the next one.
    fn prompt(&mut self) {
        match &mut self.step {
            Some(step) if step.number.is_some() && step.happened.is_empty() => step.prompted = true,
            _ => self.prompted = true,
        }
    }

    /// Where calls and results go.
    fn happened(&mut self) -> &mut OpenStep {
        let outside = || Step { number: None, prompted: false, happened: OpenStep::default() };
        &mut self.step.get_or_insert_with(outside).happened
    }

    fn close_step(&mut self) {
        let Some(Step { number, prompted, happened }) = self.step.take() else { return };
        if let Some(StepNumber { turn, step }) = number {
            self.events.push(Event::Step { turn, step, prompted });
        }
        self.events.extend(happened.into_events());
    }

    fn finish(mut self, name: &str) -> Result<Recording, ReadError> {
        if !self.known {
            return Err(ReadError::UnknownFormat);
        }
        self.close_step();
        let session = self.session.unwrap_or_else(|| name.to_owned());
        Ok(Recording { agent: session.clone(), session, events: self.events, skipped: self.skipped })
    }
}

fn result(content: Vec<TextBlock>, is_error: bool) -> CallResult {
    let texts: Vec<_> = content.into_iter().filter_map(|block| block.text).collect();
    let status = if is_error { Status::Failed } else { Status::Succeeded };
    CallResult { status, content: texts.join("\n") }
}
