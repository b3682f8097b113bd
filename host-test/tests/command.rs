//! The command `loop-guard` as people run it: what it prints, and how it fails.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test fails by panicking")]

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use tempfile::TempDir;

/// What the command did.
#[derive(Debug, PartialEq, Eq)]
struct Run {
    status: i32,
    out: String,
    err: String,
}

fn loop_guard(folder: &Path, arguments: &[&str]) -> Run {
    let Output { status, stdout, stderr } = Command::new(env!("CARGO_BIN_EXE_loop-guard"))
        .current_dir(folder)
        .env_remove("CLICOLOR_FORCE")
        .args(arguments)
        .output()
        .unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    Run { status: status.code().unwrap(), out: text(stdout), err: text(stderr) }
}

/// A folder with these files.
fn folder(files: &[(&str, &str)]) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (name, content) in files {
        fs::write(folder.path().join(name), content).unwrap();
    }
    folder
}

/// Bad input: exit status 2, nothing on standard output, and this on standard error.
#[track_caller]
fn refused(folder: &TempDir, arguments: &[&str], error: &str) {
    let run = loop_guard(folder.path(), arguments);
    assert_eq!((run.status, run.out.as_str()), (2, ""), "{arguments:?}: {}", run.err);
    assert_eq!(run.err, format!("error: {error}\n"), "{arguments:?}");
}

fn recorded(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("recorded/dsh").join(name)
}

const PASSES: &str = "about: x\nrules: [R1]\nevents:\n- call: {tool: t}\n- count: {}\n  expect: {count: 1}\n";

const FAILS: &str = "\
about: x
rules: [R3, Q3]
config: {repeatToolReminder: {thresholds: [2]}}
events:
- call: {tool: t}
# A comment that stays.
- call: {tool: t}   # so does this one
  expect:
    decision: {deny: no reason}

- count: {}
  expect: {count: 3}
- canonical: '1.0'
  expect: {text: '1'}
";

#[test]
fn check_says_what_ran() {
    let folder = folder(&[("a.yaml", PASSES), ("b.yaml", PASSES)]);
    let run = loop_guard(folder.path(), &["check", "a.yaml", "b.yaml"]);
    let out = "ok a.yaml (2 events)\nok b.yaml (2 events)\n2 sessions: all as expected\n";
    assert_eq!(run, Run { status: 0, out: out.to_owned(), err: String::new() });
}

#[test]
fn check_shows_each_mismatch_as_a_diff() {
    let folder = folder(&[("f.yaml", FAILS), ("p.yaml", PASSES)]);
    let run = loop_guard(folder.path(), &["check", "f.yaml", "p.yaml"]);
    let out = "\
failed f.yaml:7: expected (-) and actual (+) differ
  - decision:
  -   deny: no reason
  + notices:
  + - plugin: repeat-tool-reminder
  +   summary: t × 2
  +   text: \"You keep repeating the exact same tool call. Study the result it already gave you before you call it again: if the task is not done yet, change your approach or the arguments.\"
failed f.yaml:11: expected (-) and actual (+) differ
  - count: 3
  + count: 2
ok p.yaml (2 events)
2 sessions: 1 not as expected
";
    assert_eq!(run, Run { status: 1, out: out.to_owned(), err: String::new() });
}

#[test]
fn check_blesses_what_is_not_met_and_leaves_the_rest() {
    let folder = folder(&[("f.yaml", FAILS)]);
    let run = loop_guard(folder.path(), &["check", "--bless", "f.yaml"]);
    assert_eq!((run.status, run.out.as_str()), (0, "rewritten f.yaml: 2 expectations\n1 session: all as expected\n"));
    let expected = "\
about: x
rules: [R3, Q3]
config: {repeatToolReminder: {thresholds: [2]}}
events:
- call: {tool: t}
# A comment that stays.
- call: {tool: t}   # so does this one
  expect:
    notices:
    - plugin: repeat-tool-reminder
      summary: t × 2
      text: \"You keep repeating the exact same tool call. Study the result it already gave you before you call it again: if the task is not done yet, change your approach or the arguments.\"

- count: {}
  expect:
    count: 2
- canonical: '1.0'
  expect: {text: '1'}
";
    assert_eq!(fs::read_to_string(folder.path().join("f.yaml")).unwrap(), expected);
    assert_eq!(loop_guard(folder.path(), &["check", "f.yaml"]).status, 0);
}

