//! The recorded sessions that a command line names: found, recognised, and read on all cores.

use std::collections::BTreeSet;
use std::io::{self, Write};
use std::num::NonZero;
use std::path::{Path, PathBuf};
use std::thread;

use anyhow::{Context, Result, anyhow, bail};
use clap::builder::PossibleValuesParser;
use indicatif::{ProgressBar, ProgressStyle};
use loop_guard::Guard;
use loop_guard::recorded::{Agent, FORMATS, Format, Inherited, Input, Lineages, ReadError, Recording, Skipped, search};
use loop_guard::replay::{Moment, Place, Replay, Watcher, replay};

use super::in_order::{Outlet, in_order};
use super::text::{BAD, GUARD, styled};

/// How many of the lines that could not be read are shown for each file.
const SHOWN_LINES: usize = 10;

/// Which sessions, and how they are read
#[derive(clap::Args)]
pub struct Args {
    /// Recorded sessions: files, folders (searched to the bottom), patterns such as 'logs/**/*.jsonl', or - for standard
    /// input. What is compressed (.gz, .zst, .zstd) is read as it is
    #[arg(required = true, value_name = "FILES")]
    files: Vec<PathBuf>,
    /// The format of all files, instead of recognising that of each by its content
    #[arg(long, value_name = "FORMAT", default_value = "auto", hide_possible_values = true, value_parser = PossibleValuesParser::new(names()))]
    format: String,
    /// Fail at the first line that cannot be read, and at files of no known format, instead of leaving them out
    #[arg(long)]
    strict: bool,
    /// How many files to read at once [default: one for each core]
    #[arg(long, value_name = "NUMBER")]
    jobs: Option<NonZero<usize>>,
}

fn names() -> Vec<&'static str> {
    std::iter::once("auto").chain(FORMATS.iter().map(|format| format.name)).collect()
}

/// The names of all formats, for the help of a command.
pub fn formats() -> String {
    let rows = FORMATS.iter().map(|format| format!("\n  {:<15} {}", format.name, format.title));
    format!("Formats, each recognised by its content:{}", rows.collect::<String>())
}

/// Recorded sessions whose formats are known.
pub struct Corpus {
    recordings: Vec<Recording>,
    strict: bool,
    jobs: usize,
    /// How many files could not be read that were named, or recognised.
    failed: usize,
    progress: ProgressBar,
}

impl Args {
    /// Finds the files, and recognises their formats. What is no recorded session is named on standard error.
    pub fn open(&self) -> Result<Corpus> {
        let format = Format::named(&self.format);
        let (mut recordings, mut failed, mut unknown) = (Vec::new(), 0, false);
        let mut seen = BTreeSet::new();
        for path in &self.files {
            for input in inputs(path)? {
                let name = input.name().to_owned();
                if !seen.insert(name.clone()) {
                    // Named twice, or named and found.
                    continue;
                }
                let error = match Recording::open(input, format) {
                    Ok(recording) => {
                        recordings.push(recording);
                        continue;
                    }
                    Err(ReadError::Io(error)) => return Err(error).with_context(|| format!("cannot read {name}")),
                    Err(error) => error,
                };
                unknown |= matches!(error, ReadError::UnknownFormat);
                if self.strict {
                    bail!("{name}: {error}{}", if unknown { signs() } else { String::new() });
                }
                // In a folder lies what lies there.
                let found = path.is_dir();
                failed += usize::from(!found);
                let what = if found { styled(GUARD, "warning:") } else { styled(BAD, "error:") };
                complain(&format!("{what} {name}: {error}"))?;
            }
        }
        if unknown {
            complain(signs().trim_start())?;
        }
        if recordings.is_empty() {
            bail!("no recorded session to read");
        }
        let size = |recording: &Recording| recording.input().size() * recording.passes();
        let progress = ProgressBar::new(recordings.iter().map(size).sum());
        progress.set_style(ProgressStyle::with_template("{wide_bar} {bytes} of {total_bytes}, {eta} left")?);
        let told = |recording: Recording| {
            let progress = progress.clone();
            recording.with_progress(move |bytes| progress.inc(bytes))
        };
        let recordings = recordings.into_iter().map(told).collect();
        let jobs = self.jobs.or_else(|| thread::available_parallelism().ok()).map_or(1, NonZero::get);
        Ok(Corpus { recordings, strict: self.strict, jobs, failed, progress })
    }
}

fn complain(line: &str) -> io::Result<()> {
    writeln!(anstream::stderr(), "{line}")
}

