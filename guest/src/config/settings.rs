//! The settings that the whole reminder has, and those that a tool has of its own (B4).

use super::field::{Field, Value};
use super::reader::MAX_SAFE;
use crate::ladder::Settings;

impl Settings {
    /// The fields of a section.
    pub(super) fn fields(&mut self) -> Vec<Field<'_>> {
        let mut fields = self.fields_of_tool();
        fields.pop();
        fields
    }

    /// The fields of an entry for a tool: those of the section, and one more.
    pub(super) fn fields_of_tool(&mut self) -> Vec<Field<'_>> {
        vec![
            Field::new("thresholds", Value::Thresholds(false, &mut self.thresholds)),
            Field::beyond("every", Value::Count(0, MAX_SAFE, &mut self.every)),
            Field::beyond("results", Value::Choice(["ignore", "compare"], &mut self.compare_results)),
            Field::beyond("ignoreResultFields", Value::MemberNames(&mut self.ignore_result_fields)),
            Field::beyond("anyResultThresholds", Value::Thresholds(true, &mut self.any_result_thresholds)),
            Field::beyond("askAt", Value::Rung(&mut self.ask_at)),
            Field::beyond("denyAt", Value::Rung(&mut self.deny_at)),
            Field::beyond("siblings", Value::Choice(["each", "once"], &mut self.siblings_once)),
            Field::beyond("ignoreArguments", Value::MemberNames(&mut self.ignore_arguments)),
        ]
    }
}
