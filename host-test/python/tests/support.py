"""What the tests share: the built files, and short words for calls."""

from __future__ import annotations

from pathlib import Path

from loop_guard import Outcome, Status, ToolCall

ROOT = Path(__file__).parents[1]
BUILD = ROOT.parent / "build"

SUCCEEDED = Outcome(Status.SUCCEEDED)
GENTLE = (
    "You keep repeating the exact same tool call. Study the result it already gave you before you call it again: "
    "if the task is not done yet, change your approach or the arguments."
)


def call(name: str, arguments: object = "", agent: str | None = "main", number: str = "1") -> ToolCall:
    """A call of the agent ``main``."""
    return ToolCall(agent=agent, id=number, name=name, arguments=arguments)


def built(name: str) -> Path:
    """A built file."""
    path = BUILD / name
    if not path.exists():
        raise FileNotFoundError(f"{path} is missing: run `make component` in the checkout first")
    return path
