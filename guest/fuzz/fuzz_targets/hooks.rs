//! Any configuration and any sequence of hooks, against the naive model of the guard.
#![no_main]

#[path = "../../tests/model/mod.rs"]
#[allow(dead_code, reason = "the property tests draw their sequences at random")]
mod model;
#[path = "../../tests/model/native.rs"]
mod native;

use libfuzzer_sys::arbitrary::{Result, Unstructured};
use libfuzzer_sys::fuzz_target;
use loop_guard_guest::guard::Guard;
use model::{AGENTS, Config, Failures, Hook, TOOLS, VALUES};

fuzz_target!(|bytes: &[u8]| {
    let mut choices = Unstructured::new(bytes);
    let Ok(config) = config(&mut choices) else { return };
    let mut hooks = Vec::new();
    while !choices.is_empty()
        && let Ok(hook) = hook(&mut choices)
    {
        hooks.push(hook);
    }
    let mut guard = Guard::default();
    assert_eq!(guard.configure(&config.json()), Ok(()));
    if let Err(error) = model::agree(&mut guard, config.clone(), &hooks) {
        panic!("{error}\n{config:?}\n{hooks:?}");
    }
});

fn config(choices: &mut Unstructured) -> Result<Config> {
    let mut thresholds = Vec::new();
    for threshold in [4, 2, 5, 3] {
        if choices.arbitrary()? {
            thresholds.push(threshold);
        }
    }
    if thresholds.is_empty() {
        thresholds.push(2);
    }
    let limit = |choices: &mut Unstructured| Ok(choices.int_in_range(0..=5)?).map(|limit| (limit < 5).then_some(limit));
    let mut limits = || TOOLS.iter().map(|_| limit(choices)).collect::<Result<_>>();
    let limits = [limits()?, limits()?, limits()?];
    let totals = [limit(choices)?, limit(choices)?, limit(choices)?];
    let failures = if choices.arbitrary()? {
        let (threshold, every) = (choices.int_in_range(2..=3)?, choices.int_in_range(0..=2)?);
        Some(Failures { threshold, every, count_denied: choices.arbitrary()? })
    } else {
        None
    };
    Ok(Config {
        thresholds,
        exclude_poll: choices.arbitrary()?,
        limits,
        totals,
        ask: choices.arbitrary()?,
        max_agents: choices.int_in_range(1..=5)?,
        failures,
        observe: choices.ratio(1, 5)?,
    })
}

/// A hook, in which small bytes make what repeats.
fn hook(choices: &mut Unstructured) -> Result<Hook> {
    let kind = choices.int_in_range(0..=9)?;
    let agent = choices.choose_index(AGENTS.len())?;
    let caller = if kind == 9 { None } else { Some(agent) };
    Ok(match kind {
        0..=3 | 9 => Hook::Post {
            agent: caller,
            tool: choices.choose_index(TOOLS.len())?,
            value: choices.choose_index(VALUES.len())?,
            spelling: choices.choose_index(3)?,
        },
        4 | 5 => Hook::Pre {
            agent: if choices.ratio(1, 20)? { None } else { caller },
            tool: choices.choose_index(TOOLS.len())?,
        },
        6 => Hook::Step {
            agent,
            turn: choices.int_in_range(0..=2)?,
            step: choices.int_in_range(0..=2)?,
            prompted: choices.ratio(1, 4)?,
        },
        7 => Hook::StepAborted { agent, turn: choices.int_in_range(0..=2)?, step: choices.int_in_range(0..=2)? },
        _ => match choices.int_in_range(0..=3)? {
            3 => Hook::AgentEnded { agent },
            turn => Hook::TurnEnded { agent, turn },
        },
    })
}
