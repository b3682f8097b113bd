//! The table at the end of a run: ratios, targets and verdicts.

use std::fs;
use std::path::PathBuf;

use comfy_table::presets::UTF8_HORIZONTAL_ONLY;
use comfy_table::{CellAlignment, Table};

use crate::node::Measured;
use crate::texts::{SHAPES, SIZES};

/// The median of a benchmark of this run, in nanoseconds, as criterion left it.
fn time(group: &str, benchmark: &str) -> f64 {
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| PathBuf::from("../target"), PathBuf::from);
    let file = target.join("criterion").join(group).join(benchmark).join("new/estimates.json");
    let text = fs::read_to_string(&file).unwrap_or_else(|error| unreachable!("{}: {error}", file.display()));
    let estimates: serde_json::Value = serde_json::from_str(&text).unwrap();
    estimates.pointer("/median/point_estimate").and_then(serde_json::Value::as_f64).unwrap()
}

pub fn print(node: &Measured) {
    let mut times = table([
        "arguments",
        "floor",
        "same",
        "respelled",
        "different",
        "native same",
        "native different",
        "IgnoredAny",
        "JS",
        "JS with parse",
    ]);
    let mut verdicts =
        table(["arguments", "same ÷ floor", "different ÷ (4 × IgnoredAny + floor)", "JS ÷ different", "JS ÷ same"]);
    let mut everything = table(["arguments", "post", "pre and post", "post ÷ different", "pre and post ÷ post"]);
    for shape in SHAPES {
        for (place, (size, _)) in SIZES.iter().enumerate() {
            let group = format!("{} {size}", shape.name);
            let [floor, same, respelled, different] =
                ["floor", "component same", "component respelled", "component different"]
                    .map(|name| time(&group, name));
            let [native_same, native_different, ignored] =
                ["native same", "native different", "ignored_any"].map(|name| time(&group, name));
            let js = node.calls.iter().find(|js| js.shape == shape.name && js.size == *size).unwrap();
            let cells =
                [floor, same, respelled, different, native_same, native_different, ignored, js.different, js.parsed];
            times.add_row(std::iter::once(group.clone()).chain(cells.map(duration)));
            let [post, both] = ["everything post", "everything both"].map(|name| time(&group, name));
            everything.add_row([
                group.clone(),
                duration(post),
                duration(both),
                at_most(post / different, Some(1.3)),
                at_most(both / post, Some(2.0)),
            ]);
            let budget = (place >= 2).then_some(1.0);
            verdicts.add_row([
                group,
                at_most(same / floor, Some(2.0)),
                at_most(different / (4.0 * ignored + floor), budget),
                at_least(js.different / different, [1.0, 2.0, 2.0, 2.5, 6.0].get(place).copied()),
                at_least(js.same / same, [1.0, 2.5, 12.0, 50.0, 150.0].get(place).copied()),
            ]);
        }
    }
    let hook = |name: &str| time("hooks", name);
    let mut hooks = table(["hook", "component", "floor", "ratio"]);
    for name in ["pre-execute", "step"] {
        let (component, floor) = (hook(&format!("component {name}")), hook(&format!("floor {name}")));
        hooks.add_row([name.to_owned(), duration(component), duration(floor), at_most(component / floor, Some(1.3))]);
    }
    for (group, name, target, most) in [("hooks", "further guard", 50e3, "50 µs"), ("process", "start", 20e6, "20 ms")]
    {
        let time = time(group, name);
        let verdict = format!("{} of {most}", at_most(time / target, Some(1.0)));
        hooks.add_row([name.to_owned(), duration(time), String::new(), verdict]);
    }
    println!(
        "\nTimes of one call\n{times}\n\nRatios, with targets and verdicts\n{verdicts}\n\nWith everything on\n{everything}\n\nHooks that read no arguments\n{hooks}"
    );
    println!("\nIn Node, through jco\n{}\n\nMemory that Node keeps for each agent\n{}", calls(node), memory(node));
}

/// The component as a host in Node calls it, with arguments that it has as a value, beside the guard in JavaScript.
fn calls(node: &Measured) -> Table {
    let mut table = table([
        "arguments",
        "jco same",
        "jco different",
        "JS same",
        "JS different",
        "jco ÷ JS same",
        "jco ÷ JS different",
    ]);
    for call in &node.calls {
        let is_short = SIZES.iter().take(3).any(|(size, _)| call.size == *size);
        let target = if is_short { Some(3.0) } else { (call.shape == "nested").then_some(1.0) };
        let cells = [call.jco_same, call.jco_different, call.same, call.different].map(duration);
        table.add_row(
            std::iter::once(format!("{} {}", call.shape, call.size)).chain(cells).chain([
                at_most(call.jco_same / call.same, target),
                at_most(call.jco_different / call.different, target),
            ]),
        );
    }
    table
}

/// What agents leave behind that have made one call each.
fn memory(node: &Measured) -> Table {
    let mut table = table(["arguments", "jco", "JS", "jco ÷ 1 KiB"]);
    for kept in &node.memory {
        table.add_row([
            format!("{} {}", kept.shape, kept.size),
            format!("{:.0} B", kept.jco),
            format!("{:.0} B", kept.javascript),
            at_most(kept.jco / 1024.0, Some(1.0)),
        ]);
    }
    table
}

fn table<const N: usize>(header: [&str; N]) -> Table {
    let mut table = Table::new();
    table.load_preset(UTF8_HORIZONTAL_ONLY).set_header(header);
    table.column_iter_mut().skip(1).for_each(|column| column.set_cell_alignment(CellAlignment::Right));
    table
}

fn at_most(ratio: f64, target: Option<f64>) -> String {
    verdict(ratio, target, "≤", |ratio, target| ratio <= target)
}

fn at_least(ratio: f64, target: Option<f64>) -> String {
    verdict(ratio, target, "≥", |ratio, target| ratio >= target)
}

fn verdict(ratio: f64, target: Option<f64>, sign: &str, is_met: fn(f64, f64) -> bool) -> String {
    match target {
        Some(target) => format!("{ratio:.2} ({sign} {target}) {}", if is_met(ratio, target) { "✓" } else { "✗" }),
        None => format!("{ratio:.2}"),
    }
}

fn duration(nanoseconds: f64) -> String {
    match nanoseconds {
        ..1e3 => format!("{nanoseconds:.0} ns"),
        ..1e6 => format!("{:.1} µs", nanoseconds / 1e3),
        _ => format!("{:.2} ms", nanoseconds / 1e6),
    }
}
