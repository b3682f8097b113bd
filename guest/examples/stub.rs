//! A guard that does nothing: the floor that benchmarks measure from. For the tests of a host it misbehaves when a
//! call's tool is named so: `allocate` takes memory for ever, `spin` never answers, `trap` traps.
//!
//! It exists on wasm alone, and is a component of its own.
#![cfg_attr(not(target_arch = "wasm32"), allow(missing_docs))]

#[cfg(target_arch = "wasm32")]
mod component {
    use exports::loop_guard::plugin::guard::{
        Decision, Event, Guest as Hooks, Needs, Notice, Outcome, Problem, StepStart, ToolCall,
    };
    use exports::loop_guard::plugin::introspection::{Guest as Introspection, Stat};
    use exports::loop_guard::plugin::resume::Guest as Resume;

    wit_bindgen::generate!({ path: "../wit", world: "plugin" });

    struct Stub;
    export!(Stub);

    fn misbehave(tool: &str) {
        match tool {
            "allocate" => {
                let mut hoard = Vec::new();
                loop {
                    hoard.push(vec![1_u8; 1 << 20]);
                    std::hint::black_box(&hoard);
                }
            }
            "spin" => loop {
                std::hint::spin_loop();
            },
            "trap" => std::arch::wasm32::unreachable(),
            _ => {}
        }
    }

    impl Hooks for Stub {
        fn configure(_: String) -> Result<Needs, Vec<Problem>> {
            Ok(Needs { content: true })
        }

        fn step(_: StepStart) {}

        fn pre_execute(call: ToolCall) -> Decision {
            misbehave(&call.name);
            Decision::Allow
        }

        fn post_execute(call: ToolCall, _: Outcome) -> Vec<Notice> {
            misbehave(&call.name);
            Vec::new()
        }

        fn step_aborted(_: String, _: u32, _: u32) {}

        fn turn_ended(_: String, _: u32) {}

        fn agent_ended(_: String) {}

        fn noted(_: String, _: Event) {}
    }

    impl Introspection for Stub {
        fn describe() -> String {
            "{}".to_owned()
        }

        fn canonical(text: String) -> String {
            text
        }

        fn count(_: String) -> u32 {
            0
        }

        fn explain(tool: String) -> String {
            let limit = if tool == "trap" { "1" } else { "null" };
            format!(r#"{{"toolCallLimit":{{"limit":{limit}}}}}"#)
        }

        fn stats() -> Vec<Stat> {
            Vec::new()
        }
    }

    impl Resume for Stub {
        fn snapshot() -> Vec<u8> {
            Vec::new()
        }

        fn restore(_: Vec<u8>) -> Result<(), String> {
            Ok(())
        }
    }
}