#[test]
fn check_blesses_nothing_that_it_could_damage() {
    let events = |events: &str| format!("about: x\nrules: [R3]\nevents:{events}");
    let folder = folder(&[
        ("indented.yaml", &events("\n  - call: {tool: t}\n  - count: {}\n    expect: {count: 3}\n")),
        ("wide.yaml", &events("\n-   count: {}\n    expect: {count: 3}\n")),
        ("flow.yaml", &events(" [{count: {}, expect: {count: 3}}]\n")),
        ("one-line.yaml", &events("\n- {count: {}, expect: {count: 3}}\n")),
        ("not-last.yaml", &events("\n- expect: {count: 3}\n  count: {}\n")),
        ("quoted.yaml", &events("\n- canonical: \"a\n  expect: b\"\n  expect: {text: c}\n")),
    ]);
    for file in ["indented.yaml", "wide.yaml", "flow.yaml", "one-line.yaml", "not-last.yaml", "quoted.yaml"] {
        let before = fs::read(folder.path().join(file)).unwrap();
        let run = loop_guard(folder.path(), &["check", "--bless", file]);
        assert_eq!(run.status, 2, "{file}: {} {}", run.out, run.err);
        assert!(run.err.contains("cannot be rewritten: events must be items"), "{file}: {}", run.err);
        assert_eq!(fs::read(folder.path().join(file)).unwrap(), before, "{file}");
    }
}

#[test]
fn check_keeps_the_line_endings_of_what_it_blesses() {
    let folder = folder(&[("f.yaml", &FAILS.replace('\n', "\r\n"))]);
    assert_eq!(loop_guard(folder.path(), &["check", "--bless", "f.yaml"]).status, 0);
    let blessed = fs::read_to_string(folder.path().join("f.yaml")).unwrap();
    assert_eq!(blessed.matches('\n').count(), blessed.matches("\r\n").count());
    assert_eq!(loop_guard(folder.path(), &["check", "f.yaml"]).status, 0);
}

#[test]
fn a_closed_pipe_is_no_error() {
    for arguments in ["demo", "check --export json", "check"] {
        let sessions = Path::new(env!("CARGO_MANIFEST_DIR")).join("sessions");
        let files = if arguments == "demo" { "" } else { "*.yaml" };
        let script = format!(
            "{} {arguments} {files} | head -n 1 >/dev/null; exit ${{PIPESTATUS[0]}}",
            env!("CARGO_BIN_EXE_loop-guard")
        );
        let output = Command::new("bash").arg("-c").arg(script).current_dir(sessions).output().unwrap();
        let err = String::from_utf8(output.stderr).unwrap();
        assert_eq!((output.status.code(), err.as_str()), (Some(0), ""), "{arguments}");
    }
}

#[test]
fn check_exports_raw_text_with_everything_filled_in() {
    let script = "\
about: x
rules: [C4]
config: {maxAgents: 1}
events:
- call: {tool: t, arguments: {b: 9007199254740993, a: yes}}
- pre: {id: p, agent: null, tool: t, raw: '{ }'}
- post: {id: p, outcome: failed, content: oops}
";
    let folder = folder(&[("a-name.yaml", script)]);
    let run = loop_guard(folder.path(), &["check", "--export", "json", "a-name.yaml"]);
    assert_eq!((run.status, run.err.as_str()), (0, ""));
    let expected = serde_json::json!([{
        "name": "a-name", "about": "x", "rules": ["C4"], "config": r#"{"maxAgents":1}"#,
        "events": [
            {"line": 5, "action": "call", "agent": "main", "id": "line-5", "tool": "t",
             "arguments": r#"{"b":9007199254740993,"a":"yes"}"#, "outcome": "succeeded", "content": null, "approved": true,
             "expect": {"decision": "allow", "notices": []}},
            {"line": 6, "action": "pre", "agent": null, "id": "p", "tool": "t", "arguments": "{ }",
             "expect": {"decision": "allow"}},
            {"line": 7, "action": "post", "agent": null, "id": "p", "tool": "t", "arguments": "{ }",
             "outcome": "failed", "content": "oops", "expect": {"notices": []}},
        ],
    }]);
    assert_eq!(serde_json::from_str::<serde_json::Value>(&run.out).unwrap(), expected);
}

