"""The library as a Python host uses it, with the real component; and components that must be refused or survived."""

from __future__ import annotations

import json
import os
import pickle
import subprocess
import sys
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import FrozenInstanceError
from pathlib import Path
from typing import Any, cast

import pytest
import wasmtime
from support import GENTLE, SUCCEEDED, built, call

from loop_guard import (
    Allow,
    Ask,
    CallError,
    Component,
    ConfigurationError,
    Deny,
    Guard,
    Limits,
    LoadError,
    LoopGuardError,
    Notice,
    Outcome,
    Problem,
    RestoreError,
    Status,
    _signature,
)

NO_STEP = "per-step tool limit has no active agent step"
CONTRACT = "loop-guard:plugin/guard@0.1.0 and loop-guard:plugin/introspection@0.1.0 and loop-guard:plugin/resume@0.1.0"


def stub(config: object = None, **limits: Any) -> Guard:
    return Component.from_file(built("stub.wasm")).guard(config, limits=Limits(**limits))


def begin(guard: Guard, agent: str = "main") -> None:
    guard.step(agent, turn=1, step=1, prompted=True)


def problems(config: object) -> list[tuple[str, str]]:
    with pytest.raises(ConfigurationError) as caught:
        Guard(config)
    return [(problem.path, problem.message) for problem in caught.value.problems]


def test_a_call_is_answered() -> None:
    guard = Guard({"toolCallLimit": {"limits": {"search": 1, "buy": 0}, "onExceeded": "ask"}})
    begin(guard)
    assert guard.pre_execute(call("search")) == Allow()
    assert guard.pre_execute(call("search")) == Ask("tool search exceeded its per-step limit of 1")
    assert guard.pre_execute(call("buy")) == Deny("tool buy exceeded its per-step limit of 0")
    assert guard.pre_execute(call("search", agent=None)) == Deny("per-step tool limit requires an agent context")
    guard.step_aborted("main", 1, 1)
    assert guard.pre_execute(call("search")) == Deny(NO_STEP)
    notices = [guard.post_execute(call("grep", {"a": 1}), SUCCEEDED) for _ in range(3)]
    assert notices == [[], [], [Notice("repeat-tool-reminder", "grep × 3", GENTLE)]]
    guard.turn_ended("main", 1)
    assert guard.count("main") == 3
    guard.agent_ended("main")
    assert guard.count("main") == 0


def test_what_is_asked_of_the_guard_is_json() -> None:
    guard = Guard('{"maxAgents": 7}')
    assert json.loads(guard.describe())["maxAgents"] == 7
    assert json.loads(guard.explain("grep"))["toolCallLimit"]["limit"] is None
    assert guard.canonical('{"b": 1.0, "a": "\\u00e9"}') == '{"a":"é","b":1}'
    assert guard.configure({}).content is False


def test_the_types_are_values() -> None:
    with pytest.raises(FrozenInstanceError):
        Deny("a").reason = "b"  # type: ignore[misc]
    assert {Allow(), Allow(), Deny("a")} == {Allow(), Deny("a")}
    match Guard().pre_execute(call("grep")):
        case Allow():
            pass
        case Deny(reason) | Ask(reason):
            raise AssertionError(reason)


def test_guards_of_one_component_share_nothing() -> None:
    assert Component.embedded() is Component.embedded()
    first, second = Guard(), Guard()
    for _ in range(2):
        first.post_execute(call("grep"), SUCCEEDED)
    assert (first.count("main"), second.count("main")) == (2, 0)


def test_arguments_are_raw_text_or_a_parsed_value() -> None:
    guard = Guard()
    equal: list[object] = [
        '{"a": [1, null], "b": "é"}',
        '{"b":"\\u00e9","a":[1.0,null]}',
        {"b": "é", "a": [1, None]},
        {"a": (1, None), "b": "é"},
    ]
    for count, arguments in enumerate(equal, 1):
        guard.post_execute(call("grep", arguments), SUCCEEDED)
        assert guard.count("main") == count
    # A string is raw text: as a value it must be written as JSON first.
    values: list[tuple[object, int]]
    values = [('"text"', 1), (json.dumps("text"), 2), ("text", 3), ("", 1), ({}, 2), ("{}", 3)]
    values += [(2**64, 1), ("18446744073709551616", 2), (2**64 + 1, 1), (None, 1), ("null", 2), (False, 1)]
    for arguments, count in values:
        guard.post_execute(call("grep", arguments), SUCCEEDED)
        assert guard.count("main") == count, arguments


