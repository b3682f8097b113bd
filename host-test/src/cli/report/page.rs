//! The page itself.

use loop_guard::replay::Totals;
use loop_guard::tune::{Study, Sweep, ToolUse};
use maud::{DOCTYPE, Markup, PreEscaped, html};

use super::Strip;
use super::chart::{Bar, bars};
use crate::cli::advice::Advisor;
use crate::cli::replay::Row;
use crate::cli::text::count;

/// How many sessions have a timeline: the most stuck ones.
const MOST_TIMELINES: usize = 2000;

/// How many tools have a chart.
const MOST_TOOLS: usize = 12;

const STYLE: &str = include_str!("page.css");
const SCRIPT: &str = include_str!("page.js");

pub fn page(config: &str, advisor: &Advisor, study: &Study, sessions: &[(Row, Strip)]) -> Markup {
    html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                title { "Loop guard: " (count(sessions.len(), "session")) }
                style { (PreEscaped(STYLE)) }
            }
            body {
                a.skip href="#main" { "Skip to the figures" }
                header {
                    h1 { "Loop guard" }
                    p { "What the guard would have done to " (count(sessions.len(), "recorded session")) ", and which thresholds and quotas fit them." }
                    nav aria-label="Sections" {
                        a href="#thresholds" { "Thresholds" } " " a href="#quotas" { "Quotas" } " "
                        a href="#configuration" { "Configuration" } " " a href="#sessions" { "Sessions" } " " a href="#timelines" { "Timelines" }
                    }
                }
                main #main {
                    (figures(sessions))
                    (thresholds(study))
                    (quotas(study))
                    (configuration(config, advisor, study))
                    (table(sessions))
                    (timelines(sessions))
                }
                footer { p.faint { "Made by loop-guard " (env!("CARGO_PKG_VERSION")) ". This page holds all that it shows, and loads nothing." } }
                script { (PreEscaped(SCRIPT)) }
            }
        }
    }
}

fn figures(sessions: &[(Row, Strip)]) -> Markup {
    let sum = |figure: fn(&Totals) -> usize| sessions.iter().map(|(row, _)| figure(&row.totals)).sum::<usize>();
    let figures = [
        ("sessions", "sessions", sessions.len()),
        ("calls", "calls", sum(|totals| totals.calls)),
        ("stuck", "stuck repetitions", sum(|totals| totals.stuck)),
        ("polling", "polling repetitions", sum(|totals| totals.polling)),
        ("notices", "notices", sum(|totals| totals.notices)),
        ("after_notice", "calls after a first notice", sum(|totals| totals.after_notice)),
        ("denied", "denied", sum(|totals| totals.denied)),
        ("asked", "asked", sum(|totals| totals.asked)),
    ];
    html! {
        dl.figures {
            @for (name, words, value) in figures {
                div { dt { (words) } dd data-total=(name) { (value) } }
            }
        }
    }
}

