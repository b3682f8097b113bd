//! Finds the inputs that a command line names: files, folders, and patterns.

use std::io;
use std::path::{Path, PathBuf};

use thiserror::Error;
use walkdir::WalkDir;

use crate::Input;

/// Why inputs were not found.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum SearchError {
    /// A folder could not be searched.
    #[error("{path}: {error}")]
    Folder {
        /// What could not be looked at.
        path: String,
        /// Why not.
        error: io::Error,
    },
    /// A pattern is none.
    #[error("{pattern}: {error}")]
    Pattern {
        /// The pattern.
        pattern: String,
        /// What is wrong with it.
        error: glob::PatternError,
    },
    /// A folder, or a pattern, has no file that could be a recorded session.
    #[error(
        "{0}: no file in it has a name that ends like a recorded session's ({ENDINGS_TEXT}, also .gz, .zst, .zstd)"
    )]
    NothingIn(String),
    /// A pattern matches nothing.
    #[error("{0}: no such file, and as a pattern it matches none")]
    NoMatch(String),
}

/// What a search found.
#[derive(Debug, Default)]
pub struct Found {
    /// The inputs, sorted by their paths.
    pub inputs: Vec<Input>,
    /// What could not be looked at on the way.
    pub unreadable: Vec<SearchError>,
}

/// How the names of recorded sessions end.
const ENDINGS: [&str; 4] = ["json", "jsonl", "ndjson", "traj"];
const ENDINGS_TEXT: &str = ".json, .jsonl, .ndjson, .traj";
const COMPRESSED: [&str; 3] = ["gz", "zst", "zstd"];

/// The inputs that `path` names: a file; in a folder, searched to the bottom, all files whose names end like a recorded
/// session's; what a pattern (`*`, `?`, `[…]`, `**`) matches. Links are followed.
///
/// # Errors
///
/// Any [`SearchError`].
pub fn search(path: &Path) -> Result<Found, SearchError> {
    if path.is_dir() {
        return folder(path);
    }
    let pattern = path.to_string_lossy();
    if path.exists() || !pattern.contains(['*', '?', '[']) {
        return Ok(Found { inputs: vec![Input::file(path)], unreadable: Vec::new() });
    }
    let wrong = |error| SearchError::Pattern { pattern: pattern.to_string(), error };
    let mut all = Found::default();
    for found in glob::glob(&pattern).map_err(wrong)? {
        let found = found
            .map_err(|error| SearchError::Folder { path: error.path().display().to_string(), error: error.into() })?;
        if found.is_dir() {
            match folder(&found) {
                Ok(found) => {
                    all.inputs.extend(found.inputs);
                    all.unreadable.extend(found.unreadable);
                }
                Err(error) => all.unreadable.push(error),
            }
        } else {
            all.inputs.push(Input::file(found));
        }
    }
    if all.inputs.is_empty() { Err(SearchError::NoMatch(pattern.into_owned())) } else { Ok(all) }
}

fn folder(path: &Path) -> Result<Found, SearchError> {
    let (mut inputs, mut unreadable) = (Vec::new(), Vec::new());
    let mut events: Vec<(PathBuf, Vec<PathBuf>)> = Vec::new();
    for entry in WalkDir::new(path).follow_links(true).sort_by_file_name() {
        let entry = match entry {
            Ok(entry) => entry,
            Err(error) => {
                let path = error.path().unwrap_or(path).display().to_string();
                unreadable.push(SearchError::Folder { path, error: error.into() });
                continue;
            }
        };
        let file = entry.path();
        if !entry.file_type().is_file() || !could_be_recorded(file) {
            continue;
        }
        if let Some(folder) = folder_of_events(file) {
            match events.last_mut() {
                Some((last, files)) if last == folder => files.push(file.to_owned()),
                _ => events.push((folder.to_owned(), vec![file.to_owned()])),
            }
        } else {
            inputs.push(Input::file(file));
        }
    }
    for (folder, mut files) in events {
        files.sort_by_key(|file| number(file));
        inputs.push(Input::folder(folder, files));
    }
    inputs.sort_by(|one, other| one.name().cmp(other.name()));
    if inputs.is_empty() && unreadable.is_empty() {
        return Err(SearchError::NothingIn(path.display().to_string()));
    }
    Ok(Found { inputs, unreadable })
}

fn could_be_recorded(file: &Path) -> bool {
    let ends = |file: &Path, endings: &[&str]| {
        file.extension().is_some_and(|ending| endings.iter().any(|known| ending.eq_ignore_ascii_case(known)))
    };
    if ends(file, &COMPRESSED) { ends(&file.with_extension(""), &ENDINGS) } else { ends(file, &ENDINGS) }
}

/// The folder of a session in which each event has a file: OpenHands' `events/event-00042-….json` and `events/42.json`.
fn folder_of_events(file: &Path) -> Option<&Path> {
    let folder = file.parent()?;
    (folder.file_name()? == "events" && number(file).is_some()).then_some(folder)
}

/// The number of an event, in the name of its file.
fn number(file: &Path) -> Option<u64> {
    let name = file.file_stem()?.to_str()?;
    let digits = name.strip_prefix("event-").unwrap_or(name);
    digits.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok()
}
