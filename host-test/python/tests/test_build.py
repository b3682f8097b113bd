"""The build carries the component, and fails where the package does not fit it."""

from __future__ import annotations

import dataclasses
import importlib.util
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import wasmtime
from support import ROOT, built

from loop_guard import _contract, _types

STEP_START = "record { agent: string, turn: u32, step: u32, prompted: bool }"


def build(folder: Path, *what: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "build", "--no-isolation", *what, "--outdir", str(folder / "dist"), str(folder)]
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A copy of the package where it stands in a checkout, beside the built component."""
    folder = tmp_path / "host-test" / "python"
    shutil.copytree(ROOT, folder, ignore=shutil.ignore_patterns(".*", "dist", "__pycache__"))
    (tmp_path / "host-test" / "build").mkdir()
    shutil.copy(built("loop-guard.wasm"), tmp_path / "host-test" / "build")
    return folder


def test_wheel_and_source_distribution_carry_the_component(checkout: Path, tmp_path: Path) -> None:
    done = build(checkout, "--sdist", "--wheel")
    assert done.returncode == 0, done.stdout
    component = built("loop-guard.wasm").read_bytes()
    with zipfile.ZipFile(checkout / "dist" / "loop_guard-0.1.0-py3-none-any.whl") as wheel:
        assert wheel.read("loop_guard/loop-guard.wasm") == component
        assert {"loop_guard/py.typed", "loop_guard-0.1.0.dist-info/licenses/LICENSE"} <= set(wheel.namelist())
        files = {name for name in wheel.namelist() if name.startswith("loop_guard/")}
    (tmp_path / "elsewhere").mkdir()
    packed = checkout / "dist" / "loop_guard-0.1.0.tar.gz"
    subprocess.run(["tar", "-xzf", str(packed), "-C", str(tmp_path / "elsewhere")], check=True)
    source = tmp_path / "elsewhere" / "loop_guard-0.1.0"
    done = build(source, "--wheel")
    assert done.returncode == 0, done.stdout
    with zipfile.ZipFile(source / "dist" / "loop_guard-0.1.0-py3-none-any.whl") as wheel:
        assert wheel.read("loop_guard/loop-guard.wasm") == component
        assert {name for name in wheel.namelist() if name.startswith("loop_guard/")} == files


def test_without_the_component_the_build_says_what_to_do(checkout: Path) -> None:
    (checkout.parent / "build" / "loop-guard.wasm").unlink()
    done = build(checkout, "--wheel")
    assert done.returncode != 0
    assert "loop-guard.wasm is missing: run `make component` in the checkout first" in done.stdout


def test_a_component_of_other_types_fails_the_build(checkout: Path) -> None:
    shutil.copy(built("other-types.wasm"), checkout.parent / "build" / "loop-guard.wasm")
    done = build(checkout, "--wheel")
    assert done.returncode != 0
    assert "the component's contract is not the one that _contract.py and _types.py declare" in done.stdout
    assert f"  loop-guard:plugin/guard@0.1.0 step-start: expected {STEP_START}, but found nothing" in done.stdout
    assert (
        "  loop-guard:plugin/introspection@0.1.0 count: expected func(agent: string) -> u32, but found nothing"
        in done.stdout
    )


@pytest.mark.parametrize(
    ("file", "was", "becomes", "difference"),
    [
        (
            "_types.py",
            "    prompted: bool\n",
            "    resumed: bool\n",
            f"step-start: expected {STEP_START.replace('prompted', 'resumed')}, but found {STEP_START}",
        ),
        (
            "_types.py",
            "Decision = Allow | Deny | Ask",
            "Decision = Allow | Deny",
            "decision: expected variant { allow, deny(string) }, but found variant { allow, deny(string), ask(string) }",
        ),
        (
            "_types.py",
            '    DENIED = "denied"',
            '    DENIED = "refused"',
            "status: expected enum { succeeded, failed, refused }, but found enum { succeeded, failed, denied }",
        ),
        (
            "_contract.py",
            "def count(self, agent: str) -> int",
            "def count(self, agent: str) -> str",
            "count: expected func(agent: string) -> string, but found func(agent: string) -> u32",
        ),
        (
            "_contract.py",
            "    def agent_ended(self, agent: str) -> None: ...\n",
            "",
            "agent-ended: expected nothing, but found func(agent: string)",
        ),
        (
            "_contract.py",
            "def turn_ended(self, agent: str, turn: int)",
            "def turn_ended(self, agent: str, number: int)",
            "turn-ended: expected func(agent: string, number: u32), but found func(agent: string, turn: u32)",
        ),
        (
            "_contract.py",
            "Result[Needs, list[Problem]]",
            "Result[Needs, list[Notice]]",
            "configure: expected func(config: string) -> result<needs, list<notice>>, "
            "but found func(config: string) -> result<needs, list<problem>>",
        ),
        (
            "_contract.py",
            'INTROSPECTION = "loop-guard:plugin/introspection@0.1.0"',
            'INTROSPECTION = "loop-guard:plugin/introspection@0.2.0"',
            "describe: expected func() -> string, but found nothing",
        ),
    ],
)
def test_a_package_that_declares_another_contract_fails_its_build(
    checkout: Path, file: str, was: str, becomes: str, difference: str
) -> None:
    path = checkout / "src" / "loop_guard" / file
    text = path.read_text()
    assert text.count(was) == 1
    path.write_text(text.replace(was, becomes))
    done = build(checkout, "--wheel")
    assert done.returncode != 0
    assert difference in done.stdout


def test_the_package_declares_the_contract_of_the_component() -> None:
    engine = wasmtime.Engine()
    component = wasmtime.component.Component.from_file(engine, built("loop-guard.wasm"))
    assert _contract.differences(engine, component) == []
    hook().check(ROOT / "src", built("loop-guard.wasm"))


def test_each_function_of_the_contract_is_a_method_of_the_guard() -> None:
    from loop_guard import Guard

    functions = {
        name
        for interface in (_contract.GuardInterface, _contract.IntrospectionInterface, _contract.ResumeInterface)
        for name in vars(interface)
    }
    methods = {name for name in vars(Guard) if not name.startswith("_")}
    assert methods == {name for name in functions if not name.startswith("_")}


def test_each_type_of_the_contract_is_declared() -> None:
    declared = {value for value in vars(_types).values() if dataclasses.is_dataclass(value)}
    cases = {_types.Allow, _types.Deny, _types.Ask}
    named: set[Any] = {*_contract._TYPES.values(), _types.Stat} - {_types.Decision, _types.Status, _types.Event}
    assert declared == named | cases


def hook() -> ModuleType:
    spec = importlib.util.spec_from_file_location("hatch_build", ROOT / "hatch_build.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
