//! opencode: what `opencode export` prints.

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::recorded::CallResult;
use crate::recorded::format::{Format, Identity, Probe, Reader};
use crate::recorded::log::{AgentLog, Log};
use crate::recorded::text::{arguments, content, parse, result};

pub const FORMAT: Format = Format {
    name: "opencode",
    title: "opencode: the output of `opencode export`",
    signs: "an object with info and messages that have parts",
    recognises,
    identify,
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
}

#[derive(Deserialize)]
struct Message<'a> {
    info: MessageInfo,
    #[serde(borrow)]
    parts: Vec<&'a RawValue>,
}

#[derive(Deserialize)]
struct MessageInfo {
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
}

impl Reader for Opencode {
    fn read(&mut self, piece: &str, _array: usize, log: &mut Log<'_>) -> Result<(), String> {
        let Export { info, messages } = parse(piece)?;
        let session = info.id.unwrap_or_else(|| log.name().to_owned());
        log.session(&session);
        for json in messages {
            if let Err(reason) = message(json.get(), log.session(&session)) {
                log.skip(json.get(), format!("message: {reason}"));
            }
        }
        log.session(&session).end();
        Ok(())
    }
}

fn message(json: &str, agent: &mut AgentLog) -> Result<(), String> {
    let Message { info, parts } = parse(json)?;
    let parts: Vec<Part<'_>> = parts.iter().map(|part| parse(part.get())).collect::<Result<_, _>>()?;
    if info.role == "user" {
        // What the program itself adds to the conversation is marked.
        if parts.iter().any(|part| part.kind == "text" && !part.synthetic) {
            agent.prompt();
        }
        return Ok(());
    }
    let mut begun = false;
    for part in parts {
        match (&*part.kind, part.call_id, part.state) {
            ("step-start", ..) => {
                agent.next_step();
                begun = true;
            }
            ("tool", Some(id), Some(state)) => {
                if !std::mem::replace(&mut begun, true) {
                    agent.next_step();
                }
                agent.call(id.clone(), part.tool.unwrap_or_default(), arguments(state.input));
                if let Some(outcome) = outcome(&state) {
                    agent.result(id, outcome);
                }
            }
            _ => {}
        }
    }
    if !begun {
        agent.next_step();
    }
    Ok(())
}

fn outcome(state: &State<'_>) -> Option<CallResult> {
    match &*state.status {
        "completed" => Some(result(false, content(state.output))),
        "error" => Some(result(true, content(state.error))),
        // Still pending or running when it was exported.
        _ => None,
    }
}
