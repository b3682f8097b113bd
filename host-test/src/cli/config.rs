//! `loop-guard config`: checks a configuration; and how a configuration is read from a file.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result, anyhow, bail};
use loop_guard::json::{JsonText, from_yaml};
use loop_guard::{Component, ConfigureError, Guard, Problem};
use serde::Deserialize;
use serde_json::value::RawValue;

use super::text::plain_json;
use super::{Source, read_text};

/// Check a configuration, and print it as it is understood, defaults filled in
#[derive(clap::Args)]
#[command(after_help = "\
The file is JSON, YAML or TOML, as its extension says. It may also be rows of a profile patch of DeepSeek Harness: \
those with the id repeat-tool-reminder or tool-call-limit are read, and all others are passed over.

Examples:
  loop-guard config guard.yaml
  loop-guard config guard.toml --tool web_search

Exit status: 0 if the configuration is valid, 2 if it is not; then all its problems are listed.")]
pub struct Args {
    /// The configuration
    file: PathBuf,
    /// Print which settings apply to this tool instead, and which entry they come from
    #[arg(long, value_name = "NAME")]
    tool: Option<String>,
}

pub fn run(args: &Args, source: &Source, out: &mut dyn Write) -> Result<ExitCode> {
    let file = ConfigFile::read(&args.file)?;
    let guard = file.guard(&source.load()?)?;
    let answer = match &args.tool {
        None => guard.describe()?,
        Some(tool) => guard.explain(tool)?,
    };
    let answer: serde_json::Value = serde_json::from_str(&answer).context("the component's answer is not JSON")?;
    writeln!(out, "{}", plain_json(&format!("{answer:#}")))?;
    Ok(ExitCode::SUCCESS)
}

/// A configuration that stands in a file.
pub struct ConfigFile {
    path: PathBuf,
    /// It, as the component takes it.
    json: String,
    /// Where sections stand in the file if not at the top, as JSON Pointers.
    moved: Vec<(&'static str, String)>,
}

/// The ids of DSH's plugins, and the sections that are theirs here.
const SECTIONS: [(&str, &str); 2] =
    [("repeat-tool-reminder", "repeatToolReminder"), ("tool-call-limit", "toolCallLimit")];

/// A row of a profile patch of DSH.
#[derive(Deserialize)]
struct Row<'a> {
    id: Option<String>,
    #[serde(borrow)]
    config: Option<&'a RawValue>,
}

impl ConfigFile {
    pub fn read(path: &Path) -> Result<Self> {
        let text = read_text(path)?;
        let json = to_json(path, text)?;
        let file = Self { path: path.to_owned(), json, moved: Vec::new() };
        if file.json.trim_start().starts_with('[') { file.of_rows() } else { Ok(file) }
    }

    /// The configuration as JSON.
    pub fn json(&self) -> &str {
        &self.json
    }

    /// A guard with this configuration.
    pub fn guard(&self, component: &Component) -> Result<Guard> {
        component.guard(&self.json).map_err(|error| match error {
            ConfigureError::Problems(problems) => self.rejected(problems),
            other => anyhow!("{}: {other}", self.path.display()),
        })
    }

    /// A guard with a configuration, or else with the defaults.
    pub fn guard_or_default(config: Option<&Self>, component: &Component) -> Result<Guard> {
        match config {
            Some(config) => config.guard(component),
            None => Ok(component.guard("{}")?),
        }
    }

    /// The configuration that stands in the rows of a profile patch.
    fn of_rows(self) -> Result<Self> {
        let path = self.path.display();
        let rows: Vec<Row<'_>> = serde_json::from_str(&self.json)
            .with_context(|| format!("{path} holds a list, but not one of profile rows with `id` and `config`"))?;
        let mut sections = Vec::new();
        let mut moved: Vec<(&str, String)> = Vec::new();
        for (index, Row { id, config }) in rows.into_iter().enumerate() {
            let Some(id) = id else { continue };
            let Some((_, section)) = SECTIONS.iter().find(|(plugin, _)| *plugin == id) else {
                continue;
            };
            if moved.iter().any(|(known, _)| known == section) {
                bail!("{path}: row {index} configures {id} a second time");
            }
            sections.push(format!("\"{section}\":{}", config.map_or("null", RawValue::get)));
            moved.push((section, format!("/{index}/config")));
        }
        if sections.is_empty() {
            bail!("{path} holds rows, but none with the id repeat-tool-reminder or tool-call-limit");
        }
        let json = format!("{{{}}}", sections.join(","));
        Ok(Self { json, moved, ..self })
    }

    fn rejected(&self, problems: Vec<Problem>) -> anyhow::Error {
        let placed = |Problem { path, message }| Problem { path: self.place(&path), message };
        let problems = ConfigureError::Problems(problems.into_iter().map(placed).collect());
        let lines = problems.to_string().replace('\n', "\n  ");
        anyhow!("{} is not a valid configuration:\n  {lines}", self.path.display())
    }

    /// Where something stands in the file that stands at `pointer` in the configuration.
    fn place(&self, pointer: &str) -> String {
        let moved = self.moved.iter().find_map(|(from, to)| {
            let within = pointer.strip_prefix('/')?.strip_prefix(from)?;
            Some(format!("{to}{within}"))
        });
        moved.unwrap_or_else(|| pointer.to_owned())
    }
}

/// The configuration as JSON text. JSON goes to the component as it is: it checks it most strictly.
fn to_json(path: &Path, text: String) -> Result<String> {
    let shown = path.display();
    let extension = path.extension().unwrap_or_default().to_ascii_lowercase();
    let JsonText(json) = match extension.to_str() {
        Some("json") => return Ok(text),
        Some("toml") => toml::from_str(&text).with_context(|| format!("{shown} is not TOML that JSON can hold"))?,
        _ if text.trim_start().starts_with('{') && serde_json::from_str::<&RawValue>(&text).is_ok() => {
            return Ok(text);
        }
        _ => from_yaml(&text).with_context(|| format!("{shown} is not YAML that JSON can hold"))?,
    };
    Ok(json)
}
