//! The guard against a naive model, through the component; and any text at all, which it must answer.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::cast_possible_truncation, reason = "tests")]

#[path = "../../guest/tests/model/json.rs"]
mod json;
#[path = "../../guest/tests/model/ladder.rs"]
mod ladder;
#[path = "../../guest/tests/model/mod.rs"]
mod model;

use std::sync::OnceLock;

use json::{Choices, IGNORE_ANYWHERE, IGNORE_AT_TOP, values};
use ladder::{Guarded, Session, ladders, moves};
use loop_guard::{Component, ConfigureError, Decision, Guard, Outcome, Status, StepStart, ToolCall};
use model::{AGENTS, Hook, Reply, Stats, Subject, TOOLS, VALUES, agree, configs, hooks};
use proptest::prelude::*;

fn guard(config: &str) -> Guard {
    static COMPONENT: OnceLock<Component> = OnceLock::new();
    COMPONENT.get_or_init(|| Component::embedded().unwrap()).guard(config).unwrap()
}

impl Subject for Guard {
    fn call(&mut self, hook: &Hook) -> Reply {
        let call = |agent: Option<usize>, tool: usize, arguments| ToolCall {
            agent: agent.map(|agent| AGENTS[agent]),
            id: "1",
            name: TOOLS[tool],
            arguments,
        };
        match *hook {
            Hook::Step { agent, turn, step, prompted } => {
                Guard::step(self, &StepStart { agent: AGENTS[agent], turn, step, prompted }).unwrap();
            }
            Hook::Pre { agent, tool } => {
                return match self.pre_execute(&call(agent, tool, "")).unwrap() {
                    Decision::Allow => Reply::Allow,
                    Decision::Deny(reason) => Reply::Deny(reason),
                    Decision::Ask(reason) => Reply::Ask(reason),
                };
            }
            Hook::Post { agent, tool, value, spelling } => {
                // R2: whatever the outcome.
                let status = [Status::Succeeded, Status::Failed, Status::Denied][spelling];
                let outcome = Outcome { status, content: Some("done") };
                let notices = self.post_execute(&call(agent, tool, VALUES[value][spelling]), &outcome).unwrap();
                return Reply::Notices(notices.into_iter().map(|notice| (notice.summary, notice.text)).collect());
            }
            Hook::StepAborted { agent, turn, step } => self.step_aborted(AGENTS[agent], turn, step).unwrap(),
            Hook::TurnEnded { agent, turn } => self.turn_ended(AGENTS[agent], turn).unwrap(),
            Hook::AgentEnded { agent } => self.agent_ended(AGENTS[agent]).unwrap(),
        }
        Reply::Nothing
    }

    fn count(&mut self, agent: &str) -> u32 {
        Guard::count(self, agent).unwrap()
    }

    fn stats(&mut self) -> Vec<Stats> {
        let stats = |stat: loop_guard::Stat| Stats {
            agent: stat.agent,
            calls: stat.calls,
            notices: stat.notices,
            asks: stat.asks,
            denials: stat.denials,
            longest: stat.longest,
            summary: stat.summary,
        };
        Guard::stats(self).unwrap().into_iter().map(stats).collect()
    }
}

impl Guarded for Guard {
    fn step(&mut self, prompted: bool) {
        Guard::step(self, &StepStart { agent: "a", turn: 1, step: 1, prompted }).unwrap();
    }

    fn pre(&mut self, id: &str, tool: &str) -> Option<(&'static str, String)> {
        match self.pre_execute(&bare(id, tool)).unwrap() {
            Decision::Allow => None,
            Decision::Ask(reason) => Some(("ask", reason)),
            Decision::Deny(reason) => Some(("deny", reason)),
        }
    }

    fn post(&mut self, id: &str, tool: &str, denied: bool, content: &str) -> Vec<String> {
        let status = if denied { Status::Denied } else { Status::Succeeded };
        let notices = self.post_execute(&bare(id, tool), &Outcome { status, content: Some(content) }).unwrap();
        notices.into_iter().map(|notice| notice.summary).collect()
    }
}

fn bare<'a>(id: &'a str, name: &'a str) -> ToolCall<'a> {
    ToolCall { agent: Some("a"), id, name, arguments: "" }
}

