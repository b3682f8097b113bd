"""The LangChain adapter in the real framework, with a scripted model."""

from __future__ import annotations

import asyncio
import gc
import sys
import threading
import time
from collections.abc import Sequence
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import (
    AIMessage,
    BaseMessage,
    HumanMessage,
    ToolMessage,
    add_notification_metadata,
)
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command, interrupt
from pydantic import PrivateAttr
from support import GENTLE, built

from loop_guard import Allow, CallError, Component, Deny, Event, Guard, Limits, ToolCall
from loop_guard._steps import Step
from loop_guard.langchain import LoopGuardMiddleware, _content

EXCEEDED = "tool search exceeded its per-step limit of 1"
ONE_SEARCH = {"toolCallLimit": {"limits": {"search": 1}}}
ASKING = {"toolCallLimit": {"limits": {"search": 1}, "onExceeded": "ask"}}


class ScriptedModel(BaseChatModel):
    """Answers with the next message, and remembers what it was sent."""

    script: list[AIMessage]
    _requests: list[list[BaseMessage]] = PrivateAttr(default_factory=list)

    @property
    def requests(self) -> list[list[BaseMessage]]:
        return self._requests

    def bind_tools(self, *_: Any, **__: Any) -> ScriptedModel:
        return self

    def _generate(self, messages: list[BaseMessage], *_: Any, **__: Any) -> ChatResult:
        self._requests.append(list(messages))
        answer = self.script[len(self._requests) - 1].model_copy(update={"id": None})
        return ChatResult(generations=[ChatGeneration(message=answer)])

    @property
    def _llm_type(self) -> str:
        return "scripted"


def calls(*made: tuple[str, dict[str, Any]], step: int = 1) -> AIMessage:
    return AIMessage(
        "",
        tool_calls=[{"name": name, "args": args, "id": f"{step}.{index}"} for index, (name, args) in enumerate(made)],
    )


def searches(count: int, first: int = 1) -> list[AIMessage]:
    return [calls(("search", {"q": "wasm"}), step=step) for step in range(first, first + count)]


DONE = AIMessage("done")


@tool
def search(q: str) -> str:
    """Searches."""
    return f"results for {q}"


@tool
def read(path: str) -> str:
    """Reads."""
    return f"contents of {path}"


@tool
def fail(path: str) -> str:
    """Fails."""
    raise ValueError(path)


class Recording(Guard):
    """A guard that remembers in which order it was called."""

    def __init__(self, config: object = None) -> None:
        super().__init__(config)
        self.log: list[str] = []
        self.agents: list[str] = []

    def step(self, agent: str, turn: int, step: int, *, prompted: bool) -> None:
        self.agents.append(agent)
        self.log.append(f"step {turn}.{step}{' prompted' if prompted else ''}")
        super().step(agent, turn, step, prompted=prompted)

    def pre_execute(self, call: ToolCall) -> Any:
        self.log.append(f"pre {call.id}")
        return super().pre_execute(call)

    def post_execute(self, call: ToolCall, outcome: Any) -> Any:
        self.log.append(f"post {call.id} {outcome.status.value}")
        return super().post_execute(call, outcome)

    def noted(self, agent: str, event: Event) -> None:
        self.log.append(f"noted {event.value}")
        super().noted(agent, event)

    def turn_ended(self, agent: str, turn: int) -> None:
        self.log.append(f"turn {turn} ended")
        super().turn_ended(agent, turn)

    def agent_ended(self, agent: str) -> None:
        self.log.append("agent ended")
        super().agent_ended(agent)


class Run:
    """Runs an agent, sync or async."""

    def __init__(self, how: str) -> None:
        self.how = how

    def __call__(self, agent: Any, given: Any, config: Any = None) -> dict[str, Any]:
        given = {"messages": [HumanMessage(given)]} if isinstance(given, str) else given
        if self.how == "sync":
            result: dict[str, Any] = agent.invoke(given, config)
            return result
        return asyncio.run(agent.ainvoke(given, config))


@pytest.fixture(params=["sync", "async"])
def run(request: pytest.FixtureRequest) -> Run:
    """Runs an agent in both ways."""
    return Run(request.param)


def agent_of(model: ScriptedModel, guard: Guard, tools: Sequence[Any] = (search, read, fail), **more: Any) -> Any:
    middleware = LoopGuardMiddleware(guard, approve=more.pop("approve", None))
    return create_agent(model, tools=list(tools), middleware=[middleware], **more)


