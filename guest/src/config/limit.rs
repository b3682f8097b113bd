//! The section `toolCallLimit`.

use super::field::{self, Field, Section, Value};
use super::reader::Place;
use crate::limit::{Limits, Span};

/// The section `toolCallLimit`.
#[derive(Debug, PartialEq, Eq)]
pub struct LimitConfig {
    /// Whether limits are enforced at all. By default they are.
    pub enabled: bool,
    /// The quotas of a step, a turn and an agent (Q1, B6), in that order.
    pub quotas: [Quotas; 3],
    /// Whether a person is asked when a limit is exceeded (Q9). By default the call is denied.
    pub asks: bool,
}

/// How many calls may run in a span of time. Each number is at most 2^53 − 1.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Quotas {
    /// Of each limited tool, in the order of their names.
    pub limits: Limits,
    /// Of all tools together.
    pub total: Option<u64>,
}

/// What an exceeded limit can do.
const ON_EXCEEDED: [&str; 2] = ["deny", "ask"];

impl Default for LimitConfig {
    fn default() -> Self {
        Self { enabled: true, quotas: <[Quotas; 3]>::default(), asks: false }
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

impl LimitConfig {
    /// What an exceeded limit does, as a configuration calls it.
    pub fn on_exceeded(&self) -> &'static str {
        let [deny, ask] = ON_EXCEEDED;
        if self.asks { ask } else { deny }
    }

    fn fields(&mut self) -> Vec<Field<'_>> {
        let [step, turn, agent] = &mut self.quotas;
        let totals = [(Span::Step, &mut step.total), (Span::Turn, &mut turn.total), (Span::Agent, &mut agent.total)];
        let totals = totals.map(|(span, total)| Field::new(span.name(), Value::Quota(total)));
        vec![
            Field::new("enabled", Value::Flag(&mut self.enabled)),
            Field::new(field(Span::Step), Value::Limits(&mut step.limits)),
            Field::beyond(field(Span::Turn), Value::Limits(&mut turn.limits)),
            Field::beyond(field(Span::Agent), Value::Limits(&mut agent.limits)),
            Field::beyond("totals", Value::Object(totals.into())),
            Field::new("onExceeded", Value::Choice(ON_EXCEEDED, &mut self.asks)),
        ]
    }
}

impl Section for LimitConfig {
    fn read(&mut self, place: &Place<'_>) {
        field::read(place.members(), self.fields());
    }

    fn json(&mut self) -> String {
        field::write(self.fields(), Self::default().fields()).finish()
    }
}
