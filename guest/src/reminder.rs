//! The repeat-tool reminder (R1 to R15, B1 to B5): tells a model that it repeats a call, and can ask or deny before it does.

use crate::bytes::equal;
use crate::canonical::{Canonicalizer, Key, KeyBuffer, Omitted};
use crate::config::ReminderConfig;
use crate::guard::Call;
use crate::ladder::{Rung, Settings};
use crate::persist::{Persist, Sink, Source, persist};
use crate::preview::preview;
use crate::recent::{RecentCalls, Ticket};
use crate::stats::Stats;
use crate::streak::{Repetition, Siblings, Streaks, Unit};
use crate::texts::Tone;

/// A text for the model, to be appended after all results of the step (R14).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Notice {
    /// The guard that speaks.
    pub plugin: &'static str,
    /// One line for people.
    pub summary: String,
    /// The text for the model.
    pub text: String,
}

/// How a call ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Status {
    /// The tool ran and reported success.
    Succeeded,
    /// The tool ran and reported a failure, or was cancelled.
    Failed,
    /// The tool did not run.
    Denied,
}

impl Status {
    /// What it is called.
    fn name(self) -> &'static str {
        match self {
            Self::Succeeded => "succeeded",
            Self::Failed => "failed",
            Self::Denied => "denied",
        }
    }
}

/// A call's outcome.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outcome {
    /// How it ended.
    pub status: Status,
    /// Its result as text; empty where there is none.
    pub content: String,
}

/// The calls of a step that are remembered, and those whose outcome is waited for.
const MOST: usize = 64;

/// What an agent's calls repeat.
#[derive(Debug, Default)]
pub struct Chain {
    streaks: Streaks,
    /// The text of the call of the last unit, for as long as it is recent.
    text: Option<Ticket>,
    /// What is kept of the step at hand, where that matters.
    step: Option<Box<Step>>,
}

/// What is kept of a step.
#[derive(Debug, Default)]
struct Step {
    /// Those of its units, made last, that have no order (B5).
    siblings: Siblings,
    /// The calls whose outcome has not come, in their order (B2).
    pending: Vec<Pending>,
    /// The calls that have been counted, and are to count once (B5).
    counted: Vec<Key>,
}

/// A call whose outcome has not come.
#[derive(Debug)]
struct Pending {
    id: Key,
    call: Key,
    /// Whether it counts once with its equals of the step.
    once: bool,
    /// Whether this guard denied it.
    denied: bool,
    text: Option<Ticket>,
}

/// What can be told of a call before it runs.
#[derive(Debug)]
pub struct Foreseen {
    /// What is due.
    pub rung: Rung,
    /// The call's own number in its streak.
    pub number: u32,
    pending: Pending,
}

persist!(Pending { id, call, once, denied; text: None });

impl Persist for Chain {
    fn write(&self, sink: &mut Sink) {
        self.streaks.write(sink);
        self.step.write(sink);
    }

    fn read(source: &mut Source<'_>) -> Self {
        Self { streaks: Persist::read(source), text: None, step: Persist::read(source) }
    }
}

impl Persist for Step {
    fn write(&self, sink: &mut Sink) {
        self.siblings.write(sink);
        sink.list(&self.pending);
        sink.list(&self.counted);
    }

    fn read(source: &mut Source<'_>) -> Self {
        Self { siblings: Persist::read(source), pending: source.list(MOST), counted: source.list(MOST) }
    }
}

impl Step {
    /// Whether a call is the first of its equals (B5).
    fn is_first(&mut self, call: &Key) -> bool {
        if self.counted.contains(call) {
            return false;
        }
        if self.counted.len() == MOST {
            self.counted.remove(0);
        }
        self.counted.push(call.clone());
        true
    }

    /// Takes a call whose outcome has come. Outcomes come in the order of the calls: those before it wait for no turn of theirs. They
    /// enclose it, or will have no outcome.
    fn take_pending(&mut self, id: &KeyBuffer) -> Option<Pending> {
        let place = self.pending.iter().position(|pending| pending.id == *id)?;
        self.pending.drain(..=place).next_back()
    }
}

impl Chain {
    /// How many times the last tracked call has been made in a row; 0 without one.
    pub fn count(&self) -> u32 {
        self.streaks.longest().map(Repetition::laps).unwrap_or_default()
    }

