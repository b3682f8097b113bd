//! SWE-agent: `.traj`.

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::format::{Format, Probe, Reader, as_it_is};
use crate::log::{AgentLog, Log};
use crate::text::{command, content, parse, result};

pub const FORMAT: Format = Format {
    name: "swe-agent",
    title: "SWE-agent: .traj",
    signs: "an object with a trajectory of steps that have an action and an observation",
    recognises,
    identify: None,
    repeats_calls: false,
    steady: as_it_is,
    reader: || Box::new(SweAgent),
};

fn recognises(object: &Probe<'_>) -> bool {
    let has_steps =
        |object: &Probe<'_>| object.objects("trajectory").iter().any(|step| step.has(&["action", "observation"]));
    has_steps(object) || object.objects("attempts").iter().any(has_steps)
}

struct SweAgent;

#[derive(Deserialize)]
struct Trajectory<'a> {
    #[serde(borrow)]
    trajectory: Option<Vec<&'a RawValue>>,
    /// While an agent tries several times, its attempts alone; the best one becomes the trajectory in the end.
    #[serde(borrow)]
    attempts: Option<Vec<Attempt<'a>>>,
    instance_id: Option<String>,
}

#[derive(Deserialize)]
struct Attempt<'a> {
    #[serde(borrow, default)]
    trajectory: Vec<&'a RawValue>,
}

#[derive(Deserialize)]
struct Step<'a> {
    action: Option<String>,
    #[serde(borrow)]
    observation: Option<&'a RawValue>,
    execution_time: Option<f64>,
    #[serde(borrow)]
    state: Option<&'a RawValue>,
}

impl Step<'_> {
    /// Whether the action was found to be blocked, or no valid shell code, before it ran: it has then taken no time, and left no state.
    fn was_stopped(&self) -> bool {
        let is = |json: Option<&RawValue>, text: &str| json.is_some_and(|json| json.get() == text);
        self.execution_time == Some(0.0) && is(self.state, "{}") && is(self.observation, "\"\"")
    }
}

impl Reader for SweAgent {
    fn read(&mut self, piece: &str, _array: usize, log: &mut Log<'_>) -> Result<(), String> {
        let Trajectory { trajectory, mut attempts, instance_id } = parse(piece)?;
        let last_attempt = || attempts.as_mut()?.pop().map(|attempt| attempt.trajectory);
        let trajectory = trajectory.or_else(last_attempt).unwrap_or_default();
        let session = log.begin(instance_id);
        // The problem statement is the one thing that a person says.
        log.session(&session).prompt();
        log.each("step", trajectory, |json, log| step(json, log.session(&session)));
        log.session(&session).end();
        Ok(())
    }
}

fn step(json: &str, agent: &mut AgentLog) -> Result<(), String> {
    let step: Step<'_> = parse(json)?;
    agent.next_step();
    // What the model wrote without a command that could be found in it has no action.
    let action = step.action.as_deref().map(str::trim_end).filter(|action| !action.is_empty() && !step.was_stopped());
    if let Some(action) = action {
        let observation = step.observation;
        agent.call_or_number(None, "bash", command(action));
        if observation.is_some_and(|observation| observation.get() != "null") {
            agent.result_or_next(None, result(false, content(observation)));
        }
    }
    Ok(())
}