fn thresholds(study: &Study) -> Markup {
    let sweeps = study.sweep();
    let advised = study.advice().sweep.threshold;
    let bar =
        |sweep: &Sweep, parts| Bar { label: sweep.threshold.to_string(), parts, marked: sweep.threshold == advised };
    let notices: Vec<_> = sweeps
        .iter()
        .map(|sweep| bar(sweep, vec![("stuck", sweep.stuck_notices), ("polling", sweep.polling_notices)]))
        .collect();
    let reminded: Vec<_> = sweeps
        .iter()
        .map(|sweep| bar(sweep, vec![("stuck", sweep.stuck_sessions), ("polling", sweep.polling_sessions)]))
        .collect();
    let saved: Vec<_> = sweeps.iter().map(|sweep| bar(sweep, vec![("saved", sweep.saved)])).collect();
    html! {
        section aria-labelledby="thresholds" {
            h2 #thresholds { "Reminders, by the first threshold" }
            p { "Repeated calls with one and the same result are " b { "stuck" } ", with changing ones " b { "polling" } ". The advised threshold is " b { (advised) } "." }
            p.legend { span.swatch.stuck {} " stuck " span.swatch.polling {} " polling " span.swatch.saved {} " calls saved" }
            div.charts {
                figure { figcaption { "First notices" } (bars("First notices by threshold, stuck and polling", "first threshold", &notices)) }
                figure { figcaption { "Sessions reminded" } (bars("Sessions reminded by threshold, stuck and polling", "first threshold", &reminded)) }
                figure { figcaption { "Calls that a heeded reminder saves" } (bars("Calls saved by threshold", "first threshold", &saved)) }
            }
            details {
                summary { "The numbers" }
                div.wide tabindex="0" role="region" aria-label="Numbers by threshold" { table {
                    thead { tr {
                        @for title in ["threshold", "sessions", "stuck", "polling", "notices", "stuck", "polling", "needless", "calls saved"] { th scope="col" { (title) } }
                    } }
                    tbody { @for sweep in &sweeps {
                        tr data-threshold=(sweep.threshold) {
                            th scope="row" { (sweep.threshold) }
                            td data-figure="sessions" { (sweep.sessions()) }
                            td data-figure="stuck_sessions" { (sweep.stuck_sessions) }
                            td data-figure="polling_sessions" { (sweep.polling_sessions) }
                            td data-figure="notices" { (sweep.notices()) }
                            td data-figure="stuck_notices" { (sweep.stuck_notices) }
                            td data-figure="polling_notices" { (sweep.polling_notices) }
                            td data-figure="needless_notices" { (sweep.needless_notices) }
                            td data-figure="saved" { (sweep.saved) }
                        }
                    } }
                } }
                p.faint { "Needless notices come with the last call of a stuck streak: the agent helps itself." }
            }
        }
    }
}

fn quotas(study: &Study) -> Markup {
    let tools = study.tools();
    let drawn = tools.iter().filter(|tool| tool.most > 1).take(MOST_TOOLS);
    html! {
        section aria-labelledby="quotas" {
            h2 #quotas { "Quotas: calls of a tool in one step" }
            @if study.stepless_calls() > 0 {
                p.faint { (count(study.stepless_calls(), "call")) " belong to no recorded step, and are not counted here." }
            }
            div.charts.small {
                @for tool in drawn {
                    figure { figcaption { (tool.tool) } (bars(&format!("Steps by their calls of {}", tool.tool), "calls in one step", &per_step(tool))) }
                }
            }
            @if tools.is_empty() { p { "No calls." } } @else {
                details {
                    summary { "The numbers" }
                    div.wide tabindex="0" role="region" aria-label="Numbers by tool" { table {
                        thead { tr {
                            @for title in ["tool", "calls", "steps", "median", "99 %", "most", "steps by their calls", "denied at each limit"] { th scope="col" { (title) } }
                        } }
                        tbody { @for tool in &tools { (tool_row(tool)) } }
                    } }
                }
            }
        }
    }
}

fn per_step(tool: &ToolUse) -> Vec<Bar<'_>> {
    // What is rare and far out is drawn as one bar.
    const FAR: u32 = 12;
    let mut bars: Vec<_> = tool
        .per_step
        .range(..FAR)
        .map(|(calls, steps)| Bar { label: calls.to_string(), parts: vec![("steps", *steps)], marked: false })
        .collect();
    let far: usize = tool.per_step.range(FAR..).map(|(_, steps)| steps).sum();
    if far > 0 {
        bars.push(Bar { label: format!("{FAR}+"), parts: vec![("steps", far)], marked: false });
    }
    bars
}

fn tool_row(tool: &ToolUse) -> Markup {
    let pairs = |pairs: Vec<(u32, usize)>| {
        pairs.iter().map(|(key, value)| format!("{key}: {value}")).collect::<Vec<_>>().join(", ")
    };
    html! {
        tr data-tool=(tool.tool) {
            th scope="row" { (tool.tool) }
            td data-figure="calls" { (tool.calls) }
            td data-figure="steps" { (tool.steps) }
            td data-figure="median" { (tool.median) }
            td data-figure="most_of_99" { (tool.most_of_99) }
            td data-figure="most" { (tool.most) }
            td.text data-figure="calls_per_step" { (pairs(tool.per_step.iter().map(|(calls, steps)| (*calls, *steps)).collect())) }
            td.text data-figure="denied_at" { (pairs((1..tool.most).map(|limit| (limit, tool.denied_at(limit))).collect())) }
        }
    }
}