#[test]
fn check_refuses_what_is_no_scripted_session() {
    let head = "about: x\nrules: [R1]\nevents:\n";
    let event = |event: &str| format!("{head}- {event}\n");
    let folder = folder(&[
        ("good.yaml", PASSES),
        ("empty.yaml", "\n"),
        ("cut.yaml", "about: x\nrules: [R1\n"),
        ("unknown.yaml", &event("poke: {}")),
        ("none.yaml", &event("expect: {count: 1}")),
        ("two.yaml", &event("{step: {turn: 1, step: 1}, describe: {}}")),
        ("type.yaml", &event("step: {turn: one, step: 1}")),
        ("both.yaml", &event("call: {tool: t, arguments: {}, raw: ''}")),
        ("post.yaml", &event("post: {id: nobody}")),
        ("surplus.yaml", &event("pre: {id: a, tool: t}\n  expect: {notices: []}")),
        ("list.yaml", "- a\n- b\n"),
    ]);
    fs::write(folder.path().join("binary.yaml"), [0xff, 0xfe, 0x00]).unwrap();
    refused(
        &folder,
        &["check", "good.yaml", "none-such.yaml"],
        "cannot read none-such.yaml: No such file or directory (os error 2)",
    );
    refused(&folder, &["check", "."], ". is a directory: name a file");
    refused(&folder, &["check", "empty.yaml"], "empty.yaml is empty");
    refused(
        &folder,
        &["check", "binary.yaml"],
        "binary.yaml is not UTF-8 text: invalid utf-8 sequence of 1 bytes from index 0",
    );
    for (file, place) in [
        ("cut.yaml", "2:8: unclosed bracket"),
        ("unknown.yaml", "4:3: unknown field `poke`"),
        ("none.yaml", "4:3: an event is exactly one of step, call, pre"),
        ("two.yaml", "4:3: an event is exactly one of step, call, pre"),
        ("type.yaml", "4:16: "),
        ("both.yaml", "4:3: a call has either arguments or raw, not both"),
        ("post.yaml", "4:3: no pre before this post has the id \"nobody\""),
        ("surplus.yaml", "4:3: this event has no notices to expect"),
        ("list.yaml", "1:1: "),
    ] {
        let run = loop_guard(folder.path(), &["check", "good.yaml", file]);
        assert_eq!((run.status, run.out.as_str()), (2, ""), "{file}");
        assert!(run.err.starts_with(&format!("error: {file}:{place}")), "{file}: {}", run.err);
    }
}

#[test]
fn a_script_whose_configuration_is_rejected_fails() {
    let folder = folder(&[("c.yaml", "about: x\nrules: [R15]\nconfig: {maxAgent: 1}\nevents: []\n")]);
    let run = loop_guard(folder.path(), &["check", "c.yaml"]);
    let out = "failed c.yaml: the configuration is rejected: /maxAgent: unknown field\n1 session: 1 not as expected\n";
    assert_eq!(run, Run { status: 1, out: out.to_owned(), err: String::new() });
}

#[test]
fn replay_prints_a_json_object_a_line() {
    let folder = folder(&[("limit.yaml", "toolCallLimit: {limits: {web_search: 7}, onExceeded: ask}\n")]);
    let searches = recorded("eight-searches-at-once.jsonl");
    let grep = recorded("stuck-on-a-grep.jsonl");
    let (searches, grep) = (searches.to_str().unwrap(), grep.to_str().unwrap());
    let run = loop_guard(folder.path(), &["replay", "--config", "limit.yaml", "--output", "json", searches, grep]);
    assert_eq!((run.status, run.err.as_str()), (0, ""));
    let lines: Vec<&str> = run.out.lines().collect();
    assert_eq!(
        lines.first().unwrap(),
        &r#"{"event":"asked","session":"eight-searches-at-once","agent":"eight-searches-at-once","turn":1,"step":1,"call":"call_8","tool":"web_search","reason":"tool web_search exceeded its per-step limit of 7","text":"tool web_search exceeded its per-step limit of 7"}"#
    );
    assert_eq!(
        lines.get(1).unwrap(),
        &format!(
            r#"{{"event":"summary","session":"eight-searches-at-once","file":"{searches}","calls":9,"notices":0,"denied":0,"asked":1,"longest_run":1,"diverged":null,"skipped_lines":0,"agent":"eight-searches-at-once","format":"dsh","stuck":0,"polling":0,"after_notice":0}}"#
        )
    );
    assert!(lines.get(2).unwrap().starts_with(
        r#"{"event":"notice","session":"stuck-on-a-grep","agent":"stuck-on-a-grep","turn":1,"step":4,"call":"call_4","tool":"grep","summary":"grep × 3","text":"You keep repeating"#
    ));
    assert_eq!(
        lines.get(5).unwrap(),
        &format!(
            r#"{{"event":"summary","session":"stuck-on-a-grep","file":"{grep}","calls":10,"notices":3,"denied":0,"asked":0,"longest_run":8,"diverged":null,"skipped_lines":0,"agent":"stuck-on-a-grep","format":"dsh","stuck":7,"polling":0,"after_notice":5}}"#
        )
    );
    assert_eq!(lines.len(), 6);
}

