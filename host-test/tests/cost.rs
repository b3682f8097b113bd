//! No input degrades the guard (S3, R8): what a call costs grows as n log n with its size at most. It is counted in wasmtime's fuel,
//! which is the same on every machine.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::fmt::Write;

use loop_guard::Component;
use wasmtime::component::Linker;
use wasmtime::{Config, Engine, Store};

use bindings::Plugin;
use bindings::exports::loop_guard::plugin::guard::{Outcome, Status, StepStart, ToolCall};

mod bindings {
    wasmtime::component::bindgen!({ path: "../wit", world: "plugin" });
}

/// An instance whose every instruction is counted.
struct Counted {
    store: Store<()>,
    plugin: Plugin,
}

impl Counted {
    fn new(config: &str) -> Self {
        let engine = Engine::new(Config::new().consume_fuel(true)).unwrap();
        let component = wasmtime::component::Component::new(&engine, Component::embedded_bytes()).unwrap();
        let mut store = Store::new(&engine, ());
        store.set_fuel(u64::MAX).unwrap();
        store.set_hostcall_fuel(1 << 30);
        let plugin = Plugin::instantiate(&mut store, &component, &Linker::new(&engine)).unwrap();
        plugin.loop_guard_plugin_guard().call_configure(&mut store, config).unwrap().unwrap();
        Self { store, plugin }
    }

    fn count(&mut self, call: impl FnOnce(&Plugin, &mut Store<()>)) -> u64 {
        let before = self.store.get_fuel().unwrap();
        call(&self.plugin, &mut self.store);
        before - self.store.get_fuel().unwrap()
    }

    fn post(&mut self, agent: &str, name: &str, arguments: String) -> u64 {
        let call = ToolCall { agent: Some(agent.to_owned()), id: String::new(), name: name.to_owned(), arguments };
        let outcome = Outcome { status: Status::Succeeded, content: None };
        self.count(|plugin, store| {
            plugin.loop_guard_plugin_guard().call_post_execute(store, &call, &outcome).unwrap();
        })
    }
}

/// Four times the size costs at most 5.5 times as much. With n log n that is 4.5 from 2^16 to 2^18 names, and 5 from 300 to 1200 longer
/// ones; with n² it would be 16.
#[track_caller]
fn grows_slowly(what: &str, mut cost: impl FnMut(usize) -> u64) {
    let (small, large) = (cost(1 << 16), cost(1 << 18));
    assert!(large * 10 <= small * 55, "{what}: {small}, and four times the size {large}");
}

/// Numbers below 2^20 that jump to and fro.
fn scattered(number: usize) -> usize {
    number.wrapping_mul(0x9e37_79b1) % (1 << 20)
}

fn object(size: usize, name: impl Fn(usize) -> String) -> String {
    let mut text = "{".to_owned();
    for number in 0.. {
        let _ = write!(text, "\"{}\":0,", name(number));
        if text.len() >= size {
            break;
        }
    }
    text.pop();
    text + "}"
}

#[test]
fn s3_arguments() {
    type Shape = (&'static str, fn(usize) -> String);
    let shapes: [Shape; 14] = [
        ("members in order", |size| object(size, |number| format!("{number:08}"))),
        ("members in the opposite order", |size| object(size, |number| format!("{:08}", 99_999_999 - number))),
        ("members in no order", |size| object(size, |number| format!("{:x}", scattered(number)))),
        ("members of one name", |size| object(size, |_| "name".to_owned())),
        ("names with much in common", |size| {
            object(size, |number| format!("{}{:x}", "a".repeat(200), scattered(number)))
        }),
        ("names with escapes in common", |size| {
            object(size, |number| format!("{}{:x}", "\\n".repeat(100), scattered(number)))
        }),
        ("names of backslashes", |size| {
            object(size, |number| format!("{}{:x}", "\\\\".repeat(100), scattered(number)))
        }),
        ("a string of escapes", |size| format!("\"{}\"", "\\u0041".repeat(size / 6))),
        ("a string of surrogates", |size| format!("\"{}\"", "\\ud83d\\ude00".repeat(size / 12))),
        ("a number of many digits", |size| "7".repeat(size)),
        ("a number of many zeros and a large exponent", |size| format!("0.{}1e999999999", "0".repeat(size))),
        ("an exponent of many digits", |size| format!("1e{}", "9".repeat(size))),
        ("much nesting", |size| "[".repeat(size)),
        ("control characters", |size| "\u{1}".repeat(size)),
    ];
    for (what, text) in shapes {
        grows_slowly(what, |size| Counted::new("{}").post("main", "t", text(size)));
    }
}

#[test]
fn s3_arguments_as_deep_as_they_may_be() {
    // Every level is out of order, and holds all that is below it.
    let text = |size: usize| {
        let leaf = format!("\"{}\"", "x".repeat(size));
        (0..126).fold(leaf, |inner, _| format!("{{\"b\":0,\"a\":{inner}}}"))
    };
    grows_slowly("levels out of order", |size| Counted::new("{}").post("main", "t", text(size)));
}

#[test]
fn r8_patterns() {
    let stars = "*a".repeat(60);
    for pattern in [format!("{stars}*b"), format!("{stars}*"), "*a*a*a*a*b".to_owned()] {
        let config = format!(r#"{{"repeatToolReminder":{{"exclude":["{pattern}"]}}}}"#);
        grows_slowly(&pattern, |size| Counted::new(&config).post("main", &"a".repeat(size), String::new()));
    }
    // A pattern as long as the name.
    grows_slowly("a long pattern", |size| {
        let config = format!(r#"{{"repeatToolReminder":{{"exclude":["{}b"]}}}}"#, "*a".repeat(size));
        Counted::new(&config).post("main", &"a".repeat(size), String::new())
    });
}

#[test]
fn s3_names_of_agents() {
    // The cost of a thousand calls, among a thousand agents and among sixteen thousand that were chosen to be alike.
    let cost = |agents: usize| {
        let mut counted = Counted::new("{}");
        let name = |number: usize| format!("{}{:x}", "agent".repeat(20), scattered(number));
        for number in 0..agents {
            counted.post(&name(number), "t", String::new());
        }
        (0..1000).map(|number| counted.post(&name(number * agents / 1000), "t", String::new())).sum::<u64>()
    };
    let (small, large) = (cost(1000), cost(16_000));
    assert!(large <= small * 2, "{small} among a thousand agents, {large} among sixteen thousand");
}

#[test]
fn s4_the_cost_of_forgetting_does_not_depend_on_how_many_are_remembered() {
    let cost = |max: usize| {
        let mut counted = Counted::new(&format!(r#"{{"maxAgents":{max}}}"#));
        let mut step = |number: usize| {
            let start = StepStart { agent: format!("{number:08}"), turn: 1, step: 1, prompted: false };
            counted.count(|plugin, store| plugin.loop_guard_plugin_guard().call_step(store, &start).unwrap())
        };
        (0..max).for_each(|number| _ = step(number));
        (max..max + 100).map(&mut step).sum::<u64>()
    };
    let (small, large) = (cost(100), cost(10_000));
    assert!(large <= small * 2, "{small} with a hundred agents, {large} with ten thousand");
}
