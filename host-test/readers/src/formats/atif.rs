//! ATIF, the Agent Trajectory Interchange Format of Harbor and Terminal-Bench.

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::format::{Format, Probe, Reader, as_it_is};
use crate::log::{AgentLog, Log};
use crate::text::{arguments, content, parse, result};

pub const FORMAT: Format = Format {
    name: "atif",
    title: "Agent Trajectory Interchange Format (Harbor, Terminal-Bench)",
    signs: "an object with steps and a schema_version ATIF-…",
    recognises,
    identify: None,
    repeats_calls: false,
    steady: as_it_is,
    reader: || Box::new(Atif),
};

fn recognises(object: &Probe<'_>) -> bool {
    object.is_array("steps") && object.text("schema_version").is_some_and(|version| version.starts_with("ATIF"))
}

struct Atif;

#[derive(Deserialize)]
struct Trajectory<'a> {
    session_id: Option<String>,
    trajectory_id: Option<String>,
    #[serde(borrow)]
    steps: Vec<&'a RawValue>,
    #[serde(borrow)]
    subagent_trajectories: Option<Vec<&'a RawValue>>,
}

#[derive(Deserialize)]
struct Step<'a> {
    step_id: u32,
    source: String,
    #[serde(borrow)]
    message: Option<&'a RawValue>,
    #[serde(borrow)]
    tool_calls: Option<Vec<ToolCall<'a>>>,
    #[serde(borrow)]
    observation: Option<Observation<'a>>,
    /// Whether it stands there again, from the trajectory that this one continues.
    #[serde(default)]
    is_copied_context: bool,
}

#[derive(Deserialize)]
struct ToolCall<'a> {
    tool_call_id: String,
    function_name: String,
    #[serde(borrow)]
    arguments: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Observation<'a> {
    #[serde(borrow)]
    results: Option<Vec<ObservationResult<'a>>>,
}

#[derive(Deserialize)]
struct ObservationResult<'a> {
    source_call_id: Option<String>,
    #[serde(borrow)]
    content: Option<&'a RawValue>,
}

impl Reader for Atif {
    fn read(&mut self, piece: &str, _array: usize, log: &mut Log<'_>) -> Result<(), String> {
        trajectory(piece, None, log)
    }
}

/// Reads a trajectory; one inside of another is that of a subagent, in the same session unless it has one of its own.
fn trajectory(json: &str, parent: Option<&str>, log: &mut Log<'_>) -> Result<(), String> {
    let Trajectory { session_id, trajectory_id, steps, subagent_trajectories } = parse(json)?;
    let own = session_id.filter(|session| Some(session.as_str()) != parent);
    let id = parent.filter(|_| own.is_none()).and(trajectory_id);
    let session = match parent {
        Some(parent) => own.unwrap_or_else(|| parent.to_owned()),
        None => log.begin(own),
    };
    let id = id.unwrap_or_else(|| session.clone());
    log.agent(&session, &id);
    log.each("step", steps, |json, log| step(json, log.agent(&session, &id)));
    log.agent(&session, &id).end();
    log.each("subagent_trajectories", subagent_trajectories.unwrap_or_default(), |json, log| {
        trajectory(json, Some(&session), log)
    });
    Ok(())
}

fn step(json: &str, agent: &mut AgentLog) -> Result<(), String> {
    let Step { step_id, source, message, tool_calls, observation, is_copied_context } = parse(json)?;
    match &*source {
        _ if is_copied_context => {}
        "user" if !content(message).is_empty() => agent.prompt(),
        "agent" => {
            agent.start_step(1, step_id);
            let calls = tool_calls.unwrap_or_default();
            let only = calls.first().filter(|_| calls.len() == 1).map(|call| call.tool_call_id.clone());
            for ToolCall { tool_call_id, function_name, arguments: text } in calls {
                agent.call(tool_call_id, function_name, arguments(text));
            }
            let results = observation.and_then(|observation| observation.results).unwrap_or_default();
            for ObservationResult { source_call_id, content: text } in results {
                if let Some(id) = source_call_id.or_else(|| only.clone()) {
                    agent.result(id, result(false, content(text)));
                }
            }
        }
        _ => {}
    }
    Ok(())
}
