"""Replays every scripted session, as the Rust runner exports them."""

from __future__ import annotations

import json
from typing import Any

import pytest
from support import built

from loop_guard import (
    Allow,
    Ask,
    ConfigurationError,
    Decision,
    Deny,
    Event,
    Guard,
    Outcome,
    RestoreError,
    Status,
    ToolCall,
)

SESSIONS: list[dict[str, Any]] = json.loads(built("sessions.json").read_text())


def test_there_are_sessions() -> None:
    assert len(SESSIONS) >= 117


@pytest.mark.parametrize("session", SESSIONS, ids=lambda session: session["name"])
def test_session(session: dict[str, Any]) -> None:
    guard = Guard(session["config"])
    snapshots: dict[str, bytes] = {}
    for event in session["events"]:
        actual = answer(guard, event, snapshots)
        accept(event["expect"], actual)
        assert actual == event["expect"], f"line {event['line']}"


def accept(expected: dict[str, Any], actual: dict[str, Any]) -> None:
    """Leaves out of the actual notices what the expected ones leave out: that may be anything."""
    for wanted, notice in zip(expected.get("notices", []), actual.get("notices", []), strict=False):
        for member in ("plugin", "text"):
            if wanted.get(member) is None:
                wanted.pop(member, None)
                notice.pop(member)


def answer(guard: Guard, event: dict[str, Any], snapshots: dict[str, bytes]) -> dict[str, Any]:
    match event["action"]:
        case "step":
            guard.step(event["agent"], event["turn"], event["step"], prompted=event["prompted"])
        case "call":
            decision = guard.pre_execute(tool_call(event))
            runs = isinstance(decision, Allow) or (isinstance(decision, Ask) and event["approved"])
            status = Status(event["outcome"]) if runs else Status.DENIED
            return {"decision": as_json(decision), "notices": post_execute(guard, event, status)}
        case "pre":
            return {"decision": as_json(guard.pre_execute(tool_call(event)))}
        case "post":
            return {"notices": post_execute(guard, event, Status(event["outcome"]))}
        case "step-aborted":
            guard.step_aborted(event["agent"], event["turn"], event["step"])
        case "turn-ended":
            guard.turn_ended(event["agent"], event["turn"])
        case "agent-ended":
            guard.agent_ended(event["agent"])
        case "configure":
            try:
                guard.configure(event["config"])
            except ConfigurationError as error:
                return {"problems": [vars(problem) for problem in error.problems]}
            return {"problems": []}
        case "noted":
            guard.noted(event["agent"], Event(event["event"]))
        case "snapshot":
            snapshots[event["name"]] = guard.snapshot()
        case "restore":
            try:
                guard.restore(damaged(snapshots[event["name"]], event["keep"], event["flip"]))
            except RestoreError as error:
                return {"restored": {"refused": error.reason}}
            return {"restored": "accepted"}
        case "stats":
            return {"stats": [vars(stat) for stat in guard.stats()]}
        case "count":
            return {"count": guard.count(event["agent"])}
        case "canonical":
            return {"text": guard.canonical(event["text"])}
        case "describe":
            return {"json": json.loads(guard.describe())}
        case "explain":
            return {"json": json.loads(guard.explain(event["tool"]))}
        case action:
            raise AssertionError(f"unknown action {action}")
    return {}


def damaged(snapshot: bytes, keep: int | None, flip: int | None) -> bytes:
    """A copy that was cut, or in which a bit was flipped."""
    copy = bytearray(snapshot[:keep])
    if flip is not None and flip < len(copy):
        copy[flip] ^= 1
    return bytes(copy)


def tool_call(event: dict[str, Any]) -> ToolCall:
    return ToolCall(event["agent"], event["id"], event["tool"], event["arguments"])


def post_execute(guard: Guard, event: dict[str, Any], status: Status) -> list[dict[str, str]]:
    notices = guard.post_execute(tool_call(event), Outcome(status, event["content"]))
    return [dict(vars(notice)) for notice in notices]


def as_json(decision: Decision) -> object:
    match decision:
        case Allow():
            return "allow"
        case Deny(reason):
            return {"deny": reason}
        case Ask(reason):
            return {"ask": reason}
