//! Replays a recording through a guard: what would it have done?
//!
//! The session goes on as it was recorded, whatever the guard says. Where it would have denied a call, the
//! guard is told that the call was denied, and the session diverges: from there on, the model would
//! have seen something else. An ask counts as approved.

use std::collections::{BTreeMap, HashMap};

use serde::Deserialize;
use thiserror::Error;

use crate::error::CallError;
use crate::guard::Guard;
use crate::recorded::{Agent, Call, CallResult, Event, Format, Inherited, ReadError, Recording, Sink, Skipped};
use crate::types::{Decision, Notice, Outcome, Status, StepStart, ToolCall};

/// Whoever watches a replay.
pub trait Watcher {
    /// An agent appears.
    fn agent(&mut self, _agent: &Agent) {}
    /// Something happened to an agent, in this step.
    fn moment(&mut self, agent: &Agent, place: Place, moment: &Moment<'_>);
    /// Something could not be read.
    fn skipped(&mut self, _skipped: &Skipped) {}
}

/// A step of an agent. Both numbers are 0 before the first.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Place {
    /// The number of the turn.
    pub turn: u32,
    /// The number of the step within its turn.
    pub step: u32,
}

/// Something that happened in a replay.
#[derive(Debug)]
pub enum Moment<'a> {
    /// A step began.
    Step {
        /// Whether a person's message entered with it.
        prompted: bool,
    },
    /// A call was about to run.
    Began {
        /// The call.
        call: &'a Call,
        /// Whether the guard would have let it run.
        decision: &'a Decision,
        /// How many times this very call has been made in a row, whatever the configuration.
        run: u32,
    },
    /// A call reached an outcome.
    Ended {
        /// The call.
        call: &'a Call,
        /// The step in which it began.
        began: Place,
        /// How it ended, as the guard was told.
        status: Status,
        /// What the guard would have told the model.
        notices: &'a [Notice],
        /// The streak that it belongs to; none for a call that the reminder does not track.
        streak: Option<Streak>,
    },
}

/// Equal calls of an agent, one after another, as the guard counts them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Streak {
    /// The count: 1 for the first.
    pub count: u32,
    /// Whether all of them had one and the same result, as it was recorded.
    pub same_results: bool,
    /// Whether the model would have been reminded before this call.
    pub reminded: bool,
}

/// The figures of an agent.
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
    /// Repetitions that brought the same result as all before them in their streak: the agent was stuck.
    pub stuck: usize,
    /// Repetitions in a streak whose results differ: the agent polled.
    pub polling: usize,
    /// Calls that continued a streak after its first notice: what a heeded reminder would have saved.
    pub after_notice: usize,
    /// The id of the first call that would have been denied.
    pub diverged: Option<String>,
}

/// What a replay showed.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Replay {
    /// The figures of each agent, in the order in which they appeared.
    pub agents: Vec<(Agent, Totals)>,
    /// How many pieces of the input could not be read.
    pub skipped: usize,
}

/// Why a recording was not replayed to its end.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ReplayError {
    /// It could not be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// The component failed.
    #[error("call {call}: {error}")]
    Component {
        /// The id of the call at which it failed, or of the last one before.
        call: String,
        /// How it failed.
        error: CallError,
    },
}

/// Replays a recording through a guard that has seen nothing yet. Calls that were [`Inherited`] are left out.
///
/// # Errors
///
/// If the input cannot be read, or the component fails. The watcher has seen what came before.
pub fn replay(
    recording: &Recording,
    inherited: &Inherited,
    guard: &Guard,
    watcher: &mut dyn Watcher,
) -> Result<Replay, ReplayError> {
    let format = recording.format();
    let mut stage = Stage {
        format,
        guard,
        watcher,
        players: Vec::new(),
        places: HashMap::new(),
        tracked: HashMap::new(),
        skipped: 0,
        failed: None,
    };
    recording.read(inherited, &mut stage)?;
    stage.close();
    let Stage { players, skipped, failed, .. } = stage;
    match failed {
        Some(error) => Err(error),
        None => {
            Ok(Replay { agents: players.into_iter().map(|player| (player.agent, player.totals)).collect(), skipped })
        }
    }
}