def test_names_that_python_knows_are_names_like_any_other() -> None:
    guard = Guard({"toolCallLimit": {"limits": {"__proto__": 1, "__class__": 0}}})
    begin(guard)
    assert guard.pre_execute(call("__proto__", {"__proto__": 1})) == Allow()
    assert guard.pre_execute(call("__proto__")) == Deny("tool __proto__ exceeded its per-step limit of 1")
    assert guard.pre_execute(call("__class__")) == Deny("tool __class__ exceeded its per-step limit of 0")


def test_text_of_any_kind_passes() -> None:
    guard = Guard()
    assert guard.canonical('"\\u0000 😀"') == '"\\u0000 😀"'
    agent = "a\0b 😀"
    guard.post_execute(call("t\0", "\0", agent=agent), SUCCEEDED)
    assert (guard.count(agent), guard.count("a")) == (1, 0)


def test_lone_surrogates_become_replacement_characters_in_raw_text_and_stay_escapes_in_values() -> None:
    guard = Guard()
    assert guard.canonical('"\ud800"') == '"\ufffd"'
    assert guard.canonical('"\ud83d\ude00"') == '"😀"', "a pair is a character"
    guard.post_execute(call("grep", '{"a": "\udfff"}', agent="\ud800"), SUCCEEDED)
    guard.post_execute(call("grep", '{"a": "\ufffd"}', agent="\ufffd"), SUCCEEDED)
    assert guard.count("\ufffd") == 2
    # The escape is no valid JSON for the guard, and so another text.
    guard.post_execute(call("grep", {"a": "\udfff"}, agent="\ufffd"), SUCCEEDED)
    assert guard.count("\ufffd") == 1
    guard.post_execute(call("grep", '{"a": "\\udfff"}', agent="\ufffd"), SUCCEEDED)
    assert guard.count("\ufffd") == 2


def test_a_rejected_configuration_lists_its_problems_and_changes_nothing() -> None:
    guard = Guard({"maxAgents": 7})
    guard.post_execute(call("grep"), SUCCEEDED)
    with pytest.raises(ConfigurationError) as caught:
        guard.configure({"maxAgents": 0, "repeatToolReminder": {"thresholds": []}})
    assert caught.value.problems == (
        Problem("/maxAgents", "must be an integer >= 1"),
        Problem("/repeatToolReminder/thresholds", "must not be empty"),
    )
    assert str(caught.value) == "/maxAgents: must be an integer >= 1\n/repeatToolReminder/thresholds: must not be empty"
    assert json.loads(guard.describe())["maxAgents"] == 7
    assert guard.count("main") == 1
    with pytest.raises(ConfigurationError, match=r"^must be an object$"):
        Guard("[]")


def cyclic() -> dict[str, Any]:
    value: dict[str, Any] = {"a": []}
    value["a"].append(value)
    return value


def deep(levels: int) -> object:
    value: object = 1
    for _ in range(levels):
        value = [value]
    return value


@pytest.mark.parametrize(
    ("config", "expected"),
    [
        ({"maxAgents": float("nan")}, [("/maxAgents", "NaN")]),
        ({"maxAgents": float("inf"), "a/b~c": -float("inf")}, [("/maxAgents", "Infinity"), ("/a~1b~0c", "-Infinity")]),
        ({"a": {1, 2}}, [("/a", "set")]),
        ({"a": [b"x", 1j, object()]}, [("/a/0", "bytes"), ("/a/1", "complex"), ("/a/2", "object")]),
        ({"a": print}, [("/a", "builtin_function_or_method")]),
        ({"toolCallLimit": {"limits": {1: 1}}}, [("/toolCallLimit/limits", "a member named by 1, which is no string")]),
        ({None: 1}, [("", "a member named by None, which is no string")]),
        ({"a": "\ud800"}, [("/a", "half of a surrogate pair")]),
        ({"\ud800": 1}, [("/\ud800", "half of a surrogate pair")]),
        ('{"a": "\ud800"}', [("", "half of a surrogate pair")]),
        (b"{}", [("", "bytes")]),
        (cyclic(), [("/a/0", "a value that contains itself")]),
        ({"a": 10**5000}, [("/a", "an integer of thousands of digits")]),
        (deep(200), [("/0" * 128, "more than 128 levels")]),
    ],
)
def test_what_json_would_lose_is_a_problem(config: object, expected: list[tuple[str, str]]) -> None:
    assert problems(config) == [(path, f"cannot be written as JSON: {what}") for path, what in expected]


