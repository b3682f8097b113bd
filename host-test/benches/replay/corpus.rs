//! Files like those that people have: most of their text is results, some of it long, and calls have a few hundred bytes. What the
//! programs write beside that is there as well, as in `recorded/`: Claude Code and Codex have each result twice.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

/// Files of one kind.
pub struct Corpus {
    pub name: &'static str,
    pub files: Vec<PathBuf>,
    /// The size of their text.
    pub text: usize,
}

/// How many files of each kind there are, and how many steps are in each.
const FILES: usize = 4;
const STEPS: usize = 1500;

/// Writes files of several kinds into a folder.
pub fn all(folder: &Path) -> Vec<Corpus> {
    let zstd = |text: &str| zstd::encode_all(text.as_bytes(), 3).unwrap();
    let plain = |text: &str| text.as_bytes().to_vec();
    vec![
        write(folder, "DSH, .jsonl.zstd", "session.jsonl.zstd", dsh, zstd),
        write(folder, "Claude Code, .jsonl", "claude.jsonl", claude_code, plain),
        write(folder, "Codex, .jsonl.zst", "rollout.jsonl.zst", codex, zstd),
        write(folder, "pi, .jsonl", "pi.jsonl", pi, plain),
        write(folder, "chat, a conversation a line", "chat.jsonl", chat, plain),
    ]
}

fn write(
    folder: &Path,
    name: &'static str,
    file: &str,
    lines: fn(usize) -> Vec<Value>,
    pack: impl Fn(&str) -> Vec<u8>,
) -> Corpus {
    let mut corpus = Corpus { name, files: Vec::new(), text: 0 };
    for number in 0..FILES {
        let text: String = lines(number).iter().map(|line| format!("{line}\n")).collect();
        let path = folder.join(format!("{number}-{file}"));
        fs::write(&path, pack(&text)).unwrap();
        corpus.text += text.len();
        corpus.files.push(path);
    }
    corpus
}

/// The tool of the nth call, its arguments, and its result. Every tenth call is made three times; agents change between few tools.
fn call(step: usize) -> (&'static str, String, String) {
    let distinct = if step % 10 < 3 { step / 10 * 10 } else { step };
    let tool = ["read", "grep", "shell"][distinct % 3];
    let arguments = json!({"path": format!("/home/dev/project/src/module_{distinct}/lib.rs"), "pattern": format!("fn parse_{distinct}\\b"), "limit": 50, "context": {"before": 2, "after": 2}});
    let lines = 5 + distinct * 7919 % 60;
    let line =
        |line: usize| format!("    let value_{line} = parse_{distinct}(&input[{line}..])?; // \"quoted\" and\ttabbed");
    (tool, arguments.to_string(), (0..lines).map(line).collect::<Vec<_>>().join("\n"))
}

fn dsh(file: usize) -> Vec<Value> {
    let mut lines = vec![
        json!({"type": "session", "version": 0, "id": format!("dsh-{file}"), "cwd": "/home/dev", "delegationDepth": 0}),
    ];
    for step in 0..STEPS {
        let (tool, arguments, result) = call(step);
        let id = format!("call_{step}");
        let mut event = |kind: &str, data: Value| {
            lines.push(json!({"type": kind, "seq": step, "time": 1_790_000_000_000_u64, "data": data}))
        };
        event("step/start", json!({"turn": 1, "step": step}));
        event(
            "reasoning-chunks",
            json!({"turn": 1, "step": step, "index": 0, "dt": vec![1; 60], "texts": vec![" word"; 60]}),
        );
        event(
            "assistant/message",
            json!({"turn": 1, "step": step, "message": {"role": "assistant", "content": [{"type": "tool-call", "id": id, "arguments": arguments}]}}),
        );
        event("tool/call", json!({"turn": 1, "step": step, "callId": id, "name": tool, "arguments": arguments}));
        event(
            "tool/result",
            json!({"turn": 1, "step": step, "message": {"role": "tool", "source": {"callId": id}, "content": [{"type": "tool-result", "toolCallId": id, "content": [{"type": "text", "text": result}], "isError": false}]}}),
        );
        event("step/end", json!({"turn": 1, "step": step}));
    }
    lines
}

