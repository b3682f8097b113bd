//! The section `repeatToolReminder`.

use super::reader::{Place, Seen};
use super::settings::Overrides;
use super::{Patterns, read_patterns, read_texts, write_texts};
use crate::json::{self, Object};
use crate::ladder::Settings;
use crate::pattern::Pattern;
use crate::streak::MAX_PERIOD;
use crate::texts::Texts;

/// The section `repeatToolReminder`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReminderConfig {
    /// Whether the reminder works at all. By default it does.
    pub enabled: bool,
    /// The tools that are tracked (R8).
    pub tracked: Patterns,
    /// How much of the arguments a notice quotes (R6), in UTF-16 code units. At least 1, by default 500.
    pub arguments_preview_chars: u64,
    /// The longest period that a streak may have (B3). From 1, the default, to 8.
    pub max_period: usize,
    /// What resets a chain (R12, B8). By default a prompt.
    pub reset_on: ResetOn,
    /// The words of notices (R4, R5, B10).
    pub texts: Texts,
    /// The settings of all tools that have none of their own.
    pub settings: Settings,
    /// Tools that have settings of their own (B4). The first that matches counts.
    pub tools: Vec<Entry>,
}

/// Tools that have settings of their own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    pattern: Pattern,
    own: Overrides,
    /// All settings, what the entry leaves out being that of the section.
    pub settings: Settings,
}

/// What resets a chain (R12, B8).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ResetOn {
    /// A person's message.
    pub prompt: bool,
    /// A step with another turn number.
    pub turn: bool,
    /// The host has told of a compaction.
    pub compaction: bool,
    /// The host has told of an approval.
    pub approval: bool,
}

impl ResetOn {
    const NOTHING: Self = Self { prompt: false, turn: false, compaction: false, approval: false };

