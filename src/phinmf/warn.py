"""Warnings that point at the line of the caller, however deep inside phinmf they arise.

``warnings.warn`` needs the number of frames between the warning and the caller, which differs
between `tl_nmf`, `TLNMF.fit` and a pipeline, and in a worker thread the caller is not on the stack
at all. So the caller is searched for by the names of modules, and `pinned` hands it to threads.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from types import FrameType

#: Packages that call phinmf on behalf of the caller, or that run its threads.
WRAPPERS = {"sklearn", "joblib", "concurrent", "threading", "contextlib"}

_pinned: ContextVar[FrameType | None] = ContextVar("pinned", default=None)
_stops_early: ContextVar[bool] = ContextVar("stops_early", default=False)


def warn(message: str, category: type[Warning]) -> None:
    """Warn at the line that called phinmf."""
    frame = caller()
    warnings.warn_explicit(
        message,
        category,
        frame.f_code.co_filename,
        frame.f_lineno,
        module=frame.f_globals.get("__name__"),
        registry=frame.f_globals.setdefault("__warningregistry__", {}),
    )


@contextmanager
def pinned() -> Iterator[None]:
    """Let warnings from threads point at the line that called phinmf in this thread.

    The threads must run in copies of this context (``contextvars.copy_context().run``), while this
    thread waits for them: its caller is still at the same line.
    """
    token = _pinned.set(caller())
    try:
        yield
    finally:
        _pinned.reset(token)


@contextmanager
def early_stops() -> Iterator[None]:
    """Let fits in this context stop before they converge without a warning.

    ``warnings.catch_warnings`` would change the filters of the whole process: two threads that
    leave it in another order than they entered it leave one of its filters behind.
    """
    token = _stops_early.set(True)
    try:
        yield
    finally:
        _stops_early.reset(token)


def warns_of_early_stops() -> bool:
    """Whether a fit in this context warns if it stops before it converges."""
    return not _stops_early.get()


def caller() -> FrameType:
    """Return the nearest frame outside phinmf and the packages that wrap it.

    If there is none on the stack of this thread, return the pinned one, or else the nearest frame
    outside phinmf.
    """
    frames = [frame for frame in stack() if package(frame) != "phinmf"]
    outside = next((frame for frame in frames if package(frame) not in WRAPPERS), None)
    return outside or _pinned.get() or (frames or list(stack()))[0]


def stack() -> Iterator[FrameType]:
    """The frames of this thread, the innermost first."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        yield frame
        frame = frame.f_back


def package(frame: FrameType) -> str:
    """The top-level package of the code of a frame."""
    return str(frame.f_globals.get("__name__", "")).partition(".")[0]


def say(text: str) -> None:
    """Print a line to standard error, where it does not mix with results."""
    print(text, file=sys.stderr, flush=True)
