//! The configuration that `tune` and the page advise: what a study found, in what is in force already.

use anyhow::Result;
use loop_guard::tune::{Advice, Study, Sweep};
use serde_json::{Map, Value, json};

use super::config::ConfigFile;
use super::text::count;

/// Advises a configuration on the ground of one that holds already.
#[derive(Default)]
pub struct Advisor {
    base: Map<String, Value>,
}

impl Advisor {
    pub fn new(base: Option<&ConfigFile>) -> Result<Self> {
        let base = base.map(|base| serde_json::from_str(base.json())).transpose()?;
        Ok(Self { base: base.unwrap_or_default() })
    }

    /// The configuration: the base, with other thresholds, and more exclusions and limits.
    fn config(&self, Advice { thresholds, exclude, limits, .. }: &Advice) -> Map<String, Value> {
        let mut config = self.base.clone();
        let reminds =
            self.base.get("repeatToolReminder").and_then(|reminder| reminder.get("enabled")) != Some(&json!(false));
        if let (true, Some(field)) = (reminds, field(&mut config, "repeatToolReminder", "thresholds")) {
            *field = json!(thresholds);
        }
        if let Some(field) = field(&mut config, "repeatToolReminder", "exclude") {
            let mut excluded = field.as_array().cloned().unwrap_or_default();
            excluded.extend(exclude.iter().map(|tool| json!(tool)));
            *field = json!(excluded);
        }
        if let Some(field) = field(&mut config, "toolCallLimit", "limits") {
            let mut limited = field.as_object().cloned().unwrap_or_default();
            for (tool, limit) in limits {
                limited.entry(tool.clone()).or_insert_with(|| json!(limit));
            }
            *field = json!(limited);
        }
        config
    }

    /// The configuration as JSON.
    pub fn json(&self, study: &Study) -> String {
        Value::Object(self.config(&study.advice())).to_string()
    }

    /// The configuration in YAML, with what it is based on.
    pub fn yaml(&self, study: &Study) -> String {
        let advice = study.advice();
        let mut yaml =
            format!("# Based on {} with {}.\n", count(study.sessions(), "session"), count(study.calls(), "call"));
        for (section, fields) in self.config(&advice) {
            let Value::Object(fields) = fields else {
                yaml += &format!("{section}: {fields}\n");
                continue;
            };
            let mut lines = String::new();
            for (field, value) in fields {
                let is_empty =
                    value.as_array().is_some_and(Vec::is_empty) || value.as_object().is_some_and(Map::is_empty);
                if !is_empty {
                    lines += &comment(&field, &advice);
                    lines += &format!("  {field}: {}\n", printable(&value.to_string()));
                }
            }
            if !lines.is_empty() {
                yaml += &format!("{section}:\n{lines}");
            }
        }
        yaml
    }
}

/// A field of a section, null if it was not there.
fn field<'a>(config: &'a mut Map<String, Value>, section: &str, field: &str) -> Option<&'a mut Value> {
    let section = config.entry(section).or_insert(Value::Null);
    if section.is_null() {
        *section = json!({});
    }
    section.as_object_mut().map(|fields| fields.entry(field).or_insert(Value::Null))
}

/// Why a field is as it is.
fn comment(field: &str, Advice { exclude, limits, sweep, .. }: &Advice) -> String {
    match field {
        "thresholds" if sweep.saved == 0 => {
            "  # No streak of equal calls shows what to choose: these are the defaults.\n".to_owned()
        }
        "thresholds" => {
            let Sweep { threshold, polling_notices, needless_notices, saved, .. } = *sweep;
            format!(
                "  # First at {threshold}: {}, {polling_notices} of them on polls, {needless_notices} as the agent helped itself; \
                 {} after the stuck ones.\n",
                count(sweep.notices(), "notice"),
                count(saved, "repeated call"),
            )
        }
        "exclude" if !exclude.is_empty() => {
            format!("  # The repeated calls of {} brought changing results.\n", count(exclude.len(), "tool"))
        }
        "limits" if !limits.is_empty() => {
            "  # No more than 1 of 100 steps with such a tool had more calls of it.\n".to_owned()
        }
        _ => String::new(),
    }
}

/// JSON with escapes for control characters that JSON allows, and terminals and YAML do not.
fn printable(json: &str) -> String {
    let mut text = String::new();
    for character in json.chars() {
        if character.is_control() {
            text.push_str(&format!("\\u{:04x}", u32::from(character)));
        } else {
            text.push(character);
        }
    }
    text
}
