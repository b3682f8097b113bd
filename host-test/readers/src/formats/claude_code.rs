//! Claude Code: the logs in `~/.claude/projects`, and what `claude -p --output-format stream-json` prints.
//!
//! A step is a message id: its content blocks stand in a line each, among results and among lines of other agents. Lines of a log form a
//! tree; rewinding makes branches, and so do parallel calls. Subagents have files of their own, or (older) lines marked
//! as a sidechain; in stream-json they are named by the call that they work for.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::value::RawValue;

use crate::CallResult;
use crate::Status;
use crate::format::{Format, Identity, Probe, Reader, as_it_is};
use crate::log::{AgentLog, Log};
use crate::text::{arguments, content, parse};
use crate::tree::{Branch, Tree};

pub const FORMAT: Format = Format {
    name: "claude-code",
    title: "Claude Code: logs of ~/.claude/projects, and stream-json",
    signs: "a line of type user or assistant with a message, and a sessionId or session_id",
    recognises,
    identify: Some(identify),
    repeats_calls: true,
    steady: as_it_is,
    reader: || Box::<ClaudeCode>::default(),
};

fn recognises(line: &Probe<'_>) -> bool {
    match line.text("type").as_deref() {
        Some("user" | "assistant") => line.has(&["message", "sessionId"]) || line.has(&["message", "session_id"]),
        Some("system") => line.has(&["subtype", "session_id"]) || line.has(&["uuid", "sessionId"]),
        _ => false,
    }
}

fn identify(line: &Probe<'_>, identity: &mut Identity) {
    let Some(session) = line.text("sessionId") else { return };
    // A fork mostly has no other mark than that its first answers are those of its parent; in older versions, so has what continues a session.
    if identity.root.is_none() && line.text("type").as_deref() == Some("assistant") {
        identity.root = line.object("message").and_then(|message| message.text("id"));
    }
    if line.has(&["agentId"]) {
        // A subagent's file is one of its session, and may begin with a copy of what came before it.
        identity.session = None;
        identity.parent = Some(session);
    } else if identity.parent.is_none() {
        identity.session = Some(session);
        identity.parent = line.object("forkedFrom").and_then(|from| from.text("sessionId"));
    }
}

#[derive(Default)]
struct ClaudeCode {
    /// The entries of each agent, and then the branches that are read.
    trees: HashMap<Option<String>, Tree>,
    branches: Option<HashMap<Option<String>, Branch>>,
    /// The first entries of sidechains without an agent's id, by the entries that follow from them.
    sidechains: HashMap<String, String>,
    /// The message that the step at hand is, and those of earlier steps, for each agent.
    steps: HashMap<String, Steps>,
}

#[derive(Default)]
struct Steps {
    current: String,
    /// How far from the end of the branch the step began.
    distance: Option<usize>,
    earlier: HashSet<String>,
}

/// What places a line in its tree.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Entry<'a> {
    #[serde(borrow)]
    uuid: Option<Cow<'a, str>>,
    #[serde(borrow)]
    parent_uuid: Option<Cow<'a, str>>,
    #[serde(borrow)]
    logical_parent_uuid: Option<Cow<'a, str>>,
    #[serde(default)]
    is_sidechain: bool,
    agent_id: Option<String>,
    session_id: Option<IgnoredAny>,
    #[serde(borrow)]
    message: Option<MessageId<'a>>,
}

#[derive(Deserialize)]
struct MessageId<'a> {
    #[serde(borrow)]
    id: Option<Cow<'a, str>>,
}

#[derive(Deserialize)]
struct Line<'a> {
    #[serde(borrow, rename = "type")]
    kind: Option<Cow<'a, str>>,
    #[serde(borrow)]
    uuid: Option<Cow<'a, str>>,
    #[serde(borrow, rename = "parentUuid")]
    parent_uuid: Option<Cow<'a, str>>,
    #[serde(rename = "sessionId", alias = "session_id")]
    session: Option<String>,
    #[serde(rename = "isSidechain", default)]
    is_sidechain: bool,
    #[serde(rename = "agentId")]
    agent_id: Option<String>,
    #[serde(rename = "isMeta", default)]
    is_meta: bool,
    #[serde(rename = "isCompactSummary", default)]
    is_compact_summary: bool,
    #[serde(rename = "isSynthetic", default)]
    is_synthetic: bool,
    parent_tool_use_id: Option<String>,
    #[serde(borrow)]
    origin: Option<Origin<'a>>,
    #[serde(borrow, rename = "toolDenialKind")]
    tool_denial_kind: Option<&'a RawValue>,
    #[serde(borrow)]
    message: Option<Message<'a>>,
    #[serde(borrow)]
    attachment: Option<Attachment<'a>>,
    #[serde(borrow, rename = "toolUseResult")]
    tool_use_result: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Message<'a> {
    #[serde(borrow)]
    id: Option<Cow<'a, str>>,
    #[serde(borrow)]
    model: Option<Cow<'a, str>>,
    #[serde(borrow)]
    content: Option<&'a RawValue>,
}

