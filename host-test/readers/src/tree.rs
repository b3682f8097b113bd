//! Logs in which each entry names the one before it, so that going back in a conversation makes a branch.
//!
//! What counts is the branch that leads to the last entry: that is the conversation as it stands.

use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasher, RandomState};

/// The entries of a log.
#[derive(Default)]
pub struct Tree {
    /// Ids are kept as hashes: a log has far too few of them for two to meet.
    hasher: RandomState,
    entries: Vec<Entry>,
    places: HashMap<u64, usize>,
}

struct Entry {
    parent: Option<u64>,
    /// What the entry is a part of.
    group: Option<u64>,
}

/// The entries on a branch.
#[derive(Default)]
pub struct Branch {
    hasher: RandomState,
    /// Each with its distance from the last one.
    entries: HashMap<u64, usize>,
    groups: HashSet<u64>,
}

impl Tree {
    /// The next entry of the log.
    pub fn entry(&mut self, id: &str, parent: Option<&str>, group: Option<&str>) {
        let hash = |id: &str| self.hasher.hash_one(id);
        let entry = Entry { parent: parent.map(hash), group: group.map(hash) };
        self.places.insert(hash(id), self.entries.len());
        self.entries.push(entry);
    }

    /// The branch that leads to the last entry. An entry without a parent is the first of a conversation. Where an entry's parent
    /// is not in the log, what stands before it belongs to the branch as well: nothing tells that it was given up.
    pub fn last_branch(self) -> Branch {
        let ids: HashMap<usize, u64> = self.places.iter().map(|(id, place)| (*place, *id)).collect();
        let mut branch = Branch { hasher: self.hasher, ..Branch::default() };
        let mut next = self.entries.len().checked_sub(1);
        while let Some(place) = next {
            let (Some(entry), Some(id)) = (self.entries.get(place), ids.get(&place)) else { break };
            let distance = branch.entries.len();
            if branch.entries.insert(*id, distance).is_some() {
                // A circle.
                break;
            }
            branch.groups.extend(entry.group);
            next = entry.parent.and_then(|parent| {
                // A parent mostly stands before its children, but lines may change places.
                let parent = self.places.get(&parent).copied();
                parent.or_else(|| place.checked_sub(1))
            });
        }
        branch
    }
}

impl Branch {
    /// Whether an entry is on the branch.
    pub fn has(&self, id: &str) -> bool {
        self.distance(id).is_some()
    }

    /// How many entries of the branch follow an entry.
    pub fn distance(&self, id: &str) -> Option<usize> {
        self.entries.get(&self.hasher.hash_one(id)).copied()
    }

    /// Whether an entry of the group is on the branch.
    pub fn has_group(&self, group: &str) -> bool {
        self.groups.contains(&self.hasher.hash_one(group))
    }
}

#[cfg(test)]
mod tests {
    use super::Tree;

    /// The entries on the last branch of a log of entries like `b<a`.
    fn branch(log: &str) -> String {
        let mut tree = Tree::default();
        let entries = || {
            log.split(' ').map(|entry| entry.split_once('<').map_or((entry, None), |(id, parent)| (id, Some(parent))))
        };
        entries().for_each(|(id, parent)| tree.entry(id, parent, None));
        let branch = tree.last_branch();
        entries().map(|(id, _)| id).filter(|id| branch.has(id)).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn the_branch_of_the_last_entry_is_read() {
        assert_eq!(branch("a b<a c<b"), "a b c");
        assert_eq!(branch("a b<a c<b d<a e<d"), "a d e");
        assert_eq!(branch("a b<a c<b d<a e<c"), "a b c e");
    }

    #[test]
    fn an_entry_without_a_parent_begins_anew() {
        assert_eq!(branch("a b<a c d<c"), "c d");
    }

    #[test]
    fn before_an_entry_whose_parent_is_missing_all_is_kept() {
        assert_eq!(branch("a b<a x<b d<lost e<d"), "a b x d e");
        assert_eq!(branch("b<a a c<b"), "b a c");
        assert_eq!(branch("a b<b c<d d<c"), "c d");
    }
}
