"""The adapter of the OpenAI Agents SDK in the real framework, with a scripted model."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from agents import (
    Agent,
    FunctionTool,
    RunConfig,
    RunContextWrapper,
    Runner,
    ToolGuardrailFunctionOutput,
    ToolInputGuardrailData,
    function_tool,
    set_tracing_disabled,
    tool_input_guardrail,
)
from agents.exceptions import UserError
from agents.run_config import CallModelData, ModelInputData, ToolErrorFormatterArgs
from agents.testing import ScriptedModel, assistant_message, function_call
from support import GENTLE, built
from test_langchain import ASKING, EXCEEDED, ONE_SEARCH, Recording

from loop_guard import Component, Deny, Guard, Limits, Outcome, Status, ToolCall
from loop_guard._steps import Step
from loop_guard.openai_agents import GuardedRun, guarded

set_tracing_disabled(True)

Go = Callable[..., Any]


def calls(*made: tuple[str, dict[str, Any]], step: int = 1) -> list[Any]:
    return [function_call(name, args, call_id=f"{step}.{index}") for index, (name, args) in enumerate(made)]


def searches(count: int, first: int = 1) -> list[list[Any]]:
    return [calls(("search", {"q": "wasm"}), step=step) for step in range(first, first + count)]


DONE = [assistant_message("done")]


@function_tool
def search(q: str) -> str:
    """Searches."""
    return f"results for {q}"


@function_tool
def read(path: str) -> str:
    """Reads."""
    return f"contents of {path}"


@function_tool
def fail(path: str) -> str:
    """Fails."""
    raise ValueError(path)


def run_sync(agent: Agent[Any], given: Any, **how: Any) -> Any:
    """The SDK leaves the thread's event loop open, for runs to come."""
    loop = asyncio.new_event_loop()
    asyncio.set_event_loop(loop)
    try:
        return Runner.run_sync(agent, given, **how)
    finally:
        asyncio.set_event_loop(None)
        loop.close()


@pytest.fixture(params=["sync", "async", "streamed"])
def go(request: pytest.FixtureRequest) -> Go:
    """Runs an agent in each way."""

    def run(
        agent: Agent[Any], given: Any, guard: Guard | GuardedRun, base: RunConfig | None = None, **more: Any
    ) -> Any:
        guarded_run = guard if isinstance(guard, GuardedRun) else GuardedRun(guard)
        how = {"hooks": guarded_run, "run_config": guarded_run.config(base), "max_turns": 20, **more}
        if request.param == "sync":
            return run_sync(agent, given, **how)
        if request.param == "async":
            return asyncio.run(Runner.run(agent, given, **how))
        return asyncio.run(streamed(agent, given, how))

    async def streamed(agent: Agent[Any], given: Any, how: dict[str, Any]) -> Any:
        result = Runner.run_streamed(agent, given, **how)
        async for _ in result.stream_events():
            pass
        return result

    return run


def agent_of(model: ScriptedModel, tools: Sequence[Any] = (search, read, fail), **more: Any) -> Agent[Any]:
    return Agent(name="main", model=model, tools=guarded(tools), **more)


def results(items: Sequence[Any]) -> dict[str, str]:
    return {item["call_id"]: item["output"] for item in items if item.get("type") == "function_call_output"}


def shape(items: Sequence[Any]) -> list[str]:
    return [item.get("type") or item["role"] for item in items]


def test_the_third_equal_call_brings_a_notice_after_all_results_of_the_step(go: Go) -> None:
    third = calls(("search", {"q": "wasm"}), ("read", {"path": "a"}), step=3)
    model = ScriptedModel([*searches(2), third, *calls_then_done(4)])
    result = go(agent_of(model), "find it", Guard())
    assert [shape(call.input)[-1] for call in model.calls] == [
        "user",
        *["function_call_output"] * 2,
        "user",
        "function_call_output",
    ]
    told = model.calls[3].input
    assert shape(told)[-5:] == ["function_call"] * 2 + ["function_call_output"] * 2 + ["user"]
    assert told[-1] == {"role": "user", "content": GENTLE}
    # In the requests that follow it stands where it stood.
    assert model.calls[4].input[: len(told)] == told
    assert GENTLE not in str(result.to_input_list()), "the run's result does not have it"


def calls_then_done(step: int) -> list[Any]:
    return [calls(("read", {"path": "b"}), step=step), DONE]


