//! The table over all sessions.

use std::io::{self, Write};

use comfy_table::presets::NOTHING;
use comfy_table::{CellAlignment, Table};
use loop_guard::replay::Totals;

use super::Row;
use crate::cli::text::{FAINT, count, one_line, styled};

/// Shows the figures of all sessions, and their sums.
pub fn table(rows: &[Row], out: &mut dyn Write) -> io::Result<()> {
    let mut table = Table::new();
    table.load_preset(NOTHING).set_header([
        "session",
        "format",
        "calls",
        "longest run",
        "notices",
        "denied",
        "asked",
        "after 1st notice",
        "diverges at",
        "lines left out",
    ]);
    for Row { format, agent, totals, skipped, .. } in rows {
        let Totals { calls, longest_run, notices, denied, asked, after_notice, diverged, .. } = totals;
        let session = one_line(&agent.session, 40);
        table.add_row([
            if agent.session == agent.id { session } else { format!("{session} ▸ {}", one_line(&agent.id, 24)) },
            (*format).to_owned(),
            calls.to_string(),
            longest_run.to_string(),
            notices.to_string(),
            denied.to_string(),
            asked.to_string(),
            after_notice.to_string(),
            diverged.as_deref().map_or_else(|| "–".to_owned(), |call| one_line(call, 30)),
            skipped.to_string(),
        ]);
    }
    for number in [2, 3, 4, 5, 6, 7, 9] {
        if let Some(column) = table.column_mut(number) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    writeln!(out, "{}", table.trim_fmt())?;
    let total = |figure: fn(&Totals) -> usize| rows.iter().map(|row| figure(&row.totals)).sum();
    writeln!(
        out,
        "{}: {}, {}, {} denied, {} asked; {} after a first notice",
        count(rows.len(), "session"),
        count(total(|totals| totals.calls), "call"),
        count(total(|totals| totals.notices), "notice"),
        total(|totals| totals.denied),
        total(|totals| totals.asked),
        count(total(|totals| totals.after_notice), "call"),
    )?;
    let saved = "Calls after a first notice continued the very streak that the model would have been reminded of: an estimate of what a heeded reminder saves.";
    writeln!(out, "{}", styled(FAINT, saved))
}
