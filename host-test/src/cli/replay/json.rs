//! `--output json`: an object a line.

use std::io::{self, Write};

use loop_guard::recorded::{Agent, Call};
use loop_guard::replay::{Moment, Place, Totals, Watcher};
use loop_guard::{Decision, Notice};
use serde::Serialize;

use super::Row;
use crate::cli::text::plain_json;

/// Prints what the guard says as soon as it says it.
pub struct Json<'a> {
    out: &'a mut dyn Write,
    /// The first line that could not be written.
    broken: io::Result<()>,
}

#[derive(Serialize)]
#[serde(tag = "event", rename_all = "lowercase")]
enum Line<'a> {
    Notice {
        #[serde(flatten)]
        at: At<'a>,
        summary: &'a str,
        text: &'a str,
    },
    Denied {
        #[serde(flatten)]
        at: At<'a>,
        reason: &'a str,
        text: &'a str,
    },
    Asked {
        #[serde(flatten)]
        at: At<'a>,
        reason: &'a str,
        text: &'a str,
    },
    Summary {
        session: &'a str,
        file: &'a str,
        calls: usize,
        notices: usize,
        denied: usize,
        asked: usize,
        longest_run: u32,
        diverged: Option<&'a str>,
        skipped_lines: usize,
        agent: &'a str,
        format: &'a str,
        stuck: usize,
        polling: usize,
        after_notice: usize,
    },
}

/// The call that a line is about.
#[derive(Clone, Copy, Serialize)]
struct At<'a> {
    session: &'a str,
    agent: &'a str,
    turn: u32,
    step: u32,
    call: &'a str,
    tool: &'a str,
}

impl<'a> At<'a> {
    fn new(agent: &'a Agent, Place { turn, step }: Place, call: &'a Call) -> Self {
        Self { session: &agent.session, agent: &agent.id, turn, step, call: &call.id, tool: &call.tool }
    }
}

impl<'a> Json<'a> {
    pub fn new(out: &'a mut dyn Write) -> Self {
        Self { out, broken: Ok(()) }
    }

    fn print(&mut self, line: &Line<'_>) {
        if self.broken.is_ok() {
            let json = serde_json::to_string(line).map_err(io::Error::from);
            self.broken = json.and_then(|json| writeln!(self.out, "{}", plain_json(&json)));
        }
    }

    /// Ends with a summary of each agent.
    pub fn summaries(mut self, rows: &[Row]) -> io::Result<()> {
        for Row { file, format, agent, totals, skipped } in rows {
            let Totals { calls, notices, denied, asked, longest_run, stuck, polling, after_notice, diverged } = totals;
            self.print(&Line::Summary {
                session: &agent.session,
                file,
                calls: *calls,
                notices: *notices,
                denied: *denied,
                asked: *asked,
                longest_run: *longest_run,
                diverged: diverged.as_deref(),
                skipped_lines: *skipped,
                agent: &agent.id,
                format,
                stuck: *stuck,
                polling: *polling,
                after_notice: *after_notice,
            });
        }
        self.broken
    }
}

impl Watcher for Json<'_> {
    fn moment(&mut self, agent: &Agent, place: Place, moment: &Moment<'_>) {
        match *moment {
            Moment::Step { .. } => {}
            Moment::Began { call, decision, .. } => match decision {
                Decision::Allow => {}
                Decision::Deny(reason) => {
                    self.print(&Line::Denied { at: At::new(agent, place, call), reason, text: reason })
                }
                Decision::Ask(reason) => {
                    self.print(&Line::Asked { at: At::new(agent, place, call), reason, text: reason })
                }
            },
            Moment::Ended { call, began, notices, .. } => {
                for Notice { summary, text, .. } in notices {
                    self.print(&Line::Notice { at: At::new(agent, began, call), summary, text });
                }
            }
        }
    }
}