def test_notices_of_one_step_stand_in_the_order_of_the_calls(go: Go) -> None:
    guard = Guard({"repeatToolReminder": {"thresholds": [3, 2]}})
    made = [("read", {"path": "a"})] * 3 + [("search", {"q": "a"})] * 2
    model = ScriptedModel([calls(*made), DONE])
    go(agent_of(model), "go", guard)
    first, second, third = (item["content"] for item in model.calls[1].input[-3:])
    assert (first, third) == (GENTLE, GENTLE)
    assert second.startswith("Repeated tool call detected:\n- tool: read\n- consecutive_calls: 3\n")


def test_of_two_parallel_calls_with_one_slot_the_first_passes(go: Go) -> None:
    script = [calls(("search", {"q": "a"}), ("search", {"q": "b"})), calls(("search", {"q": "c"}), step=2), DONE]
    result = go(agent_of(ScriptedModel(script)), "go", Guard(ONE_SEARCH))
    assert results(result.to_input_list()) == {"1.0": "results for a", "1.1": EXCEEDED, "2.0": "results for c"}


def test_a_denied_call_counts(go: Go) -> None:
    model = ScriptedModel([*searches(3), DONE])
    go(agent_of(model), "go", Guard({"toolCallLimit": {"limits": {"search": 0}}}))
    assert model.calls[3].input[-1]["content"] == GENTLE
    assert results(model.calls[3].input)["3.0"] == "tool search exceeded its per-step limit of 0"


def test_calls_that_finish_out_of_order_are_told_in_the_order_of_the_model(go: Go) -> None:
    finished: list[str] = []
    others = threading.Semaphore(0)

    @function_tool
    def slow(name: str) -> str:
        """The first waits for the others."""
        if name == "first":
            assert all(others.acquire(timeout=10) for _ in range(2))
        finished.append(name)
        others.release()
        return name

    guard = Recording()
    made = [("slow", {"name": name}) for name in ("first", "middle", "last")]
    go(agent_of(ScriptedModel([calls(*made), DONE]), [slow]), "go", guard)
    assert finished[-1] == "first"
    assert guard.log[1:7] == [
        *("pre 1.0", "pre 1.1", "pre 1.2"),
        *("post 1.0 succeeded", "post 1.1 succeeded", "post 1.2 succeeded"),
    ]


def test_calls_that_are_dispatched_out_of_order_are_asked_for_in_the_order_of_the_model(go: Go) -> None:
    async def needs_approval(_: Any, arguments: dict[str, Any], __: str) -> bool:
        await asyncio.sleep(0.02 if arguments["q"] == "a" else 0)
        return False

    @function_tool(needs_approval=needs_approval)
    def search(q: str) -> str:
        """Searches."""
        return q

    guard = Recording(ONE_SEARCH)
    made = [("search", {"q": "a"}), ("search", {"q": "b"})]
    result = go(agent_of(ScriptedModel([calls(*made), DONE]), [search]), "go", guard)
    assert results(result.to_input_list()) == {"1.0": "a", "1.1": EXCEEDED}
    assert guard.log[1:5] == ["pre 1.0", "pre 1.1", "post 1.0 succeeded", "post 1.1 denied"]


def test_the_guard_is_told_what_happens(go: Go) -> None:
    guard = Recording(ONE_SEARCH)
    script = [calls(("search", {"q": "a"}), ("search", {"q": "b"})), calls(("fail", {"path": "a"}), step=2), DONE]
    go(agent_of(ScriptedModel(script)), "go", guard)
    assert guard.log == [
        "step 1.1 prompted",
        *("pre 1.0", "pre 1.1", "post 1.0 succeeded", "post 1.1 denied"),
        "step 1.2",
        *("pre 2.0", "post 2.0 failed"),
        "step 1.3",
        *("turn 1 ended", "agent ended"),
    ]
    assert guard.count(guard.agents[0]) == 0


def test_the_raw_arguments_are_what_the_guard_is_told(go: Go) -> None:
    guard = Recording()
    raw = [[function_call("search", text, call_id=text)] for text in ('{"q": "wasm"}', '{ "q":"wasm" }', '{"q":')]
    go(agent_of(ScriptedModel([*raw, DONE])), "go", guard)
    posts = [line for line in guard.log if line.startswith("post")]
    assert posts == ['post {"q": "wasm"} succeeded', 'post { "q":"wasm" } succeeded', 'post {"q": failed']


