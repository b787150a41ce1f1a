"""Signals that end a program: other handlers for a while, and steps that are not interrupted."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from types import FrameType
from typing import Any

SIGNALS = [
    getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)
]


@contextmanager
def handled(
    numbers: Sequence[int], handler: Callable[[int, FrameType | None], None]
) -> Iterator[None]:
    """Handle signals, except those that the program was started to ignore (nohup)."""
    before: dict[int, Any] = {}
    with suppress(ValueError):  # not the main thread, which is the only one that gets signals
        for number in numbers:
            if signal.getsignal(number) not in (signal.SIG_IGN, None):
                before[number] = signal.signal(number, handler)
    try:
        yield
    finally:
        for number, previous in reversed(before.items()):  # Ctrl-C last: its handler may raise
            signal.signal(number, previous)


@contextmanager
def uninterrupted() -> Iterator[None]:
    """Delay signals until a few steps that belong together are done."""
    waiting: list[int] = []
    try:
        with handled(SIGNALS, lambda number, frame: waiting.append(number)):
            yield
    finally:
        for number in waiting:
            signal.raise_signal(number)
