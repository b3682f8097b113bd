"""What this package takes the contract to be, and how a component differs from it.

The declarations below are the one place that names the contract's functions; the types are those of ``_types.py``. The
build compares them with the component, so that a contract that has changed breaks the build and not a user's host.
"""

from __future__ import annotations

import re
import types
from dataclasses import dataclass, fields, is_dataclass
from enum import Enum
from typing import Annotated, Any, Generic, Protocol, TypeVar, Union, get_args, get_origin, get_type_hints

from wasmtime import Engine
from wasmtime import component as wasm

from ._types import Decision, Event, Needs, Notice, Outcome, Problem, Stat, Status, StepStart, ToolCall

_Ok = TypeVar("_Ok", covariant=True)
_Err = TypeVar("_Err", covariant=True)


class Result(Protocol, Generic[_Ok, _Err]):
    """A WIT ``result``."""


class GuardInterface(Protocol):
    """The hooks that a host calls while its agents work."""

    def configure(self, config: str) -> Result[Needs, list[Problem]]: ...
    def step(self, start: StepStart) -> None: ...
    def pre_execute(self, call: ToolCall) -> Decision: ...
    def post_execute(self, call: ToolCall, outcome: Outcome) -> list[Notice]: ...
    def step_aborted(self, agent: str, turn: int, step: int) -> None: ...
    def turn_ended(self, agent: str, turn: int) -> None: ...
    def agent_ended(self, agent: str) -> None: ...
    def noted(self, agent: str, event: Event) -> None: ...


class IntrospectionInterface(Protocol):
    """What tools and tests ask a guard."""

    def describe(self) -> str: ...
    def canonical(self, text: str) -> str: ...
    def count(self, agent: str) -> int: ...
    def explain(self, tool: str) -> str: ...
    def stats(self) -> list[Stat]: ...


class ResumeInterface(Protocol):
    """Going on with the counts of an earlier instance."""

    def snapshot(self) -> bytes: ...
    def restore(self, state: bytes) -> Result[None, str]: ...


GUARD = "loop-guard:plugin/guard@0.1.0"
INTROSPECTION = "loop-guard:plugin/introspection@0.1.0"
RESUME = "loop-guard:plugin/resume@0.1.0"

_TYPES: dict[str, Any] = {
    "step-start": StepStart,
    "tool-call": ToolCall,
    "decision": Decision,
    "status": Status,
    "outcome": Outcome,
    "notice": Notice,
    "problem": Problem,
    "needs": Needs,
    "event": Event,
}
_INTERFACES: dict[str, tuple[type, dict[str, Any]]] = {
    GUARD: (GuardInterface, _TYPES),
    INTROSPECTION: (IntrospectionInterface, {"stat": Stat}),
    RESUME: (ResumeInterface, {}),
}
CONTRACT = tuple(_INTERFACES)
"""The interfaces that a component must export."""
_PRIMITIVES: dict[Any, str] = {str: "string", int: "u32", bool: "bool", bytes: "list<u8>", type(None): "_"}


@dataclass(frozen=True)
class Difference:
    """A function or type that the component has otherwise than this package, in WIT's notation."""

    item: str
    """The interface and the item."""
    declared: str | None
    """What this package declares; none if nothing."""
    found: str | None
    """What the component has; none if nothing."""

    def __str__(self) -> str:
        return f"{self.item}: expected {self.declared or 'nothing'}, but found {self.found or 'nothing'}"


def differences(engine: Engine, component: wasm.Component) -> list[Difference]:
    """How a component differs from what this package declares, item by item."""
    exports = component.type.exports(engine)
    differing = []
    for interface in dict.fromkeys([*_INTERFACES, *exports]):
        declared = _declared(interface)
        found = _found(engine, exports[interface].ty) if interface in exports else {}
        for name in dict.fromkeys([*declared, *found]):
            if declared.get(name) != found.get(name):
                differing.append(Difference(f"{interface} {name}", declared.get(name), found.get(name)))
    return differing