def kinds(messages: Sequence[BaseMessage]) -> list[str]:
    return [message.type for message in messages]


def results(messages: Sequence[BaseMessage]) -> dict[str, tuple[str, str]]:
    return {each.tool_call_id: (each.status, each.text) for each in messages if isinstance(each, ToolMessage)}


def test_the_third_equal_call_brings_a_notice_after_all_results_of_the_step(run: Run) -> None:
    script = [*searches(2), calls(("search", {"q": "wasm"}), ("read", {"path": "a"}), step=3), DONE]
    model = ScriptedModel(script=script)
    result = run(agent_of(model, Guard()), "find it")
    assert [kinds(request)[-2:] for request in model.requests[1:3]] == [["ai", "tool"], ["ai", "tool"]]
    last = model.requests[3]
    assert kinds(last)[-4:] == ["ai", "tool", "tool", "human"]
    assert last[-1].text == GENTLE
    assert last[-1].additional_kwargs == {
        "lc_source": "loop_guard",
        "lc_data": {"plugin": "repeat-tool-reminder", "summary": "search × 3"},
    }
    assert result["messages"][-2].text == GENTLE, "it stays in the history"
    assert "loop_guard" not in result


def test_notices_of_one_step_stand_in_the_order_of_the_calls(run: Run) -> None:
    guard = Guard({"repeatToolReminder": {"thresholds": [2]}})
    twice = [("read", {"path": "a"})] * 2 + [("search", {"q": "a"})] * 2
    model = ScriptedModel(script=[calls(*twice), DONE])
    run(agent_of(model, guard), "go")
    summaries = [message.additional_kwargs["lc_data"]["summary"] for message in model.requests[1][-2:]]
    assert summaries == ["read × 2", "search × 2"]


def test_of_two_parallel_calls_with_one_slot_the_first_passes(run: Run) -> None:
    script = [calls(("search", {"q": "a"}), ("search", {"q": "b"})), calls(("search", {"q": "c"}), step=2), DONE]
    result = run(agent_of(ScriptedModel(script=script), Guard(ONE_SEARCH)), "go")
    assert results(result["messages"]) == {
        "1.0": ("success", "results for a"),
        "1.1": ("error", EXCEEDED),
        "2.0": ("success", "results for c"),
    }


def test_a_denied_call_counts(run: Run) -> None:
    guard = Guard({"toolCallLimit": {"limits": {"search": 0}}})
    model = ScriptedModel(script=[*searches(3), DONE])
    run(agent_of(model, guard), "go")
    assert model.requests[3][-1].text == GENTLE
    assert results(model.requests[3])["3.0"] == ("error", "tool search exceeded its per-step limit of 0")


def test_calls_that_finish_out_of_order_are_told_in_the_order_of_the_model(run: Run) -> None:
    finished: list[str] = []
    others = threading.Semaphore(0)

    @tool
    def slow(name: str) -> str:
        """The first waits for the others."""
        if name == "first":
            assert all(others.acquire(timeout=10) for _ in range(2))
        finished.append(name)
        others.release()
        return name

    guard = Recording()
    made = [("slow", {"name": name}) for name in ("first", "middle", "last")]
    run(agent_of(ScriptedModel(script=[calls(*made), DONE]), guard, [slow]), "go")
    assert finished[-1] == "first"
    assert [line for line in guard.log if line.startswith("pre")] == ["pre 1.0", "pre 1.1", "pre 1.2"]
    posts = [line for line in guard.log if line.startswith("post")]
    assert posts == ["post 1.0 succeeded", "post 1.1 succeeded", "post 1.2 succeeded"]


def test_a_hundred_parallel_calls_keep_their_order_and_their_quota(run: Run) -> None:
    @tool
    def jump(number: int) -> str:
        """Takes a while."""
        time.sleep((number * 7 % 10) / 1000)
        return str(number)

    guard = Recording({"toolCallLimit": {"limits": {"jump": 40}}})
    made = [("jump", {"number": number}) for number in range(100)]
    result = run(agent_of(ScriptedModel(script=[calls(*made), DONE]), guard, [jump]), "go")
    statuses = [status for status, _ in results(result["messages"]).values()]
    assert statuses == ["success"] * 40 + ["error"] * 60
    assert [line.split()[1] for line in guard.log if line.startswith("post")] == [f"1.{n}" for n in range(100)]


