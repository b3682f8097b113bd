//! The timeline of a session as a strip of cells, a call each. Identical calls have one colour.

use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};

use loop_guard::recorded::{Agent, Call};
use loop_guard::replay::{Moment, Place, Watcher};
use loop_guard::{CallError, Decision, Guard, Status};
use maud::{Markup, PreEscaped, html};

use crate::cli::text::{count, one_line};

/// How many calls are in a row, how many rows are drawn even if nothing happens in them, how many at the most, and how many streaks are
/// listed.
const ROW: usize = 60;
const ALL_ROWS: usize = 20;
const MOST_ROWS: usize = 1000;
const MOST_STREAKS: usize = 20;

/// How many colours there are: those of the calls that were made most often.
const HUES: usize = 12;
const COLOURS: usize = 3 * HUES;

/// The size of a cell, and of the room above it for what the guard did.
const WIDTH: usize = 16;
const HEIGHT: usize = 18;
const ABOVE: usize = 8;
const GAP: usize = 20;

/// The calls of an agent.
#[derive(Debug, Default)]
pub struct Strip {
    cells: Vec<Cell>,
    /// Which call is which: the tool and the arguments of its first making, and how often it was made.
    calls: Vec<(String, String, usize)>,
}

#[derive(Debug)]
struct Cell {
    /// Its place in `calls`.
    call: usize,
    place: Place,
    prompted: bool,
    status: Option<Status>,
    noticed: bool,
    refused: bool,
}

/// Makes the strips of a recording's agents.
pub struct Strips<'a> {
    guard: &'a Guard,
    hasher: RandomState,
    agents: Vec<Growing>,
    places: HashMap<Agent, usize>,
    failed: Option<CallError>,
}

#[derive(Default)]
struct Growing {
    strip: Strip,
    /// Which calls are known, by the hash of tool and canonical arguments.
    known: HashMap<u64, usize>,
    running: HashMap<String, usize>,
    prompted: bool,
}

impl<'a> Strips<'a> {
    pub fn new(guard: &'a Guard) -> Self {
        Self { guard, hasher: RandomState::new(), agents: Vec::new(), places: HashMap::new(), failed: None }
    }

    /// The strips, in the order in which the agents appeared.
    pub fn finish(self) -> Result<Vec<Strip>, CallError> {
        match self.failed {
            Some(error) => Err(error),
            None => Ok(self.agents.into_iter().map(|growing| growing.strip).collect()),
        }
    }
}

impl Watcher for Strips<'_> {
    fn agent(&mut self, agent: &Agent) {
        self.places.insert(agent.clone(), self.agents.len());
        self.agents.push(Growing::default());
    }

    fn moment(&mut self, agent: &Agent, place: Place, moment: &Moment<'_>) {
        let place_of_agent = self.places.get(agent).copied().unwrap_or_default();
        let Some(growing) = self.agents.get_mut(place_of_agent) else { return };
        match moment {
            Moment::Step { prompted } => growing.prompted |= prompted,
            Moment::Began { call, decision, .. } => match self.guard.canonical(&call.arguments) {
                Ok(canonical) => {
                    let key = self.hasher.hash_one((&call.tool, canonical));
                    growing.begin(key, call, place, **decision != Decision::Allow);
                }
                Err(error) => self.failed = Some(error),
            },
            Moment::Ended { call, status, notices, .. } => {
                let cell = growing.running.remove(&call.id);
                if let Some(cell) = cell.and_then(|cell| growing.strip.cells.get_mut(cell)) {
                    (cell.status, cell.noticed) = (Some(*status), !notices.is_empty());
                }
            }
        }
    }
}

impl Growing {
    fn begin(&mut self, key: u64, call: &Call, place: Place, refused: bool) {
        let prompted = std::mem::take(&mut self.prompted);
        let number = *self.known.entry(key).or_insert_with(|| {
            self.strip.calls.push((one_line(&call.tool, 80), one_line(&call.arguments, 200), 0));
            self.strip.calls.len() - 1
        });
        if let Some((_, _, made)) = self.strip.calls.get_mut(number) {
            *made += 1;
        }
        self.running.insert(call.id.clone(), self.strip.cells.len());
        self.strip.cells.push(Cell { call: number, place, prompted, status: None, noticed: false, refused });
    }
}

/// Equal calls in a row.
struct Run<'a> {
    cells: &'a [Cell],
    call: usize,
}

impl Strip {
    /// The class of each call that was made more than once: the most frequent ones have colours of their own.
    fn colours(&self) -> HashMap<usize, String> {
        let mut repeated: Vec<_> = self.calls.iter().enumerate().filter(|(_, (_, _, made))| *made > 1).collect();
        repeated.sort_by_key(|(number, (_, _, made))| (std::cmp::Reverse(*made), *number));
        let class = |rank: usize| match rank {
            COLOURS.. => "often".to_owned(),
            _ => format!("c{} s{}", rank % HUES, rank / HUES),
        };
        repeated.into_iter().enumerate().map(|(rank, (number, _))| (number, class(rank))).collect()
    }

