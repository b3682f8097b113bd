//! Runs every scripted session through the component, each as a test of its own name, and sees to it that each rule has one.

use std::fs;
use std::path::{Path, PathBuf};

use boon::{Compiler, Schemas};
use libtest_mimic::{Arguments, Failed, Trial};
use loop_guard::Component;
use loop_guard::json::from_yaml;
use loop_guard::script::{Mismatch, Script};

/// The rules that the project promises.
const RULES: [&str; 46] = [
    "R1", "R2", "R3", "R4", "R5", "R6", "R7", "R8", "R9", "R10", "R11", "R12", "R13", "R14", "R15", //
    "Q1", "Q2", "Q3", "Q4", "Q5", "Q6", "Q7", "Q8", "Q9", "Q10", //
    "C1", "C2", "C3", "C4", "C5", "C6", "C7", //
    "S1", "S2", "S3", "S4", //
    "B1", "B2", "B3", "B4", "B5", "B6", "B7", "B8", "B9", "B10",
];

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments = Arguments::from_args();
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("sessions");
    // `make cargo-component` runs the same sessions against the component that it built.
    let component = match std::env::var_os("LOOP_GUARD_COMPONENT") {
        Some(file) => Component::from_file(file)?,
        None => Component::embedded()?,
    };
    let mut files: Vec<PathBuf> =
        fs::read_dir(&folder)?.map(|entry| Ok(entry?.path())).collect::<std::io::Result<_>>()?;
    files.retain(|path| path.extension().is_some_and(|extension| extension == "yaml"));
    files.sort();

    let mut trials = Vec::new();
    let mut scripts = Vec::new();
    for path in &files {
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let yaml = fs::read_to_string(path)?;
        let script = Script::parse(&yaml).map_err(|error| format!("{}:{error}", path.display()))?;
        scripts.push((name.clone(), yaml, script.clone()));
        let component = component.clone();
        trials.push(Trial::test(format!("session::{name}"), move || run(&script, &component)));
    }
    let shown: Vec<String> = scripts.iter().flat_map(|(_, _, script)| script.rules.clone()).collect();
    for rule in RULES {
        let is_shown = shown.iter().any(|shown| shown == rule);
        trials.push(Trial::test(format!("rule::{rule}"), move || {
            if is_shown { Ok(()) } else { Err("no scripted session shows this rule".into()) }
        }));
    }
    let schema: serde_json::Value = serde_json::from_str(&fs::read_to_string(folder.join("session.schema.json"))?)?;
    trials.push(Trial::test("the_schema_accepts_every_session", move || schema_accepts(schema, &scripts)));
    libtest_mimic::run(&arguments, trials).exit();
}

fn run(script: &Script, component: &Component) -> Result<(), Failed> {
    if let Some(unknown) = script.rules.iter().find(|rule| !RULES.contains(&rule.as_str())) {
        return Err(format!("there is no rule {unknown}").into());
    }
    let mismatches = script.run(component)?;
    let difference =
        |Mismatch { line, diff, .. }: &Mismatch| format!("line {line}: expected (-) and actual (+)\n{diff}");
    if mismatches.is_empty() {
        Ok(())
    } else {
        Err(mismatches.iter().map(difference).collect::<Vec<_>>().join("\n").into())
    }
}

fn schema_accepts(schema: serde_json::Value, scripts: &[(String, String, Script)]) -> Result<(), Failed> {
    let (mut schemas, mut compiler) = (Schemas::new(), Compiler::new());
    compiler.add_resource("session.schema.json", schema).map_err(|error| error.to_string())?;
    let schema = compiler.compile("session.schema.json", &mut schemas).map_err(|error| error.to_string())?;
    for (name, yaml, _) in scripts {
        let session: serde_json::Value = from_yaml(yaml)?;
        schemas.validate(&session, schema).map_err(|error| format!("{name}: {error}"))?;
    }
    for wrong in [
        "{}",
        "{about: x, rules: [R1], events: [{step: {turn: 1}}]}",
        "{about: x, rules: [R1], events: [{cal: {tool: t}}]}",
        "{about: x, rules: [R1], events: [{call: {tool: t}, pre: {id: a, tool: t}}]}",
        "{about: x, rules: [R1], events: [{call: {tool: t, arguments: {}, raw: ''}}]}",
        "{about: x, rules: [R1], events: [{call: {tool: t, outcome: fine}}]}",
        "{about: x, rules: [R1], events: [{count: {agent: main}}]}",
        "{about: x, rules: [R1], events: [{call: {tool: t}, expect: {notice: []}}]}",
        "{about: x, rules: [rule one], events: []}",
    ] {
        if schemas.validate(&from_yaml(wrong)?, schema).is_ok() {
            return Err(format!("the schema accepts {wrong}").into());
        }
    }
    Ok(())
}
