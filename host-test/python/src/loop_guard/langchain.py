"""LangChain: a middleware that guards the tool calls of agents made by ``langchain.agents.create_agent``.

    agent = create_agent(model, tools=[search], middleware=[LoopGuardMiddleware({"toolCallLimit": {"limits": {"search": 1}}})])

How the framework's notions meet the guard's:

- An agent is one run of a graph; with a checkpointer, one thread of it, whose runs are its turns. A subagent that a tool
  invokes has a state of its own, and is another agent, though it may share the middleware.
- A step is a model request. The first one of a run is prompted, if a ``HumanMessage`` is in the run's input that carries no
  notification metadata (``lc_source``), as notices and summaries do. What tools add later is no prompt.
- The calls of one message run in parallel. They are told to the guard in the order in which the model wrote them, whichever
  finishes first. Those that were answered without being run (by a person, or by another policy) are denials. Those that
  share one id cannot be told apart, and are denied.
- Notices enter before the next model request, after all results. After a run's last request they are dropped: the next prompt
  ends the chain.
- A run that is resumed after an interrupt goes on with the step that it had; in another process the step begins anew.
"""

from __future__ import annotations

import inspect
import json
import threading
import uuid
import weakref
from collections import OrderedDict, deque
from collections.abc import Awaitable, Callable, Sequence
from typing import Annotated, Any, NoReturn, TypedDict, cast

from langchain.agents.middleware import AgentMiddleware, AgentState
from langchain.agents.middleware.types import PrivateStateAttr, ToolCallRequest
from langchain_core.messages import (
    AIMessage,
    AnyMessage,
    HumanMessage,
    ToolMessage,
    add_notification_metadata,
    get_notification_metadata,
)
from langchain_core.runnables import RunnableConfig
from langgraph.channels.untracked_value import UntrackedValue
from langgraph.errors import GraphBubbleUp
from langgraph.runtime import Runtime
from langgraph.types import Command
from typing_extensions import NotRequired

from . import _forks
from ._guard import Guard
from ._steps import Step, attempt
from ._types import Allow, Ask, Decision, Notice, Outcome, Status, ToolCall

Approve = Callable[[ToolCall, str], "bool | Awaitable[bool]"]
"""Asks a person whether a call may run, for a reason. It may call ``langgraph.types.interrupt``, for which an
agent that is run asynchronously needs Python 3.11."""

_Result = ToolMessage | Command[Any]

_MOST_AGENTS = 10_000
"""How many agents' current steps are kept. Threads that rest in the middle of a run keep theirs, and the oldest goes first."""

_NO_CONFIG = RunnableConfig()

# Where LangGraph says which checkpointer keeps a run, and within which task of another it runs.
_CHECKPOINTER = "__pregel_checkpointer"
_CHECKPOINT_NS = "checkpoint_ns"


class _Identity(TypedDict):
    agent: str
    turn: int


class _Run:
    """A run that nothing keeps: its state holds this, and goes with it however the run ends."""


class LoopGuardState(AgentState[Any]):
    """The agent's state: who it is to the guard goes with it, into checkpoints and out again."""

    loop_guard: NotRequired[Annotated[_Identity, PrivateStateAttr]]
    loop_guard_run: NotRequired[Annotated[_Run, UntrackedValue, PrivateStateAttr]]


class _Live:
    """An agent at work."""

    def __init__(self) -> None:
        self.number = 0
        self.step: Step | None = None
        self.prompted = False
        """Whether a person's message enters with the next step."""
        self.earlier: str | None = None
        """The message with the calls of an earlier step."""


