"""The contract's types, as a Python host sees them. The package's ``plugin.wit`` says what each means in full."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Annotated


@dataclass(frozen=True)
class StepStart:
    """A step that has been proposed for an agent."""

    agent: str
    turn: int
    step: int
    prompted: bool


@dataclass(frozen=True)
class ToolCall:
    """A tool call that a model made.

    ``arguments`` is the raw JSON text exactly as the model wrote it, if it is a string. Anything else is a parsed value,
    and is written as JSON text; a parsed value that is itself a string must be written as JSON by the caller
    (``json.dumps``), or it is taken for raw text.
    """

    agent: str | None
    """The agent that owns the call; none where the host has no agent for it."""
    id: str
    """Pairs the call's two hooks; unique among the agent's calls in flight."""
    name: str
    """The tool's name, exactly as the model wrote it."""
    arguments: Annotated[object, "string"]
    """The arguments: raw JSON text, or a parsed value that is not a string."""


@dataclass(frozen=True)
class Allow:
    """The call may run, as far as the guard is concerned."""


@dataclass(frozen=True)
class Deny:
    """The call must not run. The host still sends its post-execute, with the status ``denied``."""

    reason: str
    """For the model, as the call's result. Reasons are stable, so that hosts may match on them."""


@dataclass(frozen=True)
class Ask:
    """A person decides. Refused, or where nobody can be asked, the call is denied with this reason."""

    reason: str
    """What the person is shown."""


Decision = Allow | Deny | Ask
"""The answer to a pre-execute; it goes well with ``match``."""


class Status(str, Enum):
    """How a call ended."""

    SUCCEEDED = "succeeded"
    """The tool ran and reported success."""
    FAILED = "failed"
    """The tool ran and reported a failure, or was cancelled after its pre-execute."""
    DENIED = "denied"
    """The tool did not run: the guard, another policy, or a person denied it."""


@dataclass(frozen=True)
class Outcome:
    """A call's outcome."""

    status: Status
    """How the call ended."""
    content: str | None = None
    """The result as the model will see it. It is sent to the component only if the configuration needs it."""


@dataclass(frozen=True)
class Notice:
    """Something that the model should be told, in a message of its own, after all results of the step."""

    plugin: str
    """Which plugin of the guard speaks, for example ``repeat-tool-reminder``."""
    summary: str
    """One line for people, for example ``grep × 3``."""
    text: str
    """The text for the model."""


class Event(str, Enum):
    """Something that happened to an agent beside its steps and calls."""

    COMPACTED = "compacted"
    """Its context was compacted: what the model saw of earlier calls is gone, or abridged."""
    APPROVED = "approved"
    """A person approved a call of it that was asked about."""


@dataclass(frozen=True)
class Stat:
    """What a guard has done to an agent; in a trial, what it would have done."""

    agent: str
    """The agent."""
    calls: int
    """Calls that have reached an outcome."""
    notices: int
    """Notices."""
    asks: int
    """Calls that a person was to decide about."""
    denials: int
    """Calls that were denied."""
    longest: int
    """The count of its longest streak: calls, or laps of a cycle."""
    summary: str
    """That streak in one line; empty if no call was repeated."""


@dataclass(frozen=True)
class Problem:
    """Something wrong in a configuration."""

    path: str
    """Where: a JSON Pointer (RFC 6901). Empty means the whole configuration."""
    message: str
    """What is wrong, and what would be right."""

    def __str__(self) -> str:
        text = f"{self.path}: {self.message}" if self.path else self.message
        # Half of a surrogate pair in a path could not be printed.
        return text.encode(errors="backslashreplace").decode()


@dataclass(frozen=True)
class Needs:
    """What the configuration in force needs from the host."""

    content: bool
    """Whether the guard looks at the content of outcomes. A :class:`~loop_guard.Guard` leaves it out where it does not."""
