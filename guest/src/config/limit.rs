//! The section `toolCallLimit`.

use super::reader::Place;
use crate::json::{self, Object};
use crate::limit::{Limits, Span};

/// The section `toolCallLimit`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LimitConfig {
    /// Whether limits are enforced at all. By default they are.
    pub enabled: bool,
    /// The quotas of a step, a turn and an agent (Q1, B6), in that order.
    pub quotas: [Quotas; 3],
    /// What an exceeded limit does (Q9). By default it denies.
    pub on_exceeded: OnExceeded,
}

/// How many calls may run in a span of time. Each number is at most 2^53 − 1.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Quotas {
    /// Of each limited tool, in the order of their names.
    pub limits: Limits,
    /// Of all tools together.
    pub total: Option<u64>,
}

/// What an exceeded limit does (Q9).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OnExceeded {
    /// The call is denied.
    Deny,
    /// A person is asked, each time anew.
    Ask,
}

impl OnExceeded {
    /// What it is called in a configuration.
    pub fn name(self) -> &'static str {
        match self {
            Self::Deny => "deny",
            Self::Ask => "ask",
        }
    }
}

impl Default for LimitConfig {
    fn default() -> Self {
        Self { enabled: true, quotas: <[Quotas; 3]>::default(), on_exceeded: OnExceeded::Deny }
    }
}

/// What the limits of a span are called in a configuration.
pub fn field(span: Span) -> &'static str {
    match span {
        Span::Step => "limits",
        Span::Turn => "turnLimits",
        Span::Agent => "agentLimits",
    }
}

const NOT_A_LIMIT: &str = "must be a non-negative safe integer (0 to 9007199254740991)";

impl LimitConfig {
    pub(super) fn read(&mut self, section: &Place<'_>) {
        for (name, value) in section.members_unless_null() {
            let span = Span::ALL.into_iter().zip(&mut self.quotas).find(|(span, _)| field(*span) == name);
            match (&*name, span) {
                (_, Some((_, quotas))) => read_limits(&value, &mut quotas.limits),
                ("enabled", _) => value.boolean(&mut self.enabled),
                ("totals", _) => self.read_totals(&value),
                ("onExceeded", _) => self.read_on_exceeded(&value),
                _ => value.reject("unknown field"),
            }
        }
    }

    fn read_totals(&mut self, value: &Place<'_>) {
        for (name, total) in value.members_unless_null() {
            match Span::ALL.into_iter().zip(&mut self.quotas).find(|(span, _)| span.name() == name) {
                None => total.reject("unknown field"),
                Some(_) if total.is_null() => {}
                Some((_, quotas)) => match total.safe_integer() {
                    Some(number) => quotas.total = Some(number),
                    None => total.reject(NOT_A_LIMIT),
                },
            }
        }
    }

    fn read_on_exceeded(&mut self, value: &Place<'_>) {
        if value.is_null() {
            return;
        }
        match value.string().as_deref() {
            Some("deny") => self.on_exceeded = OnExceeded::Deny,
            Some("ask") => self.on_exceeded = OnExceeded::Ask,
            _ => value.reject(r#"must be "deny" or "ask""#),
        }
    }

    pub(super) fn write(&self) -> String {
        let mut object = Object::default();
        object.push("enabled", &self.enabled.to_string());
        let mut totals = Object::default();
        for (span, quotas) in Span::ALL.into_iter().zip(&self.quotas) {
            if span == Span::Step || !quotas.limits.is_empty() {
                let mut limits = Object::default();
                quotas.limits.iter().for_each(|(tool, limit)| limits.push(tool, &limit.to_string()));
                object.push(field(span), &limits.finish());
            }
            if let Some(total) = quotas.total {
                totals.push(span.name(), &total.to_string());
            }
        }
        if self.quotas.iter().any(|quotas| quotas.total.is_some()) {
            object.push("totals", &totals.finish());
        }
        object.push("onExceeded", &json::string(self.on_exceeded.name()));
        object.finish()
    }
}

fn read_limits(value: &Place<'_>, limits: &mut Limits) {
    for (tool, limit) in value.members_unless_null() {
        if tool == "*" {
            limit.reject("wildcards are not supported here: name each tool");
        } else if let Some(number) = limit.safe_integer() {
            limits.insert(&tool, number);
        } else {
            limit.reject(NOT_A_LIMIT);
        }
    }
}