def test_an_error_can_be_printed_whatever_a_member_is_named() -> None:
    with pytest.raises(ConfigurationError) as caught:
        Guard({"\ud800": float("nan")})
    lines = str(caught.value).splitlines()
    assert lines[1] == "/\\ud800: cannot be written as JSON: NaN"
    assert "\n".join(lines).encode()


def test_a_configuration_is_json_text_or_a_plain_value() -> None:
    for config in ('{"maxAgents": 7}', {"maxAgents": 7}, {"maxAgents": 7.0}):
        assert json.loads(Guard(config).describe())["maxAgents"] == 7
    assert json.loads(Guard({"repeatToolReminder": {"thresholds": (2, 4)}}).describe())["repeatToolReminder"][
        "thresholds"
    ] == [2, 4]
    assert Guard().describe() == Guard("{}").describe() == Guard({}).describe() == Guard(None).describe()
    assert problems({"maxAgents": 2**70}) == problems(f'{{"maxAgents": {2**70}}}')
    assert problems(True) == [("", "must be an object")]


NUMBER = "must be a whole number from 0 to 4294967295"
NOT_JSON = "pre-execute: arguments cannot be written as JSON: "
NO_STATUS = "post-execute: status must be one of succeeded, failed, denied"
NO_LIMITS = "limits: memory and text must not be negative, and time must be from 0 to 1e9 seconds"
one: Any = 1


@pytest.mark.parametrize(
    ("misuse", "error", "words"),
    [
        (lambda guard: guard.step(one, 1, 1, prompted=True), TypeError, "step: agent must be a string"),
        (lambda guard: guard.step("a", 1, 1, prompted="false"), TypeError, "step: prompted must be True or False"),
        (lambda _: Guard(limits=cast("Limits", {"time": 1})), TypeError, "limits must be of the class Limits"),
        (lambda _: Guard(component=cast("Component", "a.wasm")), TypeError, "component must be of the class Component"),
        (lambda guard: guard.step("a", "1", 1, prompted=True), TypeError, f"step: turn {NUMBER}"),
        (lambda guard: guard.step("a", 1, True, prompted=True), TypeError, f"step: step {NUMBER}"),
        (lambda guard: guard.step("a", 1, 2**32, prompted=True), ValueError, f"step: step {NUMBER}"),
        (lambda guard: guard.turn_ended("a", -1), ValueError, f"turn-ended: turn {NUMBER}"),
        (lambda guard: guard.step_aborted("a", 1, 1.5), TypeError, f"step-aborted: step {NUMBER}"),
        (lambda guard: guard.count(None), TypeError, "count: agent must be a string"),
        (lambda guard: guard.pre_execute(call(one)), TypeError, "pre-execute: name must be a string"),
        (lambda guard: guard.pre_execute(call("t", number=one)), TypeError, "pre-execute: id must be a string"),
        (lambda guard: guard.pre_execute(call("t", agent=one)), TypeError, "pre-execute: agent must be a string"),
        (lambda guard: guard.pre_execute(call("t", {1, 2})), TypeError, NOT_JSON),
        (lambda guard: guard.pre_execute(call("t", cyclic())), TypeError, NOT_JSON),
        (lambda guard: guard.post_execute(call("t"), Outcome(cast("Status", "ok"))), ValueError, NO_STATUS),
        (lambda _: Limits(memory=-1), ValueError, NO_LIMITS),
        (lambda _: Limits(time=float("nan")), ValueError, NO_LIMITS),
    ],
)
def test_what_the_types_do_not_allow_changes_nothing(misuse: Any, error: type[Exception], words: str) -> None:
    guard = Guard()
    guard.post_execute(call("grep"), SUCCEEDED)
    with pytest.raises(error) as caught:
        misuse(guard)
    assert str(caught.value).startswith(words)
    assert guard.count("main") == 1


def test_a_snapshot_is_copied_at_once() -> None:
    guard = Guard()
    for number in range(2000):
        guard.post_execute(call("grep", agent=str(number)), SUCCEEDED)
    snapshot = guard.snapshot()
    assert isinstance(guard._component._functions["snapshot"][1].result, _signature._Bytes), "and not byte by byte"
    other = Guard()
    other.restore(snapshot)
    assert other.snapshot() == snapshot
    assert other.stats() == guard.stats()
    for damaged in (b"", b"\0", snapshot[:-1]):
        with pytest.raises(RestoreError):
            other.restore(damaged)
    assert other.count("7") == 1