    /// The rows that are drawn, each with the number of calls that are left out before it.
    fn rows(&self) -> Vec<(usize, &[Cell])> {
        let all: Vec<&[Cell]> = self.cells.chunks(ROW).collect();
        let is_eventful = |row: &[Cell]| {
            row.windows(2).any(|cells| matches!(cells, [one, other] if one.call == other.call))
                || row.iter().any(|cell| cell.noticed || cell.refused)
        };
        let (mut rows, mut left_out, few) = (Vec::new(), 0, all.len() <= ALL_ROWS);
        for row in all {
            if rows.len() < MOST_ROWS && (few || is_eventful(row)) {
                rows.push((std::mem::take(&mut left_out), row));
            } else {
                left_out += row.len();
            }
        }
        if left_out > 0 {
            rows.push((left_out, &[]));
        }
        rows
    }

    fn runs(&self) -> Vec<Run<'_>> {
        self.cells
            .chunk_by(|one, next| one.call == next.call)
            .filter_map(|cells| Some(Run { cells, call: cells.first()?.call }))
            .collect()
    }

    /// The strip as a drawing, and its longest streaks in words.
    pub fn markup(&self) -> Markup {
        let colours = self.colours();
        let rows = self.rows();
        let gaps = rows.iter().filter(|(left_out, _)| *left_out > 0).count();
        let rows_drawn = rows.iter().filter(|(_, row)| !row.is_empty()).count();
        let (width, height) = (ROW.min(self.cells.len()).max(1) * WIDTH, rows_drawn * (HEIGHT + ABOVE) + gaps * GAP);
        let mut y = 0;
        html! {
            svg class="strip" role="img" width=(width) height=(height) viewBox={"0 0 " (width) " " (height)} aria-label=(self.label()) {
                @for (left_out, row) in &rows {
                    @if *left_out > 0 {
                        text class="gap" x="0" y=(y + GAP - 5) { "⋯ " (count(*left_out, "call")) }
                        ({ y += GAP; PreEscaped("") })
                    }
                    (self.row(row, y, &colours))
                    ({ y += if row.is_empty() { 0 } else { HEIGHT + ABOVE }; PreEscaped("") })
                }
            }
            (self.streaks(&colours))
        }
    }

    fn row(&self, row: &[Cell], y: usize, colours: &HashMap<usize, String>) -> Markup {
        let y = y + ABOVE;
        html! {
            @for (number, cell) in row.iter().enumerate() {
                @let x = number * WIDTH;
                rect class=(colours.get(&cell.call).map_or("once", String::as_str)) x=(x) y=(y) width=(WIDTH - 1) height=(HEIGHT - 1) {
                    title { (self.words(cell)) }
                }
                @if cell.prompted { path class="prompt" d={"M" (x) " " (y - ABOVE) "v" (HEIGHT + ABOVE - 1)} {} }
                @if cell.status == Some(Status::Failed) { path class="failed" d={"M" (x + 4) " " (y + 5) "l7 7m0 -7l-7 7"} {} }
                @if cell.noticed { path class="notice" d={"M" (x + 2) " " (y - 7) "h11l-5.5 6z"} {} }
                @if cell.refused { path class="refused" d={"M" (x + 3) " " (y - 5) "h9v3h-9z"} {} }
            }
        }
    }

    fn label(&self) -> String {
        let longest = self.runs().iter().map(|run| run.cells.len()).max().unwrap_or_default();
        format!("Timeline of {}; at most {longest} equal ones in a row", count(self.cells.len(), "call"))
    }

    fn words(&self, cell: &Cell) -> String {
        let Place { turn, step } = cell.place;
        let (tool, arguments, made) =
            self.calls.get(cell.call).map_or(("", "", 0), |(tool, arguments, made)| (&**tool, &**arguments, *made));
        let times = if made > 1 { format!(", made {made} times") } else { String::new() };
        format!("{turn}.{step} {tool} {arguments}{times}")
    }

    fn streaks(&self, colours: &HashMap<usize, String>) -> Markup {
        let mut runs: Vec<_> = self.runs().into_iter().filter(|run| run.cells.len() > 1).collect();
        runs.sort_by_key(|run| std::cmp::Reverse(run.cells.len()));
        let more = runs.len().saturating_sub(MOST_STREAKS);
        runs.truncate(MOST_STREAKS);
        if runs.is_empty() {
            return PreEscaped(String::new());
        }
        html! {
            ul.streaks {
                @for Run { cells, call } in &runs {
                    @if let (Some(first), Some(last), Some((tool, arguments, _))) = (cells.first(), cells.last(), self.calls.get(*call)) {
                        li {
                            span class={"swatch " (colours.get(call).map_or("once", String::as_str))} aria-hidden="true" {}
                            b { (tool) " × " (cells.len()) } " "
                            span.faint { (first.place.turn) "." (first.place.step) " to " (last.place.turn) "." (last.place.step) } " "
                            code { (arguments) }
                            @let reminded = cells.iter().enumerate().filter(|(_, cell)| cell.noticed).map(|(number, _)| (number + 1).to_string()).collect::<Vec<_>>();
                            @if !reminded.is_empty() { " " span.reminded { "reminded at call " (reminded.join(", ")) " of the run" } }
                            @let refused = cells.iter().filter(|cell| cell.refused).count();
                            @if refused > 0 { " " span.refused-words { (count(refused, "call")) " denied or asked about" } }
                        }
                    }
                }
            }
            @if more > 0 { p.faint { "and " (count(more, "shorter run")) } }
        }
    }
}
