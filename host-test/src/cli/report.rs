//! `--report`: one page with the figures, the charts and a timeline of each session.
//!
//! The page stands alone: no network, and no script but for sorting the table and copying the configuration.

mod chart;
mod page;
mod strip;

use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use loop_guard::Guard;
use loop_guard::recorded::{Agent, Skipped};
use loop_guard::replay::{Moment, Place, Watcher};
use loop_guard::tune::{Study, StudyWatcher};
use tempfile::NamedTempFile;

pub use self::strip::{Strip, Strips};

use super::replay::Row;

/// A page that is being collected.
pub struct Report {
    path: PathBuf,
    /// What will be the page, and goes away if it is not finished.
    file: NamedTempFile,
    /// The configuration in force.
    config: String,
    study: Study,
    sessions: Vec<(Row, Strip)>,
}

impl Report {
    /// Begins a page where one is wanted.
    pub fn wanted(path: Option<&Path>, guard: &Guard) -> Result<Option<Self>> {
        path.map(|path| Self::create(path, guard)).transpose()
    }

    /// Begins a page; the guard tells which configuration is in force. Fails if there is no place for it.
    fn create(path: &Path, guard: &Guard) -> Result<Self> {
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let file = NamedTempFile::new_in(folder).with_context(|| format!("cannot write {}", path.display()))?;
        let config = guard.describe()?;
        Ok(Self { path: path.to_owned(), file, config, study: Study::default(), sessions: Vec::new() })
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
        let shown = self.path.display().to_string();
        let page = page::page(&self.config, &self.study, &self.sessions).into_string();
        self.file.write_all(page.as_bytes()).with_context(|| format!("cannot write {shown}"))?;
        readable_as_any_new_file(&self.file, &self.path)?;
        self.file.persist(&self.path).with_context(|| format!("cannot write {shown}"))?;
        Ok(())
    }
}

/// A temporary file is for its owner alone; a page is not.
#[cfg(unix)]
fn readable_as_any_new_file(file: &NamedTempFile, _path: &Path) -> Result<()> {
    use std::os::unix::fs::PermissionsExt;
    Ok(file.as_file().set_permissions(std::fs::Permissions::from_mode(0o644))?)
}

#[cfg(not(unix))]
fn readable_as_any_new_file(_file: &NamedTempFile, _path: &Path) -> Result<()> {
    Ok(())
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

    fn skipped(&mut self, skipped: &Skipped) {
        self.other.skipped(skipped);
    }
}
