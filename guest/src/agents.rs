//! What is remembered about each agent, and for how many (S4).
#![allow(clippy::indexing_slicing, reason = "the map and the links hold indices of occupied slots only")]

use std::rc::Rc;

use crate::names::Names;

/// The state of up to a fixed number of agents. One too many, and the one that was idle longest is
/// forgotten.
///
/// All but looking a name up takes constant time: the slots are linked in the order of their last use.
#[derive(Debug)]
pub struct Agents<T> {
    max: usize,
    index: Names,
    slots: Vec<Slot<T>>,
    free: Vec<usize>,
    ends: Link,
}

#[derive(Debug)]
struct Slot<T> {
    id: Rc<str>,
    state: T,
    link: Link,
}

/// The neighbours of a slot in the order of use; of the whole list, its two ends.
#[derive(Debug, Clone, Copy, Default)]
struct Link {
    newer: Option<usize>,
    older: Option<usize>,
}

impl<T: Default> Agents<T> {
    /// Room for `max` agents, at least one.
    pub fn new(max: usize) -> Self {
        Self { max: max.max(1), index: Names::default(), slots: Vec::new(), free: Vec::new(), ends: Link::default() }
    }

    /// Room for as many, and none of them.
    pub fn emptied(&self) -> Self {
        Self::new(self.max)
    }

    /// An agent's state if it is remembered. This is a use.
    pub fn get(&mut self, id: &str) -> Option<&mut T> {
        let slot = self.index.get(id)?;
        self.touch(slot);
        Some(&mut self.slots[slot].state)
    }

    /// An agent's state; a new one if it is not remembered. This is a use.
    pub fn get_or_insert(&mut self, id: &str) -> &mut T {
        let slot = match self.index.get(id) {
            Some(slot) => {
                self.touch(slot);
                slot
            }
            None => self.insert(id),
        };
        &mut self.slots[slot].state
    }

    /// An agent's state if it is remembered. This is no use.
    pub fn peek(&self, id: &str) -> Option<&T> {
        Some(&self.slots[self.index.get(id)?].state)
    }

    /// All agents that are remembered, the one that was idle longest first.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &T)> {
        let mut next = self.ends.older;
        std::iter::from_fn(move || {
            let slot = &self.slots[next?];
            next = slot.link.newer;
            Some((&*slot.id, &slot.state))
        })
    }

    /// Forgets an agent.
    pub fn remove(&mut self, id: &str) {
        let Some(slot) = self.index.remove(id) else { return };
        self.unlink(slot);
        self.slots[slot].id = Rc::from("");
        self.slots[slot].state = T::default();
        self.free.push(slot);
    }

    fn insert(&mut self, id: &str) -> usize {
        if self.index.len() == self.max
            && let Some(oldest) = self.ends.older
        {
            let id = Rc::clone(&self.slots[oldest].id);
            self.remove(&id);
        }
        let id: Rc<str> = id.into();
        let slot = match self.free.pop() {
            Some(slot) => {
                self.slots[slot].id = Rc::clone(&id);
                slot
            }
            None => {
                self.slots.push(Slot { id: Rc::clone(&id), state: T::default(), link: Link::default() });
                self.slots.len() - 1
            }
        };
        self.index.insert(id, slot);
        self.link_as_newest(slot);
        slot
    }

    fn touch(&mut self, slot: usize) {
        if self.ends.newer != Some(slot) {
            self.unlink(slot);
            self.link_as_newest(slot);
        }
    }

    fn unlink(&mut self, slot: usize) {
        let Link { newer, older } = self.slots[slot].link;
        match newer {
            Some(newer) => self.slots[newer].link.older = older,
            None => self.ends.newer = older,
        }
        match older {
            Some(older) => self.slots[older].link.newer = newer,
            None => self.ends.older = newer,
        }
    }

    fn link_as_newest(&mut self, slot: usize) {
        let previous = self.ends.newer.replace(slot);
        self.slots[slot].link = Link { newer: None, older: previous };
        match previous {
            Some(previous) => self.slots[previous].link.newer = Some(slot),
            None => self.ends.older = Some(slot),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Agents;

    fn with(max: usize, ids: &[&str]) -> Agents<u32> {
        let mut agents = Agents::new(max);
        for id in ids {
            *agents.get_or_insert(id) += 1;
        }
        agents
    }

    #[track_caller]
    fn check(agents: &Agents<u32>, remembered: &[(&str, u32)], forgotten: &[&str]) {
        for (id, state) in remembered {
            assert_eq!(agents.peek(id), Some(state), "{id}");
        }
        for id in forgotten {
            assert_eq!(agents.peek(id), None, "{id}");
        }
    }

    #[test]
    fn s4_the_one_that_was_idle_longest_is_forgotten() {
        check(&with(3, &["a", "b", "c"]), &[("a", 1), ("b", 1), ("c", 1)], &["d"]);
        check(&with(3, &["a", "b", "c", "d"]), &[("b", 1), ("c", 1), ("d", 1)], &["a"]);
        check(&with(3, &["a", "b", "c", "a", "d"]), &[("a", 2), ("c", 1), ("d", 1)], &["b"]);
        check(&with(1, &["a", "b", "a"]), &[("a", 1)], &["b"]);
    }

    #[test]
    fn s4_a_get_is_a_use_and_a_peek_is_none() {
        let mut agents = with(2, &["a", "b"]);
        assert_eq!(agents.get("a"), Some(&mut 1));
        agents.get_or_insert("c");
        check(&agents, &[("a", 1), ("c", 0)], &["b"]);

        let mut agents = with(2, &["a", "b"]);
        assert_eq!(agents.peek("a"), Some(&1));
        agents.get_or_insert("c");
        check(&agents, &[("b", 1), ("c", 0)], &["a"]);
    }

    #[test]
    fn r13_a_removed_agent_starts_anew_and_leaves_room() {
        let mut agents = with(3, &["a", "b", "c"]);
        agents.remove("b");
        agents.remove("nobody");
        assert_eq!(agents.get("b"), None);
        agents.get_or_insert("d");
        check(&agents, &[("a", 1), ("c", 1), ("d", 0)], &["b"]);
        assert_eq!(agents.get_or_insert("b"), &0);
        check(&agents, &[("b", 0), ("c", 1), ("d", 0)], &["a"]);
    }

    #[test]
    fn s4_slots_are_used_again() {
        let mut agents = Agents::<u32>::new(1000);
        for id in 0..100_000 {
            let id = id.to_string();
            agents.get_or_insert(&id);
            agents.remove(&id);
        }
        assert_eq!(agents.slots.len(), 1);
    }

    #[test]
    fn agents_are_listed_in_the_order_of_their_last_use() {
        let mut agents = with(3, &["a", "b", "c", "a", "d"]);
        assert_eq!(agents.iter().collect::<Vec<_>>(), [("c", &1), ("a", &2), ("d", &1)]);
        agents.remove("a");
        assert_eq!(agents.iter().collect::<Vec<_>>(), [("c", &1), ("d", &1)]);
        assert_eq!(with(1, &[]).iter().next(), None);
    }

    #[test]
    fn s4_every_order_of_removal_keeps_the_list_whole() {
        for gone in [["a", "b"], ["b", "a"], ["a", "c"], ["c", "a"], ["b", "c"], ["c", "b"]] {
            let mut agents = with(3, &["a", "b", "c"]);
            for id in gone {
                agents.remove(id);
            }
            for id in ["x", "y", "z"] {
                agents.get_or_insert(id);
            }
            check(&agents, &[("x", 0), ("y", 0), ("z", 0)], &["a", "b", "c"]);
        }
    }
}