def _declared(interface: str) -> dict[str, str]:
    protocol, named = _INTERFACES.get(interface, (None, {}))
    items = {name: _declared_type(hint) for name, hint in named.items()}
    # A type is shown in full where it is declared, and by its name elsewhere: one change is one difference.
    names = {text: name for name, text in items.items()}
    for function, stub in vars(protocol).items() if protocol else ():
        if not function.startswith("_"):
            hints = get_type_hints(stub, include_extras=True)
            result = hints.pop("return")
            params = [(name, _declared_type(hint, names)) for name, hint in hints.items()]
            items[function.replace("_", "-")] = _function(
                params, None if result is type(None) else _declared_type(result, names)
            )
    return items


def _declared_type(hint: Any, names: dict[str, str] | None = None) -> str:
    text = _declared_structure(hint, names or {})
    return (names or {}).get(text, text)


def _declared_structure(hint: Any, names: dict[str, str]) -> str:
    origin, args = get_origin(hint), get_args(hint)
    if origin is Annotated:
        return str(args[1])
    if hint in _PRIMITIVES:
        return _PRIMITIVES[hint]
    if origin is list:
        return f"list<{_declared_type(args[0], names)}>"
    if origin is Result:
        return f"result<{_declared_type(args[0], names)}, {_declared_type(args[1], names)}>"
    if origin in (Union, types.UnionType):
        if type(None) in args:
            return f"option<{_declared_type(args[0], names)}>"
        return _variant([(_kebab(case.__name__), _payload(case)) for case in args])
    if isinstance(hint, type) and issubclass(hint, Enum):
        return _enum([member.value for member in hint])
    if is_dataclass(hint):
        hints = get_type_hints(hint, include_extras=True)
        return _record([(field.name, _declared_type(hints[field.name])) for field in fields(hint)])
    raise TypeError(f"the contract has no type {hint!r}")


def _payload(case: type) -> str | None:
    hints = list(get_type_hints(case).values())
    return _declared_type(hints[0]) if hints else None


def _found(engine: Engine, interface: Any) -> dict[str, str]:
    if not isinstance(interface, wasm.ComponentInstanceType):
        return {}
    exports = {name: export.ty for name, export in interface.exports(engine).items()}
    items = {name: _found_type(item, {}) for name, item in exports.items() if isinstance(item, wasm.ValType)}
    names = {text: name for name, text in items.items()}
    for name, item in exports.items():
        if isinstance(item, wasm.FuncType):
            params = [(param, _found_type(of, names)) for param, of in item.params]
            items[name] = _function(params, _found_type(item.result, names) if item.result is not None else None)
        elif name not in items:
            items[name] = type(item).__name__
    return items


def _found_type(of: Any, names: dict[str, str]) -> str:
    text = _found_structure(of, names)
    return names.get(text, text)


def _found_structure(of: Any, names: dict[str, str]) -> str:
    match of:
        case wasm.ListType():
            return f"list<{_found_type(of.element, names)}>"
        case wasm.OptionType():
            return f"option<{_found_type(of.payload, names)}>"
        case wasm.ResultType():
            sides = [side and _found_type(side, names) for side in (of.ok, of.err)]
            return f"result<{sides[0] or '_'}, {sides[1] or '_'}>"
        case wasm.RecordType():
            return _record([(name, _found_type(field, {})) for name, field in of.fields])
        case wasm.VariantType():
            return _variant([(name, None if case is None else _found_type(case, {})) for name, case in of.cases])
        case wasm.EnumType():
            return _enum(of.names)
        case _:
            return type(of).__name__.lower()


def _record(fields: list[tuple[str, str]]) -> str:
    return f"record {{ {', '.join(f'{name}: {of}' for name, of in fields)} }}"


def _variant(cases: list[tuple[str, str | None]]) -> str:
    return f"variant {{ {', '.join(name if of is None else f'{name}({of})' for name, of in cases)} }}"


def _enum(names: list[str]) -> str:
    return f"enum {{ {', '.join(names)} }}"


def _function(params: list[tuple[str, str]], result: str | None) -> str:
    arrow = "" if result is None else f" -> {result}"
    return f"func({', '.join(f'{name}: {of}' for name, of in params)}){arrow}"


def _kebab(name: str) -> str:
    return re.sub(r"(?<=.)(?=[A-Z])", "-", name).lower()
