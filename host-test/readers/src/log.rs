//! What readers write into: it makes the events of each agent from what a file says, piece by piece.

use std::collections::{HashMap, VecDeque};
use std::hash::{BuildHasher, RandomState};

use serde_json::value::RawValue;

use crate::lineage::{Inherited, Prefix};
use crate::ordering::OpenStep;
use crate::{Agent, Call, CallResult, Event, Sink, Skipped};

/// The log of one input.
pub struct Log<'a> {
    sink: &'a mut dyn Sink,
    inherited: &'a Inherited,
    agents: Vec<AgentLog>,
    places: HashMap<Agent, usize>,
    /// The agent that was written to last, which mostly is the next one as well.
    last: usize,
    /// The agents that have been written to since the last flush.
    touched: Vec<usize>,
    /// The name of the input, for sessions without an id.
    name: &'a str,
    /// Whether the format may write a call twice, so that a call id that was seen before is no new call.
    repeats_calls: bool,
    /// How often a session of this name began.
    begun: HashMap<String, usize>,
    bad: Vec<Bad>,
}

/// A part of a piece that could not be read.
pub struct Bad {
    /// Where in memory the part begins.
    pub address: usize,
    /// What is wrong with it.
    pub reason: String,
}

impl<'a> Log<'a> {
    pub fn new(name: &'a str, repeats_calls: bool, inherited: &'a Inherited, sink: &'a mut dyn Sink) -> Self {
        let (agents, places, touched, bad) = (Vec::new(), HashMap::new(), Vec::new(), Vec::new());
        let begun = HashMap::new();
        Self { sink, inherited, agents, places, last: 0, touched, name, repeats_calls, begun, bad }
    }

    /// The name of the input.
    pub fn name(&self) -> &'a str {
        self.name
    }

    /// A name for a session that begins. One that another session of the input has as well is numbered: data sets hold many attempts at
    /// one task.
    pub fn begin(&mut self, session: Option<String>) -> String {
        let session = session.filter(|session| !session.is_empty()).unwrap_or_else(|| self.name.to_owned());
        let number = self.begun.entry(session.clone()).or_default();
        *number += 1;
        if *number == 1 { session } else { format!("{session}#{number}") }
    }

    /// The log of the one agent of a session.
    pub fn session(&mut self, session: &str) -> &mut AgentLog {
        self.agent(session, session)
    }

    /// The log of an agent.
    #[allow(clippy::indexing_slicing, reason = "places are those of agents, none of which is ever removed")]
    pub fn agent(&mut self, session: &str, id: &str) -> &mut AgentLog {
        let is_last = |log: &AgentLog| log.agent.id == id && log.agent.session == session;
        if !self.agents.get(self.last).is_some_and(is_last) {
            let agent = Agent { session: session.to_owned(), id: id.to_owned() };
            self.last = match self.places.get(&agent) {
                Some(place) => *place,
                None => {
                    self.sink.agent(&agent);
                    self.agents.push(AgentLog::new(agent.clone(), self.repeats_calls, self.inherited.prefix()));
                    self.places.insert(agent, self.agents.len() - 1);
                    self.agents.len() - 1
                }
            };
        }
        if self.touched.last() != Some(&self.last) {
            self.touched.push(self.last);
        }
        &mut self.agents[self.last]
    }

    /// A part of the piece could not be read.
    pub fn skip(&mut self, part: &str, reason: impl Into<String>) {
        self.bad.push(Bad { address: part.as_ptr() as usize, reason: reason.into() });
    }

    /// Reads parts of the piece. Those that cannot be read are left out.
    pub fn each<'p>(
        &mut self,
        what: &str,
        parts: impl IntoIterator<Item = &'p RawValue>,
        mut read: impl FnMut(&'p str, &mut Self) -> Result<(), String>,
    ) {
        for part in parts {
            if let Err(reason) = read(part.get(), self) {
                self.skip(part.get(), format!("{what}: {reason}"));
            }
        }
    }

    /// What could not be read of the last piece.
    pub fn take_bad(&mut self) -> Vec<Bad> {
        for place in &self.touched {
            let too_large = self.agents.get_mut(*place).map(|agent| std::mem::take(&mut agent.too_large));
            self.bad.extend(too_large.unwrap_or_default().into_iter().map(|reason| Bad { address: 0, reason }));
        }
        std::mem::take(&mut self.bad)
    }

    /// Reports what could not be read.
    pub fn report(&mut self, skipped: Skipped) {
        self.sink.skipped(skipped);
    }

    /// Tells the sink what has become certain.
    pub fn flush(&mut self) {
        for place in self.touched.drain(..) {
            if let Some(log) = self.agents.get_mut(place) {
                log.ready.drain(..).for_each(|event| self.sink.event(&log.agent, event));
            }
        }
    }

    /// Whether an agent has appeared.
    pub fn has_agents(&self) -> bool {
        !self.agents.is_empty()
    }

    /// The input is at its end.
    pub fn end(&mut self) {
        self.touched = (0..self.agents.len()).collect();
        self.agents.iter_mut().for_each(AgentLog::close_step);
        self.flush();
    }
}