fn inputs(path: &Path) -> Result<Vec<Input>> {
    if path.as_os_str() == "-" {
        let input = Input::spooled("-", io::stdin().lock()).context("cannot read standard input")?;
        return Ok(vec![input]);
    }
    Ok(search(path)?)
}

/// What was looked for in a file.
fn signs() -> String {
    let signs = FORMATS.iter().map(|format| format!("\n  {:<15} {}", format.name, format.signs));
    format!("\nlooked for these formats:{}", signs.collect::<String>())
}

/// One recording, to be replayed.
pub struct Job<'a> {
    pub recording: &'a Recording,
    inherited: Inherited,
    complaints: Vec<Skipped>,
}

impl Job<'_> {
    /// Replays the recording; what cannot be read is noted.
    pub fn replay(&mut self, guard: &Guard, watcher: &mut dyn Watcher) -> Result<Replay> {
        let mut noting = Noting { watcher, complaints: &mut self.complaints };
        let name = || self.recording.input().name().to_owned();
        replay(self.recording, &self.inherited, guard, &mut noting).with_context(name)
    }
}

/// Keeps the first lines that could not be read.
struct Noting<'a> {
    watcher: &'a mut dyn Watcher,
    complaints: &'a mut Vec<Skipped>,
}

impl Watcher for Noting<'_> {
    fn agent(&mut self, agent: &Agent) {
        self.watcher.agent(agent);
    }

    fn moment(&mut self, agent: &Agent, place: Place, moment: &Moment<'_>) {
        self.watcher.moment(agent, place, moment);
    }

    fn skipped(&mut self, skipped: &Skipped) {
        if self.complaints.len() < SHOWN_LINES {
            self.complaints.push(skipped.clone());
        }
        self.watcher.skipped(skipped);
    }
}

impl Corpus {
    /// Does `work` on each recording, on several at once. What it writes comes to `out` in the order of the recordings, and so does
    /// what it gives to `done`. A recording that cannot be replayed is named on standard error.
    pub fn each<T: Send>(
        &mut self,
        out: &mut dyn Write,
        work: impl Fn(&mut Job<'_>, &mut Outlet<Worked<T>>) -> Result<T> + Sync,
        mut done: impl FnMut(T),
    ) -> Result<()> {
        if self.strict {
            self.check()?;
        }
        let lineages = Lineages::new(&self.recordings);
        let recordings = &self.recordings;
        let (mut failed, progress) = (self.failed, self.progress.clone());
        let count = recordings.len();
        let result = in_order(
            count,
            self.jobs,
            out,
            |place, outlet| {
                let recording = recordings.get(place)?;
                let mut job = Job { recording, inherited: lineages.inherited(place), complaints: Vec::new() };
                let result = work(&mut job, outlet);
                Some((result, job.complaints))
            },
            |worked: Worked<T>| {
                let Some((result, complaints)) = worked else { return Ok(()) };
                for Skipped { file, line, reason } in &complaints {
                    let warning = styled(GUARD, "warning:");
                    progress.suspend(|| complain(&format!("{warning} {file}:{line}: left out: {reason}")))?;
                }
                match result {
                    Ok(result) => {
                        done(result);
                        Ok(())
                    }
                    Err(error) => {
                        failed += 1;
                        Ok(progress.suspend(|| complain(&format!("{} {error:#}", styled(BAD, "error:"))))?)
                    }
                }
            },
        );
        self.progress.finish_and_clear();
        self.failed = failed;
        result
    }

    /// Reads all, to fail at the first line that cannot be read, before anything is printed.
    fn check(&self) -> Result<()> {
        struct First(Option<Skipped>);
        impl loop_guard::recorded::Sink for First {
            fn agent(&mut self, _: &Agent) {}
            fn event(&mut self, _: &Agent, _: loop_guard::recorded::Event) {}
            fn skipped(&mut self, skipped: Skipped) {
                self.0.get_or_insert(skipped);
            }
        }
        for recording in &self.recordings {
            let mut first = First(None);
            recording.read(&Inherited::default(), &mut first).with_context(|| recording.input().name().to_owned())?;
            if let Some(Skipped { file, line, reason }) = first.0 {
                return Err(anyhow!("{file}:{line}: {reason}"));
            }
        }
        Ok(())
    }

    /// How many files could not be read that were named, or recognised.
    pub fn failed(&self) -> usize {
        self.failed
    }
}

/// What comes of a recording, and the lines of it that could not be read.
pub type Worked<T> = Option<(Result<T>, Vec<Skipped>)>;
