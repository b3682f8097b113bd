//! SWE-agent: `.traj`.

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::recorded::format::{Format, Probe, Reader, tells_nothing};
use crate::recorded::log::{AgentLog, Log};
use crate::recorded::text::{command, content, parse, result};

pub const FORMAT: Format = Format {
    name: "swe-agent",
    title: "SWE-agent: .traj",
    signs: "an object with a trajectory of steps that have an action and an observation",
    recognises,
    identify: tells_nothing,
    reader: || Box::new(SweAgent),
};

fn recognises(object: &Probe<'_>) -> bool {
    object.objects("trajectory").iter().any(|step| step.has(&["action", "observation"]))
}

struct SweAgent;

#[derive(Deserialize)]
struct Trajectory<'a> {
    #[serde(borrow)]
    trajectory: Vec<&'a RawValue>,
    instance_id: Option<String>,
}

#[derive(Deserialize)]
struct Step<'a> {
    action: Option<String>,
    #[serde(borrow)]
    observation: Option<&'a RawValue>,
}

impl Reader for SweAgent {
    fn read(&mut self, piece: &str, _array: usize, log: &mut Log<'_>) -> Result<(), String> {
        let Trajectory { trajectory, instance_id } = parse(piece)?;
        let session = instance_id.unwrap_or_else(|| log.name().to_owned());
        // The problem statement is the one thing that a person says.
        log.session(&session).prompt();
        for json in trajectory {
            if let Err(reason) = step(json.get(), log.session(&session)) {
                log.skip(json.get(), format!("step: {reason}"));
            }
        }
        log.session(&session).end();
        Ok(())
    }
}

fn step(json: &str, agent: &mut AgentLog) -> Result<(), String> {
    let Step { action, observation } = parse(json)?;
    agent.next_step();
    // What the model wrote without a command that could be found in it has no action.
    if let Some(action) = action.as_deref().map(str::trim_end).filter(|action| !action.is_empty()) {
        agent.call_or_number(None, "bash", command(action));
        if observation.is_some_and(|observation| observation.get() != "null") {
            agent.result_or_next(None, result(false, content(observation)));
        }
    }
    Ok(())
}
