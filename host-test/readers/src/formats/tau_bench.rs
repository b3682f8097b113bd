//! tau-bench and tau2-bench: results of many simulated conversations in one file.

use serde::Deserialize;
use serde_json::value::RawValue;

use super::chat::conversation;
use crate::format::{Format, Probe, Reader, as_it_is};
use crate::log::Log;
use crate::text::{content, parse};

pub const FORMAT: Format = Format {
    name: "tau-bench",
    title: "tau-bench and tau2-bench results",
    signs: "objects with task_id, trial and traj, or an object with simulations",
    recognises,
    identify: None,
    repeats_calls: false,
    steady: as_it_is,
    reader: || Box::new(TauBench),
};

fn recognises(object: &Probe<'_>) -> bool {
    object.has(&["task_id", "traj"])
        || object.has(&["task_id", "trial", "messages"])
        || object.objects("simulations").first().is_some_and(|simulation| simulation.has(&["task_id", "messages"]))
}

struct TauBench;

#[derive(Deserialize)]
struct Results<'a> {
    #[serde(borrow)]
    simulations: Option<Vec<&'a RawValue>>,
}

#[derive(Deserialize)]
struct Simulation<'a> {
    #[serde(borrow)]
    task_id: Option<&'a RawValue>,
    #[serde(borrow)]
    trial: Option<&'a RawValue>,
    #[serde(borrow, alias = "messages")]
    traj: Vec<&'a RawValue>,
}

impl Reader for TauBench {
    fn read(&mut self, piece: &str, _array: usize, log: &mut Log<'_>) -> Result<(), String> {
        let Results { simulations } = parse(piece)?;
        let Some(simulations) = simulations else { return simulation(piece, log) };
        log.each("simulation", simulations, simulation);
        Ok(())
    }
}

fn simulation(json: &str, log: &mut Log<'_>) -> Result<(), String> {
    let Simulation { task_id, trial, traj } = parse(json)?;
    let session = log.begin(Some(format!("task {} trial {}", content(task_id), content(trial))));
    conversation(&traj, &session, log);
    log.session(&session).end();
    Ok(())
}