def test_the_guard_is_told_what_happens(run: Run) -> None:
    guard = Recording(ONE_SEARCH)
    script = [calls(("search", {"q": "a"}), ("search", {"q": "b"})), calls(("read", {"path": "a"}), step=2), DONE]
    run(agent_of(ScriptedModel(script=script), guard), "go")
    assert sorted(guard.log[1:5]) == ["post 1.0 succeeded", "post 1.1 denied", "pre 1.0", "pre 1.1"]
    del guard.log[1:5]
    assert guard.log == [
        "step 1.1 prompted",
        "step 1.2",
        "pre 2.0",
        "post 2.0 succeeded",
        "step 1.3",
        "turn 1 ended",
        "agent ended",
    ]


def test_a_tool_that_raises_is_a_failure_and_raises_on(run: Run) -> None:
    guard = Recording()
    with pytest.raises(ValueError, match="a"):
        run(agent_of(ScriptedModel(script=[calls(("fail", {"path": "a"})), DONE]), guard), "go")
    assert guard.log == ["step 1.1 prompted", "pre 1.0", "post 1.0 failed"]


def test_arguments_that_do_not_fit_and_tools_that_do_not_exist_are_failures(run: Run) -> None:
    guard = Recording()
    model = ScriptedModel(script=[calls(("read", {"file": "a"}), ("none", {})), DONE])
    run(agent_of(model, guard), "go")
    assert [line for line in guard.log if line.startswith("post")] == ["post 1.0 failed", "post 1.1 failed"]


def test_a_command_tells_the_status_of_its_message(run: Run) -> None:
    @tool
    def update(path: str) -> Command[Any]:
        """Answers with a command."""
        return Command(update={"messages": [ToolMessage(path, tool_call_id="1.0", status="error")]})

    guard = Recording()
    run(agent_of(ScriptedModel(script=[calls(("update", {"path": "a"})), DONE]), guard, [update]), "go")
    assert "post 1.0 failed" in guard.log


def test_a_persons_new_prompt_ends_the_chain_and_a_notice_does_not(run: Run) -> None:
    guard = Recording({"repeatToolReminder": {"thresholds": [2, 3, 4]}})
    model = ScriptedModel(script=[*searches(4), DONE, *searches(1, first=5), DONE])
    agent = agent_of(model, guard, checkpointer=InMemorySaver())
    thread = {"configurable": {"thread_id": "1"}}
    run(agent, "go", thread)
    # Each notice after the first says that the chain went on through the one before.
    notices = [message for message in model.requests[4] if message.additional_kwargs]
    assert [each.additional_kwargs["lc_data"]["summary"] for each in notices] == [
        "search × 2",
        "search × 3",
        "search × 4",
    ]
    (name,) = set(guard.agents)
    assert guard.count(name) == 4, "the thread's agent lives on"
    run(agent, "again", thread)
    assert set(guard.agents) == {name}
    assert guard.count(name) == 1
    assert [line for line in guard.log if "prompted" in line] == ["step 1.1 prompted", "step 2.1 prompted"]


def test_a_message_of_the_harness_is_no_prompt(run: Run) -> None:
    guard = Recording()
    injected = add_notification_metadata(HumanMessage("a task has finished"), source="tasks")
    run(agent_of(ScriptedModel(script=[DONE]), guard), {"messages": [injected]})
    assert guard.log[0] == "step 1.1"


def test_an_agent_ends_with_its_run_where_nothing_keeps_it(run: Run) -> None:
    guard = Recording()
    agent = agent_of(ScriptedModel(script=[*searches(2), DONE, *searches(2, first=3), DONE]), guard)
    run(agent, "go")
    assert guard.count(guard.agents[0]) == 0
    run(agent, "go")
    assert len(set(guard.agents)) == 2
    assert guard.log.count("agent ended") == 2


def test_two_agents_that_share_a_middleware_have_counts_of_their_own(run: Run) -> None:
    guard = Recording()
    middleware = LoopGuardMiddleware(guard)
    models = [ScriptedModel(script=[*searches(2), DONE]) for _ in range(2)]
    for model in models:
        run(create_agent(model, tools=[search], middleware=[middleware]), "go")
    assert len(set(guard.agents)) == 2
    assert not any(message.additional_kwargs for model in models for request in model.requests for message in request)


