//! Replays a recorded session through a guard: what would it have done?
//!
//! The session goes on as it was recorded, whatever the guard says. Where it would have denied a call, the
//! guard is told that the call was denied, and the session diverges: from there on, the model would
//! have seen something else. An ask counts as approved.

use std::collections::BTreeMap;

use thiserror::Error;

use crate::error::CallError;
use crate::guard::Guard;
use crate::recorded::{Call, CallResult, Event, Recording};
use crate::types::{Decision, Notice, Outcome, Status, StepStart, ToolCall};

/// What a replay showed.
#[derive(Debug)]
pub struct Replay {
    /// What happened, prompt by prompt and call by call.
    pub moments: Vec<Moment>,
    /// The figures.
    pub totals: Totals,
}

/// A prompt, or a call.
#[derive(Debug)]
pub enum Moment {
    /// A person's message entered with a step.
    Prompt {
        /// The number of its turn.
        turn: u32,
        /// Its number within the turn.
        step: u32,
    },
    /// A call, at the place where it began.
    Call(ReplayedCall),
}

/// A call, and what the guard made of it.
#[derive(Debug)]
pub struct ReplayedCall {
    /// The turn it belongs to.
    pub turn: u32,
    /// The step it belongs to.
    pub step: u32,
    /// The call.
    pub call: Call,
    /// Whether the guard would have let it run.
    pub decision: Decision,
    /// How it ended, as the guard was told; none without a recorded result.
    pub status: Option<Status>,
    /// How many times this very call has been made in a row.
    pub run: u32,
    /// What the guard would have told the model.
    pub notices: Vec<Notice>,
}

/// The figures of a replay.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Totals {
    /// Calls that were dispatched.
    pub calls: usize,
    /// Notices that the guard would have given.
    pub notices: usize,
    /// Calls that it would have denied.
    pub denied: usize,
    /// Calls that it would have asked a person about.
    pub asked: usize,
    /// The longest run of consecutive equal calls, whatever the configuration.
    pub longest_run: u32,
    /// The id of the first call that would have been denied.
    pub diverged: Option<String>,
}

/// Why a session was not replayed.
#[derive(Debug, Error)]
#[error("call {call}: {error}")]
pub struct ReplayError {
    /// The id of the call at which the component failed, or of the last one before.
    pub call: String,
    /// How it failed.
    pub error: CallError,
}

/// Replays a recording through a guard that has seen nothing yet.
///
/// # Errors
///
/// If the component fails.
pub fn replay(recording: &Recording, guard: &Guard) -> Result<Replay, ReplayError> {
    let mut player = Player::new(guard, &recording.agent);
    let mut call = "";
    for event in &recording.events {
        if let Event::Pre(Call { id, .. }) | Event::Post { id, .. } = event {
            call = id;
        }
        player.play(event).map_err(|error| ReplayError { call: call.to_owned(), error })?;
    }
    player.deny_what_has_no_result().map_err(|error| ReplayError { call: call.to_owned(), error })?;
    Ok(Replay { moments: player.moments, totals: player.totals })
}

struct Player<'a> {
    guard: &'a Guard,
    agent: &'a str,
    turn: u32,
    step: u32,
    /// Where in `moments` the calls stand whose result has not come, by their id.
    running: BTreeMap<String, usize>,
    /// Those of them that the guard denied, in their order.
    denied: Vec<String>,
    /// The tool and the canonical arguments of the last call, and how often it has been made in a row.
    last: Option<(String, String)>,
    run: u32,
    moments: Vec<Moment>,
    totals: Totals,
}

impl<'a> Player<'a> {
    fn new(guard: &'a Guard, agent: &'a str) -> Self {
        Self {
            guard,
            agent,
            turn: 0,
            step: 0,
            running: BTreeMap::new(),
            denied: Vec::new(),
            last: None,
            run: 0,
            moments: Vec::new(),
            totals: Totals::default(),
        }
    }

    fn play(&mut self, event: &Event) -> Result<(), CallError> {
        match event {
            Event::Step { turn, step, prompted } => {
                let (turn, step, prompted) = (*turn, *step, *prompted);
                self.deny_what_has_no_result()?;
                (self.turn, self.step) = (turn, step);
                self.guard.step(&StepStart { agent: self.agent, turn, step, prompted })?;
                if prompted {
                    self.moments.push(Moment::Prompt { turn, step });
                }
            }
            Event::Pre(call) => self.begin(call)?,
            Event::Post { id, result } => self.end(id, result)?,
            Event::TurnEnded { turn } => {
                self.deny_what_has_no_result()?;
                self.guard.turn_ended(self.agent, *turn)?;
            }
        }
        Ok(())
    }

    fn begin(&mut self, call: &Call) -> Result<(), CallError> {
        let key = Some((call.tool.clone(), self.guard.canonical(&call.arguments)?));
        self.run = if self.last == key { self.run + 1 } else { 1 };
        self.last = key;
        self.totals.longest_run = self.totals.longest_run.max(self.run);
        let decision = self.guard.pre_execute(&tool_call(self.agent, call))?;
        match &decision {
            Decision::Allow => {}
            Decision::Ask(_) => self.totals.asked += 1,
            Decision::Deny(_) => {
                self.totals.denied += 1;
                self.totals.diverged.get_or_insert_with(|| call.id.clone());
                self.denied.push(call.id.clone());
            }
        }
        let replayed = ReplayedCall {
            turn: self.turn,
            step: self.step,
            call: call.clone(),
            decision,
            status: None,
            run: self.run,
            notices: Vec::new(),
        };
        self.running.insert(call.id.clone(), self.moments.len());
        self.moments.push(Moment::Call(replayed));
        self.totals.calls += 1;
        Ok(())
    }

    fn end(&mut self, id: &str, result: &CallResult) -> Result<(), CallError> {
        let Some(place) = self.running.remove(id) else { return Ok(()) };
        let Some(Moment::Call(ended)) = self.moments.get_mut(place) else { return Ok(()) };
        let outcome = match &ended.decision {
            Decision::Deny(reason) => Outcome { status: Status::Denied, content: Some(reason) },
            Decision::Allow | Decision::Ask(_) => Outcome { status: result.status, content: Some(&result.content) },
        };
        ended.notices = self.guard.post_execute(&tool_call(self.agent, &ended.call), &outcome)?;
        ended.status = Some(outcome.status);
        self.totals.notices += ended.notices.len();
        Ok(())
    }

    /// A call that the guard denies has an outcome, even where the log has none.
    fn deny_what_has_no_result(&mut self) -> Result<(), CallError> {
        let none = CallResult { status: Status::Denied, content: String::new() };
        for id in std::mem::take(&mut self.denied) {
            self.end(&id, &none)?;
        }
        Ok(())
    }
}

fn tool_call<'a>(agent: &'a str, call: &'a Call) -> ToolCall<'a> {
    ToolCall { agent: Some(agent), id: &call.id, name: &call.tool, arguments: &call.arguments }
}
