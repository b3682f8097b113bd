"""What has a lock, in a process that was forked."""

from __future__ import annotations

import os
import threading
import weakref
from typing import Protocol


class _Locked(Protocol):
    def _after_fork(self) -> None: ...


_ALL: weakref.WeakSet[_Locked] = weakref.WeakSet()


def follow(locked: _Locked) -> None:
    """From now on, something is told in the child when the process was forked."""
    _ALL.add(locked)


def renew(lock: threading.Lock) -> tuple[threading.Lock, bool]:
    """In the child: another lock, and whether nobody had the old one.

    A thread of the parent may have been at work, or waited for its turn: in the child it never comes back.
    """
    idle = lock.acquire(blocking=False)
    return threading.Lock(), idle


def _after_fork() -> None:
    for locked in list(_ALL):
        locked._after_fork()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
