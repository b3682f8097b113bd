//! Members of objects that do not count: a canonical form can leave them out (B1, B4).

use super::string::quoted;

/// Names of members, in the order in which they were given.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MemberNames(Vec<Box<[u8]>>);

impl MemberNames {
    /// Adds a name.
    pub fn push(&mut self, name: &str) {
        self.0.push(quoted(name).into());
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The names, each as JSON text.
    pub fn iter(&self) -> impl Iterator<Item = String> {
        self.0.iter().map(|name| String::from_utf8(name.to_vec()).unwrap_or_default())
    }

    /// Whether a name is among them, given as in canonical text, without its quotes.
    fn has(&self, name: &[u8]) -> bool {
        self.0.iter().any(|quoted| quoted.get(1..quoted.len() - 1) == Some(name))
    }
}

/// Which members a canonical form leaves out.
#[derive(Debug, Clone, Copy)]
pub enum Omitted<'a> {
    /// None.
    Nothing,
    /// Those of the outermost object that have these names.
    AtTop(&'a MemberNames),
    /// Those of any object that have these names.
    Anywhere(&'a MemberNames),
}

impl Omitted<'_> {
    /// Whether a member of an object at this depth is left out; the outermost is at depth 1.
    pub fn has(self, depth: u32, name: &[u8]) -> bool {
        match self {
            Self::Nothing => false,
            Self::AtTop(names) => depth == 1 && names.has(name),
            Self::Anywhere(names) => names.has(name),
        }
    }
}