def test_a_subagent_within_a_tool_is_an_agent_of_its_own(run: Run) -> None:
    guard = Recording(ONE_SEARCH)
    middleware = LoopGuardMiddleware(guard)
    inner_model = ScriptedModel(script=[*searches(2), DONE])
    inner = create_agent(inner_model, tools=[search], middleware=[middleware])

    @tool
    def delegate(task: str) -> str:
        """Has a subagent do it."""
        text: str = inner.invoke({"messages": [HumanMessage(task)]})["messages"][-1].text
        return text

    outer_model = ScriptedModel(
        script=[calls(("search", {"q": "wasm"}), ("delegate", {"task": "go"})), *searches(1, 9), DONE]
    )
    outer = create_agent(outer_model, tools=[search, delegate], middleware=[middleware], checkpointer=InMemorySaver())
    result = run(outer, "go", {"configurable": {"thread_id": "1"}})
    assert len(set(guard.agents)) == 2
    assert guard.log.count("agent ended") == 1, "the subagent ended, and the thread's agent did not"
    assert all(status == "success" for status, _ in results(result["messages"]).values())
    assert guard.count(guard.agents[0]) == 1, "search, delegate, search"


def test_ask_is_to_deny_where_nobody_can_be_asked(run: Run) -> None:
    script = [calls(("search", {"q": "a"}), ("search", {"q": "b"})), DONE]
    result = run(agent_of(ScriptedModel(script=script), Guard(ASKING)), "go")
    assert results(result["messages"])["1.1"] == ("error", EXCEEDED)


@pytest.mark.parametrize("answer", [True, False])
def test_a_person_may_approve(run: Run, answer: bool) -> None:
    asked = []

    def approve(call: ToolCall, reason: str) -> bool:
        asked.append((call.name, call.arguments, reason))
        return answer

    script = [calls(("search", {"q": "a"}), ("search", {"q": "b"})), DONE]
    result = run(agent_of(ScriptedModel(script=script), Guard(ASKING), approve=approve), "go")
    assert asked == [("search", {"q": "b"}, EXCEEDED)]
    assert results(result["messages"])["1.1"] == (("success", "results for b") if answer else ("error", EXCEEDED))


def test_an_approval_can_begin_a_chain_anew(run: Run) -> None:
    asked = []

    def approve(call: ToolCall, reason: str) -> bool:
        asked.append((call.id, reason))
        return True

    config = {"repeatToolReminder": {"thresholds": [9], "askAt": 3, "resetOn": ["prompt", "approval"]}}
    script = [*[calls(("search", {"q": "a"})) for _ in range(6)], DONE]
    run(agent_of(ScriptedModel(script=script), Guard(config), approve=approve), "go")
    reason = "tool search repeated 3 times with identical arguments"
    assert [why for _, why in asked] == [reason, reason]


def test_a_coroutine_function_may_approve_where_it_can_be_awaited() -> None:
    async def approve(*_: object) -> bool:
        await asyncio.sleep(0)
        return True

    script = [calls(("search", {"q": "a"}), ("search", {"q": "b"})), DONE]
    agent = agent_of(ScriptedModel(script=script), Guard(ASKING), approve=approve)
    result = asyncio.run(agent.ainvoke({"messages": [HumanMessage("go")]}))
    assert results(result["messages"])["1.1"] == ("success", "results for b")
    agent = agent_of(ScriptedModel(script=script), Guard(ASKING), approve=approve)
    with pytest.raises(TypeError, match="approve: a coroutine function needs an agent that is run asynchronously"):
        agent.invoke({"messages": [HumanMessage("go")]})


