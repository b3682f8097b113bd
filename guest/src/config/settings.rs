//! The settings that the whole reminder has, and those that a tool has of its own (B4).

use std::collections::BinaryHeap;

use super::reader::{Place, Seen};
use crate::canonical::MemberNames;
use crate::json::Object;
use crate::ladder::Settings;

/// Settings that are given somewhere; what is none comes from elsewhere.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Overrides {
    thresholds: Option<Vec<u64>>,
    every: Option<u64>,
    results: Option<Results>,
    ignore_result_fields: Option<MemberNames>,
    any_result_thresholds: Option<Vec<u64>>,
    ask_at: Option<u64>,
    deny_at: Option<u64>,
    siblings: Option<Siblings>,
    ignore_arguments: Option<MemberNames>,
}

/// A setting that has names for its values.
trait Named: Copy + 'static {
    const NAMES: &'static [(&'static str, Self)];
    const PROBLEM: &'static str;
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Results {
    Ignore,
    Compare,
}

impl Named for Results {
    const NAMES: &'static [(&'static str, Self)] = &[("ignore", Self::Ignore), ("compare", Self::Compare)];
    const PROBLEM: &'static str = r#"must be "ignore" or "compare""#;
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Siblings {
    Each,
    Once,
}

impl Named for Siblings {
    const NAMES: &'static [(&'static str, Self)] = &[("each", Self::Each), ("once", Self::Once)];
    const PROBLEM: &'static str = r#"must be "each" or "once""#;
}

impl Overrides {
    /// Reads a field, and says whether it is one of these.
    pub fn read(&mut self, field: &str, value: &Place<'_>) -> bool {
        match field {
            "thresholds" => read_thresholds(value, false, &mut self.thresholds),
            "every" => read_count(value, 0, &mut self.every),
            "results" => read_named(value, &mut self.results),
            "ignoreResultFields" => read_names(value, &mut self.ignore_result_fields),
            "anyResultThresholds" => read_thresholds(value, true, &mut self.any_result_thresholds),
            "askAt" => read_count(value, 2, &mut self.ask_at),
            "denyAt" => read_count(value, 2, &mut self.deny_at),
            "siblings" => read_named(value, &mut self.siblings),
            _ => return false,
        }
        true
    }

    /// Reads `ignoreArguments`, which only a tool can have.
    pub fn read_ignored_arguments(&mut self, value: &Place<'_>) {
        read_names(value, &mut self.ignore_arguments);
    }

    /// Those in which some settings differ from others.
    pub fn between(others: &Settings, settings: &Settings) -> Self {
        fn given<T: PartialEq + Clone, U>(other: &T, setting: &T, make: impl Fn(T) -> U) -> Option<U> {
            (other != setting).then(|| make(setting.clone()))
        }
        Self {
            thresholds: given(&others.thresholds, &settings.thresholds, |list| list),
            every: given(&others.every, &settings.every, |number| number),
            results: given(&others.compare_results, &settings.compare_results, |compare| match compare {
                true => Results::Compare,
                false => Results::Ignore,
            }),
            ignore_result_fields: given(&others.ignore_result_fields, &settings.ignore_result_fields, |names| names),
            any_result_thresholds: given(&others.any_result_thresholds, &settings.any_result_thresholds, |list| list),
            ask_at: settings.ask_at.filter(|_| others.ask_at != settings.ask_at),
            deny_at: settings.deny_at.filter(|_| others.deny_at != settings.deny_at),
            siblings: given(&others.siblings_once, &settings.siblings_once, |once| match once {
                true => Siblings::Once,
                false => Siblings::Each,
            }),
            ignore_arguments: given(&others.ignore_arguments, &settings.ignore_arguments, |names| names),
        }
    }

