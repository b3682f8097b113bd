//! Patterns for tool names (R8).

/// A pattern: `*` matches any run of characters, all else is literal, and the whole name must match.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pattern {
    source: Box<str>,
    /// Where its first star stands; at its end, if it has none.
    star: usize,
    /// What stands between two stars.
    middle: Box<[Piece]>,
}

impl Pattern {
    /// Takes any text; there is no invalid pattern.
    pub fn new(source: &str) -> Self {
        // In UTF-8, no byte of another character is that of a star.
        let mut pieces = source.as_bytes().split(|&byte| byte == b'*');
        let star = pieces.next().map_or(0, <[u8]>::len);
        let _suffix = pieces.next_back();
        Self { source: source.into(), star, middle: pieces.map(Piece::new).collect() }
    }

    /// The pattern as it was written.
    pub fn source(&self) -> &str {
        &self.source
    }

    /// Whether the whole of `name` matches.
    ///
    /// Each piece between two stars is looked for once, leftmost first, so the time is linear in the
    /// length of the name and of the pattern, whatever the number of stars.
    pub fn matches(&self, name: &str) -> bool {
        let (source, name) = (self.source.as_bytes(), name.as_bytes());
        if self.star == source.len() {
            return name == source;
        }
        let between: usize = self.middle.iter().map(|piece| piece.text.len() + 1).sum();
        let prefix = source.get(..self.star).unwrap_or_default();
        let suffix = source.get(self.star + 1 + between..).unwrap_or_default();
        let rest = name.strip_prefix(prefix).and_then(|rest| rest.strip_suffix(suffix));
        let Some(mut rest) = rest else { return false };
        self.middle.iter().all(|piece| match piece.end_in(rest) {
            Some(end) => {
                rest = rest.get(end..).unwrap_or_default();
                true
            }
            None => false,
        })
    }
}

/// A text that can be searched for in linear time: the algorithm of Knuth, Morris and Pratt (1977).
#[derive(Debug, Clone, PartialEq, Eq)]
struct Piece {
    text: Box<[u8]>,
    /// For each byte of the text: the length of the longest text that both begins the piece and ends with this byte, the piece up to
    /// here itself excepted.
    borders: Vec<usize>,
}

impl Piece {
    fn new(text: &[u8]) -> Self {
        let mut piece = Self { text: text.into(), borders: Vec::with_capacity(text.len()) };
        let mut border = 0;
        for (index, &byte) in text.iter().enumerate() {
            if index > 0 {
                border = piece.advance(border, byte);
            }
            piece.borders.push(border);
        }
        piece
    }

    /// The place after the first occurrence of the piece.
    fn end_in(&self, text: &[u8]) -> Option<usize> {
        let mut matched = 0;
        if self.text.is_empty() {
            return Some(0);
        }
        let last = text.iter().position(|&byte| {
            matched = self.advance(matched, byte);
            matched == self.text.len()
        })?;
        Some(last + 1)
    }

    /// How much of the piece is matched after one more byte, where `matched`, less than all of it, was before.
    fn advance(&self, mut matched: usize, byte: u8) -> usize {
        while self.text.get(matched) != Some(&byte) {
            if matched == 0 {
                return 0;
            }
            matched = self.borders.get(matched - 1).copied().unwrap_or_default();
        }
        matched + 1
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
        check("*abab*abac*", &["abababac", "abab-ababac"], &["ababac", "abacabab"]);
        check("*aab*aab", &["aaabaab", "aabaaab"], &["aab", "aabab", "aaab"]);
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
