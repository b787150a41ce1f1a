"""Turn signals into exceptions, so that half-written files are removed when a command ends."""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

from phinmf.unmixing.interrupts import SIGNALS, handled

SOON = 0.1  #: seconds to wait until the code whose exceptions Python ignores has ended


class Ended(BaseException):
    """A signal asked the program to end; unlike Ctrl-C, learning does not catch it."""

    def __init__(self, number: int) -> None:
        self.number, interrupted = number, number == signal.SIGINT
        super().__init__(
            "interrupted" if interrupted else f"ended by {signal.Signals(number).name}"
        )
        self.status = 1 if interrupted else 128 + number  #: exit code


@contextmanager
def ended_by_signals() -> Iterator[None]:
    """Raise Ended at the first signal only, so that later ones do not disturb cleaning up."""
    ended = False

    def end(number: int, frame: FrameType | None) -> None:
        nonlocal ended
        if not ended:
            ended = True
            raise Ended(number)

    def again(number: int) -> None:
        nonlocal ended
        ended = False
        signal.raise_signal(number)

    with handled(SIGNALS, end), sent_again(again):
        try:
            yield
        finally:
            ended = True  # the command has ended: ignore further signals


@contextmanager
def sent_again(send: Callable[[int], None]) -> Iterator[None]:
    """Send a signal again if its exception was raised where Python ignores it, as in `__del__`."""
    hook, timers = sys.unraisablehook, []

    def ignored(what: sys.UnraisableHookArgs) -> None:
        if isinstance(what.exc_value, Ended):
            timers.append(threading.Timer(SOON, send, [what.exc_value.number]))
            timers[-1].start()
        else:
            hook(what)

    sys.unraisablehook = ignored
    try:
        yield
    finally:
        sys.unraisablehook = hook
        for timer in timers:
            timer.cancel()
