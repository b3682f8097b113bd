//! OpenHands: arrays of events (V0), and events in a file each, or a line each (V1).

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::CallResult;
use crate::Status;
use crate::format::{Format, Probe, Reader, as_it_is};
use crate::log::{AgentLog, Log};
use crate::text::{arguments, array, content, parse, result};
use crate::tree::{Branch, Tree};

pub const FORMAT: Format = Format {
    name: "openhands",
    title: "OpenHands: events of V0 and V1, in an array, a line each, or a file each",
    signs: "objects with a source and an action or observation, or of a kind such as ActionEvent",
    recognises,
    identify: None,
    repeats_calls: false,
    steady: as_it_is,
    reader: || Box::<OpenHands>::default(),
};

fn recognises(object: &Probe<'_>) -> bool {
    let is_event = |event: &Probe<'_>| {
        let source = matches!(event.text("source").as_deref(), Some("agent" | "user" | "environment"));
        source && (event.has(&["id", "action"]) || event.has(&["id", "observation"]) || event.has(&["kind", "id"]))
    };
    is_event(object) || ["history", "trajectory"].iter().any(|events| object.objects(events).iter().any(is_event))
}

#[derive(Default)]
struct OpenHands {
    /// The events of V1, and then the branch that is read.
    tree: Tree,
    branch: Option<Branch>,
    /// The model response that the step at hand belongs to.
    response: Option<String>,
}

/// An object that holds the events of a session: a line of an evaluation's output.
#[derive(Deserialize)]
struct Holder<'a> {
    #[serde(borrow, alias = "trajectory")]
    history: Option<Vec<&'a RawValue>>,
    instance_id: Option<String>,
}

/// An event of either version.
#[derive(Deserialize)]
struct Event<'a> {
    #[serde(borrow)]
    id: Option<&'a RawValue>,
    #[serde(borrow)]
    source: Option<Cow<'a, str>>,
    // V1
    #[serde(borrow)]
    kind: Option<Cow<'a, str>>,
    tool_name: Option<String>,
    tool_call_id: Option<String>,
    #[serde(borrow)]
    tool_call: Option<MessageToolCall<'a>>,
    llm_response_id: Option<String>,
    #[serde(borrow)]
    error: Option<&'a RawValue>,
    #[serde(borrow)]
    rejection_reason: Option<&'a RawValue>,
    // V0, and in another form V1
    #[serde(borrow)]
    action: Option<&'a RawValue>,
    #[serde(borrow)]
    observation: Option<&'a RawValue>,
    // V0
    #[serde(borrow)]
    args: Option<&'a RawValue>,
    #[serde(borrow)]
    cause: Option<&'a RawValue>,
    #[serde(borrow)]
    content: Option<&'a RawValue>,
    extras: Option<Extras>,
    success: Option<bool>,
    #[serde(borrow)]
    tool_call_metadata: Option<Metadata<'a>>,
}

#[derive(Deserialize)]
struct MessageToolCall<'a> {
    #[serde(borrow)]
    arguments: Option<&'a RawValue>,
    #[serde(borrow)]
    function: Option<Function<'a>>,
}

#[derive(Deserialize)]
struct Function<'a> {
    #[serde(borrow)]
    arguments: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Observation<'a> {
    #[serde(borrow)]
    content: Option<&'a RawValue>,
    #[serde(borrow)]
    output: Option<&'a RawValue>,
    #[serde(default)]
    is_error: bool,
    #[serde(default)]
    error: bool,
}

#[derive(Deserialize)]
struct Extras {
    exit_code: Option<i64>,
    metadata: Option<Exit>,
}

#[derive(Deserialize)]
struct Exit {
    exit_code: Option<i64>,
}

#[derive(Deserialize)]
struct Metadata<'a> {
    tool_call_id: Option<String>,
    function_name: Option<String>,
    #[serde(borrow)]
    model_response: Option<ModelResponse<'a>>,
}

#[derive(Deserialize)]
struct ModelResponse<'a> {
    id: Option<String>,
    #[serde(borrow, default)]
    choices: Vec<Choice<'a>>,
}

#[derive(Deserialize)]
struct Choice<'a> {
    #[serde(borrow)]
    message: Option<ChoiceMessage<'a>>,
}

#[derive(Deserialize)]
struct ChoiceMessage<'a> {
    #[serde(borrow)]
    tool_calls: Option<Vec<ChoiceCall<'a>>>,
}

#[derive(Deserialize)]
struct ChoiceCall<'a> {
    id: Option<String>,
    #[serde(borrow)]
    function: Option<Function<'a>>,
}

/// What places an event of V1 in its tree.
#[derive(Deserialize)]
struct Entry<'a> {
    #[serde(borrow)]
    id: Option<Cow<'a, str>>,
    #[serde(borrow)]
    kind: Option<Cow<'a, str>>,
    #[serde(borrow)]
    parent_id: Option<Cow<'a, str>>,
}

impl Reader for OpenHands {
    fn needs_survey(&self) -> bool {
        true
    }

    fn survey(&mut self, piece: &str) {
        let Ok(Entry { id: Some(id), kind: Some(kind), parent_id }) = parse(piece) else { return };
        // These are no part of the conversation.
        if !matches!(&*kind, "ConversationStateUpdateEvent" | "ConversationErrorEvent") {
            // Without a parent, in older files, an event follows the one before it.
            let parent = parent_id.as_deref().unwrap_or_default();
            self.tree.entry(&id, Some(parent).filter(|parent| *parent != "__root__"), None);
        }
    }

