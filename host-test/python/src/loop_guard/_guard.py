"""A guard: one instance of a component, shared by the threads of a host."""

from __future__ import annotations

import threading
from typing import Any

from wasmtime import WasmtimeError
from wasmtime.component import Record, Variant

from . import _forks
from ._component import Component, Instance, root_cause
from ._errors import CallError, ConfigurationError, RestoreError
from ._json import arguments_text, configuration_text
from ._limits import Limits
from ._types import Allow, Ask, Decision, Deny, Event, Needs, Notice, Outcome, Problem, Stat, Status, ToolCall


class Guard:
    """One instance of a component with a configuration. Its methods are the functions of the contract.

    Threads may share it: calls are made one after another, so that no quota slot is taken twice. A call blocks for as
    long as it takes: a tenth or two of a millisecond for usual arguments, seconds for megabytes.

    Every method raises a :class:`CallError` when the component traps or goes beyond its :class:`Limits`, and the
    guard can be used again at once; and a ``TypeError`` or ``ValueError`` for what the types do not allow, which changes
    nothing.
    """

    def __init__(
        self, config: object = None, *, limits: Limits | None = None, component: Component | None = None
    ) -> None:
        """Makes a guard.

        :param config: one JSON object, as JSON text or as a plain value; without it, the defaults. What JSON would lose
            (NaN, a set, a member name that is no string) is a problem, never dropped.
        :param limits: what the guard may use, where it is not to be the default.
        :param component: the component, where it is not to be the one that this package carries.
        :raises ConfigurationError: with all problems of the configuration.
        :raises CallError: if the component could not be asked.
        :raises LoadError: if the component could not be loaded.
        """
        if not isinstance(limits, Limits | None):
            raise TypeError("limits must be of the class Limits")
        if not isinstance(component, Component | None):
            raise TypeError("component must be of the class Component")
        self._component = component or Component.embedded()
        self._limits = limits or Limits()
        self._lock = threading.Lock()
        self._instance: Instance | None = None
        self._config = "{}"
        self._needs = Needs(content=False)
        text = self._configuration(config)
        self._instance = self._start(text)
        _forks.follow(self)

    def configure(self, config: object) -> Needs:
        """Puts another configuration in force, and forgets all state: every agent, count and quota.

        :raises ConfigurationError: with all problems of the configuration. Nothing has changed then.
        """
        text = self._configuration(config)
        with self._lock:
            return self._put(self._running("configure"), text)

    def step(self, agent: str, turn: int, step: int, *, prompted: bool) -> None:
        """A step is proposed for an agent, before its model request, whether or not it will make calls.

        The agent's quotas start anew.

        :param agent: any string that names one live agent. A subagent is another agent.
        :param turn: the number of the turn; any numbering that gives another turn another number.
        :param step: the number of the step within its turn.
        :param prompted: whether a *person's* message enters with this step, which ends the agent's chain of repeated
            calls. Notices and other injected context are no prompt.
        """
        hook = "step"
        if not isinstance(prompted, bool):
            raise TypeError(f"{hook}: prompted must be True or False")
        start = _record(
            agent=self._text(hook, "agent", agent),
            turn=_number(hook, "turn", turn),
            step=_number(hook, "step", step),
            prompted=prompted,
        )
        self._call(hook, start)

    def pre_execute(self, call: ToolCall) -> Decision:
        """A tool call is about to run: before its body, and before any later policy.

        When it fails, a host that enforces limits does not run the call.
        """
        answer = self._call("pre-execute", self._tool_call("pre-execute", call))
        match answer:
            case Variant(tag="deny", payload=str(reason)):
                return Deny(reason)
            case Variant(tag="ask", payload=str(reason)):
                return Ask(reason)
            case _:
                return Allow()

    def post_execute(self, call: ToolCall, outcome: Outcome) -> list[Notice]:
        """A tool call has reached an outcome: success, failure, denial by anyone, or cancellation after its pre-execute.

        Each notice is for the model: a message of its own, after all results of the step. The list is empty nearly
        always. When it fails, a notice that was due is lost.
        """
        hook = "post-execute"
        record = self._tool_call(hook, call)
        try:
            status = Status(outcome.status).value
        except ValueError:
            raise ValueError(f"{hook}: status must be one of {', '.join(Status)}") from None
        with self._lock:
            content = outcome.content if self._needs.content else None
            if content is not None:
                content = self._text(hook, "content", content)
            instance = self._running(hook)
            notices: Any = self._ask(instance, hook, record, _record(status=status, content=content))
        return [Notice(plugin=each.plugin, summary=each.summary, text=each.text) for each in notices]

    def step_aborted(self, agent: str, turn: int, step: int) -> None:
        """The step that was begun last was rejected, failed to be prepared, or broke. Never for one that ended normally."""
        hook = "step-aborted"
        self._call(hook, self._text(hook, "agent", agent), _number(hook, "turn", turn), _number(hook, "step", step))

    def turn_ended(self, agent: str, turn: int) -> None:
        """A turn has ended: the agent rests until its next prompt."""
        hook = "turn-ended"
        self._call(hook, self._text(hook, "agent", agent), _number(hook, "turn", turn))

    def agent_ended(self, agent: str) -> None:
        """An agent has ended; everything about it is forgotten, and the same string may name another agent."""
        self._call("agent-ended", self._text("agent-ended", "agent", agent))

    def noted(self, agent: str, event: Event) -> None:
        """Something happened to an agent that can end its chain of repeated calls, where the configuration says so."""
        try:
            named = Event(event).value
        except ValueError:
            raise ValueError(f"noted: event must be one of {', '.join(Event)}") from None
        self._call("noted", self._text("noted", "agent", agent), named)

    def snapshot(self) -> bytes:
        """All counts of all agents, as bytes for :meth:`restore`.

        wasmtime lets no more than about 2.8 MB through. A larger snapshot is a fault, after which all counts start anew.
        """
        snapshot: Any = self._call("snapshot")
        return bytes(snapshot)

    def restore(self, snapshot: bytes) -> None:
        """Goes on with the counts of a snapshot in place of those that there are.

        :raises RestoreError: if it is damaged, of another version, or taken under another configuration. Nothing has
            changed then.
        """
        if not isinstance(snapshot, bytes):
            raise TypeError("restore: snapshot must be bytes")
        self._check_size("restore", "snapshot", len(snapshot))
        reason = self._call("restore", snapshot)
        if reason is not None:
            raise RestoreError(str(reason))

    def stats(self) -> list[Stat]:
        """What the guard has done to each agent that it remembers, the one that was idle longest first."""
        stats: Any = self._call("stats")
        return [Stat(**vars(each)) for each in stats]

    def describe(self) -> str:
        """The configuration in force with its defaults filled in, as JSON text."""
        return str(self._call("describe"))

    def canonical(self, text: str) -> str:
        """The canonical form of a call's raw arguments. Calls with equal arguments have equal forms."""
        return str(self._call("canonical", self._text("canonical", "text", text)))

    def count(self, agent: str) -> int:
        """The agent's current count of equal calls; 0 without one."""
        count: Any = self._call("count", self._text("count", "agent", agent))
        return int(count)

    def explain(self, tool: str) -> str:
        """Which settings apply to a tool, and which entry of the configuration they come from, as JSON text."""
        return str(self._call("explain", self._text("explain", "tool", tool)))

    def _configuration(self, config: object) -> str:
        return self._text("configure", "configuration", configuration_text(config))

    def _tool_call(self, hook: str, call: ToolCall) -> Record:
        agent = None if call.agent is None else self._text(hook, "agent", call.agent)
        return _record(
            agent=agent,
            id=self._text(hook, "id", call.id),
            name=self._text(hook, "name", call.name),
            arguments=self._text(hook, "arguments", arguments_text(hook, call.arguments)),
        )

    def _text(self, hook: str, what: str, text: str) -> str:
        """A text, if it is one that may be sent; with U+FFFD for halves of surrogate pairs, which UTF-8 cannot hold."""
        if not isinstance(text, str):
            raise TypeError(f"{hook}: {what} must be a string")
        if text.isascii():
            size = len(text)
        else:
            try:
                size = len(text.encode())
            except UnicodeEncodeError:
                text = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
                size = len(text.encode())
        self._check_size(hook, what, size)
        return text

    def _check_size(self, hook: str, what: str, size: int) -> None:
        limit = self._limits.text
        if size > limit:
            raise CallError(hook, f"{what}: {size} bytes, and no text of more than {limit} is sent")

    def _call(self, hook: str, *arguments: object) -> object:
        with self._lock:
            return self._ask(self._running(hook), hook, *arguments)

    def _running(self, hook: str) -> Instance:
        """The instance: a fresh one if the last one is gone."""
        if self._instance is None:
            try:
                self._instance = self._start(self._config)
            except (CallError, ConfigurationError) as error:
                raise CallError(hook, f"no fresh instance could be started: {error}") from error
        return self._instance

    def _start(self, config: str) -> Instance:
        try:
            instance = self._component.instantiate(self._limits)
        except WasmtimeError as error:
            raise CallError("instantiate", self._fault(error)) from error
        self._put(instance, config)
        return instance

    def _put(self, instance: Instance, config: str) -> Needs:
        answer: Any = self._ask(instance, "configure", config)
        if isinstance(answer, list):
            raise ConfigurationError([Problem(path=each.path, message=each.message) for each in answer])
        self._config = config
        self._needs = Needs(content=answer.content)
        return self._needs

    def _ask(self, instance: Instance, hook: str, *arguments: object) -> object:
        """Calls a function. A fault ends the instance, and so does an interrupt from outside in the middle of it."""
        try:
            return instance.call(hook, *arguments)
        except BaseException as error:
            self._instance = None
            instance.store.close()
            if isinstance(error, WasmtimeError):
                raise CallError(hook, self._fault(error)) from error
            raise

    def _fault(self, error: WasmtimeError) -> str:
        cause = root_cause(error)
        if cause == "wasm trap: interrupt":
            return f"the component did not answer within {_seconds(self._limits.time)}"
        if cause.endswith("exceeds memory limits"):
            return f"the component wanted more than {self._limits.memory} bytes of memory"
        if "fuel allocated for hostcalls" in cause:
            return "the answer is larger than wasmtime lets through, which for a snapshot is about 2.8 MB"
        return f"the component trapped: {cause}"

    def _after_fork(self) -> None:
        self._lock, idle = _forks.renew(self._lock)
        if not idle:
            self._instance = None


def _record(**fields: object) -> Record:
    record = Record()
    vars(record).update(fields)
    return record


def _number(hook: str, what: str, value: int) -> int:
    if not isinstance(value, int) or isinstance(value, bool):
        raise TypeError(f"{hook}: {what} must be a whole number from 0 to 4294967295")
    if not 0 <= value < 2**32:
        raise ValueError(f"{hook}: {what} must be a whole number from 0 to 4294967295")
    return value


def _seconds(time: float) -> str:
    return f"{time:g}s" if time >= 1 else f"{time * 1000:g}ms"