    /// A step begins: what the one before still waited for is given up (B2), and calls count anew (B5).
    pub fn begin_step(&mut self) {
        if let Some(step) = &mut self.step {
            step.siblings.clear();
            step.pending.clear();
            step.counted.clear();
        }
    }

    /// What comes next begins a streak.
    pub fn reset(&mut self) {
        self.streaks = Streaks::default();
        self.text = None;
        if let Some(step) = &mut self.step {
            step.siblings.clear();
        }
    }

    /// A call was decided about, and its outcome is waited for.
    pub fn expect(&mut self, Foreseen { pending, .. }: Foreseen, denied: bool) {
        let step = self.step.get_or_insert_default();
        if step.pending.len() == MOST {
            step.pending.remove(0);
        }
        step.pending.push(Pending { denied, ..pending });
    }

    /// The last call or a pending one, if it was written in just this way, and its text.
    fn recent(&self, pending: Option<&Pending>, reader: &Reader, tool: &str, arguments: &str) -> Option<(Key, Ticket)> {
        let is_same = |text: Option<Ticket>| text.filter(|text| reader.recent.is_same(*text, tool, arguments));
        if let (Some(last), Some(text)) = (self.streaks.last(), is_same(self.text)) {
            return Some((last.call.clone(), text));
        }
        pending.and_then(|pending| Some((pending.call.clone(), is_same(pending.text)?)))
    }

    /// The streaks of calls alone as they will be when all outcomes have come, those of a call to be made among them.
    fn with_pending(&self, call: &Key, once: bool, max_period: usize) -> Streaks {
        let mut streaks = self.streaks.without_outcomes();
        let nothing = Step::default();
        let step = self.step.as_deref().unwrap_or(&nothing);
        let (mut siblings, mut seen) = (step.siblings.without_outcomes(), step.counted.iter().collect::<Vec<_>>());
        let pending = step.pending.iter().map(|pending| (&pending.call, pending.once));
        for (call, once) in pending.chain([(call, once)]) {
            let unit = Unit { call: call.clone(), outcome: None };
            if !once {
                siblings.clear();
                streaks.extend(unit, max_period);
            } else if !seen.contains(&call) {
                seen.push(call);
                siblings.extend(&mut streaks, unit, max_period);
            }
        }
        streaks
    }
}

/// What it takes to tell calls apart, shared by all agents.
#[derive(Debug, Default)]
pub struct Reader {
    pub canonicalizer: Canonicalizer,
    recent: RecentCalls,
    id: KeyBuffer,
    last_outcome: Option<LastOutcome>,
}

/// The outcome that was read last. One that is the same, byte for byte, need not be read again (S2).
#[derive(Debug)]
struct LastOutcome {
    /// Its tool, whose settings say what counts.
    tool: String,
    outcome: Outcome,
    key: Key,
}

/// An outcome that is longer, in bytes, is not kept.
const MAX_LAST_OUTCOME: usize = 1 << 20;

impl Reader {
    fn identify(&mut self, settings: &Settings, tool: &str, arguments: &str) -> &KeyBuffer {
        let omitted = match settings.ignore_arguments.is_empty() {
            true => Omitted::Nothing,
            false => Omitted::AtTop(&settings.ignore_arguments),
        };
        self.canonicalizer.call(tool, arguments, omitted)
    }

    /// What tells a call in flight from others.
    fn id(&mut self, id: &str) -> &KeyBuffer {
        self.id.set(id, b"");
        &self.id
    }

    /// What tells an outcome from others (B1).
    fn outcome(&mut self, settings: &Settings, tool: &str, outcome: Outcome) -> Key {
        if let Some(last) = &self.last_outcome
            && last.outcome.status == outcome.status
            && equal(last.outcome.content.as_bytes(), outcome.content.as_bytes())
            && last.tool == tool
        {
            return last.key.clone();
        }
        let omitted = match settings.ignore_result_fields.is_empty() {
            true => Omitted::Nothing,
            false => Omitted::Anywhere(&settings.ignore_result_fields),
        };
        let key = self.canonicalizer.outcome(outcome.status.name(), &outcome.content, omitted).to_key();
        let is_kept = outcome.content.len() <= MAX_LAST_OUTCOME;
        self.last_outcome = is_kept.then(|| LastOutcome { tool: tool.to_owned(), outcome, key: key.clone() });
        key
    }
}