/// What a guard takes of one text at the most, unless its host allows more.
const MOST_BYTES: usize = 32 << 20;

/// The log of one agent.
pub struct AgentLog {
    agent: Agent,
    repeats_calls: bool,
    /// What is wrong with calls that no guard takes.
    too_large: Vec<String>,
    step: Option<Step>,
    /// The numbers of the step that was begun last; 0 for none.
    turn: u32,
    number: u32,
    /// Whether steps have been begun since the last turn ended.
    turn_open: bool,
    /// A person's message has been read, and the step that it enters with has not begun.
    prompted: bool,
    /// The calls that have been read, by the hashes of their ids.
    calls: HashMap<u64, State>,
    hasher: RandomState,
    /// The calls of the step that had no ids, and have no outcomes yet.
    numbered: VecDeque<String>,
    prefix: Option<Prefix>,
    ready: Vec<Event>,
}

struct Step {
    /// Turn and step; none for what stands outside of any step: late calls and results of the last one.
    numbers: Option<(u32, u32)>,
    prompted: bool,
    happened: OpenStep,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Running,
    Answered,
    /// The file says that it was never dispatched.
    NotDispatched,
}

impl AgentLog {
    fn new(agent: Agent, repeats_calls: bool, prefix: Option<Prefix>) -> Self {
        Self {
            agent,
            repeats_calls,
            too_large: Vec::new(),
            step: None,
            turn: 0,
            number: 0,
            turn_open: false,
            prompted: false,
            calls: HashMap::new(),
            hasher: RandomState::new(),
            numbered: VecDeque::new(),
            prefix,
            ready: Vec::new(),
        }
    }

    /// The turn and the step that were begun last; zeros where none was.
    pub fn numbers(&self) -> (u32, u32) {
        (self.turn, self.number)
    }

    /// A person's message: it enters with the next step.
    pub fn prompt(&mut self) {
        self.prompted = true;
    }

    /// A person's message: it enters with the step that has just begun, or else with the next one.
    pub fn prompt_after_start(&mut self) {
        match &mut self.step {
            Some(step) if step.numbers.is_some() && !step.happened.has_calls() => step.prompted = true,
            _ => self.prompted = true,
        }
    }

    /// A person's message that stands after the step that it entered with. If the file does not number steps, that one begins a turn.
    pub fn late_prompt(&mut self) {
        if let Some(Step { numbers: Some(numbers), prompted, .. }) = &mut self.step
            && !std::mem::replace(prompted, true)
            && *numbers != (1, 1)
        {
            *numbers = (numbers.0.saturating_add(1), 1);
            (self.turn, self.number) = *numbers;
        }
    }

    /// A step begins; a prompt makes it the first of a turn.
    pub fn next_step(&mut self) {
        if self.prompted || self.turn == 0 {
            self.start_step(self.turn.saturating_add(1), 1);
        } else {
            self.start_step(self.turn, self.number.saturating_add(1));
        }
    }

    /// A step that the file numbers begins.
    pub fn start_step(&mut self, turn: u32, step: u32) {
        self.close_step();
        self.numbered.clear();
        (self.turn, self.number, self.turn_open) = (turn, step, true);
        let prompted = std::mem::take(&mut self.prompted);
        self.step = Some(Step { numbers: Some((turn, step)), prompted, happened: OpenStep::default() });
    }