def test_a_persons_new_prompt_ends_the_chain_and_a_notice_does_not(go: Go) -> None:
    guard = Recording({"repeatToolReminder": {"thresholds": [2, 3]}})
    model = ScriptedModel([*searches(3), DONE, *searches(1, first=4), DONE])
    agent = agent_of(model)
    result = go(agent, "go", guard)
    # The second notice says that the chain went on through the first.
    assert "- consecutive_calls: 3\n" in model.calls[3].input[-1]["content"]
    go(agent, [*result.to_input_list(), {"role": "user", "content": "again"}], guard)
    assert shape(model.calls[5].input)[-1] == "function_call_output", "no notice"
    assert [line for line in guard.log if "prompted" in line] == ["step 1.1 prompted", "step 1.1 prompted"]


def test_each_run_has_agents_of_its_own_which_end_with_it(go: Go) -> None:
    guard = Recording()
    for _ in range(2):
        go(agent_of(ScriptedModel([*searches(2), DONE])), "go", guard)
    assert len(set(guard.agents)) == 2
    assert guard.log.count("agent ended") == 2
    assert [guard.count(agent) for agent in set(guard.agents)] == [0, 0]


def test_runs_of_one_agent_at_once_are_told_apart() -> None:
    guard = Recording(ONE_SEARCH)

    @function_tool
    async def search(q: str) -> str:
        """Lets the others go on."""
        await asyncio.sleep(0.001)
        return q

    model = ScriptedModel([calls(("search", {"q": "a"}))] * 8 + [DONE] * 8)
    agent = agent_of(model, [search])

    async def run() -> Any:
        one = GuardedRun(guard)
        return await Runner.run(agent, "go", hooks=one, run_config=one.config())

    async def run_all() -> list[Any]:
        return await asyncio.gather(*(run() for _ in range(8)))

    for result in asyncio.run(run_all()):
        assert results(result.to_input_list()) == {"1.0": "a"}
    assert len(set(guard.agents)) == 8


def test_agents_that_hand_off_to_each_other_have_counts_of_their_own(go: Go) -> None:
    guard = Recording()
    hand_over = [function_call("transfer_to_other", {}, call_id="h")]
    other_model = ScriptedModel([*searches(2, first=3), DONE])
    other = Agent(name="other", model=other_model, tools=guarded([search]))
    model = ScriptedModel([*searches(2), hand_over])
    go(agent_of(model, handoffs=[other]), "go", guard)
    assert [name.rsplit("/", 1)[1] for name in dict.fromkeys(guard.agents)] == ["main 1", "other 2"]
    assert not any(GENTLE in str(call.input) for call in (*model.calls, *other_model.calls))
    assert not any("pre h" in line for line in guard.log), "a handoff is no tool call"
    assert guard.log[-4:] == ["turn 1 ended", "agent ended"] * 2


def test_an_agent_that_runs_as_a_tool_is_another_agent_for_each_call(go: Go) -> None:
    guard = Recording(ONE_SEARCH)
    inner_model = ScriptedModel([*searches(1), *searches(1), DONE, DONE])
    inner = Agent(name="inner", model=inner_model, tools=guarded([search]))
    delegate = inner.as_tool("delegate", "Has another agent do it")
    made = [("search", {"q": "wasm"}), ("delegate", {"input": "a"}), ("delegate", {"input": "b"})]
    model = ScriptedModel([calls(*made, step=9), DONE])
    result = go(agent_of(model, [search, delegate]), "go", guard)
    assert results(result.to_input_list()) == {"9.0": "results for wasm", "9.1": "done", "9.2": "done"}
    assert len(set(guard.agents)) == 3
    assert [call.input[-1]["output"] for call in inner_model.calls[2:]] == ["results for wasm"] * 2
    last_step = len(guard.log) - 1 - guard.log[::-1].index("step 1.2")
    assert guard.log[:last_step].count("agent ended") == 2, "each ended with its call"
    assert guard.log[last_step:] == ["step 1.2", "turn 1 ended", "agent ended"]
    assert "step 1.1 prompted" in guard.log
    assert guard.log.count("step 1.1") == 2, "the prompt of an agent that is a tool is no person's"


