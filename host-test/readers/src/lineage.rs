//! Forks: sessions whose files begin with a copy of another session's history.
//!
//! What an agent inherited is no call of its own. Where both files are at hand, the calls at the beginning of the one that
//! stand in the other as well are left out. Ids alone do not tell: `call_1` occurs in unrelated sessions. So
//! the file must name the session that it was forked from, and id, tool and arguments must be the same.

use std::collections::{HashMap, HashSet};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::{Arc, OnceLock};

use crate::format::Identity;
use crate::{Agent, Call, Event, Recording, Sink, Skipped};

/// The calls of the session that an input was forked from.
#[derive(Debug, Clone, Default)]
pub struct Inherited(Option<Arc<HashSet<u64>>>);

impl Inherited {
    pub(crate) fn prefix(&self) -> Option<Prefix> {
        let calls = Arc::clone(self.0.as_ref()?);
        Some(Prefix { calls, left_out: HashSet::new(), step: None, over: false })
    }
}

/// The sessions of many inputs, and which of them were forked from which.
pub struct Lineages<'a> {
    recordings: &'a [Recording],
    /// Of the recordings with the same session the largest: the others are checkpoints of it.
    sessions: HashMap<&'a str, usize>,
    /// Of the recordings with the same first answer the smallest: the others are forks, and mostly went on from where it ended.
    roots: HashMap<&'a str, usize>,
    /// The calls of each recording that another was forked from.
    calls: Vec<OnceLock<Arc<HashSet<u64>>>>,
}

impl<'a> Lineages<'a> {
    /// Looks up who is whose parent.
    pub fn new(recordings: &'a [Recording]) -> Self {
        let best = |id: fn(&Recording) -> Option<&str>, is_better: fn(u64, u64) -> bool| {
            let mut best: HashMap<&str, usize> = HashMap::new();
            for (place, recording) in recordings.iter().enumerate() {
                let Some(id) = id(recording) else { continue };
                let known = best.entry(id).or_insert(place);
                if recordings.get(*known).is_some_and(|known| is_better(recording.input().size(), known.input().size()))
                {
                    *known = place;
                }
            }
            best
        };
        let sessions = best(|recording| recording.identity().session.as_deref(), |size, known| size > known);
        let roots = best(|recording| recording.identity().root.as_deref(), |size, known| size < known);
        let calls = recordings.iter().map(|_| OnceLock::new()).collect();
        Self { recordings, sessions, roots, calls }
    }

    /// What the recording at this place inherited.
    pub fn inherited(&self, place: usize) -> Inherited {
        let calls = || {
            let parent = self.parent(self.recordings.get(place)?).filter(|parent| *parent != place)?;
            let recording = self.recordings.get(parent)?;
            Some(Arc::clone(self.calls.get(parent)?.get_or_init(|| Arc::new(calls_of(recording)))))
        };
        Inherited(calls())
    }

    fn parent(&self, recording: &Recording) -> Option<usize> {
        let Identity { session, parent, root } = recording.identity();
        let place = |places: &HashMap<&str, usize>, id: &Option<String>| places.get(id.as_deref()?).copied();
        place(&self.sessions, parent).or_else(|| place(&self.roots, root)).or_else(|| place(&self.sessions, session))
    }
}

fn calls_of(recording: &Recording) -> HashSet<u64> {
    struct Calls(HashSet<u64>);
    impl Sink for Calls {
        fn agent(&mut self, _: &Agent) {}
        fn event(&mut self, _: &Agent, event: Event) {
            if let Event::Pre(call) = event {
                self.0.insert(hash(&call));
            }
        }
        fn skipped(&mut self, _: Skipped) {}
    }
    let mut calls = Calls(HashSet::new());
    // If the parent cannot be read, that is reported where it is replayed.
    _ = recording.read(&Inherited::default(), &mut calls);
    calls.0
}

fn hash(call: &Call) -> u64 {
    let mut hasher = DefaultHasher::new();
    call.hash(&mut hasher);
    hasher.finish()
}

/// Leaves out what an agent inherited: up to the last call in a row that its parent has as well.
#[derive(Debug)]
pub struct Prefix {
    calls: Arc<HashSet<u64>>,
    left_out: HashSet<String>,
    /// The step in which the first call of its own may come.
    step: Option<Event>,
    over: bool,
}

impl Prefix {
    /// The events that are the agent's own.
    pub fn own(&mut self, event: Event) -> Vec<Event> {
        match event {
            Event::Post { id, .. } if self.left_out.remove(&id) => Vec::new(),
            event if self.over => vec![event],
            Event::Pre(call) if self.calls.contains(&hash(&call)) => {
                self.left_out.insert(call.id);
                self.step = None;
                Vec::new()
            }
            Event::Pre(_) => {
                self.over = true;
                self.step.take().into_iter().chain([event]).collect()
            }
            Event::Step { .. } => {
                self.step = Some(event);
                Vec::new()
            }
            Event::Post { .. } | Event::TurnEnded { .. } => Vec::new(),
        }
    }
}
