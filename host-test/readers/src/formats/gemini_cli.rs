//! gemini-cli: the chats that it keeps, one JSON document or, newer, JSON Lines.
//!
//! In JSON Lines, a message that is written again replaces the earlier one where it stands, `$rewindTo` deletes messages, and
//! `$set` brings others in place of all.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::CallResult;
use crate::Status;
use crate::format::{Format, Identity, Probe, Reader, as_it_is};
use crate::log::{AgentLog, Log};
use crate::text::{arguments, array, content, parse, without_lone_surrogates};

pub const FORMAT: Format = Format {
    name: "gemini-cli",
    title: "gemini-cli: chats/session-*.json and .jsonl",
    signs: "an object with sessionId and projectHash",
    recognises: |object: &Probe<'_>| object.has(&["sessionId", "projectHash"]),
    identify: Some(identify),
    repeats_calls: false,
    steady: as_it_is,
    reader: || Box::<GeminiCli>::default(),
};

fn identify(object: &Probe<'_>, identity: &mut Identity) {
    if object.has(&["projectHash"]) {
        identity.session = object.text("sessionId");
    }
}

#[derive(Default)]
struct GeminiCli {
    session: Option<String>,
    /// The messages as they stand at the end: their ids, and the numbers of the pieces that have them.
    messages: Vec<(String, usize)>,
    /// Where in `messages` each id was put last.
    known: HashMap<String, usize>,
    surveyed: usize,
    read: usize,
    /// Where in `messages` each stands; known once the first piece is read.
    places: HashMap<(String, usize), usize>,
    /// The place of the next message to be told, and those that were read before it: an earlier one is written again later.
    due: usize,
    early: BTreeMap<usize, String>,
}

/// A chat, a message, or a change of what was written before.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Piece<'a> {
    session_id: Option<String>,
    #[serde(borrow)]
    messages: Option<Vec<&'a RawValue>>,
    #[serde(rename = "$rewindTo")]
    rewind_to: Option<String>,
    #[serde(borrow, rename = "$set")]
    set: Option<Change<'a>>,
}

#[derive(Deserialize)]
struct Change<'a> {
    #[serde(borrow)]
    messages: Option<Vec<&'a RawValue>>,
}

#[derive(Deserialize)]
struct Id {
    id: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Message<'a> {
    #[serde(borrow, rename = "type")]
    kind: Cow<'a, str>,
    #[serde(borrow)]
    content: Option<&'a RawValue>,
    #[serde(borrow)]
    tool_calls: Option<Vec<&'a RawValue>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ToolCall<'a> {
    id: String,
    name: String,
    #[serde(borrow)]
    args: Option<&'a RawValue>,
    #[serde(borrow)]
    result: Option<&'a RawValue>,
    status: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ResultPart<'a> {
    #[serde(borrow)]
    function_response: Option<FunctionResponse<'a>>,
    text: Option<String>,
}

#[derive(Deserialize)]
struct FunctionResponse<'a> {
    #[serde(borrow)]
    id: Option<Cow<'a, str>>,
    #[serde(borrow)]
    response: Option<Response<'a>>,
}

#[derive(Deserialize)]
struct Response<'a> {
    #[serde(borrow)]
    output: Option<&'a RawValue>,
    #[serde(borrow)]
    error: Option<&'a RawValue>,
}

impl Reader for GeminiCli {
    fn needs_survey(&self) -> bool {
        true
    }

    fn survey(&mut self, json: &str) {
        // Counted as reading counts, which also tries without half surrogate pairs.
        let json = &*without_lone_surrogates(json);
        let Ok(piece) = parse::<Piece<'_>>(json) else { return };
        self.surveyed += 1;
        if let Some(id) = &piece.rewind_to {
            // The message itself goes as well, and all of them if it is none.
            let kept = self
                .known
                .get(id)
                .copied()
                .filter(|place| self.messages.get(*place).is_some_and(|(message, _)| message == id));
            self.messages.truncate(kept.unwrap_or_default());
        }
        if piece.set.as_ref().is_some_and(|set| set.messages.is_some()) {
            self.messages.clear();
        }
        for (id, _) in messages(&piece, json) {
            // A place is one of the past if messages have been deleted since.
            let known = self
                .known
                .get(&id)
                .and_then(|place| self.messages.get_mut(*place))
                .filter(|(message, _)| *message == id);
            match known {
                Some((_, number)) => *number = self.surveyed,
                None => {
                    self.known.insert(id.clone(), self.messages.len());
                    self.messages.push((id, self.surveyed));
                }
            }
        }
    }