#[test]
fn replay_says_where_a_session_diverges() {
    let folder = folder(&[("limit.json", r#"{"toolCallLimit":{"limits":{"web_search":7}}}"#)]);
    let searches = recorded("eight-searches-at-once.jsonl");
    let run = loop_guard(
        folder.path(),
        &["replay", "--config", "limit.json", "--output", "json", searches.to_str().unwrap()],
    );
    assert!(run.out.contains(r#""event":"denied""#));
    assert!(
        run.out.contains(r#""denied":1,"asked":0,"longest_run":1,"diverged":"call_8","skipped_lines":0,"#),
        "{}",
        run.out
    );
}

#[test]
fn replay_leaves_out_bad_lines_and_strict_refuses_them() {
    let log = "{\"type\":\"session\",\"id\":\"s\"}\nnot json\n{\"type\":\"tool/call\",\"data\":{\"turn\":1}}\n{\"type\":\"turn/start\",\"data\":{\"turn\":1}}\n{\"type\":\"step/st";
    let folder = folder(&[("s.jsonl", log)]);
    let run = loop_guard(folder.path(), &["replay", "--output", "json", "s.jsonl"]);
    assert_eq!(
        run.out,
        "{\"event\":\"summary\",\"session\":\"s\",\"file\":\"s.jsonl\",\"calls\":0,\"notices\":0,\"denied\":0,\"asked\":0,\"longest_run\":0,\"diverged\":null,\"skipped_lines\":3,\"agent\":\"s\",\"format\":\"dsh\",\"stuck\":0,\"polling\":0,\"after_notice\":0}\n"
    );
    assert_eq!(
        run.err,
        "warning: s.jsonl:2: left out: not a JSON object\n\
         warning: s.jsonl:3: left out: tool/call: missing field `callId`\n\
         warning: s.jsonl:5: left out: EOF while parsing a string\n"
    );
    assert_eq!(run.status, 0);
    refused(&folder, &["replay", "--strict", "s.jsonl"], "s.jsonl:2: not a JSON object");
}

#[test]
fn replay_refuses_what_is_no_recorded_session() {
    let folder = folder(&[
        ("good.jsonl", "{\"type\":\"session\",\"id\":\"s\"}\n"),
        ("empty.jsonl", ""),
        ("blank.jsonl", " \r\n\t\n"),
        ("list.json", "[]"),
        ("cut-off.json", "[[["),
        ("other.jsonl", "{\"a\":1}\n{\"type\":\"message\"}\n"),
        ("bad.json", r#"{"toolCallLimit":{"limits":{"a":-1}}}"#),
    ]);
    refused(
        &folder,
        &["replay", "good.jsonl", "no.jsonl"],
        "cannot read no.jsonl: No such file or directory (os error 2)",
    );
    // One file that is no recording fails alone; of several, the others are replayed.
    let run = loop_guard(folder.path(), &["replay", "empty.jsonl"]);
    assert_eq!((run.status, run.out.as_str()), (2, ""));
    assert_eq!(run.err, "error: empty.jsonl: the file is empty\nerror: no recorded session to read\n");
    for (file, problem) in [
        ("blank.jsonl", "the file is empty"),
        ("list.json", "not a recorded session of a known format"),
        ("cut-off.json", "not a recorded session of a known format"),
    ] {
        let run = loop_guard(folder.path(), &["replay", file]);
        assert_eq!((run.status, run.out.as_str()), (2, ""));
        assert_eq!(run.err.lines().next(), Some(format!("error: {file}: {problem}").as_str()));
    }
    let run = loop_guard(folder.path(), &["replay", "--output", "json", "other.jsonl", "good.jsonl"]);
    assert_eq!((run.status, run.out.lines().count()), (2, 1));
    let lines: Vec<&str> = run.err.lines().collect();
    assert_eq!(lines.first(), Some(&"error: other.jsonl: not a recorded session of a known format"));
    assert_eq!(lines.get(1), Some(&"looked for these formats:"));
    assert!(run.err.contains("\n  atif            an object with steps and a schema_version ATIF-…\n"), "{}", run.err);
    assert_eq!(lines.last(), Some(&"error: 1 file could not be replayed, see above"));
    let run = loop_guard(folder.path(), &["replay", "--strict", "good.jsonl", "other.jsonl"]);
    assert_eq!((run.status, run.out.as_str()), (2, ""));
    refused(
        &folder,
        &["replay", "--strict", "--format", "codex", "good.jsonl"],
        "good.jsonl: not a recorded session of the format codex: looked for a line of type session_meta, response_item, event_msg or turn_context with a payload",
    );
    refused(
        &folder,
        &["replay", "--config", "bad.json", "good.jsonl"],
        "bad.json is not a valid configuration:\n  /toolCallLimit/limits/a: must be a non-negative safe integer (0 to 9007199254740991)",
    );
}

/// Copies of recordings in a folder, which is searched to its bottom.
fn corpus() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let samples = Path::new(env!("CARGO_MANIFEST_DIR")).join("recorded");
    let grep = fs::read(recorded("stuck-on-a-grep.jsonl")).unwrap();
    fs::create_dir_all(folder.path().join("deep/er")).unwrap();
    let write = |name: &str, bytes: &[u8]| fs::write(folder.path().join(name), bytes).unwrap();
    write(
        "a.jsonl.zstd",
        &[zstd::encode_all(&grep[..2000], 1).unwrap(), zstd::encode_all(&grep[2000..], 1).unwrap()].concat(),
    );
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gzip.write_all(&fs::read(samples.join("codex/ordinary.jsonl")).unwrap()).unwrap();
    write("deep/b.jsonl.gz", &gzip.finish().unwrap());
    write("deep/er/c.json", &fs::read(samples.join("chat/ordinary.json")).unwrap());
    write("deep/er/notes.json", b"{\"nothing\": 1}");
    write("deep/er/README.md", b"no recording, and not looked at");
    folder
}

#[test]
fn replay_searches_folders_and_reads_what_is_compressed() {
    let folder = corpus();
    let run = loop_guard(folder.path(), &["replay", "--output", "json", "."]);
    assert_eq!(run.status, 0, "{}", run.err);
    assert!(
        run.err.starts_with("warning: ./deep/er/notes.json: not a recorded session of a known format\nlooked for"),
        "{}",
        run.err
    );
    let summary = |line: &str| -> Option<(String, String, u64)> {
        let line: serde_json::Value = serde_json::from_str(line).unwrap();
        let text = |name: &str| line.get(name).and_then(|text| text.as_str()).map(str::to_owned);
        (text("event")? == "summary").then(|| Some((text("file")?, text("format")?, line.get("calls")?.as_u64()?)))?
    };
    let expected = [("./a.jsonl.zstd", "dsh", 10), ("./deep/b.jsonl.gz", "codex", 7), ("./deep/er/c.json", "chat", 10)];
    let found: Vec<_> = run.out.lines().filter_map(summary).collect();
    assert_eq!(found, expected.map(|(file, format, calls)| (file.to_owned(), format.to_owned(), calls)));
    for jobs in ["1", "2", "7"] {
        assert_eq!(loop_guard(folder.path(), &["replay", "--output", "json", "--jobs", jobs, "."]).out, run.out);
    }
    let pattern = loop_guard(folder.path(), &["replay", "--output", "json", "**/*.gz", "a.*"]);
    assert_eq!((pattern.status, pattern.out.lines().filter_map(summary).count()), (0, 2), "{}", pattern.err);
    refused(
        &folder,
        &["replay", "*.traj"],
        "*.traj: no such file, and as a pattern it matches none\nerror: no recorded session to read",
    );
}

#[test]
fn replay_reads_standard_input() {
    let mut child = Command::new(env!("CARGO_BIN_EXE_loop-guard"))
        .args(["replay", "--output", "json", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let log = fs::read(recorded("stuck-on-a-grep.jsonl")).unwrap();
    child.stdin.take().unwrap().write_all(&zstd::encode_all(log.as_slice(), 1).unwrap()).unwrap();
    let output = child.wait_with_output().unwrap();
    let out = String::from_utf8(output.stdout).unwrap();
    assert!(
        out.contains(r#""event":"summary","session":"stuck-on-a-grep","file":"-","calls":10,"notices":3,"#),
        "{out}"
    );
}

#[test]
fn replay_reads_what_was_cut_off() {
    let folder = tempfile::tempdir().unwrap();
    let grep = fs::read(recorded("stuck-on-a-grep.jsonl")).unwrap();
    let frames = [&grep[..3000], &grep[3000..]].map(|part| zstd::encode_all(part, 1).unwrap()).concat();
    fs::write(folder.path().join("cut.zst"), &frames[..frames.len() - 9]).unwrap();
    let run = loop_guard(folder.path(), &["replay", "--output", "json", "cut.zst"]);
    assert_eq!(run.status, 0);
    assert!(run.err.contains("left out: the file cannot be read from here on: incomplete frame"), "{}", run.err);
}

#[test]
fn replay_folds_what_is_uneventful() {
    let folder = folder(&[("limit.json", r#"{"toolCallLimit":{"limits":{"web_search":7}}}"#)]);
    let searches = recorded("eight-searches-at-once.jsonl");
    let arguments = ["replay", "--config", "limit.json", searches.to_str().unwrap()];
    let run = loop_guard(folder.path(), &arguments);
    let shown: Vec<&str> = run.out.lines().skip(1).take(7).map(str::trim).collect();
    assert_eq!(shown.first(), Some(&"⋯ 5 calls, 1 message of a person"), "{}", run.out);
    assert_eq!(shown.get(3).map(|line| line.split('{').next().unwrap()), Some("1.1 ⊘ web_search "));
    assert_eq!(shown.get(4), Some(&"denied: tool web_search exceeded its per-step limit of 7"));
    let full = loop_guard(folder.path(), &[&arguments[..], &["--full"]].concat());
    assert_eq!(full.out.matches(" web_search ").count(), 9 + 1, "nine calls, and the reason: {}", full.out);
}

#[test]
fn tune_advises_a_configuration_that_is_valid() {
    let folder = corpus();
    let run = loop_guard(folder.path(), &["tune", "."]);
    assert_eq!(run.status, 0, "{}", run.err);
    let (_, yaml) = run.out.split_once("A configuration for these sessions\n").unwrap();
    fs::write(folder.path().join("advice.yaml"), yaml).unwrap();
    assert_eq!(loop_guard(folder.path(), &["config", "advice.yaml"]).status, 0, "{yaml}");
    assert!(yaml.starts_with("# Based on 3 sessions with 27 calls.\nrepeatToolReminder:\n  # First at "), "{yaml}");
    let json = loop_guard(folder.path(), &["tune", "--output", "json", "."]);
    assert_eq!(json.out.lines().filter(|line| line.starts_with(r#"{"event":"threshold""#)).count(), 19);
    assert!(
        json.out
            .lines()
            .last()
            .unwrap()
            .starts_with(r#"{"event":"configuration","sessions":3,"calls":27,"stepless_calls":0,"config":{"#)
    );
}

#[test]
fn a_report_is_one_page_that_loads_nothing() {
    let folder = corpus();
    for command in ["replay", "tune"] {
        let run = loop_guard(folder.path(), &[command, "--report", "page.html", "a.jsonl.zstd"]);
        assert_eq!(run.status, 0, "{}", run.err);
        let page = fs::read_to_string(folder.path().join("page.html")).unwrap();
        assert!(page.starts_with("<!DOCTYPE html>") && page.ends_with("</html>"));
        assert_eq!(page.matches("<article").count(), 1);
        for loads in ["http", "src=", "url(", "@import", "<link"] {
            assert!(!page.contains(loads), "{loads}");
        }
        fs::remove_file(folder.path().join("page.html")).unwrap();
    }
    let run = loop_guard(folder.path(), &["tune", "--report", "no/page.html", "a.jsonl.zstd"]);
    assert_eq!((run.status, run.out.as_str()), (2, ""));
    assert!(run.err.starts_with("error: cannot write no/page.html: "), "{}", run.err);
}

#[test]
fn config_reads_json_yaml_toml_and_profile_rows() {
    let rows = "\
- id: something-else
  config: {x: 1}
- id: tool-call-limit
  name: '@zhourenke/dsh-tool-call-limit'
  config: { limits: { web_search: 1 } }
- id: repeat-tool-reminder
  config: { thresholds: [4] }
";
    let folder = folder(&[
        ("c.json", r#"{"toolCallLimit":{"limits":{"web_search":1}},"repeatToolReminder":{"thresholds":[4]}}"#),
        ("c.yaml", "toolCallLimit:\n  limits:\n    web_search: 1\nrepeatToolReminder: {thresholds: [4]}\n"),
        ("c.toml", "[toolCallLimit.limits]\nweb_search = 1\n[repeatToolReminder]\nthresholds = [4]\n"),
        ("rows.yaml", rows),
        ("c.conf", "{toolCallLimit: {limits: {web_search: 1}}, repeatToolReminder: {thresholds: [4]}}"),
    ]);
    for file in ["c.json", "c.yaml", "c.toml", "rows.yaml", "c.conf"] {
        let run = loop_guard(folder.path(), &["config", file]);
        assert_eq!((run.status, run.err.as_str()), (0, ""), "{file}");
        let expected = serde_json::json!({
            "repeatToolReminder": {"enabled": true, "thresholds": [4], "include": [], "exclude": [], "argumentsPreviewChars": 500},
            "toolCallLimit": {"enabled": true, "limits": {"web_search": 1}, "onExceeded": "deny"},
            "maxAgents": 100_000,
        });
        assert_eq!(serde_json::from_str::<serde_json::Value>(&run.out).unwrap(), expected, "{file}");
    }
    let run = loop_guard(folder.path(), &["config", "c.yaml", "--tool", "web_search"]);
    assert!(run.out.contains(r#""from": "/toolCallLimit/limits/web_search""#), "{}", run.out);
}

#[test]
fn config_lists_all_problems_with_their_places() {
    let folder = folder(&[
        ("c.yaml", "maxAgents: 0\ntoolCallLimit: {limits: {'*': 1, a/b: x}}\n"),
        ("rows.yaml", "- id: other\n- id: tool-call-limit\n  config: {limit: {}}\n"),
        ("twice.yaml", "- id: tool-call-limit\n- id: tool-call-limit\n"),
        ("others.yaml", "- id: other\n"),
        ("words.yaml", "[a, b]\n"),
        ("cut.json", "{\"maxAgents\": 1"),
        ("nan.yaml", "maxAgents: .nan\n"),
        ("date.toml", "maxAgents = 2026-11-30\n"),
        ("empty.toml", ""),
    ]);
    refused(
        &folder,
        &["config", "c.yaml"],
        "c.yaml is not a valid configuration:\n  /maxAgents: must be an integer >= 1\n  \
         /toolCallLimit/limits/*: wildcards are not supported here: name each tool\n  \
         /toolCallLimit/limits/a~1b: must be a non-negative safe integer (0 to 9007199254740991)",
    );
    refused(
        &folder,
        &["config", "rows.yaml"],
        "rows.yaml is not a valid configuration:\n  /1/config/limit: unknown field",
    );
    refused(&folder, &["config", "twice.yaml"], "twice.yaml: row 1 configures tool-call-limit a second time");
    refused(
        &folder,
        &["config", "others.yaml"],
        "others.yaml holds rows, but none with the id repeat-tool-reminder or tool-call-limit",
    );
    refused(
        &folder,
        &["config", "cut.json"],
        "cut.json is not a valid configuration:\n  not valid JSON: the text ends too early at line 1 column 16",
    );
    refused(&folder, &["config", "empty.toml"], "empty.toml is empty");
    refused(&folder, &["config", "no.toml"], "cannot read no.toml: No such file or directory (os error 2)");
    for (file, error) in [
        ("words.yaml", "error: words.yaml holds a list, but not one of profile rows with `id` and `config`: "),
        ("nan.yaml", "error: nan.yaml is not YAML that JSON can hold: "),
        ("date.toml", "error: date.toml is not TOML that JSON can hold: "),
    ] {
        let run = loop_guard(folder.path(), &["config", file]);
        assert_eq!((run.status, run.out.as_str()), (2, ""));
        assert!(run.err.starts_with(error), "{file}: {}", run.err);
    }
}

#[test]
fn inspect_describes_the_component_and_saves_it() {
    let folder = folder(&[]);
    let run = loop_guard(folder.path(), &["inspect", "--save", "saved.wasm"]);
    assert_eq!((run.status, run.err.as_str()), (0, ""));
    for line in [
        "contract   implements loop-guard:plugin/guard@0.1.0 and loop-guard:plugin/introspection@0.1.0 and loop-guard:plugin/resume@0.1.0",
        "imports    nothing",
        "             post-execute(call, outcome)",
        "name       loop-guard",
        "version    0.1.0",
        "licence    MIT",
    ] {
        assert!(run.out.lines().any(|printed| printed == line), "{line:?} in {}", run.out);
    }
    let of_the_saved = loop_guard(folder.path(), &["inspect", "saved.wasm"]);
    let digest = |run: &Run| run.out.lines().find(|line| line.starts_with("sha256")).map(str::to_owned);
    assert!(digest(&run).is_some());
    assert_eq!(digest(&of_the_saved), digest(&run));
    fs::write(folder.path().join("a.yaml"), PASSES).unwrap();
    assert_eq!(loop_guard(folder.path(), &["--component", "saved.wasm", "check", "a.yaml"]).status, 0);
}

#[test]
fn a_component_that_is_none_is_refused_by_every_command() {
    let folder = folder(&[("text.wasm", "hello"), ("empty.wasm", ""), ("a.yaml", PASSES)]);
    fs::write(folder.path().join("core.wasm"), b"\0asm\x01\0\0\0").unwrap();
    fs::write(folder.path().join("other.wasm"), b"\0asm\x0d\0\x01\0").unwrap();
    for command in [&["inspect"][..], &["demo"], &["check", "a.yaml"]] {
        for (file, error) in [
            (
                "text.wasm",
                "text.wasm: not a WebAssembly component, but something else: it does not begin with the bytes of WebAssembly",
            ),
            ("empty.wasm", "empty.wasm: not a WebAssembly component, but empty"),
            (
                "core.wasm",
                "core.wasm: not a WebAssembly component, but a core module; wrap it with `wasm-tools component new` first",
            ),
            ("no.wasm", "cannot read no.wasm: No such file or directory (os error 2)"),
        ] {
            refused(&folder, &[&["--component", file], command].concat(), error);
        }
    }
    let contract = "expected a component that exports loop-guard:plugin/guard@0.1.0 and \
        loop-guard:plugin/introspection@0.1.0 and loop-guard:plugin/resume@0.1.0, but this one exports nothing";
    refused(&folder, &["--component", "other.wasm", "check", "a.yaml"], &format!("other.wasm: {contract}"));
    let run = loop_guard(folder.path(), &["inspect", "other.wasm"]);
    assert_eq!(run.status, 0);
    assert!(run.out.contains(&format!("contract   {contract}\n")), "{}", run.out);
}

#[test]
fn the_demo_reminds_and_denies() {
    let folder = folder(&[]);
    let run = loop_guard(folder.path(), &["demo"]);
    assert_eq!((run.status, run.err.as_str()), (0, ""));
    assert!(run.out.contains("reminds the model: grep × 3\n"));
    assert!(run.out.contains("denied: tool web_search exceeded its per-step limit of 2\n"));
    assert!(run.out.contains("3 sessions: 29 calls, 3 notices, 6 denied, 0 asked; 5 calls after a first notice\n"));
    assert!(!run.out.contains('\u{1b}'), "no colours in a pipe");
}

#[test]
fn colours_can_be_forced_and_switched_off() {
    let colours = |variable: &str| {
        let output = Command::new(env!("CARGO_BIN_EXE_loop-guard")).arg("demo").env(variable, "1").output().unwrap();
        String::from_utf8(output.stdout).unwrap().contains('\u{1b}')
    };
    assert!(colours("CLICOLOR_FORCE"));
    assert!(!colours("NO_COLOR"));
}

#[test]
fn help_has_examples_and_usage_errors_have_status_two() {
    let folder = folder(&[]);
    for arguments in [
        &["--help"][..],
        &["demo", "--help"],
        &["replay", "--help"],
        &["check", "--help"],
        &["config", "--help"],
        &["inspect", "--help"],
    ] {
        let run = loop_guard(folder.path(), arguments);
        assert_eq!(run.status, 0);
        assert!(run.out.contains("Examples:\n"), "{arguments:?}");
    }
    for arguments in [&[][..], &["replay"], &["check"], &["poke"], &["replay", "--output", "xml", "a"]] {
        let run = loop_guard(folder.path(), arguments);
        assert_eq!((run.status, run.out.as_str()), (2, ""), "{arguments:?}");
    }
}
