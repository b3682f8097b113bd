//! The glue between the readers and the types of `wit/reader.wit`.

use std::collections::HashMap;

use exports::loop_guard::page::reader as wit;
use loop_guard_readers::{Agent, Event, Inherited, Input, Lineages, ReadError, Recording, Sink, Skipped, Status};

wit_bindgen::generate!({ world: "page" });

struct Reader;
export!(Reader);

impl wit::Guest for Reader {
    fn read(files: Vec<wit::File>) -> wit::Contents {
        let mut unread = Vec::new();
        let mut opened = Vec::new();
        for wit::File { name, bytes } in files {
            match Recording::open(Input::bytes(name.clone(), bytes), None) {
                Ok(recording) => opened.push(recording),
                Err(error) => unread.push(wit::Unread { file: name, reason: error.to_string() }),
            }
        }
        let lineages = Lineages::new(&opened);
        let mut recordings = Vec::new();
        for (place, recording) in opened.iter().enumerate() {
            match read(recording, &lineages.inherited(place)) {
                Ok(recording) => recordings.push(recording),
                Err(error) => {
                    unread.push(wit::Unread { file: recording.input().name().to_owned(), reason: error.to_string() });
                }
            }
        }
        wit::Contents { recordings, unread }
    }
}

fn read(recording: &Recording, inherited: &Inherited) -> Result<wit::Recording, ReadError> {
    let mut contents = Contents::default();
    recording.read(inherited, &mut contents)?;
    let Contents { agents, events, skipped, .. } = contents;
    let (file, title) = (recording.input().name().to_owned(), recording.format().title.to_owned());
    Ok(wit::Recording { file, title, agents, events, skipped })
}

/// What is in a recording.
#[derive(Default)]
struct Contents {
    agents: Vec<wit::Agent>,
    places: HashMap<Agent, u32>,
    events: Vec<wit::Event>,
    skipped: Vec<wit::Skipped>,
}

impl Sink for Contents {
    fn agent(&mut self, agent: &Agent) {
        self.places.insert(agent.clone(), number(self.agents.len()));
        self.agents.push(wit::Agent { session: agent.session.clone(), id: agent.id.clone() });
    }

    fn event(&mut self, agent: &Agent, event: Event) {
        let Some(agent) = self.places.get(agent).copied() else { return };
        let action = match event {
            Event::Step { turn, step, prompted } => wit::Action::Step(wit::StepStart { turn, step, prompted }),
            Event::Pre(call) => {
                wit::Action::Pre(wit::ToolCall { id: call.id, name: call.tool, arguments: call.arguments })
            }
            Event::Post { id, result } => {
                wit::Action::Post(wit::Ending { id, status: status(result.status), content: result.content })
            }
            Event::TurnEnded { turn } => wit::Action::TurnEnded(turn),
        };
        self.events.push(wit::Event { agent, action });
    }

    fn skipped(&mut self, Skipped { line, reason, .. }: Skipped) {
        self.skipped.push(wit::Skipped { line: number(line), reason });
    }
}

fn status(status: Status) -> wit::Status {
    match status {
        Status::Succeeded => wit::Status::Succeeded,
        Status::Failed => wit::Status::Failed,
        Status::Denied => wit::Status::Denied,
    }
}

fn number(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}
