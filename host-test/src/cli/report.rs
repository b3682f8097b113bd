//! `--report`: one page with the figures, the charts and a timeline of each session.
//!
//! The page stands alone: no network, and no script but for sorting the table and copying the configuration.

mod chart;
mod page;
mod strip;

use std::fs::{self, OpenOptions};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use loop_guard::Guard;
use loop_guard::recorded::Agent;
use loop_guard::replay::{Moment, Place, Watcher};
use loop_guard::tune::{Study, StudyWatcher};

pub use self::strip::{Strip, Strips};

use super::advice::Advisor;
use super::corpus::Corpus;
use super::replay::Row;

/// A page that is being collected.
pub struct Report {
    path: PathBuf,
    /// The configuration in force.
    config: String,
    advisor: Advisor,
    study: Study,
    sessions: Vec<(Row, Strip)>,
}

impl Report {
    /// Begins a page where one is wanted; the guard tells which configuration is in force. Fails if it could not be written in the end.
    pub fn wanted(path: Option<&Path>, corpus: &Corpus, guard: &Guard, advisor: Advisor) -> Result<Option<Self>> {
        let Some(path) = path else { return Ok(None) };
        let shown = path.display();
        if corpus.reads(path) {
            bail!("cannot write {shown}: it is one of the recorded sessions");
        }
        let exists = path.exists();
        OpenOptions::new().append(true).create(true).open(path).with_context(|| format!("cannot write {shown}"))?;
        if !exists {
            fs::remove_file(path)?;
        }
        let (study, sessions) = (Study::default(), Vec::new());
        Ok(Some(Self { path: path.to_owned(), config: guard.describe()?, advisor, study, sessions }))
    }

    /// Adds the agents of a recording.
    pub fn add(&mut self, rows: impl IntoIterator<Item = Row>, collected: Collected) {
        self.study.add(collected.study);
        self.sessions.extend(rows.into_iter().zip(collected.strips));
    }

    /// Writes the page.
    pub fn finish(mut self) -> Result<()> {
        // The most stuck come first.
        self.sessions.sort_by_key(|(row, _)| {
            let totals = &row.totals;
            std::cmp::Reverse((totals.stuck, totals.polling, totals.longest_run, totals.calls))
        });
        let page = page::page(&self.config, &self.advisor, &self.study, &self.sessions).into_string();
        fs::write(&self.path, page).with_context(|| format!("cannot write {}", self.path.display()))
    }
}

/// What the page needs of one recording.
pub struct Collected {
    study: Study,
    strips: Vec<Strip>,
}

/// Collects for the page, beside another watcher.
pub struct Collector<'a> {
    other: &'a mut dyn Watcher,
    /// None where no page is wanted.
    page: Option<(StudyWatcher, Strips<'a>)>,
}

impl<'a> Collector<'a> {
    pub fn new(wanted: bool, guard: &'a Guard, other: &'a mut dyn Watcher) -> Self {
        Self { other, page: wanted.then(|| (Study::watcher(), Strips::new(guard))) }
    }

    pub fn collected(self) -> Result<Option<Collected>> {
        let collect = |(study, strips): (StudyWatcher, Strips<'_>)| -> Result<Collected> {
            Ok(Collected { study: study.study(), strips: strips.finish()? })
        };
        self.page.map(collect).transpose()
    }
}

impl Watcher for Collector<'_> {
    fn agent(&mut self, agent: &Agent) {
        self.other.agent(agent);
        if let Some((study, strips)) = &mut self.page {
            study.agent(agent);
            strips.agent(agent);
        }
    }

    fn moment(&mut self, agent: &Agent, place: Place, moment: &Moment<'_>) {
        self.other.moment(agent, place, moment);
        if let Some((study, strips)) = &mut self.page {
            study.moment(agent, place, moment);
            strips.moment(agent, place, moment);
        }
    }
}