def test_a_snapshot_that_wasmtime_does_not_let_through_says_so() -> None:
    guard = Guard()
    for number in range(300):
        guard.post_execute(call("grep", agent=f"{number:010000}"), SUCCEEDED)
    message = "^snapshot: the answer is larger than wasmtime lets through, which for a snapshot is about 2.8 MB$"
    with pytest.raises(CallError, match=message):
        guard.snapshot()
    assert guard.stats() == [], "the counts are lost, and the guard goes on"


def test_a_status_may_be_its_word() -> None:
    assert Guard().post_execute(call("t"), Outcome(cast("Status", "failed"))) == []
    assert Status("denied") is Status.DENIED


def test_text_beyond_the_bound_is_not_sent() -> None:
    guard = Guard(limits=Limits(text=1000))
    guard.post_execute(call("grep"), SUCCEEDED)
    long = "x" * 1001
    for too_long, what in [
        (call("grep", long), "arguments"),
        (call("grep", {"a": long}), "arguments"),
        (call(long), "name"),
        (call("grep", number=long), "id"),
        (call("grep", agent=long), "agent"),
    ]:
        size = 1010 if isinstance(too_long.arguments, dict) else 1001
        with pytest.raises(CallError) as caught:
            guard.post_execute(too_long, SUCCEEDED)
        assert str(caught.value) == f"post-execute: {what}: {size} bytes, and no text of more than 1000 is sent"
        assert caught.value.hook == "post-execute"
        with pytest.raises(CallError, match="pre-execute: "):
            guard.pre_execute(too_long)
    with pytest.raises(CallError, match=r"^canonical: text: 1002 bytes, and no text of more than 1000 is sent$"):
        guard.canonical("é" * 501)
    with pytest.raises(CallError, match=r"^configure: configuration: 1001 bytes"):
        guard.configure(long)
    with pytest.raises(CallError, match=r"^configure: configuration: 1001 bytes"):
        Guard(long, limits=Limits(text=1000))
    # The configuration needs no results, so that a long one is none to be sent.
    guard.post_execute(call("grep"), Outcome(Status.SUCCEEDED, long))
    assert guard.count("main") == 2


def test_content_is_sent_only_where_it_is_needed() -> None:
    guard = stub(text=10)
    assert guard.configure({}).content is True
    with pytest.raises(CallError, match=r"^post-execute: content: 11 bytes, and no text of more than 10 is sent$"):
        guard.post_execute(call("any"), Outcome(Status.SUCCEEDED, "x" * 11))
    guard.post_execute(call("any"), Outcome(Status.SUCCEEDED, "x" * 10))


def test_a_trap_names_its_hook_and_leaves_the_guard_usable() -> None:
    guard = stub()
    for _ in range(3):
        with pytest.raises(CallError) as caught:
            guard.pre_execute(call("trap"))
        trapped = "the component trapped: wasm trap: wasm `unreachable` instruction executed"
        assert (caught.value.hook, caught.value.fault) == ("pre-execute", trapped)
        assert str(caught.value) == f"pre-execute: {trapped}"
        assert guard.pre_execute(call("any")) == Allow()
    with pytest.raises(CallError, match=r"^post-execute: the component trapped: "):
        guard.post_execute(call("trap"), SUCCEEDED)


def test_memory_is_bounded() -> None:
    guard = stub(memory=64 << 20)
    with pytest.raises(CallError, match=r"^pre-execute: the component trapped: "):
        guard.pre_execute(call("allocate"))
    assert guard.pre_execute(call("any")) == Allow()
    with pytest.raises(CallError, match=r"^instantiate: the component wanted more than 65536 bytes of memory$"):
        Guard(limits=Limits(memory=1 << 16))


def test_after_a_fault_the_next_call_works_on_a_fresh_instance_with_the_same_configuration() -> None:
    config = {"repeatToolReminder": {"thresholds": [2]}, "toolCallLimit": {"limits": {"search": 1}}}
    # Room for the guard, and for little more.
    guard = Guard(config, limits=Limits(memory=4 << 20))
    begin(guard)
    guard.post_execute(call("grep"), SUCCEEDED)
    assert guard.pre_execute(call("search")) == Allow()
    with pytest.raises(CallError, match=r"^post-execute: "):
        guard.post_execute(call("grep", "x" * (8 << 20)), SUCCEEDED)
    assert guard.count("main") == 0
    assert guard.pre_execute(call("search")) == Deny(NO_STEP)
    begin(guard)
    assert guard.pre_execute(call("search")) == Allow()
    guard.post_execute(call("grep"), SUCCEEDED)
    assert len(guard.post_execute(call("grep"), SUCCEEDED)) == 1


