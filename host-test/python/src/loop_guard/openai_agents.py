"""The OpenAI Agents SDK: guards the function tools of its agents.

    agent = Agent(name="researcher", tools=guarded([search]))
    run = GuardedRun(Guard({"toolCallLimit": {"limits": {"search": 1}}}))
    result = await Runner.run(agent, "…", hooks=run, run_config=run.config())

How the SDK's notions meet the guard's:

- A :class:`GuardedRun` is for one run. Each ``Agent`` in it is an agent of its own: those that hand off to each other, and,
  for each call, those that run as tools (``agent.as_tool``, which must be guarded as well).
- A step is a model request, and begins in ``call_model_input_filter``. It is prompted if a user message comes after what the
  model said last. The prompts of an agent that runs as a tool are the work of a model.
- A tool's guardrails deny it and see its result. The calls of one response run in parallel; they are told to the guard in the
  order in which the model wrote them. (Only where an agent runs as a tool, and a tool of its has a ``needs_approval`` that
  waits, is it the order in which they are dispatched.)
- Guardrails cannot append a message. Notices enter through the filter, after all results of their step, and again in each later
  request of the run. They are not in the run's result, nor in a session; what the server keeps (``conversation_id``) has them.
- Calls of one response that share one id cannot be told apart, and are denied.
- A time-out counts as a failure. So does what a tool raises, unless the tool has a ``failure_error_function`` of its own: then
  nobody tells.
"""

from __future__ import annotations

import copy
import dataclasses
import inspect
import uuid
from collections.abc import Awaitable, Callable, Iterable, Sequence
from contextvars import ContextVar
from typing import Any, TypeVar, cast

from agents import (
    Agent,
    FunctionTool,
    Handoff,
    ModelResponse,
    RunConfig,
    RunContextWrapper,
    RunHooks,
    Tool,
    ToolGuardrailFunctionOutput,
    ToolInputGuardrail,
    ToolInputGuardrailData,
    ToolOutputGuardrail,
    ToolOutputGuardrailData,
    ToolTimeoutError,
    Usage,
)
from agents.items import TResponseInputItem
from agents.run_config import CallModelData, ModelInputData, ToolErrorFormatterArgs
from agents.tool import ToolErrorFunction, default_tool_timeout_error_message
from agents.tool_context import ToolContext
from openai.types.responses import ResponseFunctionToolCall

from ._guard import Guard
from ._steps import Step, attempt
from ._types import Allow, Ask, Notice, Outcome, Status, ToolCall

Approve = Callable[[ToolCall, str], "bool | Awaitable[bool]"]
"""Asks a person whether a call may run, for a reason."""

_Tool = TypeVar("_Tool", bound=Tool)

_WITHIN: ContextVar[tuple[str, ...]] = ContextVar("loop_guard_within", default=())
"""The calls within which the code at hand runs, outermost first: they tell the runs of one agent that is a tool apart."""


def guarded(tools: Iterable[_Tool]) -> list[_Tool]:
    """The tools, of which each function tool asks the guard of its run. Hosted tools run elsewhere, and are left as they are.

    For the tools of an MCP server there are :data:`INPUT_GUARDRAIL` and :data:`OUTPUT_GUARDRAIL`.
    """
    return [_guarded(tool) for tool in tools]


