"""What can go wrong."""

from __future__ import annotations

from collections.abc import Sequence

from ._types import Problem


class LoopGuardError(Exception):
    """Any error of this package."""


class LoadError(LoopGuardError):
    """A component was not loaded: it cannot be read, does not compile, or is none of this contract."""


class ConfigurationError(LoopGuardError):
    """A configuration was rejected, and nothing has changed. Its text is one line for each problem."""

    problems: tuple[Problem, ...]
    """The problems, at least one; of thousands, the first."""

    def __init__(self, problems: Sequence[Problem]) -> None:
        super().__init__("\n".join(map(str, problems)))
        self.problems = tuple(problems)

    def __reduce__(self) -> tuple[type[ConfigurationError], tuple[tuple[Problem, ...]]]:
        return type(self), (self.problems,)


class RestoreError(LoopGuardError):
    """A snapshot was refused: it is damaged, of another version, or taken under another configuration. Nothing has changed."""

    reason: str
    """Why, in the words of the component."""

    def __init__(self, reason: str) -> None:
        super().__init__(f"the snapshot is refused: {reason}")
        self.reason = reason

    def __reduce__(self) -> tuple[type[RestoreError], tuple[str]]:
        return type(self), (self.reason,)


class CallError(LoopGuardError):
    """A hook gave no answer.

    After a trap, or a limit of memory or time, the instance is gone. The next call works on a fresh one with the same
    configuration: all counts start anew, and a limited call is denied with the reason ``per-step tool limit has no
    active agent step`` until its agent's next ``step``. A text that is too long was not sent, and nothing has changed.
    """

    hook: str
    """The function of the contract that was called, for example ``pre-execute``; or ``instantiate``."""
    fault: str
    """What went wrong."""

    def __init__(self, hook: str, fault: str) -> None:
        super().__init__(f"{hook}: {fault}")
        self.hook = hook
        self.fault = fault

    def __reduce__(self) -> tuple[type[CallError], tuple[str, str]]:
        return type(self), (self.hook, self.fault)