def test_an_instance_that_cannot_be_replaced_is_a_fault_of_every_call() -> None:
    guard = Guard()
    # What made the configuration good and makes it bad now lies outside: memory, time.
    guard._instance = None
    guard._config = "[]"
    for _ in range(2):
        with pytest.raises(CallError, match=r"^count: no fresh instance could be started: must be an object$"):
            guard.count("main")


def test_time_is_bounded_and_other_guards_go_on() -> None:
    component = Component.from_file(built("stub.wasm"))
    stuck, other = (component.guard(limits=Limits(time=0.5)) for _ in range(2))
    with ThreadPoolExecutor(1) as pool:
        began = time.monotonic()
        running = pool.submit(stuck.pre_execute, call("spin"))
        calls = 0
        while not running.done():
            assert other.pre_execute(call("any")) == Allow()
            calls += 1
        with pytest.raises(CallError, match=r"^pre-execute: the component did not answer within 500ms$"):
            running.result()
    # How late the machine notices is not tested.
    assert time.monotonic() - began >= 0.5
    assert calls > 100
    assert stuck.pre_execute(call("any")) == Allow()


def test_threads_that_hammer_one_guard_get_exactly_the_quota() -> None:
    guard = Guard({"toolCallLimit": {"limits": {"search": 100}}})
    begin(guard)
    with ThreadPoolExecutor(8) as pool:
        answers = Counter(type(answer) for answer in pool.map(guard.pre_execute, [call("search", "{}")] * 2000))
    assert answers == {Allow: 100, Deny: 1900}


def test_guards_in_many_threads_do_not_disturb_each_other(monkeypatch: pytest.MonkeyPatch) -> None:
    add_classes = wasmtime.component.String.add_classes

    def add_classes_and_let_others_go_on(self: Any, classes: set[type]) -> None:
        # wasmtime converts an option with one set for all threads, which each empties, fills and reads: here each has the
        # time to empty what another has filled.
        time.sleep(0.0001)
        add_classes(self, classes)
        time.sleep(0.0001)

    monkeypatch.setattr(wasmtime.component.String, "add_classes", add_classes_and_let_others_go_on)

    def work(number: int) -> int:
        guard = Guard()
        for _ in range(10):
            guard.pre_execute(call("grep", agent=str(number)))
            guard.post_execute(call("grep", agent=str(number)), SUCCEEDED)
        return guard.count(str(number))

    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(work, range(16))) == [10] * 16


def test_an_interrupt_in_the_middle_of_a_call_leaves_the_guard_usable(monkeypatch: pytest.MonkeyPatch) -> None:
    guard = Guard()
    guard.post_execute(call("grep"), SUCCEEDED)
    instance = guard._instance
    assert instance is not None

    def interrupted(*_: object) -> object:
        raise KeyboardInterrupt

    monkeypatch.setattr(instance, "call", interrupted)
    with pytest.raises(KeyboardInterrupt):
        guard.count("main")
    assert guard.count("main") == 0


def test_what_is_no_component_of_this_contract_is_refused_by_name(tmp_path: Path) -> None:
    def refused(data: bytes) -> str:
        with pytest.raises(LoadError) as caught:
            Component(data)
        return str(caught.value)

    assert refused(b"") == "not a WebAssembly component, but empty"
    something = "something else: it does not begin with the bytes of WebAssembly"
    assert refused(b"(component)") == f"not a WebAssembly component, but {something}"
    assert refused(b"\0asm") == f"not a WebAssembly component, but {something}"
    module = "a core module; wrap it with `wasm-tools component new` first"
    assert refused(b"\0asm\1\0\0\0") == f"not a WebAssembly component, but {module}"
    assert refused(b"\0asm\x0d\0\1\0") == f"expected a component that exports {CONTRACT}, but this one exports nothing"
    found = "loop-guard:plugin/guard@0.2.0, loop-guard:plugin/introspection@0.2.0, loop-guard:plugin/resume@0.2.0"
    other = built("other-version.wasm").read_bytes()
    assert refused(other) == f"expected a component that exports {CONTRACT}, but this one exports {found}"
    importing = built("importing.wasm").read_bytes()
    assert refused(importing) == "a guard imports nothing, but this component imports wasi:io/error@0.2.0"
    assert refused(built("other-types.wasm").read_bytes()) == (
        f"the component exports {CONTRACT}, but not as this version of the contract has it: "
        "loop-guard:plugin/guard@0.1.0 step-start: "
        "expected record { agent: string, turn: u32, step: u32, prompted: bool }, but found nothing"
    )
    damaged = built("loop-guard.wasm").read_bytes()[:1000]
    assert refused(damaged).startswith("the component does not compile: ")
    with pytest.raises(LoadError) as caught:
        Component.from_file(tmp_path / "none.wasm")
    assert str(caught.value) == f"cannot read {tmp_path / 'none.wasm'}: No such file or directory"