/// All agents of a recording before one guard.
struct Stage<'a> {
    format: &'static Format,
    guard: &'a Guard,
    watcher: &'a mut dyn Watcher,
    players: Vec<Player>,
    places: HashMap<Agent, usize>,
    /// Whether the reminder tracks a tool, as the component explained it.
    tracked: HashMap<String, bool>,
    skipped: usize,
    failed: Option<ReplayError>,
}

/// One of them.
struct Player {
    agent: Agent,
    /// Its name before the guard: ids of agents may recur in another session of the same file.
    name: String,
    place: Place,
    /// The calls whose result has not come, by their ids.
    running: BTreeMap<String, Running>,
    /// Those of them that the guard denied, in their order.
    denied: Vec<String>,
    /// The last call, the canonical form of its arguments if it had to be asked for, and how often it has been made in a row.
    last: Option<Call>,
    canonical: Option<String>,
    run: u32,
    streak: Streak,
    /// The result of the first call of the streak.
    first_result: Option<(Status, String)>,
    /// The call at hand, or the last one.
    call: String,
    totals: Totals,
}

struct Running {
    call: Call,
    decision: Decision,
    began: Place,
}

impl Sink for Stage<'_> {
    fn agent(&mut self, agent: &Agent) {
        self.places.insert(agent.clone(), self.players.len());
        self.players.push(Player::new(agent.clone()));
        self.watcher.agent(agent);
    }

    fn event(&mut self, agent: &Agent, event: Event) {
        if self.failed.is_some() {
            return;
        }
        let Some(player) = self.places.get(agent).and_then(|place| self.players.get_mut(*place)) else { return };
        let mut scene =
            Scene { format: self.format, guard: self.guard, watcher: &mut *self.watcher, tracked: &mut self.tracked };
        if let Err(error) = player.play(event, &mut scene) {
            self.failed = Some(ReplayError::Component { call: player.call.clone(), error });
        }
    }

    fn skipped(&mut self, skipped: Skipped) {
        self.skipped += 1;
        self.watcher.skipped(&skipped);
    }
}

impl Stage<'_> {
    fn close(&mut self) {
        for player in &mut self.players {
            let mut scene = Scene {
                format: self.format,
                guard: self.guard,
                watcher: &mut *self.watcher,
                tracked: &mut self.tracked,
            };
            if self.failed.is_none()
                && let Err(error) = player.deny_what_has_no_result(&mut scene)
            {
                self.failed = Some(ReplayError::Component { call: player.call.clone(), error });
            }
        }
    }
}

/// What a player plays before.
struct Scene<'a> {
    format: &'static Format,
    guard: &'a Guard,
    watcher: &'a mut dyn Watcher,
    tracked: &'a mut HashMap<String, bool>,
}

impl Scene<'_> {
    fn tracks(&mut self, tool: &str) -> Result<bool, CallError> {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Explanation {
            repeat_tool_reminder: Reminder,
        }
        #[derive(Deserialize)]
        struct Reminder {
            tracked: bool,
        }
        if let Some(tracked) = self.tracked.get(tool) {
            return Ok(*tracked);
        }
        // Another implementation of the contract may explain in other words; it is taken to track all.
        let explanation = serde_json::from_str::<Explanation>(&self.guard.explain(tool)?);
        let tracked = explanation.map_or(true, |explanation| explanation.repeat_tool_reminder.tracked);
        self.tracked.insert(tool.to_owned(), tracked);
        Ok(tracked)
    }
}

impl Player {
    fn new(agent: Agent) -> Self {
        let Agent { session, id } = &agent;
        Self {
            name: if session == id { id.clone() } else { format!("{session}/{id}") },
            agent,
            place: Place::default(),
            running: BTreeMap::new(),
            denied: Vec::new(),
            last: None,
            canonical: None,
            run: 0,
            streak: Streak { count: 0, same_results: true, reminded: false },
            first_result: None,
            call: String::new(),
            totals: Totals::default(),
        }
    }

    fn play(&mut self, event: Event, scene: &mut Scene<'_>) -> Result<(), CallError> {
        match event {
            Event::Step { turn, step, prompted } => {
                self.deny_what_has_no_result(scene)?;
                self.place = Place { turn, step };
                scene.guard.step(&StepStart { agent: &self.name, turn, step, prompted })?;
                scene.watcher.moment(&self.agent, self.place, &Moment::Step { prompted });
            }
            Event::Pre(call) => self.begin(call, scene)?,
            Event::Post { id, result } => self.end(&id, &result, scene)?,
            Event::TurnEnded { turn } => {
                self.deny_what_has_no_result(scene)?;
                scene.guard.turn_ended(&self.name, turn)?;
            }
        }
        Ok(())
    }