class GuardedRun(RunHooks[Any]):
    """One run: pass it as ``hooks``, and its :meth:`config` as ``run_config``. To resume the run, pass it again."""

    def __init__(self, guard: Guard, *, approve: Approve | None = None) -> None:
        """Makes a run.

        :param guard: the guard, which runs may share.
        :param approve: asked where the guard asks; without it, to ask is to deny.
        """
        self._guard = guard
        self._approve = approve
        self._name = uuid.uuid4().hex
        self._agents: dict[tuple[tuple[str, ...], int], _Live] = {}
        self._failed: set[str] = set()
        self._base: RunConfig | None = None
        self._usage: Usage | None = None

    def config(self, base: RunConfig | None = None) -> RunConfig:
        """The configuration of the run. A filter and an error formatter of the base are applied as well.

        Asked for again, it is the same, and needs no base.

        :raises RuntimeError: if it was asked for before, with another base.
        """
        if self._base is None:
            self._base = base or RunConfig()
        elif base is not None and base != self._base:
            raise RuntimeError("this run has a configuration with another base: make a GuardedRun for each run")
        return dataclasses.replace(self._base, call_model_input_filter=self, tool_error_formatter=self._tool_error)

    async def __call__(self, data: CallModelData[Any]) -> ModelInputData:
        """Begins a step, and lets notices enter. For ``call_model_input_filter``."""
        live = self._live(data.agent)
        items = data.model_data.input
        live.close(items)
        live.begin(prompted=not _WITHIN.get() and _is_prompted(items))
        model_data = ModelInputData(live.told(items), data.model_data.instructions)
        base = self._base.call_model_input_filter if self._base is not None else None
        if base is None:
            return model_data
        filtered = base(dataclasses.replace(data, model_data=model_data))
        return await filtered if inspect.isawaitable(filtered) else filtered

    async def on_agent_start(self, context: Any, agent: Agent[Any]) -> None:  # noqa: ARG002
        """A run begins, or goes on with another agent."""
        if _WITHIN.get():
            return
        # Each run has an object of its own for its usage; a run that is resumed may have a copy of it.
        if self._usage is not None and self._usage is not context.usage and context.usage.requests == 0:
            raise RuntimeError(
                "this GuardedRun belongs to a run that has not ended, or that broke: make one for each run"
            )
        self._usage = context.usage

    async def on_llm_end(self, context: RunContextWrapper[Any], agent: Agent[Any], response: ModelResponse) -> None:  # noqa: ARG002
        """The model has made its calls."""
        live = self._live(agent)
        others = {_handoff_name(handoff) for handoff in agent.handoffs}
        others |= {tool.name for tool in agent.tools if not _is_guarded(tool)}
        made = [item for item in response.output if isinstance(item, ResponseFunctionToolCall)]
        calls = [ToolCall(live.agent, call.call_id, call.name, call.arguments) for call in made]
        live.step = Step(self._guard, [call for call in calls if call.name not in others])
        live.made = {number for item in response.output if (number := _call_id(item)) is not None}

    async def on_agent_end(self, context: Any, agent: Agent[Any], output: Any) -> None:  # noqa: ARG002
        """The run ends, and with it all its agents."""
        within = _WITHIN.get()
        self._end(within)
        if not within:
            self._usage = None

    async def before(self, data: ToolInputGuardrailData) -> ToolGuardrailFunctionOutput:
        """Whether a call may run. For the guardrail of a tool."""
        live = self._live(data.agent)
        if live.is_without_hooks() and not _WITHIN.get():
            raise RuntimeError(
                "the run has the configuration of a GuardedRun, but not its hooks: pass hooks=run as well"
            )
        call = ToolCall(live.agent, data.context.tool_call_id, data.context.tool_name, data.context.tool_arguments)
        decision = live.dispatched().decide(call)
        if isinstance(decision, Ask) and self._approve is not None:
            approved = self._approve(call, decision.reason)
            if await approved if inspect.isawaitable(approved) else approved:
                decision = live.dispatched().approve(call)
        if isinstance(decision, Allow):
            _WITHIN.set((*_WITHIN.get(), call.id))
            return ToolGuardrailFunctionOutput.allow()
        live.dispatched().finish(call.id, Outcome(Status.DENIED, decision.reason))
        return ToolGuardrailFunctionOutput.reject_content(decision.reason)

    def after(self, data: ToolOutputGuardrailData) -> None:
        """A call has a result. For the guardrail of a tool."""
        number = data.context.tool_call_id
        within = _WITHIN.get()
        outside = within[:-1] if within[-1:] == (number,) else within
        self._end((*outside, number))
        status = Status.FAILED if number in self._failed else Status.SUCCEEDED
        self._failed.discard(number)
        self._live(data.agent, outside).dispatched().finish(number, Outcome(status, str(data.output)))

    def failed(self, number: str) -> None:
        """A call failed, though it will have a result."""
        self._failed.add(number)

    def _tool_error(self, error: ToolErrorFormatterArgs[Any]) -> Any:
        if error.kind == "tool_exception":
            self.failed(error.call_id)
        formatter = self._base.tool_error_formatter if self._base is not None else None
        return formatter(error) if formatter is not None else None

    def _live(self, agent: Agent[Any], within: tuple[str, ...] | None = None) -> _Live:
        within = _WITHIN.get() if within is None else within
        key = (within, id(agent))
        if key not in self._agents:
            number = len(self._agents) + 1
            name = "/".join((self._name, *within, f"{agent.name} {number}"))
            self._agents[key] = _Live(self._guard, name, agent)
        return self._agents[key]

    def _end(self, within: tuple[str, ...]) -> None:
        for key in [key for key in self._agents if key[0][: len(within)] == within]:
            self._agents.pop(key).end()


