//! Recent calls by their raw text: one that repeats the last call of its agent byte for byte need not be read again.
//!
//! This saves time and changes no answer. It is shared by all agents, and its size is bounded (S2).

use std::collections::VecDeque;

use crate::bytes::equal;

/// How much text is kept, in bytes, of names and arguments together.
const MAX_BYTES: usize = 7 << 20;

/// What a call costs beside its text, in bytes, generously.
const ENTRY_BYTES: usize = 64;

/// The last calls, the oldest first.
#[derive(Debug, Default)]
pub struct RecentCalls {
    calls: VecDeque<RecentCall>,
    /// The number of the oldest.
    first: u64,
    bytes: usize,
}

#[derive(Debug)]
struct RecentCall {
    tool: Box<str>,
    arguments: String,
}

/// Names a call that was recent when it was kept.
#[derive(Debug, Clone, Copy)]
pub struct Ticket(u64);

impl RecentCalls {
    /// Whether a call is still known, and has exactly this text.
    pub fn is_same(&self, Ticket(number): Ticket, tool: &str, arguments: &str) -> bool {
        let place = number.checked_sub(self.first).and_then(|place| usize::try_from(place).ok());
        place
            .and_then(|place| self.calls.get(place))
            .is_some_and(|call| equal(call.arguments.as_bytes(), arguments.as_bytes()) && *call.tool == *tool)
    }

    /// Keeps a call in place of the oldest ones; none if it is larger than what may be kept at all.
    pub fn keep(&mut self, tool: &str, arguments: String) -> Option<Ticket> {
        let size = cost(tool, &arguments);
        if size > MAX_BYTES {
            return None;
        }
        while self.bytes + size > MAX_BYTES
            && let Some(oldest) = self.calls.pop_front()
        {
            self.first += 1;
            self.bytes -= cost(&oldest.tool, &oldest.arguments);
        }
        self.bytes += size;
        self.calls.push_back(RecentCall { tool: tool.into(), arguments });
        Some(Ticket(self.first + self.calls.len() as u64 - 1))
    }
}

fn cost(tool: &str, arguments: &str) -> usize {
    tool.len() + arguments.len() + ENTRY_BYTES
}

#[cfg(test)]
mod tests {
    use super::{MAX_BYTES, RecentCalls};

    #[test]
    fn only_the_very_same_text_is_the_same() {
        let mut calls = RecentCalls::default();
        let ticket = calls.keep("grep", "{\"a\":1}".to_owned()).unwrap_or_else(|| unreachable!("it is small"));
        assert!(calls.is_same(ticket, "grep", "{\"a\":1}"));
        assert!(!calls.is_same(ticket, "grep", "{\"a\":2}"));
        assert!(!calls.is_same(ticket, "grep", "{\"a\": 1}"));
        assert!(!calls.is_same(ticket, "rg", "{\"a\":1}"));
    }

    #[test]
    fn s2_what_is_kept_is_bounded_and_the_oldest_goes_first() {
        let mut calls = RecentCalls::default();
        let megabyte = |fill: char| String::from_iter(std::iter::repeat_n(fill, 1 << 20));
        let tickets: Vec<_> = ('a'..='z').map(|fill| calls.keep("t", megabyte(fill))).collect();
        let known = |ticket: &Option<_>, fill| ticket.is_some_and(|ticket| calls.is_same(ticket, "t", &megabyte(fill)));
        let kept: String =
            ('a'..='z').zip(&tickets).filter(|(fill, ticket)| known(ticket, *fill)).map(|(fill, _)| fill).collect();
        assert_eq!(kept, "uvwxyz");
        assert!(calls.bytes <= MAX_BYTES);

        assert!(calls.keep("t", "x".repeat(MAX_BYTES)).is_none());
        assert_eq!(calls.calls.len(), 6, "what is too large drives nothing out");
    }
}
