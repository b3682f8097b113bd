//! pi and OpenClaw: session `.jsonl`.
//!
//! After a header, each line is an entry of a tree (in the first version, of a list).

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::format::{Format, Identity, Probe, Reader, as_it_is};
use crate::log::{AgentLog, Log};
use crate::text::{arguments, content, parse, result};
use crate::tree::{Branch, Tree};

pub const FORMAT: Format = Format {
    name: "pi",
    title: "pi and OpenClaw: session .jsonl",
    signs: "a line of type session with version and timestamp, or of type message with id and parentId",
    recognises,
    identify: Some(identify),
    repeats_calls: false,
    steady: as_it_is,
    reader: || Box::<Pi>::default(),
};

fn recognises(line: &Probe<'_>) -> bool {
    match line.text("type").as_deref() {
        Some("session") => line.has(&["id", "timestamp"]),
        Some("message") => line.has(&["message", "id", "parentId"]),
        _ => false,
    }
}

fn identify(line: &Probe<'_>, identity: &mut Identity) {
    if line.text("type").as_deref() == Some("session") {
        identity.session = line.text("id");
        // A path, whose file name ends in the parent's id.
        let parent = line.text("parentSession");
        identity.parent = parent.map(|parent| {
            let name = parent.rsplit(['/', '\\']).next().unwrap_or(&parent);
            let name = name.trim_end_matches(".jsonl");
            name.rsplit('_').next().unwrap_or(name).to_owned()
        });
    }
}

#[derive(Default)]
struct Pi {
    tree: Tree,
    /// Known once the first entry is read.
    branch: Option<Branch>,
    session: Option<String>,
}

#[derive(Deserialize)]
struct Line<'a> {
    #[serde(borrow, rename = "type")]
    kind: Cow<'a, str>,
    #[serde(borrow)]
    id: Option<Cow<'a, str>>,
    #[serde(borrow)]
    message: Option<Message<'a>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Message<'a> {
    #[serde(borrow)]
    role: Cow<'a, str>,
    #[serde(borrow)]
    content: Option<&'a RawValue>,
    tool_call_id: Option<String>,
    #[serde(default)]
    is_error: bool,
    #[serde(borrow)]
    stop_reason: Option<Cow<'a, str>>,
}

#[derive(Deserialize)]
struct Block<'a> {
    #[serde(borrow, rename = "type")]
    kind: Cow<'a, str>,
    id: Option<String>,
    name: Option<String>,
    #[serde(borrow)]
    arguments: Option<&'a RawValue>,
}

impl Reader for Pi {
    fn needs_survey(&self) -> bool {
        true
    }

    fn survey(&mut self, line: &str) {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Entry<'a> {
            #[serde(borrow, rename = "type")]
            kind: Cow<'a, str>,
            #[serde(borrow)]
            id: Option<Cow<'a, str>>,
            #[serde(borrow)]
            parent_id: Option<Cow<'a, str>>,
        }
        if let Ok(Entry { kind, id: Some(id), parent_id }) = parse(line)
            && kind != "session"
        {
            self.tree.entry(&id, parent_id.as_deref(), None);
        }
    }

    fn read(&mut self, line: &str, _array: usize, log: &mut Log<'_>) -> Result<(), String> {
        let Line { kind, id, message } = parse(line)?;
        let tree = &mut self.tree;
        let branch = self.branch.get_or_insert_with(|| std::mem::take(tree).last_branch());
        if kind == "session" {
            let session = self.session.get_or_insert_with(|| id.map_or_else(|| log.name().to_owned(), Cow::into_owned));
            log.session(session);
            return Ok(());
        }
        if id.is_some_and(|id| !branch.has(&id)) {
            return Ok(());
        }
        let session = self.session.get_or_insert_with(|| log.name().to_owned());
        match message {
            Some(message) if kind == "message" => read_message(message, log.session(session)),
            _ => Ok(()),
        }
    }
}

fn read_message(message: Message<'_>, agent: &mut AgentLog) -> Result<(), String> {
    match &*message.role {
        "user" => agent.prompt(),
        "assistant" => {
            let blocks: Vec<Block<'_>> = match message.content {
                Some(content) if content.get().starts_with('[') => parse(content.get())?,
                _ => Vec::new(),
            };
            agent.next_step();
            // Of a response that broke off, no call is run.
            let ran = !matches!(message.stop_reason.as_deref(), Some("aborted" | "error"));
            for block in blocks {
                if ran && block.kind == "toolCall" {
                    agent.call_or_number(block.id, block.name.unwrap_or_default(), arguments(block.arguments));
                }
            }
        }
        "toolResult" => agent.result_or_next(message.tool_call_id, result(message.is_error, content(message.content))),
        _ => {}
    }
    Ok(())
}
