"""Spares wasmtime to look at a function's types in every call.

wasmtime asks the compiled component for the types of parameters, fields and cases each time, which takes longer than the call
itself. They never change, so they are remembered here. And its conversion of an option uses one set for all threads of
the process, which guards in two threads would spoil for each other: here one thread converts at a time.
"""

from __future__ import annotations

import os
import threading
from functools import cached_property
from typing import Any, cast

from wasmtime.component import Func, FuncType, ListType, OptionType, RecordType, ResultType, ValType, VariantType

_CONVERTING = threading.Lock()


def _after_fork() -> None:
    global _CONVERTING
    _CONVERTING = threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


class Signature:
    """The types of a function, as :class:`wasmtime.component.FuncType` has them, but remembered."""

    params: list[tuple[str, ValType]]
    result: ValType | None

    def __init__(self, of: FuncType) -> None:
        self.params = [(name, _remembered(param)) for name, param in of.params]
        self.result = None if of.result is None else _remembered(of.result)

    def bind(self, func: Func) -> Func:
        """The function, which from now on takes its types from here."""
        func.__class__ = _Func
        cast("_Func", func).signature = self
        return func


class _Func(Func):
    signature: Signature

    def type(self, store: Any) -> FuncType:  # noqa: ARG002
        return cast("FuncType", self.signature)


class _List(ListType):
    @cached_property
    def element(self) -> ValType:
        return _remembered(super().element)


class _Record(RecordType):
    @cached_property
    def fields(self) -> list[tuple[str, ValType]]:
        return [(name, _remembered(field)) for name, field in super().fields]


class _Variant(VariantType):
    @cached_property
    def cases(self) -> list[tuple[str, ValType | None]]:
        return [(name, case and _remembered(case)) for name, case in super().cases]


class _Option(OptionType):
    @cached_property
    def payload(self) -> ValType:
        return _remembered(super().payload)

    def convert_to_c(self, store: Any, val: Any, ptr: Any) -> None:
        with _CONVERTING:
            super().convert_to_c(store, val, ptr)


class _Result(ResultType):
    @cached_property
    def ok(self) -> ValType | None:
        of = super().ok
        return of and _remembered(of)

    @cached_property
    def err(self) -> ValType | None:
        of = super().err
        return of and _remembered(of)


_REMEMBERING: dict[type[ValType], type[ValType]] = {
    ListType: _List,
    RecordType: _Record,
    VariantType: _Variant,
    OptionType: _Option,
    ResultType: _Result,
}


def _remembered(of: ValType) -> ValType:
    # wasmtime makes these objects itself, so that they can only be given another class afterwards.
    of.__class__ = _REMEMBERING.get(type(of), type(of))
    return of
