//! The timeline of a session, call by call. Stretches where nothing happens are folded.

use std::collections::{HashMap, VecDeque};
use std::io::{self, Write};

use loop_guard::recorded::{Agent, Call, Recording};
use loop_guard::replay::{Moment, Place, Watcher};
use loop_guard::{Decision, Notice, Status};

use crate::cli::text::{BAD, FAINT, GOOD, GUARD, STRONG, count, one_line, styled};

/// How many quiet calls are shown before one at which the guard acts, and after it.
const BEFORE: usize = 2;
const AFTER: usize = 1;

/// Below the tool of a call.
const INDENT: &str = "          ";

/// Prints the timelines of a recording's agents.
pub struct Timeline<'a> {
    out: &'a mut dyn Write,
    /// The first line that could not be written.
    broken: io::Result<()>,
    /// Where the recording comes from.
    source: String,
    full: bool,
    agents: Vec<(Agent, Strip)>,
    places: HashMap<Agent, usize>,
    /// The agent that was written of last.
    last: Option<Agent>,
}

/// What is yet to be told of an agent.
#[derive(Default)]
struct Strip {
    /// Calls in their order, from the first that has no outcome yet.
    open: VecDeque<Shown>,
    /// Quiet ones that may become the context of what comes.
    quiet: VecDeque<Shown>,
    folded: Folded,
    /// How many quiet ones are still shown after what the guard did.
    after: usize,
}

/// What is left out of the timeline.
#[derive(Default)]
struct Folded {
    last: Option<Shown>,
    calls: usize,
    prompts: usize,
}

/// A line of the timeline, and those below it.
struct Shown {
    /// Empty for a person's message.
    id: String,
    line: String,
    mark: Option<Status>,
    below: Vec<String>,
    done: bool,
}

impl<'a> Timeline<'a> {
    pub fn new(recording: &Recording, full: bool, out: &'a mut dyn Write) -> Self {
        let source = format!("({}, {})", one_line(recording.input().name(), usize::MAX), recording.format().name);
        Self { out, broken: Ok(()), source, full, agents: Vec::new(), places: HashMap::new(), last: None }
    }

    /// Tells what is left.
    pub fn end(mut self) -> io::Result<()> {
        for (agent, mut strip) in std::mem::take(&mut self.agents) {
            strip.open.iter_mut().for_each(|shown| shown.done = true);
            let mut lines = strip.settle(self.full);
            lines.extend(strip.rest());
            self.print(&agent, &lines);
        }
        self.line("");
        self.broken
    }

    fn print(&mut self, agent: &Agent, lines: &[String]) {
        if lines.is_empty() {
            return;
        }
        if self.last.as_ref() != Some(agent) {
            let session = styled(STRONG, one_line(&agent.session, 60));
            let name = if agent.session == agent.id {
                format!("{} {session}", styled(STRONG, "session"))
            } else {
                format!("{} {} of {session}", styled(STRONG, "agent"), styled(STRONG, one_line(&agent.id, 60)))
            };
            let source = styled(FAINT, &self.source);
            self.line(&format!("{name} {source}"));
            self.last = Some(agent.clone());
        }
        lines.iter().for_each(|line| self.line(line));
    }

    fn line(&mut self, line: &str) {
        if self.broken.is_ok() {
            self.broken = writeln!(self.out, "{line}");
        }
    }
}

impl Watcher for Timeline<'_> {
    fn agent(&mut self, agent: &Agent) {
        self.places.insert(agent.clone(), self.agents.len());
        self.agents.push((agent.clone(), Strip::default()));
    }

    fn moment(&mut self, agent: &Agent, place: Place, moment: &Moment<'_>) {
        let place_of_agent = self.places.get(agent).copied().unwrap_or_default();
        let Some((_, strip)) = self.agents.get_mut(place_of_agent) else { return };
        match *moment {
            Moment::Step { prompted } => {
                strip.open.iter_mut().for_each(|shown| shown.done = true);
                if prompted {
                    strip.open.push_back(Shown::prompt(place));
                }
            }
            Moment::Began { call, decision, run } => strip.open.push_back(Shown::call(call, place, decision, run)),
            Moment::Ended { call, status, notices, .. } => strip.ended(call, status, notices),
        }
        let lines = strip.settle(self.full);
        self.print(agent, &lines);
    }
}

