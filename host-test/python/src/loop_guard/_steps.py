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
        self._calls: list[ToolCall] = list(calls)
        self._decisions: dict[str, Decision] = {}
        # By the call's place in the list, since a model may give one id to several calls.
        self._outcomes: dict[int, Outcome] = {}
        self._approved: set[str] = set()
        self._reported: set[int] = set()
        self.notices: list[Notice] = []
        """What the model should be told after all results of the step, in the order of the calls."""

    def decide(self, call: ToolCall) -> Decision:
        """Whether a call may run. Calls before it that have not asked yet are asked for first; each is asked for once.

        Calls of one id cannot be told apart, and are denied.
        """
        if call.id not in self.numbers():
            self._calls.append(call)
        for place, earlier in enumerate(self._calls):
            if earlier.id not in self._decisions and place not in self._outcomes:
                self._decisions[earlier.id] = self._check(earlier)
            if earlier.id == call.id:
                break
        # One that has an outcome already was answered by another policy, and is run nevertheless.
        return self._decisions.get(call.id) or self._decisions.setdefault(call.id, self._check(call))

    def _check(self, call: ToolCall) -> Decision:
        if len(self._places(call.id)) > 1:
            return Deny(f"the step has several calls with the id {call.id!r}")
        return _check(self._guard, call)

    def approve(self, call: ToolCall) -> Decision:
        """A person has approved a call that the guard asked about. The guard is told right before the call's outcome."""
        self._approved.add(call.id)
        return Allow()

    def finish(self, number: str, outcome: Outcome) -> None:
        """A call has an outcome, which is held back until those before it have theirs. The first one counts."""
        for place in self._places(number):
            if place not in self._outcomes:
                self._outcomes[place] = outcome
                break
        self._report(whole=False)

    def close(self) -> None:
        """Nothing more comes. A call that has no outcome by now was never dispatched, or its pipeline broke."""
        self._report(whole=True)

    def numbers(self) -> set[str]:
        """The ids of the step's calls."""
        return {call.id for call in self._calls}

    def unfinished(self) -> list[str]:
        """The ids of the calls that have no outcome."""
        return [call.id for place, call in enumerate(self._calls) if place not in self._outcomes]

    def _places(self, number: str) -> list[int]:
        return [place for place, call in enumerate(self._calls) if call.id == number]

    def _report(self, *, whole: bool) -> None:
        for place, call in enumerate(self._calls):
            outcome = self._outcomes.get(place)
            if outcome is None and not whole:
                return
            if outcome is not None and place not in self._reported:
                self._reported.add(place)
                if call.id in self._approved and call.agent is not None:
                    attempt(partial(self._guard.noted, call.agent, Event.APPROVED), None)
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
    if attempt(lambda: _is_limited(guard, call.name), True):
        return Deny(f"the limit of tool {call.name} could not be checked: {fault}")
    return Allow()


def _is_limited(guard: Guard, tool: str) -> bool:
    """Whether any quota applies to a tool: its own of a step, a turn or an agent, or one of all tools."""
    explanation = json.loads(guard.explain(tool))
    limits = explanation["toolCallLimit"]
    quotas = ("limit", "turnLimit", "agentLimit", "totals")
    return not explanation.get("observe") and any(limits.get(quota) is not None for quota in quotas)
