//! Reads every sample of `recorded/`, and compares what happened with the `.events` beside it: an event a line, agent by agent, and
//! then the lines that could not be read. What is expected was written from the formats' rules, not by a reader.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test fails by panicking")]

use std::fs;
use std::path::{Path, PathBuf};

use libtest_mimic::{Arguments, Failed, Trial};
use loop_guard::recorded::{
    Agent, Call, CallResult, Event, FORMATS, Inherited, Input, Recording, Sink, Skipped, search,
};
use serde_json::{Value, json};

fn main() {
    let arguments = Arguments::from_args();
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("recorded");
    let mut trials = Vec::new();
    for format in FORMATS {
        let samples = samples(&folder.join(format.name));
        trials.push(Trial::test(format!("{}: has samples", format.name), {
            let samples = samples.len();
            move || if samples > 0 { Ok(()) } else { Err("no sample has an .events file".into()) }
        }));
        for (sample, events) in samples {
            let name = sample.strip_prefix(&folder).unwrap().display().to_string();
            trials.push(Trial::test(name.clone(), move || check(&sample, &events, format.name)));
        }
    }
    libtest_mimic::run(&arguments, trials).exit();
}

/// The samples below a folder: what has an `.events` file beside it.
fn samples(folder: &Path) -> Vec<(PathBuf, PathBuf)> {
    let mut samples = Vec::new();
    for entry in walkdir::WalkDir::new(folder).sort_by_file_name() {
        let Ok(entry) = entry else { continue };
        if entry.path().extension().is_some_and(|ending| ending == "events") {
            samples.push((entry.path().with_extension(""), entry.path().to_owned()));
        }
    }
    samples
}

fn check(sample: &Path, events: &Path, format: &str) -> Result<(), Failed> {
    let inputs = search(sample).map_err(|error| error.to_string())?;
    let [input]: [Input; 1] =
        inputs.inputs.try_into().map_err(|inputs: Vec<Input>| format!("{} inputs", inputs.len()))?;
    let recording = Recording::open(input, None).map_err(|error| error.to_string())?;
    if recording.format().name != format {
        return Err(format!("recognised as {}", recording.format().name).into());
    }
    let mut found = Found::default();
    recording.read(&Inherited::default(), &mut found).map_err(|error| error.to_string())?;
    let expected = fs::read_to_string(events)?;
    let expected: Vec<Value> = expected.lines().map(serde_json::from_str).collect::<Result<_, _>>()?;
    let found = found.lines();
    if found == expected {
        return Ok(());
    }
    let text = |lines: &[Value]| lines.iter().map(|line| format!("{line}\n")).collect::<String>();
    let (found, expected) = (text(&found), text(&expected));
    let diff = similar::TextDiff::from_lines(&expected, &found);
    Err(format!("expected (-) and found (+) differ\n{}", diff.unified_diff().context_radius(2)).into())
}

#[derive(Default)]
struct Found {
    agents: Vec<(Agent, Vec<Value>)>,
    skipped: Vec<Value>,
}

impl Sink for Found {
    fn agent(&mut self, agent: &Agent) {
        self.agents.push((agent.clone(), Vec::new()));
    }

    fn event(&mut self, agent: &Agent, event: Event) {
        let (_, events) = self.agents.iter_mut().find(|(known, _)| known == agent).unwrap();
        events.push(match event {
            Event::Step { turn, step, prompted } => json!({"step": [turn, step], "prompted": prompted}),
            Event::Pre(Call { id, tool, arguments }) => json!({"call": id, "tool": tool, "arguments": arguments}),
            Event::Post { id, result: CallResult { status, content } } => {
                json!({"result": id, "status": status, "content": content})
            }
            Event::TurnEnded { turn } => json!({"turn_ended": turn}),
        });
    }

    fn skipped(&mut self, skipped: Skipped) {
        self.skipped.push(json!({"skipped_line": skipped.line}));
    }
}

impl Found {
    fn lines(self) -> Vec<Value> {
        let agents = self.agents.into_iter().filter(|(_, events)| !events.is_empty());
        let lines = agents.flat_map(|(Agent { session, id }, events)| {
            std::iter::once(json!({"session": session, "agent": id})).chain(events)
        });
        lines.chain(self.skipped).collect()
    }
}