class LoopGuardMiddleware(AgentMiddleware[LoopGuardState, Any, Any]):
    """Denies calls beyond their quota, and reminds the model of repeated ones.

    Put it first in the list of middleware, so that what others do to a call happens within. Agents, threads and event loops
    may share one.
    """

    state_schema = LoopGuardState

    def __init__(self, guard: Guard | object = None, *, approve: Approve | None = None) -> None:
        """Makes a middleware.

        :param guard: a guard, or the configuration of one.
        :param approve: asked where the guard asks; without it, to ask is to deny. A coroutine function needs an agent that is
            run asynchronously.
        :raises ConfigurationError: with all problems of the configuration.
        """
        super().__init__()
        self.guard = guard if isinstance(guard, Guard) else Guard(guard)
        self._approve = approve
        self._lock = threading.Lock()
        self._agents: OrderedDict[str, _Live] = OrderedDict()
        self._gone: deque[str] = deque()
        _forks.follow(self)

    def before_agent(
        self,
        state: LoopGuardState,
        runtime: Runtime[Any],  # noqa: ARG002
        config: RunnableConfig = _NO_CONFIG,
    ) -> dict[str, Any]:
        """A turn begins."""
        known = state.get("loop_guard")
        agent, turn = (known["agent"], known["turn"] + 1) if known else (uuid.uuid4().hex, 1)
        with self._lock:
            self._end_gone()
            self._live(agent).prompted = _is_prompted(state["messages"])
        begun: dict[str, Any] = {"loop_guard": _Identity(agent=agent, turn=turn)}
        if not _is_kept(config):
            run = begun["loop_guard_run"] = _Run()
            # It may be collected anywhere, even within a call of the guard: the agent ends with the next hook.
            weakref.finalize(run, self._gone.append, agent).atexit = False
        return begun

    async def abefore_agent(
        self, state: LoopGuardState, runtime: Runtime[Any], config: RunnableConfig = _NO_CONFIG
    ) -> dict[str, Any]:
        """A turn begins."""
        return self.before_agent(state, runtime, config)

    def before_model(self, state: LoopGuardState, runtime: Runtime[Any]) -> dict[str, Any] | None:  # noqa: ARG002
        """A step begins, and the notices of the one before enter."""
        identity = state.get("loop_guard")
        if identity is None:
            return None
        with self._lock:
            self._end_gone()
            live = self._live(identity["agent"])
            notices = self._close(identity, live, state["messages"])
            self._begin(identity, live, state["messages"])
        return {"messages": [_message(notice) for notice in notices]} if notices else None

    async def abefore_model(self, state: LoopGuardState, runtime: Runtime[Any]) -> dict[str, Any] | None:
        """A step begins, and the notices of the one before enter."""
        return self.before_model(state, runtime)

    def wrap_tool_call(self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], _Result]) -> _Result:
        """Runs a call, if it may run."""
        call, step, decision = self._decide(request)
        if isinstance(decision, Ask) and self._approve is not None:
            approved = self._approve(call, decision.reason)
            if inspect.isawaitable(approved):
                _refuse_awaitable(approved)
            decision = step.approve(call) if approved else decision
        if not isinstance(decision, Allow):
            return self._deny(step, call, decision)
        try:
            result = handler(request)
        except BaseException as error:
            self._failed(step, call, error)
            raise
        self._finish(step, call, _outcome(call, result))
        return result

    async def awrap_tool_call(
        self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], Awaitable[_Result]]
    ) -> _Result:
        """Runs a call, if it may run."""
        call, step, decision = self._decide(request)
        if isinstance(decision, Ask) and self._approve is not None:
            approved = self._approve(call, decision.reason)
            if inspect.isawaitable(approved):
                approved = await approved
            decision = step.approve(call) if approved else decision
        if not isinstance(decision, Allow):
            return self._deny(step, call, decision)
        try:
            result = await handler(request)
        except BaseException as error:
            self._failed(step, call, error)
            raise
        self._finish(step, call, _outcome(call, result))
        return result

    def after_agent(
        self,
        state: LoopGuardState,
        runtime: Runtime[Any],  # noqa: ARG002
        config: RunnableConfig = _NO_CONFIG,
    ) -> None:
        """A turn ends, and so does the agent, unless a checkpointer keeps it."""
        identity = state.get("loop_guard")
        if identity is None:
            return
        agent = identity["agent"]
        with self._lock:
            self._close(identity, self._live(agent), state["messages"])
            attempt(lambda: self.guard.turn_ended(agent, identity["turn"]), None)
            if _is_kept(config):
                del self._agents[agent]
            else:
                self._end(agent)

    async def aafter_agent(
        self, state: LoopGuardState, runtime: Runtime[Any], config: RunnableConfig = _NO_CONFIG
    ) -> None:
        """A turn ends, and so does the agent, unless a checkpointer keeps it."""
        self.after_agent(state, runtime, config)

    def _decide(self, request: ToolCallRequest) -> tuple[ToolCall, Step, Decision]:
        identity: _Identity | None = request.state.get("loop_guard")
        agent = identity["agent"] if identity else None
        call = _tool_call(agent, cast("dict[str, Any]", request.tool_call))
        with self._lock:
            live = self._live(agent) if agent else _Live()
            if identity and live.number == 0:
                # The step was begun in another process, or so long ago that it was dropped.
                self._begin(identity, live, ())
            if live.step is None:
                live.step = _step(self.guard, agent, _made(request.state["messages"], call.id))
            return call, live.step, live.step.decide(call)

    def _begin(self, identity: _Identity, live: _Live, messages: Sequence[AnyMessage]) -> None:
        live.number += 1
        live.earlier = _made(messages)[0]
        prompted, live.prompted = live.prompted, False
        attempt(lambda: self.guard.step(identity["agent"], identity["turn"], live.number, prompted=prompted), None)

    def _close(self, identity: _Identity, live: _Live, messages: Sequence[AnyMessage]) -> list[Notice]:
        made = _made(messages)
        if live.step is None and live.number > 0 and made[0] != live.earlier:
            # None of the calls was run: all that there are were answered by others.
            live.step = _step(self.guard, identity["agent"], made)
        step, live.step = live.step, None
        if step is None:
            return []
        step.close()
        return step.notices

    def _end(self, agent: str) -> None:
        if self._agents.pop(agent, None) is not None:
            attempt(lambda: self.guard.agent_ended(agent), None)

    def _end_gone(self) -> None:
        while self._gone:
            self._end(self._gone.popleft())

    def _after_fork(self) -> None:
        self._lock, idle = _forks.renew(self._lock)
        if not idle:
            self._agents = OrderedDict()

    def _live(self, agent: str) -> _Live:
        live = self._agents.setdefault(agent, _Live())
        self._agents.move_to_end(agent)
        if len(self._agents) > _MOST_AGENTS:
            self._agents.popitem(last=False)
        return live

    def _deny(self, step: Step, call: ToolCall, decision: Decision) -> ToolMessage:
        reason = "" if isinstance(decision, Allow) else decision.reason
        self._finish(step, call, Outcome(Status.DENIED, reason))
        return ToolMessage(reason, name=call.name, tool_call_id=call.id, status="error")

    def _failed(self, step: Step, call: ToolCall, error: BaseException) -> None:
        # An interrupt is no outcome: the call runs again when the run is resumed.
        if not isinstance(error, GraphBubbleUp):
            self._finish(step, call, Outcome(Status.FAILED, str(error)))

    def _finish(self, step: Step, call: ToolCall, outcome: Outcome) -> None:
        with self._lock:
            step.finish(call.id, outcome)


