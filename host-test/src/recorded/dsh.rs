//! Reads `session.jsonl`, the log of DeepSeek Harness (DSH).
//!
//! The first line is a header; each other line is an event `{"type", "data"}`. One file holds one agent. Of
//! what stands there more than once, `tool/call` is read, where the arguments are as the model wrote them.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
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
        let text = if number == 1 { line.strip_prefix(BYTE_ORDER_MARK).unwrap_or(&line) } else { &line };
        if let Err(reason) = reader.line(text) {
            reader.skipped.push(SkippedLine { line: number, reason });
        }
        line.clear();
    }
    if number == 0 {
        return Err(ReadError::Empty);
    }
    reader.finish(name)
}

const BYTE_ORDER_MARK: &[u8] = "\u{feff}".as_bytes();

/// What has been read so far.
#[derive(Default)]
struct Reader {
    session: Option<String>,
    /// Whether any line was an event of DSH.
    known: bool,
    step: Option<Step>,
    /// The number of the step that was begun last.
    last: Option<StepNumber>,
    /// A person's message has been read, and the step that it enters with has not begun.
    prompted: bool,
    events: Vec<Event>,
    /// The calls that have been read: a log may hold one twice.
    calls: BTreeSet<String>,
    /// The calls that turned out never to have been dispatched, if need be long after their step.
    not_dispatched: BTreeSet<String>,
    /// The calls that those in the second place were made inside of.
    parents: BTreeMap<String, String>,
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

#[derive(Deserialize, Clone, Copy, PartialEq, Eq)]
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
    #[serde(flatten)]
    number: Option<StepNumber>,
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
struct CodeDispatch<'a> {
    sub_call_id: String,
    #[serde(borrow)]
    content: Option<&'a RawValue>,
    is_error: Option<bool>,
}

impl Reader {
    fn line(&mut self, line: &[u8]) -> Result<(), String> {
        let line = line.trim_ascii();
        if line.is_empty() {
            return Ok(());
        }
        if !line.starts_with(b"{") {
            return Err("not a JSON object".to_owned());
        }
        let text = std::str::from_utf8(line).map_err(|error| format!("not UTF-8: {error}"))?;
        let line: Line<'_> = serde_json::from_str(text).map_err(|error| format!("not a JSON object: {error}"))?;
        let Some(kind) = line.kind.as_deref() else { return Ok(()) };
        if kind == "session" {
            self.session = line.id;
            self.known = true;
            return Ok(());
        }
        let data = line.data.map_or("null", RawValue::get);
        // Text that was cut inside of a character is written with half a surrogate pair.
        let event =
            self.event(kind, data).or_else(|error| self.event(kind, &without_lone_surrogates(data)).map_err(|_| error));
        event.map_err(|error| format!("{kind}: {}", without_place(&error.to_string())))
    }

