"""Spares wasmtime to look at a function's types in every call.

wasmtime asks the compiled component for the types of parameters, fields and cases each time, which takes longer than the call
itself. They never change, so they are remembered here, from the start: what is remembered in the middle of a call needs a
lock (``functools.cached_property`` has one before Python 3.12), which a forked child would find held for ever. And wasmtime's
conversion of an option uses one set for all threads of the process, which guards in two threads would spoil for each
other: here one thread converts at a time.
"""

from __future__ import annotations

import ctypes
import os
import threading
from typing import Any, cast

from wasmtime import _ffi as ffi
from wasmtime.component import U8, Func, FuncType, ListType, OptionType, RecordType, ResultType, ValType, VariantType

_CONVERTING = threading.Lock()

# Where a byte is within a value of wasmtime's.
_SIZE = ctypes.sizeof(ffi.wasmtime_component_val_t)
_KIND = ffi.wasmtime_component_val_t.kind.offset
_PAYLOAD = ffi.wasmtime_component_val_t.of.offset


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
        self.result = _remembered_if_any(of.result)

    def bind(self, func: Func) -> Func:
        """The function, which from now on takes its types from here."""
        bound: _Func = _become(func, _Func)
        bound.signature = self
        return bound


class _Func(Func):
    signature: Signature

    def type(self, store: Any) -> FuncType:  # noqa: ARG002
        return cast("FuncType", self.signature)


class _List(ListType):
    remembered: ValType

    @property
    def element(self) -> ValType:
        return self.remembered


class _Bytes(_List):
    """A ``list<u8>``, whose bytes are copied at once: wasmtime converts each on its own."""

    def convert_to_c(self, store: Any, val: Any, ptr: Any) -> None:
        if not isinstance(val, bytes):
            return super().convert_to_c(store, val, ptr)
        elements = bytearray(len(val) * _SIZE)
        elements[_KIND::_SIZE] = bytes([ffi.WASMTIME_COMPONENT_U8.value]) * len(val)
        elements[_PAYLOAD::_SIZE] = val
        raw = ffi.wasmtime_component_vallist_t()
        ffi.wasmtime_component_vallist_new_uninit(ctypes.byref(raw), len(val))
        ctypes.memmove(raw.data, bytes(elements), len(elements))
        ptr.contents.kind = ffi.WASMTIME_COMPONENT_LIST
        ptr.contents.of.list = raw
        return None

    def convert_from_c(self, c: Any) -> bytes:
        assert c.kind == ffi.WASMTIME_COMPONENT_LIST.value
        try:
            elements = ctypes.string_at(c.of.list.data, c.of.list.size * _SIZE)
            return elements[_PAYLOAD::_SIZE]
        finally:
            ffi.wasmtime_component_vallist_delete(ctypes.byref(c.of.list))


class _Record(RecordType):
    remembered: list[tuple[str, ValType]]

    @property
    def fields(self) -> list[tuple[str, ValType]]:
        return self.remembered


class _Variant(VariantType):
    remembered: list[tuple[str, ValType | None]]

    @property
    def cases(self) -> list[tuple[str, ValType | None]]:
        return self.remembered


class _Option(OptionType):
    remembered: ValType

    @property
    def payload(self) -> ValType:
        return self.remembered

    def convert_to_c(self, store: Any, val: Any, ptr: Any) -> None:
        with _CONVERTING:
            super().convert_to_c(store, val, ptr)


class _Result(ResultType):
    remembered: tuple[ValType | None, ValType | None]

    @property
    def ok(self) -> ValType | None:
        return self.remembered[0]

    @property
    def err(self) -> ValType | None:
        return self.remembered[1]


def _remembered(of: ValType) -> ValType:
    match of:
        case ListType():
            element = _remembered(of.element)
            _become(of, _Bytes if isinstance(element, U8) else _List).remembered = element
        case RecordType():
            fields = [(name, _remembered(field)) for name, field in of.fields]
            _become(of, _Record).remembered = fields
        case VariantType():
            cases = [(name, _remembered_if_any(case)) for name, case in of.cases]
            _become(of, _Variant).remembered = cases
        case OptionType():
            payload = _remembered(of.payload)
            _become(of, _Option).remembered = payload
        case ResultType():
            sides = (_remembered_if_any(of.ok), _remembered_if_any(of.err))
            _become(of, _Result).remembered = sides
    return of


def _remembered_if_any(of: ValType | None) -> ValType | None:
    return None if of is None else _remembered(of)


def _become(of: Any, subclass: Any) -> Any:
    # wasmtime makes these objects itself, so that they can only be given another class afterwards.
    of.__class__ = subclass
    return of