/// Where a message of the role user comes from.
#[derive(Deserialize)]
struct Origin<'a> {
    #[serde(borrow)]
    kind: Option<Cow<'a, str>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Attachment<'a> {
    #[serde(borrow, rename = "type")]
    kind: Option<Cow<'a, str>>,
    #[serde(borrow)]
    command_mode: Option<Cow<'a, str>>,
    #[serde(borrow)]
    origin: Option<Origin<'a>>,
    #[serde(default)]
    is_meta: bool,
}

#[derive(Deserialize)]
struct Block<'a> {
    #[serde(borrow, rename = "type")]
    kind: Cow<'a, str>,
    id: Option<String>,
    name: Option<String>,
    #[serde(borrow)]
    input: Option<&'a RawValue>,
    tool_use_id: Option<String>,
    #[serde(borrow)]
    content: Option<&'a RawValue>,
    is_error: Option<bool>,
    #[serde(borrow)]
    text: Option<Cow<'a, str>>,
}

impl Reader for ClaudeCode {
    fn needs_survey(&self) -> bool {
        true
    }

    fn survey(&mut self, line: &str) {
        let Ok(entry) = parse::<Entry<'_>>(line) else { return };
        // Only the lines of a log have sessionId; those of stream-json are no tree.
        let (Some(uuid), Some(_)) = (entry.uuid, entry.session_id) else { return };
        let agent = match (entry.is_sidechain, entry.agent_id) {
            // Nothing tells which sidechain was the last: all are read.
            (true, None) => return,
            (_, agent) => agent,
        };
        let parent = entry.parent_uuid.or(entry.logical_parent_uuid);
        let message = entry.message.and_then(|message| message.id);
        self.trees.entry(agent).or_default().entry(&uuid, parent.as_deref(), message.as_deref());
    }

    fn read(&mut self, line: &str, _array: usize, log: &mut Log<'_>) -> Result<(), String> {
        let line: Line<'_> = parse(line)?;
        let Some(kind) = line.kind.as_deref() else { return Ok(()) };
        if !matches!(kind, "user" | "assistant" | "attachment" | "system" | "result") {
            return Ok(());
        }
        let blocks = match &line.message {
            Some(Message { content: Some(content), .. }) if content.get().starts_with('[') => {
                parse::<Vec<Block<'_>>>(content.get())?
            }
            _ => Vec::new(),
        };
        let session = line.session.clone().unwrap_or_else(|| log.name().to_owned());
        let id = self.agent(&line, &session);
        let on_branch = self.on_branch(&line);
        let distance = self.distance(&line);
        // Lines of a prompt and its answer may change places.
        let step = self.steps.get(&id).and_then(|steps| steps.distance);
        let is_late = step.zip(distance).is_some_and(|(step, distance)| distance > step);
        let agent = log.agent(&session, &id);
        match (kind, line.message) {
            ("assistant", Some(message)) if on_branch => self.assistant(message, blocks, &id, distance, agent),
            ("user", Some(message)) => {
                let injected =
                    line.is_meta || line.is_compact_summary || line.is_synthetic || !is_person(line.origin.as_ref());
                let is_prompt = on_branch && !injected && !is_injected_text(&message, &blocks);
                let was_denied = line.tool_denial_kind.is_some()
                    || line.tool_use_result.is_some_and(|result| result.get() == "\"User rejected tool use\"");
                user(message, blocks, is_prompt.then_some(is_late), was_denied, agent);
            }
            ("attachment", _) => {
                if on_branch && line.attachment.is_some_and(|attachment| attachment.is_prompt()) {
                    agent.prompt();
                }
            }
            ("result", _) => {
                agent.end_turn();
                // Whatever comes next answers another query, whose text is not printed.
                agent.prompt();
            }
            _ => {}
        }
        Ok(())
    }
}

/// How texts begin that the program writes in a person's place.
const INJECTED: [&str; 3] = ["<local-command-stdout>", "<task-notification>", "[Request interrupted by user"];

/// How the results of calls begin that a person, or a person's rule, did not let run.
const DENIALS: [&str; 4] = [
    "The user doesn't want to proceed with this tool use",
    "The user doesn't want to take this action right now",
    "Claude requested permissions to ",
    "Permission to use ",
];