@pytest.mark.parametrize("another_process", [False, True])
def test_a_run_is_interrupted_to_ask_and_resumed(run: Run, another_process: bool) -> None:
    guard = Recording(ASKING)
    script = [calls(("search", {"q": "a"}), ("search", {"q": "b"})), DONE]
    saver = InMemorySaver()
    model = ScriptedModel(script=script)
    thread = {"configurable": {"thread_id": "1"}}

    def approve(_: ToolCall, reason: str) -> bool:
        return bool(interrupt(reason))

    agent = agent_of(model, guard, checkpointer=saver, approve=approve)
    if sys.version_info < (3, 11) and run.how == "async":
        # There asyncio gives a task no context, and LangGraph cannot tell what to interrupt.
        with pytest.raises(RuntimeError, match="outside of a runnable context"):
            run(agent, "go", thread)
        return
    interrupted = run(agent, "go", thread)
    assert [each.value for each in interrupted["__interrupt__"]] == [EXCEEDED]
    if another_process:
        guard = Recording(ASKING)
        agent = agent_of(model, guard, checkpointer=saver, approve=approve)
    result = run(agent, Command(resume=True), thread)
    assert results(result["messages"]) == {"1.0": ("success", "results for a"), "1.1": ("success", "results for b")}
    first = guard.log[: guard.log.index("turn 1 ended")]
    if another_process:
        # What ran in the other process is not told again, but its slot is taken.
        assert first == ["step 1.1", "pre 1.0", "pre 1.1", "noted approved", "post 1.1 succeeded", "step 1.2"]
    else:
        assert sorted(first[1:4]) == ["post 1.0 succeeded", "pre 1.0", "pre 1.1"]
        assert first[4:] == ["noted approved", "post 1.1 succeeded", "step 1.2"]
        assert first[0] == "step 1.1 prompted"


def test_a_call_that_is_tried_again_counts_once(run: Run) -> None:
    from langchain.agents.middleware import ToolRetryMiddleware

    guard = Recording()
    retry = ToolRetryMiddleware(max_retries=2, initial_delay=0, on_failure="continue")
    model = ScriptedModel(script=[calls(("fail", {"path": "a"})), DONE])
    middleware: list[Any] = [LoopGuardMiddleware(guard), retry]
    run(create_agent(model, tools=[fail], middleware=middleware), "go")
    assert [line for line in guard.log if line.startswith("p")] == ["pre 1.0", "post 1.0 failed"]


def test_a_tool_that_answers_for_the_agent_is_told_at_the_end(run: Run) -> None:
    @tool(return_direct=True)
    def final(text: str) -> str:
        """Ends the run."""
        return text

    guard = Recording()
    result = run(agent_of(ScriptedModel(script=[calls(("final", {"text": "a"}))]), guard, [final]), "go")
    assert result["messages"][-1].text == "a"
    assert guard.log[-3:] == ["post 1.0 succeeded", "turn 1 ended", "agent ended"]


def test_a_fault_of_the_guard_breaks_no_agent_and_lets_no_limited_call_through(
    run: Run, caplog: pytest.LogCaptureFixture
) -> None:
    @tool
    def spin(path: str) -> str:
        """A tool that the stub never answers for, and says of that it is unlimited."""
        return path

    @tool
    def trap(path: str) -> str:
        """A tool that the stub traps for, and says of that it is limited."""
        raise AssertionError(path)

    guard = Component.from_file(built("stub.wasm")).guard(limits=Limits(time=0.1))
    script = [calls(("spin", {"path": "a"}), ("trap", {"path": "a"})), DONE]
    result = run(agent_of(ScriptedModel(script=script), guard, [spin, trap]), "go")
    trapped = "the component trapped: wasm trap: wasm `unreachable` instruction executed"
    assert results(result["messages"]) == {
        "1.0": ("success", "a"),
        "1.1": ("error", f"the limit of tool trap could not be checked: {trapped}"),
    }
    assert {record.message for record in caplog.records} == {
        "pre-execute: the component did not answer within 100ms",
        "post-execute: the component did not answer within 100ms",
        f"pre-execute: {trapped}",
        f"post-execute: {trapped}",
    }


def test_a_cancelled_run_leaves_failures() -> None:
    guard = Recording()
    runs = asyncio.Event()

    @tool
    async def wait(path: str) -> str:
        """Waits for ever."""
        runs.set()
        await asyncio.Event().wait()
        return path

    async def cancel() -> None:
        agent = agent_of(ScriptedModel(script=[calls(("wait", {"path": "a"})), DONE]), guard, [wait])
        running = asyncio.create_task(agent.ainvoke({"messages": [HumanMessage("go")]}))
        await runs.wait()
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running

    asyncio.run(cancel())
    assert guard.log == ["step 1.1 prompted", "pre 1.0", "post 1.0 failed"]


def ask_first(names: Sequence[str]) -> Any:
    from langchain.agents.middleware import HumanInTheLoopMiddleware

    return HumanInTheLoopMiddleware(interrupt_on=dict.fromkeys(names, True))


