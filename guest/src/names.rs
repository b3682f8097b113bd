//! Names that are looked up, each with a number.

use std::rc::Rc;

/// A chunk of more names is divided into two.
const MOST_IN_CHUNK: usize = 128;

/// Names in their order, each with a number.
///
/// With no randomness to seed a hash, names could be chosen that degrade a table of hashes (S3): what a lookup costs here depends on
/// the number of names alone. The ordered map of the standard library is as fast, and makes four times the code.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Names {
    /// All names in order, divided into chunks, none of which is empty. Of two neighbours one can be small, but not both.
    chunks: Vec<Vec<(Rc<str>, usize)>>,
    length: usize,
}

impl Names {
    /// How many there are.
    pub fn len(&self) -> usize {
        self.length
    }

    /// The number of a name.
    pub fn get(&self, name: &str) -> Option<usize> {
        if self.length == 0 {
            return None;
        }
        let (chunk, place) = self.find(name);
        Some(self.chunks.get(chunk)?.get(place.ok()?)?.1)
    }

    /// Gives a name a number, unless it has one; says whether it had none.
    pub fn insert(&mut self, name: Rc<str>, number: usize) -> bool {
        let (place_of_chunk, Err(place)) = self.find(&name) else { return false };
        self.length += 1;
        let Some(chunk) = self.chunks.get_mut(place_of_chunk) else {
            self.chunks.push(vec![(name, number)]);
            return true;
        };
        chunk.insert(place, (name, number));
        if chunk.len() > MOST_IN_CHUNK {
            let second = chunk.split_off(MOST_IN_CHUNK / 2);
            self.chunks.insert(place_of_chunk + 1, second);
        }
        true
    }

    /// Forgets a name, and gives its number.
    pub fn remove(&mut self, name: &str) -> Option<usize> {
        let (place_of_chunk, place) = self.find(name);
        let chunk = self.chunks.get_mut(place_of_chunk)?;
        let (_, number) = chunk.remove(place.ok()?);
        self.length -= 1;
        if chunk.is_empty() {
            self.chunks.remove(place_of_chunk);
        } else {
            self.join(place_of_chunk);
            self.join(place_of_chunk.saturating_sub(1));
        }
        Some(number)
    }

    /// All names and their numbers, in order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, usize)> {
        self.chunks.iter().flatten().map(|(name, number)| (&**name, *number))
    }

    /// The place of the chunk that a name is or would be in, and its place there.
    fn find(&self, name: &str) -> (usize, Result<usize, usize>) {
        let begins_before = |chunk: &Vec<(Rc<str>, usize)>| chunk.first().is_some_and(|(first, _)| **first <= *name);
        let chunk = match self.chunks.len() {
            0 | 1 => 0,
            _ => self.chunks.partition_point(begins_before).saturating_sub(1),
        };
        let names = self.chunks.get(chunk).map(Vec::as_slice).unwrap_or_default();
        (chunk, names.binary_search_by(|(other, _)| (**other).cmp(name)))
    }

    /// Makes one chunk of two neighbours that have become small.
    fn join(&mut self, first: usize) {
        let Some([one, next]) = self.chunks.get_mut(first..).and_then(|chunks| chunks.first_chunk_mut()) else {
            return;
        };
        if one.len() + next.len() <= MOST_IN_CHUNK / 2 {
            one.append(next);
            self.chunks.remove(first + 1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{MOST_IN_CHUNK, Names};
    use std::collections::BTreeMap;

    proptest::proptest! {
        #[test]
        fn s3_it_is_a_map(operations in proptest::collection::vec((0_usize..3, 0_usize..600), 0..3000)) {
            let (mut names, mut expected) = (Names::default(), BTreeMap::new());
            // Names of which many are there at once, and then few.
            for (at, (operation, number)) in operations.iter().enumerate() {
                let name = number.to_string();
                let removes = (*operation == 0) == (at < 1500);
                if removes {
                    proptest::prop_assert_eq!(names.remove(&name), expected.remove(&name));
                } else {
                    let is_new = !expected.contains_key(&name);
                    proptest::prop_assert_eq!(names.insert(name.as_str().into(), at), is_new);
                    expected.entry(name).or_insert(at);
                }
                proptest::prop_assert_eq!(names.get(&number.to_string()), expected.get(&number.to_string()).copied());
                proptest::prop_assert_eq!(names.len(), expected.len());
            }
            let all: Vec<_> = names.iter().map(|(name, number)| (name.to_owned(), number)).collect();
            proptest::prop_assert_eq!(all, expected.into_iter().collect::<Vec<_>>());
            check_chunks(&names);
        }
    }

    /// No chunk is empty or too large, and there are not too many.
    #[track_caller]
    fn check_chunks(names: &Names) {
        assert!(names.chunks.iter().all(|chunk| (1..=MOST_IN_CHUNK).contains(&chunk.len())));
        assert!(names.chunks.len() <= 1 + 4 * names.length / MOST_IN_CHUNK, "{}", names.chunks.len());
    }

    #[test]
    fn s3_chunks_join_when_names_go() {
        for backwards in [false, true] {
            let mut names = Names::default();
            let mut all: Vec<_> = (10_000..30_000).map(|number: usize| number.to_string()).collect();
            if backwards {
                all.reverse();
            }
            assert!(all.iter().all(|name| names.insert(name.as_str().into(), 0)));
            check_chunks(&names);
            for (place, name) in all.iter().enumerate() {
                if place % 100 != 0 {
                    assert_eq!(names.remove(name), Some(0));
                }
            }
            check_chunks(&names);
            assert_eq!(names.len(), 200);
            assert_eq!(all.iter().filter(|name| names.remove(name).is_some()).count(), 200);
            assert_eq!((names.len(), names.chunks.len()), (0, 0));
        }
    }
}