    /// Reads an event. One that cannot be read changes nothing.
    fn event(&mut self, kind: &str, data: &str) -> Result<(), serde_json::Error> {
        match kind {
            "session/end-seed" => self.start_after_the_seed(),
            "turn/start" => {}
            "turn/end" => {
                let TurnNumber { turn } = serde_json::from_str(data)?;
                self.close_step();
                self.events.push(Event::TurnEnded { turn });
            }
            "step/start" => self.start_step(serde_json::from_str(data)?),
            "step/end" => self.close_step(),
            "user/message" => {
                let UserMessage { source } = serde_json::from_str(data)?;
                if source.kind == "user" {
                    self.prompt();
                }
            }
            "tool/call" => {
                let ToolCall { number, call_id, name, arguments } = serde_json::from_str(data)?;
                if let Some(number) = number
                    && self.last != Some(number)
                {
                    // The line that began the step is missing.
                    self.start_step(number);
                }
                self.call(Call { id: call_id, tool: name, arguments }, None);
            }
            "tool/result" => self.tool_result(serde_json::from_str(data)?),
            "tool/code-dispatch-start" => {
                let CodeDispatchStart { parent_call_id, sub_call_id, name, arguments } = serde_json::from_str(data)?;
                let arguments = arguments.map(RawValue::get).unwrap_or_default().to_owned();
                self.call(Call { id: sub_call_id, tool: name, arguments }, parent_call_id);
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

    /// What came before is the history of the parent that this session was forked from.
    fn start_after_the_seed(&mut self) {
        let (session, skipped) = (self.session.take(), std::mem::take(&mut self.skipped));
        *self = Self { session, skipped, ..Self::default() };
    }

    fn start_step(&mut self, number: StepNumber) {
        self.close_step();
        self.last = Some(number);
        let prompted = std::mem::take(&mut self.prompted);
        self.step = Some(Step { number: Some(number), prompted, happened: OpenStep::default() });
    }

    fn call(&mut self, call: Call, parent: Option<String>) {
        if !self.calls.insert(call.id.clone()) {
            return;
        }
        if let Some(parent) = &parent {
            self.parents.insert(call.id.clone(), parent.clone());
        }
        self.happened().call(call, parent);
    }

    fn tool_result(&mut self, ToolResult { message, error }: ToolResult<'_>) {
        let code = error.and_then(|error| error.code);
        for ResultBlock { tool_call_id, content, is_error } in message.content {
            let Some(id) = tool_call_id else { continue };
            match code.as_deref() {
                Some("ABORTED_BEFORE_DISPATCH" | "TOOL_NOT_STARTED") => _ = self.not_dispatched.insert(id),
                // The call ran, and how it ended is lost: that is no outcome.
                Some("TOOL_OUTCOME_UNKNOWN") => {}
                _ => self.happened().result(id, result(content, is_error)),
            }
        }
    }

    /// A person's message enters with the step that has just begun, or else with the next one.
    fn prompt(&mut self) {
        match &mut self.step {
            Some(step) if step.number.is_some() && !step.happened.has_calls() => step.prompted = true,
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

    /// Whether a call, or one that it was made inside of, was never dispatched.
    fn was_skipped(&self, id: &str) -> bool {
        let mut call = Some(id);
        // A log that is damaged could have calls inside of each other.
        for _ in 0..self.parents.len() + 1 {
            let Some(id) = call else { return false };
            if self.not_dispatched.contains(id) {
                return true;
            }
            call = self.parents.get(id).map(String::as_str);
        }
        false
    }

    fn finish(mut self, name: &str) -> Result<Recording, ReadError> {
        if !self.known {
            return Err(ReadError::UnknownFormat);
        }
        self.close_step();
        let mut events = std::mem::take(&mut self.events);
        events.retain(|event| match event {
            Event::Pre(Call { id, .. }) | Event::Post { id, .. } => !self.was_skipped(id),
            Event::Step { .. } | Event::TurnEnded { .. } => true,
        });
        let session = self.session.unwrap_or_else(|| name.to_owned());
        Ok(Recording { agent: session.clone(), session, events, skipped: self.skipped })
    }
}

fn result(content: Option<&RawValue>, is_error: Option<bool>) -> CallResult {
    let status = if is_error == Some(true) { Status::Failed } else { Status::Succeeded };
    let content = without_lone_surrogates(content.map_or("[]", RawValue::get));
    let content = match serde_json::from_str::<Vec<TextBlock>>(&content) {
        Ok(blocks) => blocks.into_iter().filter_map(|block| block.text).collect::<Vec<_>>().join("\n"),
        // Another shape than DSH writes: as a text it still tells results apart.
        Err(_) => serde_json::from_str(&content).unwrap_or(content),
    };
    CallResult { status, content }
}

/// JSON text in which the replacement character stands for each escape of half a surrogate pair.
fn without_lone_surrogates(json: &str) -> String {
    let mut text = String::with_capacity(json.len());
    let mut rest = json;
    while let Some(place) = rest.find('\\') {
        let (before, escape) = rest.split_at(place);
        text.push_str(before);
        let unit = |from: usize| {
            escape
                .get(from..from + 6)
                .filter(|escape| escape.starts_with("\\u"))
                .and_then(|escape| u16::from_str_radix(escape.get(2..)?, 16).ok())
        };
        let (kept, length) = match (unit(0), unit(6)) {
            (Some(0xd800..=0xdbff), Some(0xdc00..=0xdfff)) => (escape.get(..12), 12),
            (Some(0xd800..=0xdfff), _) => (Some("\\ufffd"), 6),
            _ => (escape.get(..2), 2),
        };
        text.push_str(kept.unwrap_or(escape));
        rest = escape.get(length..).unwrap_or_default();
    }
    text + rest
}

/// The message of a JSON error without its place, which is one within the event.
fn without_place(message: &str) -> &str {
    message.split_once(" at line ").map_or(message, |(message, _)| message)
}

#[cfg(test)]
mod tests {
    use super::without_lone_surrogates;

    #[test]
    fn half_a_surrogate_pair_is_replaced() {
        for (json, expected) in [
            (r#""a\ud83d""#, r#""a\ufffd""#),
            (r#""\ud83d\ude00\n""#, r#""\ud83d\ude00\n""#),
            (r#""\ude00\ud83d\u0041""#, r#""\ufffd\ufffd\u0041""#),
            (r#""\\ud83d \"é""#, r#""\\ud83d \"é""#),
            ("plain", "plain"),
            ("cut\\", "cut\\"),
        ] {
            assert_eq!(without_lone_surrogates(json), expected);
        }
    }
}