@pytest.mark.parametrize("decision", ["reject", "respond"])
def test_a_call_that_a_person_denies_counts(run: Run, decision: str) -> None:
    if sys.version_info < (3, 11) and run.how == "async":
        pytest.skip("LangGraph cannot tell what to interrupt")
    guard = Recording()
    made = [("search", {"q": "a"}), ("read", {"path": "a"})]
    model = ScriptedModel(script=[calls(*made), calls(made[0], step=2), DONE])
    middleware = [LoopGuardMiddleware(guard), ask_first(["search"])]
    agent = create_agent(model, tools=[search, read], middleware=middleware, checkpointer=InMemorySaver())
    thread = {"configurable": {"thread_id": "1"}}
    run(agent, "go", thread)
    refusal: Command[Any] = Command(resume={"decisions": [{"type": decision, "message": "no"}]})
    run(agent, refusal, thread)
    run(agent, refusal, thread)
    posts = [line for line in guard.log if line.startswith("p")]
    assert posts == ["post 1.0 denied", "pre 1.1", "post 1.1 succeeded", "post 2.0 denied"]


@pytest.mark.parametrize("then", ["continue", "end"])
def test_a_call_that_another_limit_denies_counts(run: Run, then: Any) -> None:
    from langchain.agents.middleware import ToolCallLimitMiddleware

    guard = Recording()
    limit: Any = ToolCallLimitMiddleware(tool_name="search", run_limit=1, exit_behavior=then)
    model = ScriptedModel(script=[*searches(3), DONE])
    run(create_agent(model, tools=[search], middleware=[LoopGuardMiddleware(guard), limit]), "go")
    posts = [line for line in guard.log if line.startswith("post")]
    denied = ["post 2.0 denied", "post 3.0 denied"]
    assert posts == ["post 1.0 succeeded", *(denied if then == "continue" else denied[:1])]


def test_the_call_of_a_structured_response_is_no_tool_call(run: Run) -> None:
    from pydantic import BaseModel

    class Answer(BaseModel):
        text: str

    guard = Recording()
    model = ScriptedModel(script=[calls(("search", {"q": "a"})), calls(("Answer", {"text": "a"}), step=2)])
    assert run(agent_of(model, guard, response_format=Answer), "go")["structured_response"].text == "a"
    assert [line for line in guard.log if line.startswith("post")] == ["post 1.0 succeeded"]


def test_calls_that_share_an_id_are_denied_and_count(run: Run) -> None:
    guard = Recording(ONE_SEARCH)
    twice = calls(("search", {"q": "a"}), ("search", {"q": "b"}))
    for each in twice.tool_calls:
        each["id"] = "same"
    result = run(agent_of(ScriptedModel(script=[twice, DONE]), guard), "go")
    refused = ("error", "the step has several calls with the id 'same'")
    assert [(each.status, each.text) for each in result["messages"] if each.type == "tool"] == [refused] * 2
    assert [line for line in guard.log if line.startswith("p")] == ["post same denied"] * 2


def test_an_approval_is_told_right_before_the_outcome_of_its_call(run: Run) -> None:
    guard = Recording(ASKING)
    script = [calls(("search", {"q": "a"}), ("search", {"q": "b"})), DONE]
    run(agent_of(ScriptedModel(script=script), guard, approve=lambda *_: True), "go")
    assert guard.log.count("noted approved") == 1
    assert guard.log.index("noted approved") == guard.log.index("post 1.1 succeeded") - 1


def test_an_agent_with_a_thread_and_no_checkpointer_ends_with_its_run(run: Run) -> None:
    guard = Recording()
    run(agent_of(ScriptedModel(script=[*searches(1), DONE]), guard), "go", {"configurable": {"thread_id": "1"}})
    assert guard.log[-1] == "agent ended"
    assert guard.stats() == []


def test_an_agent_whose_run_broke_ends_before_the_next_step(run: Run) -> None:
    guard = Recording()
    middleware = LoopGuardMiddleware(guard)
    broken = create_agent(ScriptedModel(script=[calls(("fail", {"path": "a"}))]), tools=[fail], middleware=[middleware])
    with pytest.raises(ValueError, match="a"):
        run(broken, "go")
    gc.collect()
    run(create_agent(ScriptedModel(script=[DONE]), tools=[search], middleware=[middleware]), "go")
    assert guard.log.count("agent ended") == 2
    assert guard.stats() == []
    assert not middleware._agents