def test_ask_is_to_deny_where_nobody_can_be_asked(go: Go) -> None:
    script = [calls(("search", {"q": "a"}), ("search", {"q": "b"})), DONE]
    result = go(agent_of(ScriptedModel(script)), "go", Guard(ASKING))
    assert results(result.to_input_list())["1.1"] == EXCEEDED


@pytest.mark.parametrize("answer", [True, False])
@pytest.mark.parametrize("awaited", [True, False])
def test_a_person_may_approve(go: Go, answer: bool, awaited: bool) -> None:
    asked = []

    def approve(call: ToolCall, reason: str) -> Any:
        asked.append((call.name, call.arguments, reason))
        return asyncio.sleep(0, answer) if awaited else answer

    script = [calls(("search", {"q": "a"}), ("search", {"q": "b"})), DONE]
    result = go(agent_of(ScriptedModel(script)), "go", GuardedRun(Guard(ASKING), approve=approve))
    assert asked == [("search", '{"q":"b"}', EXCEEDED)]
    assert results(result.to_input_list())["1.1"] == ("results for b" if answer else EXCEEDED)


@pytest.mark.parametrize("another_process", [False, True])
def test_a_call_that_a_person_refuses_is_denied_and_one_that_is_approved_runs(go: Go, another_process: bool) -> None:
    @function_tool(needs_approval=True)
    def delete(path: str) -> str:
        """Deletes."""
        return f"deleted {path}"

    guard = Recording()
    made = [("delete", {"path": "a"}), ("read", {"path": "b"}), ("delete", {"path": "c"})]
    agent = agent_of(ScriptedModel([calls(*made), DONE]), [delete, read])
    run = GuardedRun(guard)
    interrupted = go(agent, "go", run)
    state = interrupted.to_state()
    refused, approved = interrupted.interruptions
    state.reject(refused)
    state.approve(approved)
    result = go(agent, state, GuardedRun(guard) if another_process else run)
    assert results(result.to_input_list())["1.2"] == "deleted c"
    if another_process:
        assert guard.log == [
            *("step 1.1 prompted", "pre 1.0", "pre 1.1"),
            *("step 1.1", "pre 1.2", "post 1.2 succeeded"),
            *("step 1.2", "turn 1 ended", "agent ended"),
        ]
    else:
        assert guard.log == [
            *("step 1.1 prompted", "pre 1.0", "pre 1.1", "pre 1.2"),
            *("post 1.0 denied", "post 1.1 succeeded", "post 1.2 succeeded"),
            *("step 1.2", "turn 1 ended", "agent ended"),
        ]


def test_a_call_that_another_guardrail_denies_is_denied(go: Go) -> None:
    @tool_input_guardrail
    def never(_: ToolInputGuardrailData) -> ToolGuardrailFunctionOutput:
        return ToolGuardrailFunctionOutput.reject_content("never")

    @function_tool(tool_input_guardrails=[never])
    def strict(path: str) -> str:
        """Is never run."""
        raise AssertionError(path)

    guard = Recording()
    result = go(agent_of(ScriptedModel([calls(("strict", {"path": "a"})), DONE]), [strict]), "go", guard)
    assert results(result.to_input_list()) == {"1.0": "never"}
    assert "post 1.0 denied" in guard.log


def test_the_configuration_of_the_host_is_kept(go: Go) -> None:
    seen = []

    async def shorten(data: CallModelData[Any]) -> ModelInputData:
        seen.append(shape(data.model_data.input)[-1])
        return ModelInputData(data.model_data.input, "be brief")

    def explain(error: ToolErrorFormatterArgs[Any]) -> str:
        return f"it broke: {error.error}"

    base = RunConfig(workflow_name="mine", call_model_input_filter=shorten, tool_error_formatter=explain)
    model = ScriptedModel([calls(("fail", {"path": "a"})), DONE])
    guard = Recording()
    go(agent_of(model), "go", guard, base)
    assert seen == ["user", "function_call_output"]
    assert model.calls[1].system_instructions == "be brief"
    assert results(model.calls[1].input) == {"1.0": "it broke: a"}
    assert "post 1.0 failed" in guard.log
    assert GuardedRun(guard).config(base).workflow_name == "mine"


def test_a_tool_that_answers_for_the_agent_is_told_at_the_end(go: Go) -> None:
    guard = Recording()
    agent = agent_of(ScriptedModel([calls(("search", {"q": "a"}))]), tool_use_behavior="stop_on_first_tool")
    assert go(agent, "go", guard).final_output == "results for a"
    assert guard.log == ["step 1.1 prompted", "pre 1.0", "post 1.0 succeeded", "turn 1 ended", "agent ended"]


