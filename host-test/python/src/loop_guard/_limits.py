"""How much a guard may use."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Limits:
    """How much one guard may use, and how much it is sent. What goes beyond is a :class:`~loop_guard.CallError`."""

    memory: int = 1 << 30
    """The linear memory of its instance, in bytes. The component is refused more, and traps where it cannot do without."""
    time: float = 10.0
    """The time for one call, in seconds. It is measured in ticks of 100 ms, and rounded up to the next."""
    text: int = 32 << 20
    """The length of each text that is sent, in bytes of UTF-8: arguments, results, names, configurations."""

    def __post_init__(self) -> None:
        if self.memory < 0 or self.text < 0 or not 0 <= self.time <= 1e9:
            raise ValueError("limits: memory and text must not be negative, and time must be from 0 to 1e9 seconds")