class _Live:
    """An agent at work."""

    def __init__(self, guard: Guard, name: str, agent: Agent[Any]) -> None:
        self.agent = name
        self.step: Step | None = None
        self.made: set[str] = set()
        """The ids of all calls of the step's response, guarded or not."""
        # Kept, so that its id remains its own.
        self._object = agent
        self._guard = guard
        self._number = 0
        self._told: list[tuple[set[str], list[Notice]]] = []

    def begin(self, *, prompted: bool) -> None:
        self._number += 1
        attempt(lambda: self._guard.step(self.agent, 1, self._number, prompted=prompted), None)

    def is_without_hooks(self) -> bool:
        """Whether a step has begun, and nobody has told what the model made of it."""
        return self._number > 0 and self.step is None

    def dispatched(self) -> Step:
        """The step of a call that is dispatched."""
        if self._number == 0:
            # The run is resumed, and its step was begun by another GuardedRun.
            self.begin(prompted=False)
        if self.step is None:
            self.step = Step(self._guard)
        return self.step

    def close(self, items: Sequence[TResponseInputItem]) -> None:
        step, self.step = self.step, None
        made, self.made = self.made, set()
        if step is None:
            return
        results = {item["call_id"]: item for item in _results(items)}
        for number in step.unfinished():
            # No guardrail saw a result, and yet there is one: a person, or another guardrail, denied the call.
            if number in results:
                step.finish(number, Outcome(Status.DENIED, str(results[number].get("output"))))
        step.close()
        if step.notices:
            self._told.append((made | step.numbers(), step.notices))

    def told(self, items: Sequence[TResponseInputItem]) -> list[TResponseInputItem]:
        """The model's input with all notices so far, each after the results of its step."""
        told = list(items)
        for numbers, notices in self._told:
            places = [place for place, item in enumerate(told) if _is_output(item) and _call_id(item) in numbers]
            if numbers <= {_call_id(told[place]) for place in places}:
                told[places[-1] + 1 : places[-1] + 1] = [{"role": "user", "content": each.text} for each in notices]
        return told

    def end(self) -> None:
        if self.step is not None:
            self.step.close()
        attempt(lambda: self._guard.turn_ended(self.agent, 1), None)
        attempt(lambda: self._guard.agent_ended(self.agent), None)


def _guarded(tool: _Tool) -> _Tool:
    if not isinstance(tool, FunctionTool) or _is_guarded(tool):
        return tool
    tool = copy.copy(tool)
    if tool.timeout_seconds is not None:
        tool.timeout_error_function = _timed_out(tool.timeout_error_function)
    tool.tool_input_guardrails = [INPUT_GUARDRAIL, *(tool.tool_input_guardrails or [])]
    tool.tool_output_guardrails = [OUTPUT_GUARDRAIL, *(tool.tool_output_guardrails or [])]
    return tool


def _timed_out(tell: ToolErrorFunction | None) -> ToolErrorFunction:
    """What a tool answers that has timed out, of which its run is told."""

    def timed_out(context: RunContextWrapper[Any], error: Exception) -> Any:
        assert isinstance(context, ToolContext)
        _run(context).failed(context.tool_call_id)
        if tell is not None:
            return tell(context, error)
        assert isinstance(error, ToolTimeoutError)
        return default_tool_timeout_error_message(tool_name=error.tool_name, timeout_seconds=error.timeout_seconds)

    return timed_out


def _is_guarded(tool: Tool) -> bool:
    return isinstance(tool, FunctionTool) and INPUT_GUARDRAIL in (tool.tool_input_guardrails or [])


def _run(context: ToolContext[Any]) -> GuardedRun:
    run = context.run_config.call_model_input_filter if context.run_config is not None else None
    if not isinstance(run, GuardedRun):
        raise RuntimeError(
            f"the tool {context.tool_name} is guarded, but its run is not: pass hooks=run and run_config=run.config()"
        )
    return run


async def _before(data: ToolInputGuardrailData) -> ToolGuardrailFunctionOutput:
    return await _run(data.context).before(data)


async def _after(data: ToolOutputGuardrailData) -> ToolGuardrailFunctionOutput:
    _run(data.context).after(data)
    return ToolGuardrailFunctionOutput.allow()


INPUT_GUARDRAIL: ToolInputGuardrail[Any] = ToolInputGuardrail(_before, name="loop_guard")
"""Asks the guard of its run whether a call may run. It comes first in the list."""
OUTPUT_GUARDRAIL: ToolOutputGuardrail[Any] = ToolOutputGuardrail(_after, name="loop_guard")
"""Tells the guard of its run how a call ended. It comes first in the list, and changes nothing."""


def _handoff_name(handoff: Agent[Any] | Handoff[Any, Any]) -> str:
    return handoff.tool_name if isinstance(handoff, Handoff) else Handoff.default_tool_name(handoff)


def _is_prompted(items: Sequence[TResponseInputItem]) -> bool:
    for item in reversed(items):
        role = item.get("role")
        if role == "user":
            return True
        if role not in ("system", "developer"):
            return False
    return False


def _results(items: Sequence[TResponseInputItem]) -> list[dict[str, Any]]:
    return [cast("dict[str, Any]", item) for item in items if _is_result(item)]


def _is_output(item: TResponseInputItem) -> bool:
    """Whether an item is what any call gave, be it a tool's, a handoff's, or a shell's."""
    return str(item.get("type")).endswith("_output")


def _call_id(item: object) -> str | None:
    return item.get("call_id") if isinstance(item, dict) else getattr(item, "call_id", None)


def _is_result(item: TResponseInputItem) -> bool:
    return item.get("type") == "function_call_output"