def test_a_thread_whose_run_broke_lives_on(run: Run) -> None:
    guard = Recording()
    script = [calls(("fail", {"path": "a"})), DONE]
    agent = agent_of(ScriptedModel(script=script), guard, checkpointer=InMemorySaver())
    thread = {"configurable": {"thread_id": "1"}}
    with pytest.raises(ValueError, match="a"):
        run(agent, "go", thread)
    gc.collect()
    run(agent, "again", thread)
    assert "agent ended" not in guard.log
    assert len(set(guard.agents)) == 1


def test_a_message_that_a_tool_adds_is_no_prompt(run: Run) -> None:
    @tool
    def add(text: str) -> Command[Any]:
        """Adds a message."""
        return Command(update={"messages": [ToolMessage("done", tool_call_id="1.0"), HumanMessage(text)]})

    guard = Recording()
    run(agent_of(ScriptedModel(script=[calls(("add", {"text": "a"})), DONE]), guard, [add]), "go")
    assert [line for line in guard.log if line.startswith("step")] == ["step 1.1 prompted", "step 1.2"]


def test_results_are_compared_with_all_that_they_hold(run: Run) -> None:
    pictures = iter("abb")

    @tool
    def look(path: str) -> list[Any]:
        """Answers with a picture."""
        return [{"type": "text", "text": path}, {"type": "image", "url": next(pictures)}]

    guard = Guard({"repeatToolReminder": {"thresholds": [2], "results": "compare"}})
    model = ScriptedModel(script=[*(calls(("look", {"path": "x"}), step=step) for step in range(3)), DONE])
    run(agent_of(model, guard, [look]), "go")
    assert [kinds(request)[-1] for request in model.requests] == ["human", "tool", "tool", "human"]


def test_the_id_that_langchain_makes_up_for_a_block_is_left_out() -> None:
    from langchain_core.messages.content import create_image_block

    first, second = (ToolMessage([dict(create_image_block(url="a"))], tool_call_id="1") for _ in range(2))
    assert _content(first) == _content(second)


def test_the_counts_of_a_run_are_shown_and_survive(run: Run) -> None:
    seen: list[Any] = []

    @tool
    def look(path: str) -> str:
        """Looks at the guard while the run goes on."""
        other = Guard()
        other.restore(guard.snapshot())
        seen.append((guard.stats(), other.stats()))
        return path

    guard = Guard()
    model = ScriptedModel(script=[*searches(3), calls(("look", {"path": "a"}), step=4), DONE])
    run(agent_of(model, guard, [search, look]), "go")
    ((stats, restored),) = seen
    assert [(each.calls, each.notices, each.longest, each.summary) for each in stats] == [(3, 1, 3, "search × 3")]
    assert restored == stats


def test_a_forked_child_has_a_lock_of_its_own() -> None:
    middleware = LoopGuardMiddleware()
    lock = middleware._lock
    middleware._live("a")
    middleware._after_fork()
    assert middleware._lock is not lock
    assert "a" in middleware._agents
    with middleware._lock:
        middleware._after_fork()
    assert not middleware._agents, "a thread may have been changing it"


@pytest.mark.parametrize(
    ("config", "tool_name", "limited"),
    [
        ({}, "search", False),
        (ONE_SEARCH, "search", True),
        (ONE_SEARCH, "read", False),
        ({"toolCallLimit": {"turnLimits": {"search": 1}}}, "search", True),
        ({"toolCallLimit": {"agentLimits": {"search": 1}}}, "search", True),
        ({"toolCallLimit": {"totals": {"turn": 9}}}, "read", True),
        ({"toolCallLimit": {"totals": {"turn": 9}, "enabled": False}}, "read", False),
        ({"toolCallLimit": {"totals": {"turn": 9}}, "observe": True}, "read", False),
    ],
)
def test_a_call_that_any_quota_limits_does_not_run_unchecked(config: Any, tool_name: str, limited: bool) -> None:
    class Faulty(Guard):
        def pre_execute(self, call: ToolCall) -> Any:
            raise CallError("pre-execute", call.name)

    call = ToolCall("main", "1", tool_name, "{}")
    expected = Deny(f"the limit of tool {tool_name} could not be checked: {tool_name}") if limited else Allow()
    assert Step(Faulty(config), [call]).decide(call) == expected
