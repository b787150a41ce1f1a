"""Warnings that point at the line of the caller, however deep inside phinmf they arise.

``warnings.warn`` needs the number of frames between the warning and the caller, which differs
between `tl_nmf`, `TLNMF.fit` and a pipeline. So the caller is searched for by the names of modules.
In a worker thread the caller is not on the stack: so what its fits have to say is said afterwards,
in the thread of the caller.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator
from types import FrameType

#: Packages that call phinmf on behalf of the caller.
WRAPPERS = {"sklearn", "joblib", "concurrent", "threading", "contextlib"}


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


def caller() -> FrameType:
    """Return the nearest frame outside phinmf and the packages that wrap it, if there is one."""
    frames = [frame for frame in stack() if package(frame) != "phinmf"]
    outside = [frame for frame in frames if package(frame) not in WRAPPERS]
    return (outside or frames or list(stack()))[0]


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