fn configuration(config: &str, advisor: &Advisor, study: &Study) -> Markup {
    html! {
        section aria-labelledby="configuration" {
            h2 #configuration { "A configuration for these sessions" }
            pre #advice tabindex="0" { (advisor.yaml(study)) }
            p { button #copy type="button" { "Copy" } " " span #copied role="status" {} }
            p.hidden data-config=(advisor.json(study)) {}
            details { summary { "What the sessions were replayed with" } pre #in-force tabindex="0" { (config) } }
        }
    }
}

/// A column of the table: the name of its figure, its title, and the figure.
type Column = (&'static str, &'static str, fn(&Totals) -> usize);

const COLUMNS: [Column; 8] = [
    ("calls", "calls", |totals| totals.calls),
    ("longest_run", "longest run", |totals| totals.longest_run as usize),
    ("stuck", "stuck", |totals| totals.stuck),
    ("polling", "polling", |totals| totals.polling),
    ("notices", "notices", |totals| totals.notices),
    ("after_notice", "after 1st notice", |totals| totals.after_notice),
    ("denied", "denied", |totals| totals.denied),
    ("asked", "asked", |totals| totals.asked),
];

fn table(sessions: &[(Row, Strip)]) -> Markup {
    html! {
        section aria-labelledby="sessions" {
            h2 #sessions { "Sessions, the most stuck first" }
            div.wide tabindex="0" role="region" aria-label="Figures of each session" { table #session-table {
                thead { tr {
                    th scope="col" { button type="button" { "session" } }
                    th scope="col" { button type="button" { "format" } }
                    @for (_, title, _) in COLUMNS { th scope="col" { button type="button" { (title) } } }
                    th scope="col" { "diverges at" }
                    th scope="col" { button type="button" { "lines left out" } }
                } }
                tbody { @for (number, (row, _)) in sessions.iter().enumerate() { (session_row(number, row)) } }
            } }
        }
    }
}

fn session_row(number: usize, Row { file, format, agent, totals, skipped }: &Row) -> Markup {
    html! {
        tr data-session=(agent.session) data-agent=(agent.id) data-file=(file) {
            th scope="row" title=(file) {
                @if number < MOST_TIMELINES { a href={"#session-" (number)} { (name(agent)) } } @else { (name(agent)) }
            }
            td.text data-figure="format" { (format) }
            @for (name, _, figure) in COLUMNS { td data-figure=(name) { (figure(totals)) } }
            td.text data-figure="diverged" { (totals.diverged.as_deref().unwrap_or("–")) }
            td data-figure="skipped_lines" { (skipped) }
        }
    }
}

fn name(agent: &loop_guard::recorded::Agent) -> String {
    if agent.session == agent.id { agent.session.clone() } else { format!("{} ▸ {}", agent.session, agent.id) }
}

fn timelines(sessions: &[(Row, Strip)]) -> Markup {
    html! {
        section aria-labelledby="timelines" {
            h2 #timelines { "Timelines" }
            p { "A cell is a call. Identical calls of a session have the same colour: the 36 most frequent ones one each, and the others that were repeated a strong grey. A call that was made once is faint." }
            p.legend {
                svg.key width="16" height="10" aria-hidden="true" { path.notice d="M2 1h11l-5.5 6z" {} } " the guard reminds "
                svg.key width="16" height="10" aria-hidden="true" { path.refused d="M3 3h9v3h-9z" {} } " denied, or asked about "
                svg.key width="16" height="14" aria-hidden="true" { path.failed d="M4 3l7 7m0 -7l-7 7" {} } " failed "
                svg.key width="8" height="14" aria-hidden="true" { path.prompt d="M4 0v14" {} } " a person's message ⋯ rows of a long session in which no call follows its like, and the guard does nothing"
            }
            @for (number, (row, strip)) in sessions.iter().enumerate().take(MOST_TIMELINES) {
                article #{"session-" (number)} {
                    h3 { (name(&row.agent)) " " span.faint { (row.file) } }
                    @if row.totals.calls == 0 { p.faint { "No calls." } } @else { (strip.markup()) }
                }
            }
            @if sessions.len() > MOST_TIMELINES {
                p.faint { (count(sessions.len() - MOST_TIMELINES, "session")) " that were less stuck have no timeline here: replay fewer to see them." }
            }
        }
    }
}
