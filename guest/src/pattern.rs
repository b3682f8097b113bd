//! Patterns for tool names (R8).

use serde::Serialize;

/// A pattern: `*` matches any run of characters, all else is literal, and the whole name must match.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct Pattern {
    source: Box<str>,
}

impl Pattern {
    /// Takes any text; there is no invalid pattern.
    pub fn new(source: &str) -> Self {
        Self { source: source.into() }
    }

    /// Whether the whole of `name` matches.
    ///
    /// Each piece between two stars is looked for once, leftmost first, so the time is linear in the
    /// length of the name and of the pattern, whatever the number of stars.
    pub fn matches(&self, name: &str) -> bool {
        let Some((prefix, rest)) = self.source.split_once('*') else {
            return name == &*self.source;
        };
        let (middle, suffix) = rest.rsplit_once('*').unwrap_or(("", rest));
        let Some(name) = name.strip_prefix(prefix) else { return false };
        let Some(mut name) = name.strip_suffix(suffix) else { return false };
        for piece in middle.split('*') {
            let Some(found) = name.find(piece) else { return false };
            name = name.get(found + piece.len()..).unwrap_or_default();
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::Pattern;

    #[track_caller]
    fn check(pattern: &str, matching: &[&str], others: &[&str]) {
        for name in matching {
            assert!(Pattern::new(pattern).matches(name), "{pattern:?} should match {name:?}");
        }
        for name in others {
            assert!(!Pattern::new(pattern).matches(name), "{pattern:?} should not match {name:?}");
        }
    }

    #[test]
    fn r8_a_pattern_without_a_star_is_the_whole_name() {
        check("grep", &["grep"], &["", "grep ", "egrep", "Grep"]);
        check("", &[""], &["a"]);
    }

    #[test]
    fn r8_a_star_matches_any_run_of_characters() {
        check("*", &["", "grep", "two\nlines", "日本"], &[]);
        check("mcp__*", &["mcp__", "mcp__files__read"], &["mcp_", "xmcp__a"]);
        check("*_search", &["_search", "web_search"], &["web_search2", "search"]);
        check("a*b*c", &["abc", "a-b-c", "abcbc", "a\nb\nc"], &["ab", "acb", "abcd", "xabc"]);
        check("a**c", &["ac", "abc"], &["a", "c", "ab"]);
    }

    #[test]
    fn r8_prefix_and_suffix_do_not_share_characters() {
        check("ab*ba", &["abba", "abxba"], &["aba", "ab", "ba"]);
        check("a*a", &["aa", "aba"], &["a"]);
        check("a*b*b", &["abb", "axbxb"], &["ab"]);
    }

    #[test]
    fn r8_all_else_is_literal() {
        check("a.c", &["a.c"], &["abc"]);
        check("[a-z]+(x)?^$|\\", &["[a-z]+(x)?^$|\\"], &["a"]);
        check("é*", &["é", "été"], &["e", "É"]);
    }

    #[test]
    fn r8_many_stars_are_answered_at_once() {
        let stars = "*a".repeat(60) + "*b";
        let name = "a".repeat(1 << 20);
        check(&stars, &[&(name.clone() + "b")], &[&name, "b"]);
    }
}