    /// A call. One that has been read before is left out, where the format may write a call twice or it has no outcome yet.
    pub fn call(&mut self, id: impl Into<String>, tool: impl Into<String>, arguments: impl Into<String>) {
        self.nested_call(id, tool, arguments, None);
    }

    /// A call; `parent` is the id of the call that it was made inside of.
    pub fn nested_call(
        &mut self,
        id: impl Into<String>,
        tool: impl Into<String>,
        arguments: impl Into<String>,
        parent: Option<String>,
    ) {
        let (id, tool, arguments) = (id.into(), tool.into(), arguments.into());
        match self.calls.get(&self.key(&id)) {
            // Ids of some models recur.
            Some(State::Answered) if !self.repeats_calls => {}
            Some(_) => return,
            None => {}
        }
        if id.len().max(tool.len()).max(arguments.len()) > MOST_BYTES {
            self.too_large.push(format!("a call with more than {MOST_BYTES} bytes, which is more than a guard takes"));
            return;
        }
        let in_vain = |parent: &String| self.calls.get(&self.key(parent)) == Some(&State::NotDispatched);
        if parent.as_ref().is_some_and(in_vain) {
            return self.not_dispatched(&id);
        }
        self.calls.insert(self.key(&id), State::Running);
        let call = Call { id, tool, arguments };
        self.happened().call(call, parent);
    }

    /// A call that may have no id: such a call has its number among all calls of the agent, from 1.
    pub fn call_or_number(&mut self, id: Option<String>, tool: impl Into<String>, arguments: impl Into<String>) {
        let id = id.filter(|id| !id.is_empty()).unwrap_or_else(|| {
            let number = (self.calls.len() + 1).to_string();
            self.numbered.push_back(number.clone());
            number
        });
        self.call(id, tool, arguments);
    }

    /// The outcome of a call that may have no id: that of the first one of the step without an id and an outcome.
    pub fn result_or_next(&mut self, id: Option<String>, result: CallResult) {
        if let Some(id) = id.filter(|id| !id.is_empty()).or_else(|| self.numbered.pop_front()) {
            self.result(id, result);
        }
    }

    /// A call that will turn out never to have been dispatched.
    pub fn not_dispatched(&mut self, id: &str) {
        self.calls.insert(self.key(id), State::NotDispatched);
    }

    /// The outcome of a call. A second one is left out, and so is that of an unknown call.
    pub fn result(&mut self, id: impl Into<String>, result: CallResult) {
        let id = id.into();
        let key = self.key(&id);
        if let Some(state @ State::Running) = self.calls.get_mut(&key) {
            *state = State::Answered;
            self.happened().result(id, result);
        }
    }

    /// The step has ended.
    pub fn close_step(&mut self) {
        let Some(Step { numbers, prompted, happened }) = self.step.take() else { return };
        if let Some((turn, step)) = numbers {
            self.tell(Event::Step { turn, step, prompted });
        }
        for event in happened.into_events() {
            self.tell(event);
        }
    }

    /// Nothing more comes of this agent: what was kept of it is given up.
    pub fn end(&mut self) {
        self.close_step();
        self.calls = HashMap::new();
    }

    /// The turn has ended, if one was begun.
    pub fn end_turn(&mut self) {
        if std::mem::take(&mut self.turn_open) {
            self.end_numbered_turn(self.turn);
        }
    }

    /// The turn with this number has ended.
    pub fn end_numbered_turn(&mut self, turn: u32) {
        self.close_step();
        self.tell(Event::TurnEnded { turn });
    }

    fn tell(&mut self, event: Event) {
        match &mut self.prefix {
            Some(prefix) => self.ready.extend(prefix.own(event)),
            None => self.ready.push(event),
        }
    }

    /// Where calls and results go.
    fn happened(&mut self) -> &mut OpenStep {
        let outside = || Step { numbers: None, prompted: false, happened: OpenStep::default() };
        &mut self.step.get_or_insert_with(outside).happened
    }

    fn key(&self, id: &str) -> u64 {
        self.hasher.hash_one(id)
    }
}
