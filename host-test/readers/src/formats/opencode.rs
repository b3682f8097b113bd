//! opencode: what `opencode export` prints.

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::CallResult;
use crate::Status;
use crate::format::{Format, Identity, Probe, Reader, as_it_is};
use crate::log::{AgentLog, Log};
use crate::text::{arguments, content, parse, result};

pub const FORMAT: Format = Format {
    name: "opencode",
    title: "opencode: the output of `opencode export`",
    signs: "an object with info and messages that have parts",
    recognises,
    identify: Some(identify),
    repeats_calls: false,
    steady: as_it_is,
    reader: || Box::new(Opencode),
};

fn recognises(object: &Probe<'_>) -> bool {
    object.has(&["info"]) && object.objects("messages").first().is_some_and(|message| message.has(&["info", "parts"]))
}

fn identify(object: &Probe<'_>, identity: &mut Identity) {
    identity.session = object.object("info").and_then(|info| info.text("id"));
}

struct Opencode;

#[derive(Deserialize)]
struct Export<'a> {
    info: SessionInfo,
    #[serde(borrow)]
    messages: Vec<&'a RawValue>,
}

#[derive(Deserialize)]
struct SessionInfo {
    id: Option<String>,
    revert: Option<Revert>,
}

#[derive(Deserialize)]
struct Revert {
    #[serde(rename = "messageID")]
    message_id: String,
}

#[derive(Deserialize)]
struct Message<'a> {
    info: MessageInfo,
    #[serde(borrow)]
    parts: Vec<&'a RawValue>,
}

#[derive(Deserialize)]
struct MessageInfo {
    id: Option<String>,
    role: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Part<'a> {
    #[serde(rename = "type")]
    kind: String,
    #[serde(rename = "callID")]
    call_id: Option<String>,
    tool: Option<String>,
    #[serde(borrow)]
    state: Option<State<'a>>,
    #[serde(default)]
    synthetic: bool,
    #[serde(default)]
    ignored: bool,
}

#[derive(Deserialize)]
struct State<'a> {
    status: String,
    #[serde(borrow)]
    input: Option<&'a RawValue>,
    #[serde(borrow)]
    output: Option<&'a RawValue>,
    #[serde(borrow)]
    error: Option<&'a RawValue>,
    #[serde(borrow)]
    raw: Option<&'a RawValue>,
}

impl Reader for Opencode {
    fn read(&mut self, piece: &str, _array: usize, log: &mut Log<'_>) -> Result<(), String> {
        let Export { info, messages } = parse(piece)?;
        let session = log.begin(info.id);
        // What was undone stays in the file until the next prompt.
        let undone = info.revert.map(|revert| revert.message_id);
        log.session(&session);
        for json in messages {
            match message(json.get(), undone.as_deref(), log.session(&session)) {
                Ok(true) => {}
                Ok(false) => break,
                Err(reason) => log.skip(json.get(), format!("message: {reason}")),
            }
        }
        log.session(&session).end();
        Ok(())
    }
}

/// Reads a message, unless it and what follows was undone: then this is false.
fn message(json: &str, undone: Option<&str>, agent: &mut AgentLog) -> Result<bool, String> {
    let Message { info, parts } = parse(json)?;
    if undone.is_some_and(|undone| info.id.as_deref() == Some(undone)) {
        return Ok(false);
    }
    let parts: Vec<Part<'_>> = parts.iter().map(|part| parse(part.get())).collect::<Result<_, _>>()?;
    if info.role == "user" {
        // What the program itself adds to the conversation is marked; a subtask is a person's slash command.
        let says =
            |part: &Part<'_>| (part.kind == "text" && !part.synthetic && !part.ignored) || part.kind == "subtask";
        if parts.iter().any(says) {
            agent.prompt();
        }
        return Ok(true);
    }
    // A message without a step is none of the model: its request failed, or a person ran a command.
    let mut begun = false;
    for part in parts {
        match (&*part.kind, part.call_id, part.state) {
            ("step-start", ..) => {
                agent.next_step();
                begun = true;
            }
            ("tool", Some(id), Some(state)) if begun && state.was_dispatched() => {
                // It stands in place of a call that could not be made.
                let tool = part.tool.filter(|tool| tool != "invalid");
                let Some(tool) = tool else { continue };
                agent.call(id.clone(), tool, arguments(state.input));
                if let Some(outcome) = state.outcome() {
                    agent.result(id, outcome);
                }
            }
            _ => {}
        }
    }
    Ok(true)
}

impl State<'_> {
    /// Whether the call was complete: of one that was not, the raw text is kept.
    fn was_dispatched(&self) -> bool {
        self.status != "pending" && self.raw.is_none()
    }

    fn outcome(&self) -> Option<CallResult> {
        match &*self.status {
            "completed" => Some(result(false, content(self.output))),
            "error" => {
                let content = content(self.error);
                let denied = DENIALS.iter().any(|denial| content.starts_with(denial));
                Some(CallResult { status: if denied { Status::Denied } else { Status::Failed }, content })
            }
            // Still running when it was exported.
            _ => None,
        }
    }
}

/// How the errors of calls begin that a person, or a person's rule, did not let run.
const DENIALS: [&str; 3] = [
    "The user rejected permission",
    "The user has specified a rule which prevents",
    "The user dismissed this question",
];
