//! Trae Agent: the trajectory of a task.

use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::value::RawValue;

use crate::format::{Format, Probe, Reader, as_it_is};
use crate::log::{AgentLog, Log};
use crate::text::{arguments, content, parse, result};

pub const FORMAT: Format = Format {
    name: "trae",
    title: "Trae Agent: trajectory_*.json",
    signs: "an object with agent_steps",
    recognises: |object: &Probe<'_>| object.is_array("agent_steps"),
    identify: None,
    repeats_calls: false,
    steady: as_it_is,
    reader: || Box::new(Trae),
};

struct Trae;

#[derive(Deserialize)]
struct Trajectory<'a> {
    #[serde(borrow)]
    agent_steps: Vec<&'a RawValue>,
}

#[derive(Deserialize)]
struct Step<'a> {
    step_number: u32,
    llm_response: Option<IgnoredAny>,
    #[serde(borrow)]
    tool_calls: Option<Vec<ToolCall<'a>>>,
    #[serde(borrow)]
    tool_results: Option<Vec<ToolResult<'a>>>,
}

#[derive(Deserialize)]
struct ToolCall<'a> {
    call_id: Option<String>,
    name: String,
    #[serde(borrow)]
    arguments: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct ToolResult<'a> {
    call_id: Option<String>,
    success: Option<bool>,
    #[serde(borrow)]
    result: Option<&'a RawValue>,
    #[serde(borrow)]
    error: Option<&'a RawValue>,
}

impl Reader for Trae {
    fn read(&mut self, piece: &str, _array: usize, log: &mut Log<'_>) -> Result<(), String> {
        let Trajectory { agent_steps } = parse(piece)?;
        let session = log.begin(None);
        // The task is the one thing that a person says.
        log.session(&session).prompt();
        log.each("step", agent_steps, |json, log| step(json, log.session(&session)));
        Ok(())
    }
}

fn step(json: &str, agent: &mut AgentLog) -> Result<(), String> {
    let step: Step<'_> = parse(json)?;
    if step.llm_response.is_none() && step.tool_calls.is_none() {
        // The request failed.
        return Ok(());
    }
    agent.start_step(1, step.step_number);
    for ToolCall { call_id, name, arguments: text } in step.tool_calls.unwrap_or_default() {
        agent.call_or_number(call_id, name, arguments(text));
    }
    for outcome in step.tool_results.unwrap_or_default() {
        let failed = outcome.success == Some(false);
        // The model is told both.
        let mut texts = vec![content(outcome.result), content(outcome.error)];
        texts.retain(|text| !text.is_empty());
        agent.result_or_next(outcome.call_id, result(failed, texts.join("\n")));
    }
    Ok(())
}