fn is_injected_text(message: &Message<'_>, blocks: &[Block<'_>]) -> bool {
    let string =
        || message.content.filter(|content| content.get().starts_with('"')).map(|text| content(Some(text)).into());
    let text = blocks.iter().find_map(|block| block.text.clone()).or_else(string);
    text.is_some_and(|text: Cow<'_, str>| INJECTED.iter().any(|start| text.starts_with(start)))
}

fn is_person(origin: Option<&Origin<'_>>) -> bool {
    origin.and_then(|origin| origin.kind.as_deref()).is_none_or(|kind| kind == "human")
}

impl Attachment<'_> {
    /// Whether it is what a person wrote while the agent was at work.
    fn is_prompt(&self) -> bool {
        let is_command = self.kind.as_deref() == Some("queued_command");
        let mode = self.command_mode.as_deref().is_none_or(|mode| mode == "prompt");
        is_command && mode && !self.is_meta && is_person(self.origin.as_ref())
    }
}

impl ClaudeCode {
    /// The id of the agent that a line belongs to.
    fn agent(&mut self, line: &Line<'_>, session: &str) -> String {
        if let Some(id) = line.agent_id.as_ref().or(line.parent_tool_use_id.as_ref()) {
            return id.clone();
        }
        if !line.is_sidechain {
            return session.to_owned();
        }
        let uuid = line.uuid.as_deref().unwrap_or_default();
        let first = line.parent_uuid.as_deref().and_then(|parent| self.sidechains.get(parent));
        let first = first.cloned().unwrap_or_else(|| uuid.to_owned());
        self.sidechains.insert(uuid.to_owned(), first.clone());
        first
    }

    /// Whether a line belongs to the conversation as it stands.
    fn on_branch(&mut self, line: &Line<'_>) -> bool {
        let trees = &mut self.trees;
        let branches = self
            .branches
            .get_or_insert_with(|| trees.drain().map(|(agent, tree)| (agent, tree.last_branch())).collect());
        let (Some(uuid), Some(branch)) = (&line.uuid, branches.get(&line.agent_id)) else { return true };
        if line.is_sidechain && line.agent_id.is_none() {
            return true;
        }
        let message = line.message.as_ref().and_then(|message| message.id.as_deref());
        branch.has(uuid) || message.is_some_and(|message| branch.has_group(message))
    }

    /// How many lines follow a line on the branch of its agent.
    fn distance(&self, line: &Line<'_>) -> Option<usize> {
        self.branches.as_ref()?.get(&line.agent_id)?.distance(line.uuid.as_deref()?)
    }

    fn assistant(
        &mut self,
        message: Message<'_>,
        blocks: Vec<Block<'_>>,
        id: &str,
        distance: Option<usize>,
        agent: &mut AgentLog,
    ) {
        // What the program says in the model's place, of errors mostly.
        if message.model.as_deref() == Some("<synthetic>") {
            return;
        }
        let steps = self.steps.entry(id.to_owned()).or_default();
        let message = message.id.as_deref().unwrap_or_default();
        // A line of an earlier message is late: it belongs to the step at hand.
        if steps.current != message && !steps.earlier.contains(message) || message.is_empty() {
            let last = std::mem::replace(&mut steps.current, message.to_owned());
            steps.earlier.insert(last);
            steps.distance = distance;
            agent.next_step();
        }
        for block in blocks {
            if matches!(&*block.kind, "tool_use" | "server_tool_use") {
                agent.call_or_number(block.id, block.name.unwrap_or_default(), arguments(block.input));
            }
        }
    }
}

/// Reads what stands in a message of the role user; `prompt` is none if it is no person's, and else whether it stands after its answer.
fn user(message: Message<'_>, blocks: Vec<Block<'_>>, prompt: Option<bool>, was_denied: bool, agent: &mut AgentLog) {
    let has_text = blocks.iter().any(|block| matches!(&*block.kind, "text" | "image"));
    let is_string = message.content.is_some_and(|content| content.get().starts_with('"'));
    let mut has_results = false;
    for block in blocks {
        if let (true, Some(id)) = (block.kind.ends_with("tool_result"), block.tool_use_id) {
            has_results = true;
            let content = content(block.content);
            let status = match block.is_error {
                Some(true) if was_denied || DENIALS.iter().any(|denial| content.starts_with(denial)) => Status::Denied,
                Some(true) => Status::Failed,
                _ => Status::Succeeded,
            };
            agent.result(id, CallResult { status, content });
        }
    }
    if !has_results && (has_text || is_string) {
        match prompt {
            Some(false) => agent.prompt(),
            Some(true) => agent.late_prompt(),
            None => {}
        }
    }
}
