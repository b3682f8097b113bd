//! Puts what happened in a step into an order that the contract allows.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use crate::{Call, CallResult, Event};

/// A step while it is read: the calls and results in the order of the log. Nothing of it is told before it
/// is complete, since a prompt may stand after the step's beginning.
#[derive(Debug, Default)]
pub struct OpenStep {
    entries: Vec<Entry>,
}

#[derive(Debug)]
enum Entry {
    Call { call: Call, parent: Option<String> },
    Result { id: String, result: CallResult },
}

impl OpenStep {
    /// Whether a call has been made in the step.
    pub fn has_calls(&self) -> bool {
        self.entries.iter().any(|entry| matches!(entry, Entry::Call { .. }))
    }

    /// A call; `parent` is the id of the call that it was made inside of.
    pub fn call(&mut self, call: Call, parent: Option<String>) {
        self.entries.push(Entry::Call { call, parent });
    }

    /// A result, of a call of this step or of an earlier one.
    pub fn result(&mut self, id: String, result: CallResult) {
        self.entries.push(Entry::Result { id, result });
    }

    /// The events of the step. Pre-executes keep their places; post-executes of calls that ran side by side
    /// are held back until those of the calls before them have come.
    pub fn into_events(self) -> Vec<Event> {
        let answered: BTreeSet<String> = self.entries.iter().filter_map(Entry::answers).map(str::to_owned).collect();
        let mut waiting = Waiting::default();
        for entry in &self.entries {
            if let Entry::Call { call, parent } = entry
                && answered.contains(&call.id)
            {
                waiting.expect(call.id.clone(), parent.clone());
            }
        }
        let mut events = Vec::new();
        for entry in self.entries {
            match entry {
                Entry::Call { call, .. } => events.push(Event::Pre(call)),
                Entry::Result { id, result } => waiting.settle(id, result, &mut events),
            }
        }
        events
    }
}

impl Entry {
    /// The id of the call that a result belongs to.
    fn answers(&self) -> Option<&str> {
        match self {
            Self::Result { id, .. } => Some(id),
            Self::Call { .. } => None,
        }
    }
}

/// The calls of a step that will have a result; those of one parent run side by side.
#[derive(Default)]
struct Waiting {
    parents: BTreeMap<String, Option<String>>,
    queues: BTreeMap<Option<String>, VecDeque<String>>,
    settled: BTreeMap<String, CallResult>,
}

impl Waiting {
    fn expect(&mut self, id: String, parent: Option<String>) {
        self.parents.insert(id.clone(), parent.clone());
        self.queues.entry(parent).or_default().push_back(id);
    }

    fn settle(&mut self, id: String, result: CallResult, events: &mut Vec<Event>) {
        let Some(queue) = self.parents.get(&id).and_then(|parent| self.queues.get_mut(parent)) else {
            // The late result of a call of an earlier step.
            events.push(Event::Post { id, result });
            return;
        };
        self.settled.insert(id, result);
        while let Some(first) = queue.front()
            && let Some(result) = self.settled.remove(first)
        {
            events.push(Event::Post { id: first.clone(), result });
            queue.pop_front();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::OpenStep;
    use crate::Status;
    use crate::{Call, CallResult, Event};

    /// `+a` is the call a, `+b<a` the call b made inside of a, `=a` the result of a.
    fn order(entries: &str) -> String {
        let mut step = OpenStep::default();
        for entry in entries.split(' ') {
            let (kind, id) = entry.split_at(1);
            let (id, parent) = match id.split_once('<') {
                Some((id, parent)) => (id.to_owned(), Some(parent.to_owned())),
                None => (id.to_owned(), None),
            };
            match kind {
                "+" => step.call(Call { id, tool: String::new(), arguments: String::new() }, parent),
                _ => step.result(id, CallResult { status: Status::Succeeded, content: String::new() }),
            }
        }
        let event = |event: Event| match event {
            Event::Pre(call) => format!("pre {}", call.id),
            Event::Post { id, .. } => format!("post {id}"),
            other => format!("{other:?}"),
        };
        step.into_events().into_iter().map(event).collect::<Vec<_>>().join(", ")
    }

    #[test]
    fn results_follow_the_order_of_their_calls() {
        assert_eq!(order("+a =a +b =b"), "pre a, post a, pre b, post b");
        assert_eq!(order("+a +b =a =b"), "pre a, pre b, post a, post b");
        assert_eq!(order("+a +b =b =a"), "pre a, pre b, post a, post b");
        assert_eq!(order("+a +b +c =c =a =b"), "pre a, pre b, pre c, post a, post b, post c");
    }

    #[test]
    fn a_call_made_inside_another_has_its_pair_inside() {
        assert_eq!(order("+a +b<a =b =a"), "pre a, pre b, post b, post a");
        assert_eq!(order("+a +b<a +c<a =c =b =a"), "pre a, pre b, pre c, post b, post c, post a");
        assert_eq!(order("+a +x +b<a =x =b =a"), "pre a, pre x, pre b, post b, post a, post x");
    }

    #[test]
    fn calls_without_a_result_hold_nobody_back() {
        assert_eq!(order("+a +b =b"), "pre a, pre b, post b");
    }

    #[test]
    fn late_results_stay_where_they_are() {
        assert_eq!(order("=z +a =a"), "post z, pre a, post a");
    }
}