    fn read(&mut self, json: &str, _array: usize, log: &mut Log<'_>) -> Result<(), String> {
        let piece: Piece<'_> = parse(json)?;
        if self.read == 0 {
            self.places = self.messages.drain(..).enumerate().map(|(place, message)| (message, place)).collect();
        }
        self.read += 1;
        let session = match &piece.session_id {
            Some(id) => self.session.get_or_insert_with(|| id.clone()),
            None => self.session.get_or_insert_with(|| log.name().to_owned()),
        };
        log.session(session);
        for (id, message) in messages(&piece, json) {
            if let Some(place) = self.places.get(&(id, self.read)) {
                self.early.insert(*place, message.to_owned());
            }
        }
        while let Some(message) = self.early.remove(&self.due) {
            self.due += 1;
            if let Err(reason) = read_message(&message, log.session(session)) {
                log.skip(json, format!("message: {reason}"));
            }
        }
        Ok(())
    }
}

/// The messages of a piece, with their ids. Those without are left out: nothing could replace them, and the program writes none.
fn messages<'a>(piece: &Piece<'a>, json: &'a str) -> Vec<(String, &'a str)> {
    let listed = piece.messages.iter().chain(piece.set.iter().flat_map(|set| &set.messages)).flatten();
    let mut messages: Vec<_> = listed.map(|message| message.get()).collect();
    if messages.is_empty() && piece.set.is_none() && piece.session_id.is_none() {
        messages.push(json);
    }
    messages.into_iter().filter_map(|json| Some((parse::<Id>(json).ok()?.id, json))).collect()
}

fn read_message(json: &str, agent: &mut AgentLog) -> Result<(), String> {
    let message: Message<'_> = parse(json)?;
    match &*message.kind {
        "user" if is_prompt(message.content) => agent.prompt(),
        "gemini" => {
            let calls: Vec<ToolCall<'_>> = message
                .tool_calls
                .unwrap_or_default()
                .iter()
                .map(|call| parse(call.get()))
                .collect::<Result<_, _>>()?;
            agent.next_step();
            for call in calls {
                agent.call(call.id.clone(), call.name, arguments(call.args));
                let content = response(call.result, &call.id);
                if let Some(status) = status(call.status.as_deref(), &content) {
                    agent.result(call.id, CallResult { status, content });
                }
            }
        }
        _ => {}
    }
    Ok(())
}

/// Whether a message of type user is one of a person: others carry results, or context that the program adds.
fn is_prompt(json: Option<&RawValue>) -> bool {
    let parts = array::<ResultPart<'_>>(json).unwrap_or_default();
    let has_results = parts.iter().any(|part| part.function_response.is_some());
    !has_results && !content(json).trim_start().starts_with("<session_context>")
}

/// None for a call that is still under way.
fn status(status: Option<&str>, content: &str) -> Option<Status> {
    match status? {
        "success" => Some(Status::Succeeded),
        "error" if content.starts_with("Tool execution denied by policy") => Some(Status::Denied),
        // A person declined the call, or stopped everything.
        "cancelled" if content.contains("User denied") || content.contains("did not allow") => Some(Status::Denied),
        "error" | "cancelled" => Some(Status::Failed),
        _ => None,
    }
}

/// The text of a result, which is a list of parts as the API has them, those of calls beside it at times among them.
fn response(json: Option<&RawValue>, id: &str) -> String {
    let Some(parts) = array::<ResultPart<'_>>(json) else { return content(json) };
    let texts = parts.into_iter().filter_map(|part| match part.function_response {
        Some(FunctionResponse { id: Some(other), .. }) if other != id => None,
        Some(response) => response.response.map(|Response { output, error }| content(output.or(error))),
        None => part.text,
    });
    texts.collect::<Vec<_>>().join("\n")
}