def test_what_is_not_guarded_is_left_alone(go: Go) -> None:
    guard = Recording({"toolCallLimit": {"limits": {"read": 0}}})
    agent = Agent(name="main", model=ScriptedModel([calls(("read", {"path": "a"}), ("search", {"q": "a"})), DONE]))
    agent.tools = [read, *guarded([search])]
    result = go(agent, "go", guard)
    assert results(result.to_input_list()) == {"1.0": "contents of a", "1.1": "results for a"}
    assert [line for line in guard.log if line.startswith("p")] == ["pre 1.1", "post 1.1 succeeded"]
    assert search.tool_input_guardrails is None, "tools are copied"


def test_a_guarded_tool_in_a_run_that_is_not_says_what_to_do() -> None:
    with pytest.raises(
        UserError, match=r"the tool search is guarded, but its run is not: pass hooks=run and run_config="
    ):
        run_sync(agent_of(ScriptedModel([*searches(1), DONE])), "go")


def test_a_fault_of_the_guard_breaks_no_agent_and_lets_no_limited_call_through(
    go: Go, caplog: pytest.LogCaptureFixture
) -> None:
    async def invoke(_: RunContextWrapper[Any], arguments: str) -> str:
        return arguments

    tools = [FunctionTool(name, "", {}, invoke, strict_json_schema=False) for name in ("spin", "trap")]
    guard = Component.from_file(built("stub.wasm")).guard(limits=Limits(time=0.1))
    # The stub says of `spin` that it is unlimited, and of `trap` that it is limited.
    result = go(agent_of(ScriptedModel([calls(("spin", {}), ("trap", {})), DONE]), tools), "go", guard)
    trapped = "the component trapped: wasm trap: wasm `unreachable` instruction executed"
    assert results(result.to_input_list()) == {
        "1.0": "{}",
        "1.1": f"the limit of tool trap could not be checked: {trapped}",
    }
    assert {record.message for record in caplog.records if record.name == "loop_guard"} == {
        "pre-execute: the component did not answer within 100ms",
        "post-execute: the component did not answer within 100ms",
        f"pre-execute: {trapped}",
        f"post-execute: {trapped}",
    }


def test_a_notice_waits_for_the_results_of_calls_that_are_not_guarded(go: Go) -> None:
    @function_tool
    def free(path: str) -> str:
        """Is not guarded."""
        return path

    third = [*calls(("search", {"q": "wasm"}), ("free", {"path": "a"}), step=3)]
    model = ScriptedModel([*searches(2), third, DONE])
    agent = Agent(name="main", model=model, tools=[*guarded([search]), free])
    go(agent, "find it", Guard())
    assert shape(model.calls[3].input)[-5:] == ["function_call"] * 2 + ["function_call_output"] * 2 + ["user"]


def test_calls_that_share_an_id_are_denied_and_count() -> None:
    guard = Recording(ONE_SEARCH)
    one = GuardedRun(guard)
    live = one._live(Agent(name="main"))
    live.step = Step(guard, [ToolCall(live.agent, "1", "search", text) for text in ("{}", '{"q": 1}')])
    for _ in range(2):
        call = ToolCall(live.agent, "1", "search", "{}")
        assert live.step.decide(call) == Deny("the step has several calls with the id '1'")
        live.step.finish("1", Outcome(Status.DENIED))
    assert guard.log == ["post 1 denied"] * 2


def test_an_approval_is_told_right_before_the_outcome_of_its_call(go: Go) -> None:
    guard = Recording(ASKING)
    made = [("search", {"q": "a"}), ("search", {"q": "b"})]
    model = ScriptedModel([calls(*made), DONE])
    go(agent_of(model), "go", GuardedRun(guard, approve=lambda *_: True))
    assert guard.log.index("noted approved") == guard.log.index("post 1.1 succeeded") - 1
    assert guard.log.count("noted approved") == 1


def test_an_approval_can_begin_a_chain_anew(go: Go) -> None:
    config = {"repeatToolReminder": {"thresholds": [9], "askAt": 3, "resetOn": ["prompt", "approval"]}}
    asked = []

    def approve(_: ToolCall, reason: str) -> bool:
        asked.append(reason)
        return True

    go(agent_of(ScriptedModel([*searches(6), DONE])), "go", GuardedRun(Guard(config), approve=approve))
    assert asked == ["tool search repeated 3 times with identical arguments"] * 2