impl Strip {
    fn ended(&mut self, call: &Call, status: Status, notices: &[Notice]) {
        let below = notices.iter().flat_map(|Notice { summary, text, .. }| {
            let summary = styled(STRONG, one_line(summary, 200));
            let text = text.lines().map(|line| format!("{INDENT}  {}", styled(FAINT, one_line(line, 200))));
            std::iter::once(format!("{INDENT}{} {summary}", styled(GUARD, "reminds the model:"))).chain(text)
        });
        match self.open.iter_mut().find(|shown| shown.id == call.id) {
            Some(shown) => {
                (shown.mark, shown.done) = (Some(status), true);
                shown.below.extend(below);
            }
            // The call has been shown without it.
            None => {
                let line = format!("{INDENT}the late result of {}", one_line(&call.tool, 40));
                let below: Vec<_> = below.collect();
                if !below.is_empty() {
                    self.open.push_back(Shown { id: String::new(), line, mark: None, below, done: true });
                }
            }
        }
    }

    /// The lines that can be told: those of calls with an outcome, in the order in which they began.
    fn settle(&mut self, full: bool) -> Vec<String> {
        let mut lines = Vec::new();
        while let Some(shown) = self.open.pop_front_if(|shown| shown.done) {
            if full {
                lines.extend(shown.lines());
            } else if !shown.below.is_empty() {
                lines.extend(self.folded.take());
                lines.extend(self.quiet.drain(..).flat_map(Shown::lines));
                lines.extend(shown.lines());
                self.after = AFTER;
            } else if self.after > 0 {
                self.after -= 1;
                lines.extend(shown.lines());
            } else {
                self.quiet.push_back(shown);
                if self.quiet.len() > BEFORE {
                    self.quiet.pop_front().into_iter().for_each(|shown| self.folded.add(shown));
                }
            }
        }
        lines
    }

    fn rest(mut self) -> Vec<String> {
        self.quiet.drain(..).for_each(|shown| self.folded.add(shown));
        self.folded.take()
    }
}

impl Folded {
    fn add(&mut self, shown: Shown) {
        *if shown.id.is_empty() { &mut self.prompts } else { &mut self.calls } += 1;
        self.last = Some(shown);
    }

    fn take(&mut self) -> Vec<String> {
        let Self { last, calls, prompts } = std::mem::take(self);
        match (calls, prompts) {
            (0, 0) => Vec::new(),
            // A line in its place would be no shorter.
            (1, 0) | (0, 1) => last.map(Shown::lines).unwrap_or_default(),
            (calls, 0) => vec![styled(FAINT, format!("      ⋯ {}", count(calls, "call")))],
            (calls, prompts) => {
                vec![styled(
                    FAINT,
                    format!("      ⋯ {}, {} of a person", count(calls, "call"), count(prompts, "message")),
                )]
            }
        }
    }
}

impl Shown {
    fn prompt(place: Place) -> Self {
        let line = format!("{} {}", shown_place(place), styled(FAINT, "── a person's message"));
        Self { id: String::new(), line, mark: None, below: Vec::new(), done: true }
    }

    fn call(call: &Call, place: Place, decision: &Decision, run: u32) -> Self {
        let tool = one_line(&call.tool, 40);
        let arguments = styled(FAINT, one_line(&call.arguments, 80));
        let run = if run > 1 { styled(STRONG, format!(" × {run}")) } else { String::new() };
        let below = match decision {
            Decision::Allow => None,
            Decision::Deny(reason) => Some(format!("{INDENT}{} {}", styled(BAD, "denied:"), one_line(reason, 200))),
            Decision::Ask(reason) => {
                Some(format!("{INDENT}{} {}", styled(GUARD, "asks a person:"), one_line(reason, 200)))
            }
        };
        // The mark stands between the two, and is known later.
        let line = format!("{} \u{0} {tool}{run} {arguments}", shown_place(place));
        Self { id: call.id.clone(), line, mark: None, below: below.into_iter().collect(), done: false }
    }

    fn lines(self) -> Vec<String> {
        let mark = match self.mark {
            Some(Status::Succeeded) => styled(GOOD, "✓"),
            Some(Status::Failed) => styled(BAD, "✗"),
            Some(Status::Denied) => styled(BAD, "⊘"),
            None => styled(FAINT, "?"),
        };
        let line = self.line.replacen('\u{0}', &mark, 1);
        std::iter::once(line).chain(self.below).collect()
    }
}

fn shown_place(Place { turn, step }: Place) -> String {
    styled(FAINT, format!("{:>7}", format!("{turn}.{step}")))
}