    fn read(&mut self, piece: &str, _array: usize, log: &mut Log<'_>) -> Result<(), String> {
        let Holder { history, instance_id } = parse(piece)?;
        let Some(history) = history else {
            let session = instance_id.unwrap_or_else(|| log.name().to_owned());
            let tree = &mut self.tree;
            let branch = self.branch.get_or_insert_with(|| std::mem::take(tree).last_branch());
            // V0 numbers its events, and has no branches.
            let entry = parse::<Entry<'_>>(piece).ok().filter(|entry| entry.kind.is_some());
            let given_up = entry.is_some_and(|entry| entry.id.is_some_and(|id| !branch.has(&id)));
            return if given_up { Ok(()) } else { self.event(piece, log.session(&session)) };
        };
        self.response = None;
        let session = log.begin(instance_id);
        log.session(&session);
        for json in history {
            // Older ones have an action and its observation in a list.
            for json in array::<&RawValue>(Some(json)).unwrap_or_else(|| vec![json]) {
                if let Err(reason) = self.event(json.get(), log.session(&session)) {
                    log.skip(json.get(), format!("event: {reason}"));
                }
            }
        }
        log.session(&session).end();
        Ok(())
    }
}

impl OpenHands {
    fn event(&mut self, json: &str, agent: &mut AgentLog) -> Result<(), String> {
        let event: Event<'_> = parse(json)?;
        match event.kind.as_deref() {
            Some(kind) => self.v1(kind, &event, agent),
            None => self.v0(&event, agent),
        }
        Ok(())
    }

    fn v1(&mut self, kind: &str, event: &Event<'_>, agent: &mut AgentLog) {
        let Some(id) = event.tool_call_id.clone() else {
            match (kind, event.source.as_deref()) {
                ("MessageEvent", Some("user")) => agent.prompt(),
                ("MessageEvent", Some("agent")) => self.step(event.llm_response_id.as_deref(), agent),
                _ => {}
            }
            return;
        };
        match kind {
            "ActionEvent" => {
                self.step(event.llm_response_id.as_deref(), agent);
                // What could not be made an action was not executed.
                if event.action.is_some_and(|action| action.get() != "null") {
                    let call = event.tool_call.as_ref();
                    let function = call.and_then(|call| call.function.as_ref());
                    let text = call.and_then(|call| call.arguments).or_else(|| function?.arguments);
                    agent.call(id, event.tool_name.clone().unwrap_or_default(), arguments(text.or(event.action)));
                }
            }
            "ObservationEvent" => {
                let observation = event.observation.and_then(|json| parse::<Observation<'_>>(json.get()).ok());
                let (failed, text) = match observation {
                    Some(seen) => (seen.is_error || seen.error, content(seen.content.or(seen.output))),
                    None => (false, content(event.observation)),
                };
                agent.result(id, result(failed, text));
            }
            "AgentErrorEvent" => agent.result(id, result(true, content(event.error))),
            "UserRejectObservation" => {
                agent.result(id, CallResult { status: Status::Denied, content: content(event.rejection_reason) });
            }
            _ => {}
        }
    }

    fn v0(&mut self, event: &Event<'_>, agent: &mut AgentLog) {
        let metadata = event.tool_call_metadata.as_ref();
        let call_id = metadata.and_then(|metadata| metadata.tool_call_id.clone());
        if let Some(observation) = event.observation.map(|kind| content(Some(kind))) {
            let Some(id) = call_id.or_else(|| event.cause.map(|cause| content(Some(cause)))) else { return };
            let exit = event
                .extras
                .as_ref()
                .and_then(|extras| extras.exit_code.or_else(|| extras.metadata.as_ref()?.exit_code));
            let status = match &*observation {
                "user_rejected" => Status::Denied,
                "error" => Status::Failed,
                _ if exit.is_some_and(|code| code > 0) || event.success == Some(false) => Status::Failed,
                _ => Status::Succeeded,
            };
            agent.result(id, CallResult { status, content: content(event.content) });
            return;
        }
        let Some(action) = event.action.map(|action| content(Some(action))) else { return };
        match (event.source.as_deref(), &*action) {
            (Some("user"), "message") => agent.prompt(),
            (
                Some("agent"),
                "system"
                | "change_agent_state"
                | "recall"
                | "null"
                | "condensation"
                | "condensation_request"
                | "pause"
                | "resume"
                | "stop",
            ) => {}
            (Some("agent"), action) => {
                let response = metadata.and_then(|metadata| metadata.model_response.as_ref());
                self.step(response.and_then(|response| response.id.as_deref()), agent);
                if action == "message" {
                    return;
                }
                let Some(id) = call_id.or_else(|| event.id.map(|id| content(Some(id)))) else { return };
                // As the model wrote them, if that is there.
                let calls = response.into_iter().flat_map(|response| &response.choices);
                let mut calls = calls.filter_map(|choice| choice.message.as_ref()?.tool_calls.as_ref()).flatten();
                let written =
                    calls.find(|call| call.id.as_deref() == Some(&id)).and_then(|call| call.function.as_ref());
                let text = written.and_then(|function| function.arguments).or(event.args);
                let tool = metadata.and_then(|metadata| metadata.function_name.clone());
                agent.call(id, tool.unwrap_or_else(|| action.to_owned()), arguments(text));
            }
            _ => {}
        }
    }

    /// A step begins, unless it is of the same model response as the last one.
    fn step(&mut self, response: Option<&str>, agent: &mut AgentLog) {
        if response.is_none() || self.response.as_deref() != response {
            self.response = response.map(str::to_owned);
            agent.next_step();
        }
    }
}
