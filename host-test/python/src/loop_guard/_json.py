"""Writes values as JSON text: configurations, of which nothing may be lost, and the arguments of calls."""

from __future__ import annotations

import json
from collections.abc import Iterator

from ._errors import ConfigurationError
from ._types import Problem

_DEPTH = 128
"""Deeper nesting is left to the component to reject; it must only not exhaust the stack here."""


_BITS = 10_000
"""Python refuses to write longer integers, in quadratic time."""


def configuration_text(config: object) -> str:
    """The JSON text of a configuration. A string is taken for JSON text already, and none for the defaults.

    ``json.dumps`` writes NaN, which is no JSON, and turns the member name 1 into ``"1"``: here whatever JSON has no word for is
    a problem, and its place is told.

    :raises ConfigurationError: with each value that JSON would lose.
    """
    if config is None:
        return "{}"
    if isinstance(config, str) and not _is_malformed(config):
        return config
    problems = list(_lost(config, "", ()))
    if problems:
        raise ConfigurationError(problems)
    return json.dumps(config)


def arguments_text(hook: str, arguments: object) -> str:
    """The JSON text of a call's arguments. A string is raw text already."""
    if isinstance(arguments, str):
        return arguments
    try:
        return json.dumps(arguments)
    except (TypeError, ValueError, RecursionError) as error:
        raise TypeError(f"{hook}: arguments cannot be written as JSON: {error}") from error


def _lost(value: object, path: str, within: tuple[object, ...]) -> Iterator[Problem]:
    lost = ""
    if isinstance(value, str):
        lost = "half of a surrogate pair" if _is_malformed(value) else ""
    elif isinstance(value, float):
        lost = {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}.get(str(float(value)), "")
    elif isinstance(value, dict | list | tuple):
        if any(value is outer for outer in within):
            lost = "a value that contains itself"
        elif len(within) >= _DEPTH:
            lost = f"more than {_DEPTH} levels"
        else:
            yield from _lost_within(value, path, (*within, value))
    elif isinstance(value, int):
        lost = "an integer of thousands of digits" if value.bit_length() > _BITS else ""
    elif value is not None:
        lost = type(value).__name__
    if lost:
        yield Problem(path, f"cannot be written as JSON: {lost}")


def _lost_within(
    value: dict[object, object] | list[object] | tuple[object, ...], path: str, within: tuple[object, ...]
) -> Iterator[Problem]:
    if not isinstance(value, dict):
        for index, element in enumerate(value):
            yield from _lost(element, f"{path}/{index}", within)
        return
    for key, member in value.items():
        if not isinstance(key, str):
            yield Problem(path, f"cannot be written as JSON: a member named by {key!r}, which is no string")
            continue
        at = f"{path}/{key.replace('~', '~0').replace('/', '~1')}"
        yield from _lost(key, at, within)
        yield from _lost(member, at, within)


def _is_malformed(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return True
    return False
