"""A compiled component: loaded and checked once, for any number of guards."""

from __future__ import annotations

import math
import os
import threading
import time
import weakref
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING

from wasmtime import Config, Engine, Store, WasmtimeError
from wasmtime import component as wasm

from ._contract import CONTRACT, differences
from ._errors import LoadError
from ._limits import Limits
from ._signature import Signature

if TYPE_CHECKING:
    from ._guard import Guard

TICK = 0.1
"""How often a running call is looked at, to see whether its time is over, in seconds."""

_EXPORTS = " and ".join(CONTRACT)


class Component:
    """A compiled component that implements the contract.

    Compiling takes a quarter of a second; a guard made from it, less than a millisecond. One daemon thread for each loaded
    component watches the time of calls; it ends when the component and its guards are gone.
    """

    def __init__(self, data: bytes) -> None:
        """Compiles and checks a component in memory.

        :raises LoadError: if it does not compile, or is no component of this contract.
        """
        _check_kind(data)
        config = Config()
        config.epoch_interruption = True
        # The threads of a parallel compilation do not survive a fork: a child that loads a component would wait for them.
        config.parallel_compilation = False
        try:
            self._engine = Engine(config)
            self._component = wasm.Component(self._engine, data)
        except WasmtimeError as error:
            raise LoadError(f"the component does not compile: {root_cause(error)}") from error
        _check_contract(self._engine, self._component)
        self._linker = wasm.Linker(self._engine)
        self._functions = _functions(self._engine, self._component)
        _watch_time(self._engine)

    @staticmethod
    def embedded() -> Component:
        """The component that this package carries. It is loaded once for the process.

        :raises LoadError: where wasmtime does not support the machine.
        """
        return _embedded()

    @classmethod
    def from_file(cls, path: str | os.PathLike[str]) -> Component:
        """A component in a file.

        :raises LoadError: if it cannot be read, does not compile, or is no component of this contract.
        """
        try:
            with open(path, "rb") as file:
                data = file.read()
        except OSError as error:
            raise LoadError(f"cannot read {os.fspath(path)}: {error.strerror}") from error
        return cls(data)

    def guard(self, config: object = None, *, limits: Limits | None = None) -> Guard:
        """A guard: an instance of its own, with a configuration.

        :raises ConfigurationError: with all problems of the configuration.
        :raises CallError: if the component could not be asked.
        """
        from ._guard import Guard

        return Guard(config, limits=limits, component=self)

    def instantiate(self, limits: Limits) -> Instance:
        """A fresh instance. For :class:`~loop_guard.Guard`."""
        store = Store(self._engine)
        store.set_limits(memory_size=limits.memory, table_elements=10_000)
        instance = Instance(store, limits.time)
        instance.let_time_pass()
        inner = self._linker.instantiate(store, self._component)
        for name, (index, signature) in self._functions.items():
            func = inner.get_func(store, index)
            assert func is not None, name
            instance.functions[name] = signature.bind(func)
        return instance


class Instance:
    """A running instance. After a fault it must not be called again."""

    def __init__(self, store: Store, seconds: float) -> None:
        self.store = store
        self.functions: dict[str, wasm.Func] = {}
        # The tick that is under way does not count.
        self._ticks = math.ceil(seconds / TICK) + 1

    def let_time_pass(self) -> None:
        """Gives the next call its full time."""
        self.store.set_epoch_deadline(self._ticks)

    def call(self, function: str, *arguments: object) -> object:
        """Calls a function of the contract.

        :raises WasmtimeError: if the component traps.
        """
        self.let_time_pass()
        return self.functions[function](self.store, *arguments)


def root_cause(error: WasmtimeError) -> str:
    """The last line of what wasmtime tells, which says what happened and not where."""
    return str(error).strip().rsplit("\n", 1)[-1].strip()


@cache
def _load_embedded() -> Component:
    return Component(resources.files(__package__).joinpath("loop-guard.wasm").read_bytes())


_LOADING = threading.Lock()


def _embedded() -> Component:
    with _LOADING:
        return _load_embedded()


def _check_kind(data: bytes) -> None:
    """The first eight bytes tell a component from a core module."""
    if data[:4] == b"\0asm" and data[6:8] == b"\1\0":
        return
    if data[:4] == b"\0asm" and data[6:8] == b"\0\0":
        what = "a core module; wrap it with `wasm-tools component new` first"
    elif data:
        what = "something else: it does not begin with the bytes of WebAssembly"
    else:
        what = "empty"
    raise LoadError(f"not a WebAssembly component, but {what}")


def _check_contract(engine: Engine, component: wasm.Component) -> None:
    world = component.type
    if imports := list(world.imports(engine)):
        raise LoadError(f"a guard imports nothing, but this component imports {', '.join(imports)}")
    exports = {name: export.ty for name, export in world.exports(engine).items()}
    if not all(isinstance(exports.get(name), wasm.ComponentInstanceType) for name in CONTRACT):
        found = ", ".join(exports) or "nothing"
        raise LoadError(f"expected a component that exports {_EXPORTS}, but this one exports {found}")
    # What another component has beside the contract does no harm here.
    for difference in differences(engine, component):
        if difference.declared is not None:
            raise LoadError(
                f"the component exports {_EXPORTS}, but not as this version of the contract has it: {difference}"
            )


def _functions(engine: Engine, component: wasm.Component) -> dict[str, tuple[wasm.ExportIndex, Signature]]:
    functions = {}
    exports = component.type.exports(engine)
    for name in CONTRACT:
        interface = exports[name].ty
        within = component.get_export_index(name)
        assert isinstance(interface, wasm.ComponentInstanceType)
        for function, export in interface.exports(engine).items():
            index = component.get_export_index(function, within)
            if isinstance(export.ty, wasm.FuncType) and index is not None:
                functions[function] = (index, Signature(export.ty))
    return functions


_WATCHED: weakref.WeakSet[Engine] = weakref.WeakSet()


def _watch_time(engine: Engine) -> None:
    """Lets time pass for the calls of an engine, for as long as it lives."""
    _WATCHED.add(engine)
    watched = weakref.ref(engine)
    try:
        threading.Thread(target=_tick, args=(watched,), name="loop-guard-time", daemon=True).start()
    except RuntimeError as error:
        raise LoadError(f"cannot start the thread that watches the time limit: {error}") from error


def _tick(watched: weakref.ref[Engine]) -> None:
    while (engine := watched()) is not None:
        engine.increment_epoch()
        del engine
        time.sleep(TICK)


def _after_fork() -> None:
    """A child has none of its parent's threads: neither those that watch the time, nor one that was loading."""
    global _LOADING
    _LOADING = threading.Lock()
    for engine in list(_WATCHED):
        _watch_time(engine)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