    fn begin(&mut self, call: Call, scene: &mut Scene<'_>) -> Result<(), CallError> {
        self.call.clone_from(&call.id);
        self.run = if self.repeats(&call, scene.guard)? { self.run + 1 } else { 1 };
        let decision = scene.guard.pre_execute(&tool_call(&self.name, &call))?;
        self.totals.calls += 1;
        self.totals.longest_run = self.totals.longest_run.max(self.run);
        match &decision {
            Decision::Allow => {}
            Decision::Ask(_) => self.totals.asked += 1,
            Decision::Deny(_) => {
                self.totals.denied += 1;
                self.totals.diverged.get_or_insert_with(|| call.id.clone());
                self.denied.push(call.id.clone());
            }
        }
        let began = Moment::Began { call: &call, decision: &decision, run: self.run };
        scene.watcher.moment(&self.agent, self.place, &began);
        self.last = Some(call.clone());
        self.running.insert(call.id.clone(), Running { call, decision, began: self.place });
        Ok(())
    }

    /// Whether a call equals the last one. The component is asked only where the texts do not tell.
    fn repeats(&mut self, call: &Call, guard: &Guard) -> Result<bool, CallError> {
        let canonical = self.canonical.take();
        let Some(last) = self.last.as_ref().filter(|last| last.tool == call.tool) else { return Ok(false) };
        if last.arguments == call.arguments {
            self.canonical = canonical;
            return Ok(true);
        }
        let before = match canonical {
            Some(canonical) => canonical,
            None => guard.canonical(&last.arguments)?,
        };
        Ok(*self.canonical.insert(guard.canonical(&call.arguments)?) == before)
    }

    fn end(&mut self, id: &str, result: &CallResult, scene: &mut Scene<'_>) -> Result<(), CallError> {
        let Some(Running { call, decision, began }) = self.running.remove(id) else { return Ok(()) };
        self.call.clone_from(&call.id);
        let outcome = match &decision {
            Decision::Deny(reason) => Outcome { status: Status::Denied, content: Some(reason) },
            Decision::Allow | Decision::Ask(_) => Outcome { status: result.status, content: Some(&result.content) },
        };
        let notices = scene.guard.post_execute(&tool_call(&self.name, &call), &outcome)?;
        let streak = if scene.tracks(&call.tool)? { Some(self.count(result, scene)?) } else { None };
        self.totals.notices += notices.len();
        let status = outcome.status;
        let ended = Moment::Ended { call: &call, began, status, notices: &notices, streak };
        scene.watcher.moment(&self.agent, self.place, &ended);
        self.streak.reminded |= streak.is_some() && !notices.is_empty();
        Ok(())
    }

    /// Follows the streak that a tracked call began or continued.
    fn count(&mut self, CallResult { status, content }: &CallResult, scene: &Scene<'_>) -> Result<Streak, CallError> {
        let count = scene.guard.count(&self.name)?;
        let result = (*status, scene.format.steady(content));
        if count <= 1 {
            self.streak = Streak { count, same_results: true, reminded: false };
            self.first_result = Some((result.0, result.1.into_owned()));
        } else {
            self.streak.count = count;
            let first = self.first_result.as_ref().map(|(status, content)| (*status, &**content));
            self.streak.same_results &= first == Some((result.0, &*result.1));
            self.totals.after_notice += usize::from(self.streak.reminded);
            *if self.streak.same_results { &mut self.totals.stuck } else { &mut self.totals.polling } += 1;
        }
        Ok(self.streak)
    }

    /// A call that the guard denies has an outcome, even where the log has none.
    fn deny_what_has_no_result(&mut self, scene: &mut Scene<'_>) -> Result<(), CallError> {
        let none = CallResult { status: Status::Denied, content: String::new() };
        for id in std::mem::take(&mut self.denied) {
            self.end(&id, &none, scene)?;
        }
        Ok(())
    }
}

fn tool_call<'a>(agent: &'a str, call: &'a Call) -> ToolCall<'a> {
    ToolCall { agent: Some(agent), id: &call.id, name: &call.tool, arguments: &call.arguments }
}