/// Looks at a tracked call before it runs (B2).
pub fn foresee(
    config: &ReminderConfig,
    chain: &Chain,
    reader: &mut Reader,
    Call { id, name: tool, arguments, .. }: &Call,
) -> Foreseen {
    let settings = config.settings_of(tool);
    let (call, text) = match chain.recent(None, reader, tool, arguments) {
        Some((call, text)) => (call, Some(text)),
        None => {
            let call = chain.streaks.key(reader.identify(settings, tool, arguments));
            (call, reader.recent.keep(tool, arguments.clone()))
        }
    };
    let once = settings.siblings_once;
    let (mut rung, mut number) = (Rung::Allow, 0);
    if settings.has_rungs() {
        let streaks = chain.with_pending(&call, once, config.max_period());
        for repetition in streaks.of_calls() {
            let due = settings.rung(repetition.laps());
            // One that will not count, for an equal one has, goes on with a streak only if that did.
            if due > rung && streaks.has(&call, repetition.period) {
                (rung, number) = (due, repetition.current_lap());
            }
        }
    }
    Foreseen { rung, number, pending: Pending { id: reader.id(id).to_key(), call, once, denied: false, text } }
}

/// Why a call is denied or asked about before it is made once more (B2).
pub fn reason(tool: &str, number: u32) -> String {
    format!("tool {tool} repeated {number} times with identical arguments")
}

/// Counts a tracked call that has reached an outcome, and gives the notice if one is due (R2, R3).
pub fn observe(
    config: &ReminderConfig,
    chain: &mut Chain,
    stats: &mut Stats,
    reader: &mut Reader,
    Call { id, name: tool, arguments, .. }: Call,
    outcome: Outcome,
) -> Option<Notice> {
    let settings = config.settings_of(&tool);
    let step = chain.step.as_mut().filter(|step| !step.pending.is_empty());
    let pending = step.and_then(|step| step.take_pending(reader.id(&id)));
    let (call, text) = match chain.recent(pending.as_ref(), reader, &tool, &arguments) {
        Some((call, text)) => (call, Some(text)),
        None => (chain.streaks.key(reader.identify(settings, &tool, &arguments)), None),
    };
    if settings.siblings_once && !chain.step.get_or_insert_default().is_first(&call) {
        return None;
    }
    let denied = outcome.status == Status::Denied && pending.is_some_and(|pending| pending.denied);
    // One that this guard denied goes on with its streak (B1).
    let outcome = match chain.streaks.last_of(&call).filter(|_| denied) {
        Some(last) => last.outcome.clone(),
        None => settings.compare_results.then(|| reader.outcome(settings, &tool, outcome)),
    };
    let unit = Unit { call, outcome };
    let is_last = match &mut chain.step {
        Some(step) if settings.siblings_once => {
            let call = unit.call.clone();
            step.siblings.extend(&mut chain.streaks, unit, config.max_period());
            chain.streaks.last().is_some_and(|last| last.call == call)
        }
        step => {
            if let Some(step) = step {
                step.siblings.clear();
            }
            chain.streaks.extend(unit, config.max_period());
            true
        }
    };
    let notice = match look(settings, &chain.streaks, stats) {
        Some((streak, tone)) => {
            Some(notice(config, tone, streak, &chain.streaks, &mut reader.canonicalizer, &tool, &arguments))
        }
        None => None,
    };
    chain.text = text.or_else(|| reader.recent.keep(&tool, arguments)).filter(|_| is_last);
    notice
}

/// Looks at what is repeated: the longest streak goes into the figures, and of the streaks at which a notice is due, the one of the longest
/// period tells most.
fn look(settings: &Settings, streaks: &Streaks, stats: &mut Stats) -> Option<(Repetition, Tone)> {
    let mut longest: Option<Repetition> = None;
    let mut due = None;
    for streak in streaks.of_results() {
        if longest.is_none_or(|longest| streak.laps() > longest.laps()) {
            longest = Some(streak);
        }
        if streak.completes_a_lap()
            && let Some(tone) = settings.due(streak.laps())
        {
            due = Some((streak, tone));
        }
    }
    if let Some(longest) = longest {
        stats.counted(longest, || name(streaks, longest));
    }
    if due.is_some() || settings.any_result_thresholds.is_empty() {
        return due;
    }
    for streak in streaks.of_calls() {
        if streak.completes_a_lap()
            && let Some(tone) = settings.due_whatever_the_result(streak.laps())
        {
            due = Some((streak, tone));
        }
    }
    due
}

