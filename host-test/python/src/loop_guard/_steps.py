"""What both adapters need: a step whose calls run in parallel, told to the guard in the order in which the model wrote them."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Iterable
from functools import partial
from typing import TypeVar

from ._errors import CallError
from ._guard import Guard
from ._types import Allow, Decision, Deny, Event, Notice, Outcome, ToolCall

_LOG = logging.getLogger("loop_guard")
_T = TypeVar("_T")


class Step:
    """The calls of one step of one agent. It is not locked: one thread at a time uses it."""

    def __init__(self, guard: Guard, calls: Iterable[ToolCall] = ()) -> None:
        """Begins with the calls that are known, in the model's order. Another one counts as made after them."""
        self._guard = guard
        self._calls = {call.id: call for call in calls}
        self._decisions: dict[str, Decision] = {}
        self._outcomes: dict[str, Outcome] = {}
        self._reported: set[str] = set()
        self.notices: list[Notice] = []
        """What the model should be told after all results of the step, in the order of the calls."""

    def decide(self, call: ToolCall) -> Decision:
        """Whether a call may run. Calls before it that have not asked yet are asked for first; each is asked for once."""
        self._calls.setdefault(call.id, call)
        for number, earlier in self._calls.items():
            if number not in self._decisions:
                self._decisions[number] = _check(self._guard, earlier)
            if number == call.id:
                break
        return self._decisions[call.id]

    def approve(self, call: ToolCall) -> Decision:
        """A person has approved a call that the guard asked about, which the guard is told."""
        agent = call.agent
        if agent is not None:
            attempt(lambda: self._guard.noted(agent, Event.APPROVED), None)
        return Allow()

    def finish(self, number: str, outcome: Outcome) -> None:
        """A call has an outcome, which is held back until those before it have theirs. The first one counts."""
        self._outcomes.setdefault(number, outcome)
        self._report(whole=False)

    def close(self) -> None:
        """Nothing more comes. A call that has no outcome by now was never dispatched, or its pipeline broke."""
        self._report(whole=True)

    def numbers(self) -> set[str]:
        """The ids of the step's calls."""
        return set(self._calls)

    def unfinished(self) -> list[str]:
        """The ids of the calls that have no outcome."""
        return [number for number in self._calls if number not in self._outcomes]

    def _report(self, *, whole: bool) -> None:
        for number, call in self._calls.items():
            outcome = self._outcomes.get(number)
            if outcome is None and not whole:
                return
            if outcome is not None and number not in self._reported:
                self._reported.add(number)
                self.notices += attempt(partial(self._guard.post_execute, call, outcome), [])


def attempt(hook: Callable[[], _T], otherwise: _T) -> _T:
    """What a hook answers. A fault of the guard is logged, and does not break the agent."""
    try:
        return hook()
    except Exception as fault:
        _LOG.warning("%s", fault)
        return otherwise


def _check(guard: Guard, call: ToolCall) -> Decision:
    """The guard's decision. A call of a limited tool that could not be checked is denied, and any other runs."""
    try:
        return guard.pre_execute(call)
    except Exception as error:
        _LOG.warning("%s", error)
        fault = error.fault if isinstance(error, CallError) else str(error)
    unlimited = attempt(lambda: json.loads(guard.explain(call.name))["toolCallLimit"]["limit"] is None, False)
    return Allow() if unlimited else Deny(f"the limit of tool {call.name} could not be checked: {fault}")