    fn named(&mut self) -> [(&'static str, &mut bool); 4] {
        [
            ("prompt", &mut self.prompt),
            ("turn", &mut self.turn),
            ("compaction", &mut self.compaction),
            ("approval", &mut self.approval),
        ]
    }

    fn read(&mut self, value: &Place<'_>) {
        let problem = r#"must be an array of "prompt", "turn", "compaction" and "approval""#;
        let Some(elements) = value.elements_unless_null(problem) else { return };
        *self = Self::NOTHING;
        let mut seen = Seen::default();
        for element in elements {
            let name = element.string().unwrap_or_default();
            match self.named().into_iter().find(|(known, _)| *known == name) {
                None => element.reject(r#"must be "prompt", "turn", "compaction" or "approval""#),
                Some(_) if !seen.is_new(&name) => element.reject("must not contain duplicates"),
                Some((_, resets)) => *resets = true,
            }
        }
    }
}

impl Default for ReminderConfig {
    fn default() -> Self {
        Self {
            enabled: true,
            tracked: Patterns::default(),
            arguments_preview_chars: 500,
            max_period: 1,
            reset_on: ResetOn { prompt: true, ..ResetOn::NOTHING },
            texts: Texts::of_repetitions(),
            settings: Settings::default(),
            tools: Vec::new(),
        }
    }
}

impl ReminderConfig {
    /// The settings of a tool (B4).
    pub fn settings_of(&self, tool: &str) -> &Settings {
        self.entry_of(tool).map_or(&self.settings, |(_, entry)| &entry.settings)
    }

    /// The entry for a tool, and its place among them.
    pub fn entry_of(&self, tool: &str) -> Option<(usize, &Entry)> {
        self.tools.iter().enumerate().find(|(_, entry)| entry.pattern.matches(tool))
    }

    fn all_settings(&self) -> impl Iterator<Item = &Settings> {
        let own = self.tools.iter().map(|entry| &entry.settings);
        own.chain([&self.settings]).filter(|_| self.enabled)
    }

    /// Whether results of any tool are looked at (B1).
    pub fn compares_results(&self) -> bool {
        self.all_settings().any(|settings| settings.compare_results)
    }

    /// Whether calls must be looked at before they run: since something can be due before one, or since those that are denied must be
    /// known (B1, B2).
    pub fn looks_ahead(&self) -> bool {
        self.all_settings().any(|settings| settings.has_rungs() || settings.compare_results)
    }

    pub(super) fn read(&mut self, section: &Place<'_>) {
        let mut own = Overrides::default();
        let mut tools = None;
        let mut rungs = Rungs::default();
        for (field, value) in section.members_unless_null() {
            rungs.note(&field, &value);
            match &*field {
                "enabled" => value.boolean(&mut self.enabled),
                "include" => read_patterns(&value, &mut self.tracked.include),
                "exclude" => read_patterns(&value, &mut self.tracked.exclude),
                "argumentsPreviewChars" => value.count(1, &mut self.arguments_preview_chars),
                "maxPeriod" => self.read_max_period(&value),
                "resetOn" => self.reset_on.read(&value),
                "texts" => read_texts(&value, &mut self.texts),
                // They need the settings of the section, which may come behind them.
                "tools" => tools = Some(value),
                _ if own.read(&field, &value) => {}
                _ => value.reject("unknown field"),
            }
        }
        self.settings = own.over(&self.settings);
        rungs.check(&self.settings);
        for place in tools
            .as_ref()
            .and_then(|tools| tools.elements_unless_null("must be an array of objects"))
            .into_iter()
            .flatten()
        {
            self.tools.extend(Entry::read(&place, &self.settings));
        }
    }

    fn read_max_period(&mut self, value: &Place<'_>) {
        match value.safe_integer().and_then(|period| usize::try_from(period).ok()) {
            Some(period @ 1..=MAX_PERIOD) => self.max_period = period,
            _ if value.is_null() => {}
            _ => value.reject(&format!("must be an integer from 1 to {MAX_PERIOD}")),
        }
    }

    pub(super) fn write(&self) -> String {
        let defaults = Self::default();
        let mut object = Object::default();
        object.push("enabled", &self.enabled.to_string());
        object.push_list("thresholds", &mut self.settings.thresholds.iter().map(u64::to_string));
        self.tracked.write(&mut object);
        object.push("argumentsPreviewChars", &self.arguments_preview_chars.to_string());
        Overrides::between(&Settings::default(), &self.settings).write_others(&mut object);
        if self.max_period != defaults.max_period {
            object.push("maxPeriod", &self.max_period.to_string());
        }
        if self.reset_on != defaults.reset_on {
            let mut reset_on = self.reset_on;
            let named = reset_on.named().into_iter().filter(|(_, resets)| **resets);
            object.push_list("resetOn", &mut named.map(|(name, _)| json::string(name)));
        }
        write_texts(&self.texts, &defaults.texts, &mut object);
        if !self.tools.is_empty() {
            object.push_list("tools", &mut self.tools.iter().map(Entry::write));
        }
        object.finish()
    }
}

impl Entry {
    /// Reads an entry; none if it has no pattern.
    fn read(place: &Place<'_>, section: &Settings) -> Option<Self> {
        let mut own = Overrides::default();
        let mut pattern = None;
        let mut is_named = false;
        let mut rungs = Rungs::default();
        for (field, value) in place.members() {
            rungs.note(&field, &value);
            match &*field {
                "match" => {
                    is_named = true;
                    match value.string() {
                        Some(source) => pattern = Some(Pattern::new(&source)),
                        None => value.reject("must be a string"),
                    }
                }
                "ignoreArguments" => own.read_ignored_arguments(&value),
                _ if own.read(&field, &value) => {}
                _ => value.reject("unknown field"),
            }
        }
        let settings = own.over(section);
        rungs.check(&settings);
        if !is_named && place.is_object() {
            place.reject(r#"needs "match", a pattern for names of tools"#);
        }
        Some(Self { pattern: pattern?, own, settings })
    }

    fn write(&self) -> String {
        let mut object = Object::default();
        object.push("match", &json::string(self.pattern.source()));
        self.own.write(&mut object);
        object.finish()
    }
}

/// Where `askAt` or `denyAt` stand, to say so if they contradict each other (B2).
#[derive(Default)]
struct Rungs<'a>(Option<Place<'a>>);

impl<'a> Rungs<'a> {
    fn note(&mut self, field: &str, value: &Place<'a>) {
        // Of the two, `askAt` is the one that must be lower.
        if field == "askAt" || (field == "denyAt" && self.0.is_none()) {
            self.0 = Some(value.clone());
        }
    }

    fn check(&self, settings: &Settings) {
        if let (Some(place), Some(ask), Some(deny)) = (&self.0, settings.ask_at, settings.deny_at)
            && ask >= deny
        {
            place.reject(&format!(
                "askAt must be below denyAt, but {ask} is not below {deny}: a call that is denied is not asked about"
            ));
        }
    }
}