fn notice(
    config: &ReminderConfig,
    tone: Tone,
    streak: Repetition,
    streaks: &Streaks,
    canonicalizer: &mut Canonicalizer,
    tool: &str,
    arguments: &str,
) -> Notice {
    let count = streak.laps();
    let name = match streak.period {
        1 => tool.to_owned(),
        _ => name(streaks, streak),
    };
    let quoted = || preview(&canonicalizer.text(arguments), config.arguments_preview_chars).into_owned();
    let text = config.texts.of(tone).fill(&name, count, quoted);
    Notice { plugin: "repeat-tool-reminder", summary: format!("{name} × {count}"), text }
}

/// What is repeated: a tool, or a cycle of several (B3).
fn name(streaks: &Streaks, streak: Repetition) -> String {
    streaks.tools(streak.period).collect::<Vec<_>>().join(" → ")
}

#[cfg(test)]
mod tests {
    use super::Status::{self, Denied, Failed, Succeeded};
    use crate::guard::{Call, Decision, Event, Guard, Notice, Outcome};

    fn guard(section: &str) -> Guard {
        let mut guard = Guard::default();
        assert_eq!(guard.configure(&format!(r#"{{"repeatToolReminder":{section}}}"#)), Ok(()));
        guard
    }

    fn call(tool: &str, arguments: &str) -> Call {
        Call { agent: Some("a".to_owned()), id: "1".to_owned(), name: tool.to_owned(), arguments: arguments.to_owned() }
    }

    /// A call that runs if it may, and gives a result.
    fn run(guard: &mut Guard, tool: &str, arguments: &str, content: &str) -> (Decision, Vec<Notice>) {
        let decision = guard.pre_execute(call(tool, arguments));
        let status = if matches!(decision, Decision::Deny(_)) { Denied } else { Succeeded };
        let outcome = Outcome { status, content: content.to_owned() };
        let notices = guard.post_execute(call(tool, arguments), outcome);
        (decision, notices)
    }

    /// The notices for a sequence of calls, with the number of the call, from 1.
    fn notices(section: &str, calls: &[(&str, &str)]) -> Vec<(usize, Notice)> {
        let mut guard = guard(section);
        let mut notice = |(i, (tool, arguments)): (usize, &(&str, &str))| {
            let notices = run(&mut guard, tool, arguments, "").1;
            notices.into_iter().map(|notice| (i + 1, notice)).collect::<Vec<_>>()
        };
        calls.iter().enumerate().flat_map(&mut notice).collect()
    }

    fn summaries(section: &str, calls: &[(&str, &str)]) -> Vec<(usize, String)> {
        notices(section, calls).into_iter().map(|(call, notice)| (call, notice.summary)).collect()
    }

    /// The same for calls without arguments, a letter each.
    fn of_letters(section: &str, calls: &str) -> Vec<(usize, String)> {
        let tools: Vec<_> = calls.chars().map(String::from).collect();
        summaries(section, &tools.iter().map(|tool| (tool.as_str(), "{}")).collect::<Vec<_>>())
    }

    /// The same for one call and its results.
    fn of_results(section: &str, results: &[&str]) -> Vec<(usize, String)> {
        let mut guard = guard(section);
        let run = |(i, result): (usize, &&str)| {
            run(&mut guard, "t", "{}", result).1.into_iter().map(|notice| (i + 1, notice.summary)).collect::<Vec<_>>()
        };
        results.iter().enumerate().flat_map(run).collect()
    }

    /// The answers before each of some calls without arguments, a letter each: `.` allow, `?` ask, `!` deny.
    fn answers(section: &str, calls: &str) -> String {
        let mut guard = guard(section);
        let answer = |tool: char| match run(&mut guard, &tool.to_string(), "{}", "").0 {
            Decision::Allow => '.',
            Decision::Ask(_) => '?',
            Decision::Deny(_) => '!',
        };
        calls.chars().map(answer).collect()
    }

    fn summary(call: usize, text: &str) -> (usize, String) {
        (call, text.to_owned())
    }

    #[test]
    fn r1_equal_calls_count_and_any_other_starts_again() {
        let a = ("grep", r#"{"p":1,"q":2}"#);
        let respelled = ("grep", r#"{ "q": 2.0, "p": 1 }"#);
        let other_arguments = ("grep", r#"{"p":1}"#);
        let other_tool = ("rg", r#"{"p":1,"q":2}"#);
        assert_eq!(summaries("{}", &[a, respelled, a]), [summary(3, "grep × 3")]);
        assert_eq!(summaries("{}", &[a, a, other_arguments, a, a]), []);
        assert_eq!(summaries("{}", &[a, a, other_tool, a, a, a]), [summary(6, "grep × 3")]);
    }

    #[test]
    fn r3_notices_at_three_five_and_eight() {
        let calls = [("t", "{}"); 12];
        assert_eq!(summaries("{}", &calls), [summary(3, "t × 3"), summary(5, "t × 5"), summary(8, "t × 8")]);
        assert_eq!(summaries(r#"{"thresholds":[9,2]}"#, &calls), [summary(2, "t × 2"), summary(9, "t × 9")]);
    }

    #[test]
    fn r3_r4_r5_the_lowest_threshold_gets_the_gentle_text() {
        let notices = notices(r#"{"thresholds":[3,2]}"#, &[("t", r#"{"b":1,"a":"x"}"#); 3]);
        let texts: Vec<_> = notices.iter().map(|(call, notice)| (*call, notice.text.as_str())).collect();
        assert_eq!(
            texts,
            [
                (
                    2,
                    "You keep repeating the exact same tool call. Study the result it already gave you before you \
                     call it again: if the task is not done yet, change your approach or the arguments."
                ),
                (
                    3,
                    "Repeated tool call detected:\n- tool: t\n- consecutive_calls: 3\n- arguments: \
                     {\"a\":\"x\",\"b\":1}\nCalling it again in this way makes no progress. Work with the results you \
                     have: choose another action or other arguments. Finishing is fine once there is enough evidence."
                ),
            ]
        );
    }

    #[test]
    fn r6_the_preview_is_cut_and_the_key_is_not() {
        let calls = [("t", r#"{"a":1}"#), ("t", r#"{"a":2}"#), ("t", r#"{"a":2}"#), ("t", r#"{"a":2}"#)];
        let notices = notices(r#"{"thresholds":[2,3],"argumentsPreviewChars":4}"#, &calls);
        assert_eq!(notices.iter().map(|(call, _)| *call).collect::<Vec<_>>(), [3, 4]);
        assert!(notices.iter().any(|(_, notice)| notice.text.contains("- arguments: {\"a\"… (+3 more chars)\n")));
    }

    #[test]
    fn r7_plugin_and_summary() {
        let notices = notices(r#"{"thresholds":[2]}"#, &[("web_search", ""); 2]);
        let (_, notice) = notices.into_iter().next().unwrap_or_else(|| unreachable!("a notice at 2"));
        assert_eq!((notice.plugin, notice.summary.as_str()), ("repeat-tool-reminder", "web_search \u{d7} 2"));
    }

    #[test]
    fn r8_include_and_exclude() {
        let some = r#"{"include":["mcp__*","grep"],"exclude":["*_poll","nothing"],"thresholds":[2]}"#;
        for (tool, tracked) in [("grep", true), ("mcp__read", true), ("rg", false), ("mcp__job_poll", false)] {
            assert_eq!(summaries(some, &[(tool, ""); 2]).len(), usize::from(tracked), "{tool}");
        }
        assert_eq!(summaries(r#"{"enabled":false}"#, &[("t", ""); 9]), []);
    }

    #[test]
    fn b1_a_call_with_a_new_result_makes_progress() {
        let compare = r#"{"results":"compare"}"#;
        assert_eq!(of_results(compare, &["10 %", "20 %", "30 %", "40 %"]), []);
        assert_eq!(of_results(compare, &["10 %", "40 %", "40 %", "40 %"]), [summary(4, "t × 3")]);
        assert_eq!(of_results("{}", &["10 %", "20 %", "30 %"]), [summary(3, "t × 3")]);
        let ids = ["{\"ok\":true,\"id\":1}", "{\"id\":2,\"ok\":true}", "{\"ok\":true,\"id\":3}"];
        assert_eq!(of_results(compare, &ids), []);
        let ignore = r#"{"results":"compare","ignoreResultFields":["id"]}"#;
        assert_eq!(of_results(ignore, &ids), [summary(3, "t × 3")]);
    }

    #[test]
    fn b1_the_status_is_part_of_the_result() {
        let mut guard = guard(r#"{"results":"compare","thresholds":[2]}"#);
        let mut end =
            |status: Status| guard.post_execute(call("t", "{}"), Outcome { status, content: "x".to_owned() }).len();
        assert_eq!([end(Succeeded), end(Failed), end(Failed), end(Denied)], [0, 0, 1, 0]);
    }

    #[test]
    fn b1_any_result_thresholds_count_calls_whatever_their_results() {
        let results: Vec<_> = (0..50).map(|number| number.to_string()).collect();
        let results: Vec<_> = results.iter().map(String::as_str).collect();
        let section = r#"{"results":"compare","anyResultThresholds":[40]}"#;
        assert_eq!(of_results(section, &results), [summary(40, "t × 40")]);
    }

    #[test]
    fn b1_a_call_that_the_guard_denied_goes_on_with_its_streak() {
        let mut guard = guard(r#"{"results":"compare","thresholds":[2,4],"denyAt":3}"#);
        let mut counts = Vec::new();
        for result in ["same", "same", "reason", "reason"] {
            let (decision, _) = run(&mut guard, "t", "{}", result);
            counts.push((matches!(decision, Decision::Deny(_)), guard.count("a")));
        }
        assert_eq!(counts, [(false, 1), (false, 2), (true, 3), (true, 4)]);
    }

    #[test]
    fn b2_every() {
        let expected = [3, 5, 8, 11, 14].map(|count| summary(count, &format!("A × {count}")));
        assert_eq!(of_letters(r#"{"every":3}"#, "AAAAAAAAAAAAAAA"), expected);
    }

    #[test]
    fn b2_ask_and_deny_before_a_call() {
        assert_eq!(answers(r#"{"denyAt":6}"#, "AAAAAAAABAA"), ".....!!!...");
        assert_eq!(answers(r#"{"askAt":3,"denyAt":5}"#, "AAAAAA"), "..??!!");
        assert_eq!(answers("{}", "AAAAAAAAAA"), "..........");
        let mut guard = guard(r#"{"denyAt":2}"#);
        run(&mut guard, "t", "{}", "");
        let reason = "tool t repeated 2 times with identical arguments".to_owned();
        assert_eq!(run(&mut guard, "t", "", "").0, Decision::Deny(reason));
        assert_eq!(
            run(&mut guard, "t", "{ }", "").0,
            Decision::Deny("tool t repeated 3 times with identical arguments".to_owned())
        );
    }

    #[test]
    fn b2_calls_that_are_pending_count_and_a_step_drops_them() {
        let mut guard = guard(r#"{"denyAt":3}"#);
        let before = |guard: &mut Guard, id: usize, tool: &str| {
            guard.pre_execute(Call { id: id.to_string(), ..call(tool, "{}") }) == Decision::Allow
        };
        guard.step("a", 1, 1, false);
        assert_eq!([0, 1, 2, 3].map(|id| before(&mut guard, id, "t")), [true, true, false, false]);
        guard.step("a", 1, 2, false);
        assert_eq!([4, 5, 6].map(|id| before(&mut guard, id, "t")), [true, true, false]);
        guard.step("a", 1, 3, false);
        assert!(before(&mut guard, 7, "t") && before(&mut guard, 8, "u") && before(&mut guard, 9, "t"));
    }

    #[test]
    fn b2_a_call_that_encloses_others_does_not_come_between_them() {
        let mut guard = guard(r#"{"denyAt":3}"#);
        guard.step("a", 1, 1, false);
        let before = |guard: &mut Guard, id: &str, tool: &str| {
            guard.pre_execute(Call { id: id.to_owned(), ..call(tool, "{}") }) == Decision::Allow
        };
        assert!(before(&mut guard, "outer", "code"));
        let mut allowed = Vec::new();
        for id in ["1", "2", "3", "4"] {
            allowed.push(before(&mut guard, id, "grep"));
            let outcome = Outcome { status: Succeeded, content: String::new() };
            guard.post_execute(Call { id: id.to_owned(), ..call("grep", "{}") }, outcome);
        }
        assert_eq!(allowed, [true, true, false, false]);
        // It counts when its own outcome has come.
        let outcome = Outcome { status: Succeeded, content: String::new() };
        guard.post_execute(Call { id: "outer".to_owned(), ..call("code", "{}") }, outcome);
        assert_eq!(guard.count("a"), 1);
    }

    #[test]
    fn b2_an_approval_can_begin_anew() {
        let mut guard = guard(r#"{"askAt":3,"resetOn":["prompt","approval"]}"#);
        let mut asked = Vec::new();
        for _ in 0..6 {
            let decision = guard.pre_execute(call("t", "{}"));
            asked.push(decision != Decision::Allow);
            if decision != Decision::Allow {
                guard.noted("a", Event::Approved);
            }
            guard.post_execute(call("t", "{}"), Outcome { status: Succeeded, content: String::new() });
        }
        assert_eq!(asked, [false, false, true, false, true, false]);
    }

    #[test]
    fn b3_cycles() {
        let two = r#"{"maxPeriod":2}"#;
        assert_eq!(of_letters(two, "ABABAB"), [summary(6, "A → B × 3")]);
        assert_eq!(of_letters("{}", "ABABAB"), []);
        assert_eq!(of_letters(two, "ABABACB"), []);
        assert_eq!(of_letters(r#"{"maxPeriod":4}"#, "ABCABCABC"), [summary(9, "A → B → C × 3")]);
        assert_eq!(of_letters(r#"{"maxPeriod":4}"#, "AAA"), [summary(3, "A × 3")]);
        assert_eq!(of_letters(r#"{"maxPeriod":2,"exclude":["x"]}"#, "ABxABxAB"), [summary(8, "A → B × 3")]);
        let nineteen = of_letters(r#"{"maxPeriod":3,"every":5}"#, &"VEE".repeat(19));
        assert_eq!(nineteen, [3, 5, 8, 13, 18].map(|lap| summary(lap * 3, &format!("V → E → E × {lap}"))));
    }

    #[test]
    fn b3_what_goes_on_with_a_cycle_is_denied() {
        for calls in ["ABABABAB", "BABABABA"] {
            assert_eq!(answers(r#"{"maxPeriod":2,"denyAt":3}"#, calls), ".....!!!", "{calls}");
        }
        assert_eq!(answers(r#"{"maxPeriod":2,"denyAt":3}"#, "ABABACAB"), "........");
    }

    #[test]
    fn b3_a_cycle_cuts_long_names() {
        let (long, short) = ("é".repeat(70), "s");
        let calls: Vec<_> = [long.as_str(), short].into_iter().cycle().take(6).map(|tool| (tool, "{}")).collect();
        assert_eq!(summaries(r#"{"maxPeriod":2}"#, &calls), [summary(6, &format!("{} → s × 3", "é".repeat(64)))]);
    }

    #[test]
    fn b4_the_first_entry_that_matches_counts_and_leaves_the_rest_to_the_section() {
        let section = r#"{"thresholds":[4],"every":2,"tools":[{"match":"a*","thresholds":[2]},{"match":"*b","thresholds":[3],"every":0}]}"#;
        assert_eq!(summaries(section, &[("ab", ""); 5]), [summary(2, "ab × 2"), summary(4, "ab × 4")]);
        assert_eq!(summaries(section, &[("bb", ""); 5]), [summary(3, "bb × 3")]);
        assert_eq!(summaries(section, &[("c", ""); 6]), [summary(4, "c × 4"), summary(6, "c × 6")]);
    }

    #[test]
    fn b4_ignored_arguments_do_not_count_and_are_shown() {
        let section = r#"{"thresholds":[2,3],"tools":[{"match":"grep","ignoreArguments":["head_limit"]}]}"#;
        let calls = [r#"{"p":1,"head_limit":1}"#, r#"{"p":1,"head_limit":2}"#, r#"{"p":1}"#].map(|text| ("grep", text));
        let notices = notices(section, &calls);
        assert_eq!(notices.iter().map(|(call, _)| *call).collect::<Vec<_>>(), [2, 3]);
        let detailed = r#"{"thresholds":[2],"every":1,"tools":[{"match":"grep","ignoreArguments":["head_limit"]}]}"#;
        let shown = self::notices(detailed, &[calls[2], calls[0], calls[1]]);
        assert!(
            shown.iter().any(|(_, notice)| notice.text.contains(r#"- arguments: {"head_limit":2,"p":1}"#)),
            "{shown:?}"
        );
    }

    #[test]
    fn b5_equal_calls_of_a_step_count_once() {
        let mut guard = guard(r#"{"siblings":"once","thresholds":[2]}"#);
        let mut summaries = Vec::new();
        for step in 1..4 {
            guard.step("a", 1, step, false);
            for _ in 0..5 {
                summaries
                    .extend(run(&mut guard, "search", "{}", "").1.into_iter().map(|notice| (step, notice.summary)));
            }
            assert_eq!(guard.count("a"), step);
        }
        assert_eq!(summaries, [(2, "search × 2".to_owned())]);
    }

    #[test]
    fn b5_siblings_have_no_order() {
        let mut guard = guard(r#"{"siblings":"once","maxPeriod":2}"#);
        let mut summaries = Vec::new();
        for (step, tools) in ["AB", "BA", "AB"].iter().enumerate() {
            guard.step("a", 1, u32::try_from(step).unwrap_or_default(), false);
            for tool in tools.chars() {
                let notices = run(&mut guard, &tool.to_string(), "{}", "").1;
                summaries.extend(notices.into_iter().map(|notice| (step, notice.summary)));
            }
        }
        assert_eq!(summaries, [(2, "A → B × 3".to_owned())]);
    }

    #[test]
    fn b5_one_that_will_not_count_is_judged_by_its_own_streak() {
        let mut guard = guard(r#"{"denyAt":3,"thresholds":[20],"tools":[{"match":"A","siblings":"once"}]}"#);
        guard.step("a", 1, 1, false);
        let answers = ["A", "B", "B", "B", "A"].map(|tool| run(&mut guard, tool, "{}", "").0 == Decision::Allow);
        assert_eq!(answers, [true, true, true, false, true]);
        let mut guard = self::guard(r#"{"denyAt":3,"siblings":"once"}"#);
        let mut answers = Vec::new();
        for step in 1..4 {
            guard.step("a", 1, step, false);
            answers.extend([(); 3].map(|()| run(&mut guard, "A", "{}", "").0 == Decision::Allow));
        }
        assert_eq!(answers, [true, true, true, true, true, true, false, false, false]);
    }

    #[test]
    fn b8_what_resets_a_chain_can_be_chosen() {
        let counts = |section: &str, reset: &dyn Fn(&mut Guard)| {
            let mut guard = guard(section);
            guard.step("a", 1, 1, false);
            run(&mut guard, "t", "{}", "");
            reset(&mut guard);
            run(&mut guard, "t", "{}", "");
            guard.count("a")
        };
        let prompt = |guard: &mut Guard| guard.step("a", 1, 2, true);
        let turn = |guard: &mut Guard| guard.step("a", 2, 1, false);
        let step = |guard: &mut Guard| guard.step("a", 1, 2, false);
        let compaction = |guard: &mut Guard| guard.noted("a", Event::Compacted);
        let approval = |guard: &mut Guard| guard.noted("a", Event::Approved);
        let all: [&dyn Fn(&mut Guard); 5] = [&prompt, &turn, &step, &compaction, &approval];
        for (section, expected) in [
            ("{}", [1, 2, 2, 2, 2]),
            (r#"{"resetOn":[]}"#, [2, 2, 2, 2, 2]),
            (r#"{"resetOn":["turn"]}"#, [2, 1, 2, 2, 2]),
            (r#"{"resetOn":["compaction","approval"]}"#, [2, 2, 2, 1, 1]),
        ] {
            assert_eq!(all.map(|reset| counts(section, reset)), expected, "{section}");
        }
    }

    #[test]
    fn b1_what_counts_of_a_result_depends_on_its_tool_and_its_status() {
        let mut guard = guard(r#"{"results":"compare","tools":[{"match":"b","ignoreResultFields":["id"]}]}"#);
        let mut count = |tool: &str, status, content: &str| {
            guard.post_execute(call(tool, "{}"), Outcome { status, content: content.to_owned() });
            guard.count("a")
        };
        let (one, two) = (r#"{"id":1}"#, r#"{"id":2}"#);
        assert_eq!(count("a", Succeeded, one), 1);
        assert_eq!(count("b", Succeeded, one), 1);
        assert_eq!(count("b", Succeeded, two), 2);
        assert_eq!(count("b", Failed, two), 1);
        assert_eq!(count("a", Failed, two), 1);
        assert_eq!(count("a", Failed, one), 1);
        assert_eq!(count("a", Failed, one), 2);
    }

    #[test]
    fn b10_texts_of_ones_own() {
        let section = r#"{"thresholds":[2,3],"texts":{"gentle":"请不要重复 {tool}","detailed":"{count} {{"}}"#;
        let texts: Vec<_> = notices(section, &[("t", ""); 3]).into_iter().map(|(_, notice)| notice.text).collect();
        assert_eq!(texts, ["请不要重复 t", "3 {"]);
    }
}