def test_errors_can_be_caught_as_one_and_sent_to_another_process() -> None:
    problem = Problem("/a", "b")
    for error in (LoadError("a"), ConfigurationError([problem]), CallError("step", "a")):
        assert isinstance(error, LoopGuardError)
        copy = pickle.loads(pickle.dumps(error))
        assert (type(copy), str(copy), vars(copy)) == (type(error), str(error), vars(error))


def test_the_thread_that_watches_the_time_ends_with_the_component() -> None:
    def watching() -> int:
        return sum(thread.name == "loop-guard-time" for thread in threading.enumerate())

    before = watching()
    component = Component.from_file(built("stub.wasm"))
    guard = component.guard()
    assert watching() == before + 1
    del component
    assert guard.pre_execute(call("any")) == Allow()
    del guard
    deadline = time.monotonic() + 30
    while watching() > before:
        assert time.monotonic() < deadline
        time.sleep(0.01)


def in_a_process(code: str) -> str:
    """What a program prints. It fails if the program hangs."""
    tests = str(Path(__file__).parent)
    environment = {**os.environ, "PYTHONPATH": tests}
    prelude = "import os, threading, time\nfrom loop_guard import *\nfrom support import *\n"
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", prelude + code],
        env=environment,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def test_a_process_ends_while_a_call_runs_in_a_daemon_thread() -> None:
    code = """
guard = Component.from_file(built("stub.wasm")).guard(limits=Limits(time=30))
threading.Thread(target=guard.pre_execute, args=(call("spin"),), daemon=True).start()
while not guard._lock.locked():
    pass
print("ends")
"""
    began = time.monotonic()
    assert in_a_process(code) == "ends\n"
    assert time.monotonic() - began < 30


def test_a_forked_child_goes_on_with_its_guards() -> None:
    code = """
component = Component.from_file(built("stub.wasm"))
idle, busy = (component.guard(limits=Limits(time=0.3)) for _ in range(2))
real = Guard()
real.post_execute(call("grep"), SUCCEEDED)
def spin():
    try:
        busy.pre_execute(call("spin"))
    except CallError:
        pass
running = threading.Thread(target=spin)
running.start()
while not busy._lock.locked():
    pass
child = os.fork()
if child == 0:
    print(real.post_execute(call("grep"), SUCCEEDED), real.count("main"), flush=True)
    print(busy.pre_execute(call("any")), flush=True)
    try:
        idle.pre_execute(call("spin"))
    except CallError as error:
        print(error, flush=True)
    print(Component.from_file(built("loop-guard.wasm")).guard().count("main"), flush=True)
    os._exit(0)
assert os.waitpid(child, 0)[1] == 0
running.join()
print(real.count("main"))
"""
    assert in_a_process(code).splitlines() == [
        "[] 2",
        "Allow()",
        "pre-execute: the component did not answer within 300ms",
        "0",
        "1",
    ]


def test_a_forked_child_has_locks_of_its_own_and_the_instance_of_a_guard_at_rest() -> None:
    guard = Guard()
    lock, instance = guard._lock, guard._instance
    guard._after_fork()
    assert guard._lock is not lock, "threads of the parent may wait for it"
    assert guard._instance is instance
    with guard._lock:
        guard._after_fork()
    assert guard._instance is None
    assert guard.count("main") == 0


def test_forks_while_threads_make_calls_leave_no_lock_held() -> None:
    code = """
guards = [Guard() for _ in range(4)]
stopping = threading.Event()
def work(guard):
    while not stopping.is_set():
        guard.pre_execute(call("grep"))
threads = [threading.Thread(target=work, args=(guard,)) for guard in guards]
for thread in threads:
    thread.start()
for _ in range(25):
    child = os.fork()
    if child == 0:
        for guard in guards:
            guard.post_execute(call("grep", agent="child"), SUCCEEDED)
            assert guard.count("child") == 1
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
stopping.set()
print("done")
"""
    assert in_a_process(code) == "done\n"
