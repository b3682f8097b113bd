//! The section `repeatToolReminder`.

use super::Patterns;
use super::field::{self, Field, Given, Section, Value};
use super::reader::{MAX_SAFE, Place, Seen};
use crate::json::Object;
use crate::ladder::Settings;
use crate::pattern::Pattern;
use crate::streak::MAX_PERIOD;
use crate::texts::Texts;

/// The section `repeatToolReminder`.
#[derive(Debug, PartialEq, Eq)]
pub struct ReminderConfig {
    /// Whether the reminder works at all. By default it does.
    pub enabled: bool,
    /// The tools that are tracked (R8).
    pub tracked: Patterns,
    /// How much of the arguments a notice quotes (R6), in UTF-16 code units. At least 1, by default 500.
    pub arguments_preview_chars: u64,
    /// The longest period that a streak may have (B3). From 1, the default, to 8.
    max_period: u64,
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
#[derive(Debug, PartialEq, Eq)]
pub struct Entry {
    pattern: Pattern,
    /// The fields in which it differs from the section: only these are told, so that what is written out makes no difference.
    own: Vec<&'static str>,
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

    fn flags(&mut self) -> [(&'static str, &mut bool); 4] {
        [
            ("prompt", &mut self.prompt),
            ("turn", &mut self.turn),
            ("compaction", &mut self.compaction),
            ("approval", &mut self.approval),
        ]
    }

    /// What is chosen.
    pub(super) fn names(mut self) -> Vec<&'static str> {
        let mut names = Vec::new();
        for (name, resets) in self.flags() {
            if *resets {
                names.push(name);
            }
        }
        names
    }

    pub(super) fn read(&mut self, place: &Place<'_>) {
        let problem = r#"must be an array of "prompt", "turn", "compaction" and "approval""#;
        let Some(elements) = place.elements(problem) else { return };
        *self = Self::NOTHING;
        let mut seen = Seen::default();
        for element in elements {
            let name = element.string().unwrap_or_default();
            match self.flags().into_iter().find(|(known, _)| *known == name) {
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

    /// The longest period that a streak may have.
    pub fn max_period(&self) -> usize {
        usize::try_from(self.max_period).unwrap_or(MAX_PERIOD)
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

    fn fields(&mut self) -> Vec<Field<'_>> {
        let mut fields = vec![Field::new("enabled", Value::Flag(&mut self.enabled))];
        fields.extend(self.settings.fields());
        fields.extend([
            Field::new("include", Value::Patterns(&mut self.tracked.include)),
            Field::new("exclude", Value::Patterns(&mut self.tracked.exclude)),
            Field::new("argumentsPreviewChars", Value::Count(1, MAX_SAFE, &mut self.arguments_preview_chars)),
            Field::beyond("maxPeriod", Value::Count(1, MAX_PERIOD as u64, &mut self.max_period)),
            Field::beyond("resetOn", Value::ResetOn(&mut self.reset_on)),
            Field::beyond("texts", self.texts.object()),
            Field::beyond("tools", Value::Entries(&mut self.tools)),
        ]);
        fields
    }
}

impl Section for ReminderConfig {
    fn read(&mut self, place: &Place<'_>) {
        let given = field::read(place.members(), self.fields());
        check_rungs(&given, &self.settings);
        // They need the settings of the section, which may come behind them.
        if let Some(entries) = given.place("tools").and_then(|tools| tools.elements("must be an array of objects")) {
            for place in entries {
                self.tools.extend(Entry::read(&place, &self.settings));
            }
        }
    }

    fn json(&mut self) -> String {
        field::write(self.fields(), Self::default().fields()).finish()
    }
}

impl Entry {
    fn fields<'a>(pattern: &'a mut Option<Pattern>, settings: &'a mut Settings) -> Vec<Field<'a>> {
        let mut fields = vec![Field::new("match", Value::Pattern(pattern))];
        fields.extend(settings.fields_of_tool());
        fields
    }

    /// Reads an entry; none if it has no pattern.
    fn read(place: &Place<'_>, section: &Settings) -> Option<Self> {
        let (mut pattern, mut settings) = (None, section.clone());
        let given = field::read(place.members(), Self::fields(&mut pattern, &mut settings));
        check_rungs(&given, &settings);
        if given.place("match").is_none() && place.is_object() {
            place.reject(r#"needs "match", a pattern for names of tools"#);
        }
        let own =
            field::differing(Self::fields(&mut pattern, &mut settings), Self::fields(&mut None, &mut section.clone()));
        Some(Self { pattern: pattern?, own, settings })
    }

    pub(super) fn json(&self) -> String {
        let (mut pattern, mut settings) = (Some(self.pattern.clone()), self.settings.clone());
        field::write_some(Self::fields(&mut pattern, &mut settings), &self.own).finish()
    }
}

/// The settings of a tool as JSON, but what is off, and whether they differ from the default.
pub fn settings_to_json(settings: &Settings) -> (Object, bool) {
    let (mut settings, mut defaults) = (settings.clone(), Settings::default());
    let differ = settings != defaults;
    (field::write(settings.fields_of_tool(), defaults.fields_of_tool()), differ)
}

/// Says so if `askAt` and `denyAt` contradict each other (B2). Of the two, `askAt` is the one that must be lower.
fn check_rungs(given: &Given<'_>, settings: &Settings) {
    let place = given.place("askAt").or_else(|| given.place("denyAt"));
    if let (Some(place), Some(ask), Some(deny)) = (place, settings.ask_at, settings.deny_at)
        && ask >= deny
    {
        place.reject(&format!(
            "askAt must be below denyAt, but {ask} is not below {deny}: a call that is denied is not asked about"
        ));
    }
}
