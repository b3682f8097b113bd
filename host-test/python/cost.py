"""Measures what one call costs, pre-execute and post-execute, and prints it in microseconds as one line of JSON."""

from __future__ import annotations

import json
import statistics
import time

from loop_guard import Guard, Outcome, Status, ToolCall

BATCHES = 41
CALLS = 100
SUCCEEDED = Outcome(Status.SUCCEEDED)


def main() -> None:
    """Prints the line."""
    print(json.dumps({"300 B": microseconds(300), "4 KB": microseconds(4096)}))


def microseconds(size: int) -> float:
    """The median over batches of what one call costs, with raw arguments of this many bytes that differ each time."""
    guard = Guard()
    guard.step("main", turn=1, step=1, prompted=True)
    batches = [[call(batch * CALLS + number, size) for number in range(CALLS)] for batch in range(BATCHES + 1)]
    # The first batch warms up.
    return round(statistics.median([measured(guard, batch) for batch in batches][1:]), 2)


def measured(guard: Guard, calls: list[ToolCall]) -> float:
    """What one call of a batch costs, in microseconds."""
    began = time.perf_counter()
    for each in calls:
        guard.pre_execute(each)
        guard.post_execute(each, SUCCEEDED)
    return (time.perf_counter() - began) / len(calls) * 1e6


def call(line: int, size: int) -> ToolCall:
    """A call with arguments of this many bytes."""
    begin, end = f'{{"path":"src/main.rs","line":{line},"text":"', '"}'
    room = size - len(begin) - len(end)
    arguments = begin + ("lorem ipsum " * (room // 12 + 1))[:room] + end
    assert len(arguments) == size
    return ToolCall(agent="main", id="1", name="edit", arguments=arguments)


if __name__ == "__main__":
    main()
