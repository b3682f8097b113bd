//! The recorded sessions that a command line names: found, recognised, and read on all cores.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, IsTerminal, Read, Write};
use std::num::NonZero;
use std::path::{Path, PathBuf};
use std::thread;

use anstyle::Style;
use anyhow::{Context, Result, anyhow, bail};
use clap::builder::PossibleValuesParser;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use loop_guard::Guard;
use loop_guard::recorded::{
    Agent, FORMATS, Format, Found, Inherited, Input, Lineages, ReadError, Recording, Skipped, search,
};
use loop_guard::replay::{Moment, Place, Replay, Watcher, replay};

use super::in_order::{Outlet, in_order};
use super::text::{BAD, GUARD, one_line, styled};

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
    /// Finds the files, and recognises their formats. What is no recorded session is named on standard error. Progress is shown on
    /// standard error, unless there is output to follow on the same terminal.
    pub fn open(&self, prints: bool) -> Result<Corpus> {
        let format = Format::named(&self.format);
        let mut opening = Opening { strict: self.strict, ..Opening::default() };
        for path in &self.files {
            let found = match inputs(path) {
                Ok(found) => found,
                Err(error) if self.strict => return Err(error),
                Err(error) => {
                    opening.fails(&format!("{error:#}"))?;
                    continue;
                }
            };
            for error in found.unreadable {
                complain("warning:", GUARD, &error.to_string())?;
            }
            for input in found.inputs {
                opening.open(input, format, path.is_dir())?;
            }
        }
        let Opening { recordings, failed, unknown, .. } = opening;
        if unknown {
            writeln!(anstream::stderr(), "{}", signs().trim_start())?;
        }
        if recordings.is_empty() {
            bail!("no recorded session to read");
        }
        let size = |recording: &Recording| recording.input().size() * recording.passes();
        let progress = ProgressBar::new(recordings.iter().map(size).sum());
        if prints && io::stdout().is_terminal() {
            progress.set_draw_target(ProgressDrawTarget::hidden());
        }
        progress.set_style(ProgressStyle::with_template("{wide_bar} {bytes} of {total_bytes}, {eta} left")?);
        let told = |recording: Recording| {
            let progress = progress.clone();
            recording.with_progress(move |bytes| {
                progress.inc(bytes);
                // What is read once more, of a parent of forks, is not foreseen.
                if progress.length().is_some_and(|length| progress.position() > length) {
                    progress.set_length(progress.position());
                }
            })
        };
        let recordings = recordings.into_iter().map(told).collect();
        let jobs = self.jobs.or_else(|| thread::available_parallelism().ok()).map_or(1, NonZero::get);
        Ok(Corpus { recordings, strict: self.strict, jobs, failed, progress })
    }
}

/// What is known while files are opened.
#[derive(Default)]
struct Opening {
    strict: bool,
    recordings: Vec<Recording>,
    seen: BTreeSet<PathBuf>,
    failed: usize,
    /// Whether there is a file of no known format.
    unknown: bool,
}

impl Opening {
    /// Recognises an input. One that is no recording is named; in a folder that was searched lies what lies there.
    fn open(&mut self, input: Input, format: Option<&'static Format>, found: bool) -> Result<()> {
        let name = one_line(input.name(), usize::MAX);
        // A file may be named twice, or named and found.
        if let Some(path) = input.path().and_then(|path| path.canonicalize().ok())
            && !self.seen.insert(path)
        {
            return Ok(());
        }
        match Recording::open(input, format) {
            Ok(recording) => self.recordings.push(recording),
            Err(ReadError::Io(error)) if found => complain("warning:", GUARD, &format!("cannot read {name}: {error}"))?,
            Err(ReadError::Io(error)) => return Err(error).with_context(|| format!("cannot read {name}")),
            Err(error) => {
                let unknown = matches!(error, ReadError::UnknownFormat);
                let words = format!("{name}: {error}");
                if found {
                    complain("warning:", GUARD, &words)?;
                } else if self.strict {
                    bail!("{words}{}", if unknown { signs() } else { String::new() });
                } else {
                    self.fails(&words)?;
                }
                self.unknown |= unknown;
            }
        }
        Ok(())
    }

    fn fails(&mut self, words: &str) -> io::Result<()> {
        self.failed += 1;
        complain("error:", BAD, words)
    }
}

fn complain(what: &str, style: Style, words: &str) -> io::Result<()> {
    writeln!(anstream::stderr(), "{} {words}", styled(style, what))
}

fn inputs(path: &Path) -> Result<Found> {
    let spooled = |stream: &mut dyn Read| -> Result<Found> {
        let name = path.display().to_string();
        let input = Input::spooled(name.clone(), stream).with_context(|| format!("cannot read {name}"))?;
        Ok(Found { inputs: vec![input], unreadable: Vec::new() })
    };
    if path.as_os_str() == "-" {
        return spooled(&mut io::stdin().lock());
    }
    // A pipe can be read only once.
    match path.metadata() {
        Ok(metadata) if !metadata.is_file() && !metadata.is_dir() => spooled(&mut File::open(path)?),
        _ => Ok(search(path)?),
    }
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
    complaints: Complaints,
}

/// The first lines of a recording that could not be read, and how many more there are.
#[derive(Default)]
pub struct Complaints {
    shown: Vec<Skipped>,
    more: usize,
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
    complaints: &'a mut Complaints,
}

impl Watcher for Noting<'_> {
    fn agent(&mut self, agent: &Agent) {
        self.watcher.agent(agent);
    }

    fn moment(&mut self, agent: &Agent, place: Place, moment: &Moment<'_>) {
        self.watcher.moment(agent, place, moment);
    }

    fn skipped(&mut self, skipped: &Skipped) {
        if self.complaints.shown.len() < SHOWN_LINES {
            self.complaints.shown.push(skipped.clone());
        } else {
            self.complaints.more += 1;
        }
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
                let mut job =
                    Job { recording, inherited: lineages.inherited(place), complaints: Complaints::default() };
                let result = work(&mut job, outlet);
                Some((result, job.complaints))
            },
            |worked: Worked<T>| {
                let Some((result, complaints)) = worked else { return Ok(()) };
                let place = |skipped: &Skipped| format!("{}:{}", one_line(&skipped.file, usize::MAX), skipped.line);
                for skipped in &complaints.shown {
                    let words = format!("{}: left out: {}", place(skipped), one_line(&skipped.reason, 300));
                    progress.suspend(|| complain("warning:", GUARD, &words))?;
                }
                if let (Some(last), true) = (complaints.shown.last(), complaints.more > 0) {
                    let words = format!("{}: and {} more left out after it", place(last), complaints.more);
                    progress.suspend(|| complain("warning:", GUARD, &words))?;
                }
                match result {
                    Ok(result) => {
                        done(result);
                        Ok(())
                    }
                    Err(error) => {
                        failed += 1;
                        Ok(progress.suspend(|| complain("error:", BAD, &format!("{error:#}")))?)
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

    /// Whether a file is one of the inputs.
    pub fn reads(&self, file: &Path) -> bool {
        let same = |path: &Path| {
            path.canonicalize().ok().zip(file.canonicalize().ok()).is_some_and(|(one, other)| one == other)
        };
        self.recordings.iter().filter_map(|recording| recording.input().path()).any(same)
    }

    /// How many files could not be read that were named, or recognised.
    pub fn failed(&self) -> usize {
        self.failed
    }
}

/// What comes of a recording, and the lines of it that could not be read.
pub type Worked<T> = Option<(Result<T>, Complaints)>;