    /// Some settings, but for what is given here.
    pub fn over(&self, settings: &Settings) -> Settings {
        let mut settings = settings.clone();
        set(&mut settings.thresholds, self.thresholds.as_ref());
        set(&mut settings.every, self.every.as_ref());
        set(&mut settings.any_result_thresholds, self.any_result_thresholds.as_ref());
        set(&mut settings.ignore_result_fields, self.ignore_result_fields.as_ref());
        set(&mut settings.ignore_arguments, self.ignore_arguments.as_ref());
        set(&mut settings.compare_results, self.results.map(|results| results == Results::Compare).as_ref());
        set(&mut settings.siblings_once, self.siblings.map(|siblings| siblings == Siblings::Once).as_ref());
        settings.ask_at = self.ask_at.or(settings.ask_at);
        settings.deny_at = self.deny_at.or(settings.deny_at);
        settings
    }

    /// Writes what is given but the thresholds.
    pub fn write_others(&self, object: &mut Object) {
        object.number_if("every", self.every);
        object.name_if("results", self.results);
        object.names_if("ignoreResultFields", self.ignore_result_fields.as_ref());
        object.numbers_if("anyResultThresholds", self.any_result_thresholds.as_deref());
        object.number_if("askAt", self.ask_at);
        object.number_if("denyAt", self.deny_at);
        object.name_if("siblings", self.siblings);
        object.names_if("ignoreArguments", self.ignore_arguments.as_ref());
    }

    /// Writes what is given.
    pub fn write(&self, object: &mut Object) {
        object.numbers_if("thresholds", self.thresholds.as_deref());
        self.write_others(object);
    }
}

impl Object {
    fn number_if(&mut self, name: &str, number: Option<u64>) {
        if let Some(number) = number {
            self.push(name, &number.to_string());
        }
    }

    fn numbers_if(&mut self, name: &str, numbers: Option<&[u64]>) {
        if let Some(numbers) = numbers {
            self.push_list(name, &mut numbers.iter().map(u64::to_string));
        }
    }

    fn names_if(&mut self, name: &str, names: Option<&MemberNames>) {
        if let Some(names) = names {
            self.push_list(name, &mut names.iter());
        }
    }

    fn name_if<T: Named + PartialEq>(&mut self, name: &str, value: Option<T>) {
        let known = T::NAMES.iter().find(|(_, named)| Some(*named) == value);
        if let Some((value, _)) = known {
            self.push(name, &format!("\"{value}\""));
        }
    }
}

fn set<T: Clone>(target: &mut T, value: Option<&T>) {
    if let Some(value) = value {
        target.clone_from(value);
    }
}

fn read_count(value: &Place<'_>, min: u64, target: &mut Option<u64>) {
    if !value.is_null() {
        *target = value.required_count(min).or(target.take());
    }
}

fn read_named<T: Named>(value: &Place<'_>, target: &mut Option<T>) {
    if value.is_null() {
        return;
    }
    let name = value.string();
    match T::NAMES.iter().find(|(known, _)| Some(*known) == name.as_deref()) {
        Some((_, named)) => *target = Some(*named),
        None => value.reject(T::PROBLEM),
    }
}

fn read_names(value: &Place<'_>, target: &mut Option<MemberNames>) {
    let Some(elements) = value.elements_unless_null("must be an array of strings") else { return };
    let mut names = MemberNames::default();
    for element in elements {
        match element.string() {
            Some(name) => names.push(&name),
            None => element.reject("must be a string"),
        }
    }
    *target = Some(names);
}

/// Reads counts at which something is due.
pub fn read_thresholds(value: &Place<'_>, may_be_empty: bool, target: &mut Option<Vec<u64>>) {
    let Some(elements) = value.elements_unless_null("must be an array of integers >= 2") else { return };
    if elements.len() == 0 && !may_be_empty {
        return value.reject("must not be empty");
    }
    // A heap sorts with far less code than the sort of a slice, and as fast as is needed here.
    let mut thresholds = BinaryHeap::new();
    let mut seen = Seen::default();
    for element in elements {
        let Some(threshold) = element.required_count(2) else { continue };
        if seen.is_new(&threshold.to_string()) {
            thresholds.push(threshold);
        } else {
            element.reject("must not contain duplicates");
        }
    }
    *target = Some(thresholds.into_sorted_vec());
}