/// Text of every kind: words, JSON cut anywhere, and arbitrary characters.
fn any_text() -> impl Strategy<Value = String> {
    prop_oneof![
        any::<String>(),
        (values(), any::<Vec<u8>>(), any::<prop::sample::Index>()).prop_map(|(value, spelling, cut)| {
            let text = value.spell(&mut Choices(&spelling));
            let cut = text.floor_char_boundary(cut.index(text.len() + 1));
            text[..cut].to_owned()
        }),
        r#"[\[\]{}",:0-9eE.+\\utrfns -]{0,40}"#,
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn any_sequence_of_hooks_is_answered_as_the_model_does(config in configs(), hooks in hooks()) {
        agree(&mut guard(&config.json()), config, &hooks)?;
    }

    #[test]
    fn b1_b2_b3_b5_b8_any_sequence_of_calls_is_answered_as_the_ladder_has_it_with_a_restart_in_between(
        ladder in ladders(), first in moves(), second in moves(),
    ) {
        let (mut before, mut after) = (guard(&ladder.json()), guard(&ladder.json()));
        let mut session = Session::default();
        let mut said = session.answers(&mut before, &first);
        after.restore(&before.snapshot().unwrap()).unwrap();
        said.extend(session.answers(&mut after, &second));
        let expected = Session::default().answers(&mut ladder::Model::new(ladder), &[first, second].concat());
        prop_assert_eq!(said, expected);
    }

    #[test]
    fn c2_c4_spellings_of_one_value_are_equal_and_a_changed_value_never_is(
        value in values(), a: Vec<u8>, b: Vec<u8>, choices: Vec<u8>,
    ) {
        let guard = guard("{}");
        let (mut a, mut b) = (Choices(&a), Choices(&b));
        let (one, other) = (value.spell(&mut a), value.shuffled(&mut b).spell(&mut b));
        let changed = value.changed(&mut Choices(&choices)).spell(&mut b);
        let call = |arguments| ToolCall { agent: Some("main"), id: "", name: "t", arguments };
        for (arguments, count) in [(&one, 1), (&other, 2), (&changed, 1)] {
            guard.post_execute(&call(arguments), &Outcome { status: Status::Failed, content: None }).unwrap();
            prop_assert_eq!(guard.count("main").unwrap(), count, "after {}", arguments);
        }
    }

    #[test]
    fn b1_b4_members_that_are_ignored_make_no_difference(
        value in values(), more in values(), change: Vec<u8>, choices: Vec<u8>, spelling: Vec<u8>,
    ) {
        for (config, depth) in [(IGNORE_AT_TOP, 1), (IGNORE_ANYWHERE, usize::MAX)] {
            let guard = guard(config);
            let one = value.spell(&mut Choices(&spelling));
            let same = value.spell_with_ignored(&more, depth, &choices, &spelling);
            let changed = value.changed(&mut Choices(&change)).spell_with_ignored(&more, depth, &choices, &spelling);
            for (text, count) in [(&one, 1), (&same, 2), (&changed, 1)] {
                let (arguments, content) = if depth == 1 { (text.as_str(), "") } else { ("", text.as_str()) };
                let call = ToolCall { agent: Some("main"), id: "", name: "t", arguments };
                guard.post_execute(&call, &Outcome { status: Status::Failed, content: Some(content) }).unwrap();
                prop_assert_eq!(guard.count("main").unwrap(), count, "after {}", text);
            }
        }
    }

    #[test]
    fn any_text_anywhere_is_answered(texts in prop::collection::vec(any_text(), 6)) {
        let [agent, id, name, arguments, content, config] = &*texts else { unreachable!() };
        let guard = guard(r#"{"repeatToolReminder":{"thresholds":[2,3],"argumentsPreviewChars":3}}"#);
        let call = ToolCall { agent: Some(agent), id, name, arguments };
        guard.step(&StepStart { agent, turn: u32::MAX, step: 0, prompted: true }).unwrap();
        for _ in 0..3 {
            guard.pre_execute(&call).unwrap();
            guard.post_execute(&call, &Outcome { status: Status::Succeeded, content: Some(content) }).unwrap();
        }
        prop_assert_eq!(guard.count(agent).unwrap(), 3);
        guard.canonical(config).unwrap();
        guard.explain(name).unwrap();
        match guard.configure(config) {
            Ok(_) => {}
            Err(ConfigureError::Problems(problems)) => prop_assert!(!problems.is_empty()),
            Err(error) => return Err(TestCaseError::fail(error.to_string())),
        }
        guard.turn_ended(agent, 0).unwrap();
        guard.step_aborted(agent, 0, 0).unwrap();
        guard.agent_ended(agent).unwrap();
        prop_assert_eq!(guard.count(agent).unwrap(), 0);
    }
}
