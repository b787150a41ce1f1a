"""Signals end a command by way of its exceptions, so that what is half-written is removed."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

ENDING = [
    getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)
]


class Ended(BaseException):
    """A signal asked the program to end; learning does not take it for Ctrl-C."""

    def __init__(self, number: int) -> None:
        interrupted = number == signal.SIGINT
        super().__init__(
            "interrupted" if interrupted else f"ended by {signal.Signals(number).name}"
        )
        self.status = 1 if interrupted else 128 + number  #: exit code


@contextmanager
def ended_by_signals() -> Iterator[None]:
    """Raise Ended at the first signal alone: what is being cleaned up then is not disturbed."""
    ended = False

    def end(number: int, frame: Any) -> None:
        nonlocal ended
        if not ended:
            ended = True
            raise Ended(number)

    with handled(ENDING, end):
        yield


@contextmanager
def handled(numbers: list[int], handler: Callable[[int, Any], None]) -> Iterator[None]:
    """Handle signals but those that whoever started the program wants to be ignored (nohup)."""
    before: dict[int, Any] = {}
    try:
        for number in numbers:
            if signal.getsignal(number) not in (signal.SIG_IGN, None):
                before[number] = signal.signal(number, handler)
    except ValueError:  # not in the main thread, which alone can
        pass
    try:
        yield
    finally:
        for number, previous in before.items():
            signal.signal(number, previous)