def _is_prompted(messages: Sequence[AnyMessage]) -> bool:
    for message in reversed(messages):
        if isinstance(message, AIMessage):
            return False
        if isinstance(message, HumanMessage) and get_notification_metadata(message) is None:
            return True
    return False


def _message(notice: Notice) -> HumanMessage:
    told = {"plugin": notice.plugin, "summary": notice.summary}
    return add_notification_metadata(HumanMessage(notice.text), source="loop_guard", data=told)


_Made = tuple[str | None, list[dict[str, Any]], list[ToolMessage]]


def _made(messages: Sequence[AnyMessage], number: str | None = None) -> _Made:
    """The last message that made calls (or that made one of them): its id, the calls, and the answers that there are."""
    answers: list[ToolMessage] = []
    for message in reversed(messages):
        if isinstance(message, ToolMessage):
            answers.insert(0, message)
        if isinstance(message, AIMessage) and message.tool_calls:
            calls = [cast("dict[str, Any]", each) for each in message.tool_calls]
            if number is None or any(each["id"] == number for each in calls):
                return message.id, calls, answers
    return None, [], []


def _step(guard: Guard, agent: str | None, made: _Made) -> Step:
    """A step whose calls are about to be run, but for those that have an answer already: they were denied."""
    _, calls, answers = made
    # The calls of a structured response are answered as well, and are no tool calls.
    denials = [each for each in answers if each.status == "error" or get_notification_metadata(each) is not None]
    others = {each.tool_call_id for each in answers} - {each.tool_call_id for each in denials}
    step = Step(guard, [_tool_call(agent, each) for each in calls if each["id"] not in others])
    for denial in denials:
        step.finish(denial.tool_call_id, Outcome(Status.DENIED, _content(denial)))
    return step


def _tool_call(agent: str | None, call: dict[str, Any]) -> ToolCall:
    return ToolCall(agent=agent, id=call["id"] or "", name=call["name"], arguments=call["args"])


def _outcome(call: ToolCall, result: object) -> Outcome:
    """A tool may answer with a message, with a command that holds one, or with a list of both."""
    for each in result if isinstance(result, list) else [result]:
        update = each.update if isinstance(each, Command) else None
        within = update.get("messages", []) if isinstance(update, dict) else [each]
        for message in within:
            if isinstance(message, ToolMessage) and message.tool_call_id == call.id:
                status = Status.FAILED if message.status == "error" else Status.SUCCEEDED
                return Outcome(status, _content(message))
    return Outcome(Status.SUCCEEDED)


def _content(message: ToolMessage) -> str:
    """The text of a result; of one that is more than text (images, files), all of it in canonical form."""
    content = message.content
    if isinstance(content, str) or all(isinstance(each, str) or each.get("type") == "text" for each in content):
        return str(message.text)
    return json.dumps([_lasting(each) for each in content], sort_keys=True, default=str)


def _lasting(block: str | dict[str, Any]) -> object:
    """A content block without the id that LangChain makes up for it."""
    if isinstance(block, str) or not str(block.get("id", "")).startswith("lc_"):
        return block
    return {name: value for name, value in block.items() if name != "id"}


def _is_kept(config: RunnableConfig) -> bool:
    """Whether a checkpointer keeps the agent. A subagent within a tool is called anew each time."""
    configurable = config.get("configurable", {})
    kept = configurable.get(_CHECKPOINTER) is not None
    return kept and "|" not in configurable.get(_CHECKPOINT_NS, "")


def _refuse_awaitable(approved: Any) -> NoReturn:
    if inspect.iscoroutine(approved):
        approved.close()
    raise TypeError("approve: a coroutine function needs an agent that is run asynchronously (ainvoke, astream)")
