"""Puts the component into the package, and fails the build if the package does not fit its contract."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class ComponentHook(BuildHookInterface[Any]):
    """Takes the component from the checkout's build; from beside this file in a source distribution."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:  # noqa: ARG002
        """Checks the component, and adds it to what is packed."""
        root = Path(self.root)
        packed = root / "loop-guard.wasm"
        component = packed if packed.exists() else root.parent / "build" / "loop-guard.wasm"
        if not component.exists():
            raise FileNotFoundError(f"{component} is missing: run `make component` in the checkout first")
        check(root / "src", component)
        place = "loop-guard.wasm" if self.target_name == "sdist" else "loop_guard/loop-guard.wasm"
        build_data["force_include"][str(component)] = place


def check(package: Path, component: Path) -> None:
    """Compares each record, variant, enum and function of the component with what the package in a folder declares."""
    sys.path.insert(0, str(package))
    try:
        import wasmtime

        from loop_guard._contract import differences
    finally:
        sys.path.remove(str(package))
    engine = wasmtime.Engine()
    found = differences(engine, wasmtime.component.Component.from_file(engine, component))
    if found:
        lines = "\n".join(f"  {difference}" for difference in found)
        raise ValueError(f"the component's contract is not the one that _contract.py and _types.py declare:\n{lines}")
