//! Recordings that are cut off, or damaged anywhere: reading them never panics, and what is left of them is read.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::fs;
use std::path::Path;

use loop_guard::recorded::{Agent, Event, FORMATS, Inherited, Input, Recording, Sink, Skipped};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};

/// Counts what is read, and sees to it that each result belongs to a call before it.
#[derive(Default)]
struct Counts {
    open: std::collections::BTreeSet<(Agent, String)>,
    calls: usize,
}

impl Sink for Counts {
    fn agent(&mut self, _: &Agent) {}

    fn event(&mut self, agent: &Agent, event: Event) {
        match event {
            Event::Pre(call) => {
                self.calls += 1;
                assert!(self.open.insert((agent.clone(), call.id)), "a call that is still open begins again");
            }
            Event::Post { id, .. } => assert!(self.open.remove(&(agent.clone(), id.clone())), "{id}"),
            Event::Step { .. } | Event::TurnEnded { .. } => {}
        }
    }

    fn skipped(&mut self, skipped: Skipped) {
        assert!(skipped.line > 0);
    }
}

/// Reads bytes as their own format, and as all the others.
fn read(bytes: &[u8]) -> Counts {
    let mut counts = Counts::default();
    if let Ok(recording) = Recording::open(Input::bytes("x", bytes), None) {
        recording.read(&Inherited::default(), &mut counts).unwrap();
    }
    for format in FORMATS {
        if let Ok(recording) = Recording::open(Input::bytes("x", bytes), Some(format)) {
            // Mostly it has nothing of that format.
            _ = recording.read(&Inherited::default(), &mut Counts::default());
        }
    }
    counts
}

/// All samples: what has an `.events` file, and is a file.
fn samples() -> Vec<(String, Vec<u8>)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("recorded");
    let files = walkdir::WalkDir::new(&folder).sort_by_file_name().into_iter().map(|entry| entry.unwrap().into_path());
    let samples = files.filter(|path| path.extension().is_some_and(|ending| ending == "events"));
    let samples = samples.map(|path| path.with_extension("")).filter(|sample| sample.is_file());
    samples.map(|sample| (sample.display().to_string(), fs::read(&sample).unwrap())).collect()
}

#[test]
fn of_a_file_that_is_cut_off_the_beginning_is_read() {
    let samples = samples();
    assert!(samples.len() > 80, "{} samples", samples.len());
    for (name, bytes) in samples {
        let whole = read(&bytes).calls;
        let mut most = 0;
        // Cuts that fall on all kinds of places.
        for cut in (0..bytes.len()).step_by((bytes.len() / 150).max(1)) {
            most = most.max(read(bytes.get(..cut).unwrap()).calls);
        }
        assert!(most * 2 >= whole.saturating_sub(1), "{name}: {whole} calls, and at most {most} of what was cut off");
    }
}

#[test]
fn damage_anywhere_is_survived() {
    let samples = samples();
    let strategy =
        (0..samples.len(), prop::collection::vec((any::<prop::sample::Index>(), any::<u8>(), 0..4_u8), 1..8));
    let mut runner = TestRunner::new(Config { cases: 1500, failure_persistence: None, ..Config::default() });
    runner
        .run(&strategy, |(sample, damages)| {
            let mut bytes = samples.get(sample).unwrap().1.clone();
            for (place, byte, kind) in damages {
                let place = place.index(bytes.len().max(1)).min(bytes.len());
                match kind {
                    0 => bytes.insert(place, byte),
                    1 if place < bytes.len() => _ = bytes.remove(place),
                    // What means something to JSON does the most harm.
                    2 => bytes.insert(place, *b"{}[]\",:\\\n0".get(usize::from(byte) % 10).unwrap()),
                    _ => bytes.truncate(bytes.len().saturating_sub(usize::from(byte))),
                }
            }
            read(&bytes);
            Ok(())
        })
        .unwrap();
}