def test_results_are_compared_where_the_configuration_says_so(go: Go) -> None:
    answers = iter("aabcc")

    @function_tool
    def poll(name: str) -> str:  # noqa: ARG001
        """Makes progress now and then."""
        return next(answers)

    guard = Guard({"repeatToolReminder": {"thresholds": [2], "results": "compare"}})
    model = ScriptedModel([*(calls(("poll", {"name": "x"}), step=step) for step in range(5)), DONE])
    go(agent_of(model, [poll]), "go", guard)
    told = [shape(call.input)[-1] == "user" for call in model.calls]
    assert told == [True, False, True, False, False, True], "the first is the prompt"


def test_the_counts_of_a_run_are_shown_and_survive(go: Go) -> None:
    seen: list[Any] = []

    @function_tool
    def look(path: str) -> str:
        """Looks at the guard while the run goes on."""
        other = Guard()
        other.restore(guard.snapshot())
        seen.append((guard.stats(), other.stats()))
        return path

    guard = Guard()
    go(
        agent_of(ScriptedModel([*searches(3), calls(("look", {"path": "a"}), step=4), DONE]), [search, look]),
        "go",
        guard,
    )
    ((stats, restored),) = seen
    assert [(each.calls, each.notices, each.longest, each.summary) for each in stats] == [(3, 1, 3, "search × 3")]
    assert restored == stats
    assert guard.stats() == [], "the agent has ended"


@pytest.mark.parametrize("tell", [None, lambda *_: "too slow"])
def test_a_tool_that_times_out_has_failed(tell: Any) -> None:
    @function_tool(timeout=0.01, timeout_error_function=tell)
    async def wait(path: str) -> str:
        """Waits for ever."""
        await asyncio.Event().wait()
        return path

    guard = Recording()
    one = GuardedRun(guard)
    agent = agent_of(ScriptedModel([calls(("wait", {"path": "a"})), DONE]), [wait])
    result = asyncio.run(Runner.run(agent, "go", hooks=one, run_config=one.config()))
    assert "post 1.0 failed" in guard.log
    message = "Tool 'wait' timed out after 0.01 seconds." if tell is None else "too slow"
    assert results(result.to_input_list()) == {"1.0": message}


def test_tools_are_guarded_once(go: Go) -> None:
    guard = Recording()
    tools: list[Any] = guarded(guarded([search]))
    go(Agent(name="main", model=ScriptedModel([*searches(1), DONE]), tools=tools), "go", guard)
    assert [line for line in guard.log if line.startswith("p")] == ["pre 1.0", "post 1.0 succeeded"]


def test_a_guarded_run_is_for_one_run_at_a_time() -> None:
    one = GuardedRun(Guard())
    agent = agent_of(ScriptedModel([*searches(2), DONE, DONE]))

    async def run_both() -> list[Any]:
        runs = (Runner.run(agent, "go", hooks=one, run_config=one.config()) for _ in range(2))
        return await asyncio.gather(*runs, return_exceptions=True)

    errors = [each for each in asyncio.run(run_both()) if isinstance(each, BaseException)]
    assert [str(error) for error in errors] == [
        "this GuardedRun belongs to a run that has not ended, or that broke: make one for each run"
    ]


def test_a_guarded_run_may_be_used_again_after_its_run(go: Go) -> None:
    one = GuardedRun(Guard())
    for _ in range(2):
        assert go(agent_of(ScriptedModel([*searches(1), DONE])), "go", one).final_output == "done"


def test_a_configuration_without_its_hooks_says_what_to_do() -> None:
    one = GuardedRun(Guard())
    with pytest.raises(UserError, match="but not its hooks: pass hooks=run as well"):
        run_sync(agent_of(ScriptedModel([*searches(1), DONE])), "go", run_config=one.config())


def test_a_run_has_one_configuration() -> None:
    one = GuardedRun(Guard())
    base = RunConfig(workflow_name="mine")
    one.config(base)
    assert one.config(base).workflow_name == one.config().workflow_name == "mine"
    with pytest.raises(RuntimeError, match="this run has a configuration with another base"):
        one.config(RunConfig(workflow_name="other"))