fn claude_code(file: usize) -> Vec<Value> {
    let session = format!("claude-{file}");
    let mut lines: Vec<Value> = Vec::new();
    let mut add = |kind: &str, uuid: String, parent: Option<String>, message: Value, result: Option<&str>| {
        let mut line = json!({"parentUuid": parent, "isSidechain": false, "userType": "external", "cwd": "/home/dev/project", "sessionId": session, "version": "2.1.0", "gitBranch": "main", "type": kind, "message": message, "uuid": uuid, "timestamp": "2026-12-01T00:00:00.000Z"});
        if let Some(result) = result {
            line["toolUseResult"] = json!({"stdout": result, "stderr": "", "interrupted": false, "isImage": false});
        }
        lines.push(line);
    };
    add("user", "u".to_owned(), None, json!({"role": "user", "content": "Find it"}), None);
    for step in 0..STEPS {
        let (tool, arguments, result) = call(step);
        let input: Value = serde_json::from_str(&arguments).unwrap();
        let parent = if step == 0 { "u".to_owned() } else { format!("r{}", step - 1) };
        add(
            "assistant",
            format!("a{step}"),
            Some(parent),
            json!({"id": format!("msg_{step}"), "type": "message", "role": "assistant", "model": "m", "content": [{"type": "tool_use", "id": format!("toolu_{step}"), "name": tool, "input": input}], "usage": {"input_tokens": 10, "output_tokens": 100}}),
            None,
        );
        add(
            "user",
            format!("r{step}"),
            Some(format!("a{step}")),
            json!({"role": "user", "content": [{"tool_use_id": format!("toolu_{step}"), "type": "tool_result", "content": result}]}),
            Some(&result),
        );
    }
    lines
}

fn codex(file: usize) -> Vec<Value> {
    let line =
        |kind: &str, payload: Value| json!({"timestamp": "2026-12-01T00:00:00.000Z", "type": kind, "payload": payload});
    let mut lines = vec![line(
        "session_meta",
        json!({"id": format!("codex-{file}"), "cwd": "/home/dev", "originator": "codex", "source": "cli"}),
    )];
    for step in 0..STEPS {
        let (tool, arguments, result) = call(step);
        let id = format!("call_{step}");
        lines.push(line(
            "response_item",
            json!({"type": "reasoning", "summary": [], "encrypted_content": "x".repeat(600)}),
        ));
        lines.push(line(
            "response_item",
            json!({"type": "function_call", "name": tool, "arguments": arguments, "call_id": id}),
        ));
        lines.push(line(
            "event_msg",
            json!({"type": "token_count", "info": {"total_token_usage": {"input_tokens": 1, "output_tokens": 2}}}),
        ));
        lines.push(line("event_msg", json!({"type": "item_completed", "item": {"type": "CommandExecution", "id": id, "status": "completed", "exit_code": 0, "aggregated_output": result}})));
        lines.push(line("response_item", json!({"type": "function_call_output", "call_id": id, "output": format!("Exit code: 0\nWall time: {step} seconds\nOutput:\n{result}")})));
    }
    lines
}

fn pi(file: usize) -> Vec<Value> {
    let mut lines = vec![
        json!({"type": "session", "version": 3, "id": format!("pi-{file}"), "timestamp": "2026-12-01T00:00:00.000Z", "cwd": "/home/dev"}),
    ];
    let mut parent = Value::Null;
    for step in 0..STEPS {
        let (tool, arguments, result) = call(step);
        let input: Value = serde_json::from_str(&arguments).unwrap();
        let mut add = |id: String, message: Value| {
            lines.push(json!({"type": "message", "id": id, "parentId": parent, "timestamp": "2026-12-01T00:00:00.000Z", "message": message}));
            parent = json!(id);
        };
        add(
            format!("a{step}"),
            json!({"role": "assistant", "content": [{"type": "toolCall", "id": format!("c{step}"), "name": tool, "arguments": input}], "stopReason": "toolUse"}),
        );
        add(
            format!("r{step}"),
            json!({"role": "toolResult", "toolCallId": format!("c{step}"), "toolName": tool, "content": [{"type": "text", "text": result}], "isError": false}),
        );
    }
    lines
}

fn chat(file: usize) -> Vec<Value> {
    let conversation = |number: usize| {
        let messages = (number * 150..(number + 1) * 150).flat_map(|step| {
            let (tool, arguments, result) = call(step);
            let id = format!("call_{step}");
            [
                json!({"role": "assistant", "content": null, "tool_calls": [{"id": id, "type": "function", "function": {"name": tool, "arguments": arguments}}]}),
                json!({"role": "tool", "tool_call_id": id, "content": result}),
            ]
        });
        json!({"id": format!("chat-{file}-{number}"), "messages": messages.collect::<Vec<_>>()})
    };
    (0..STEPS / 150).map(conversation).collect()
}
