"""Which errors are for the user, and what is said about the others.

Rule: an error that phinmf raises itself, with ``raise``, is for the user, and so are those of the
system (no such file, a full disk, no memory left). Every other error is a fault of phinmf: its
traceback goes to a log, and the user gets an apology that names it.
"""

from __future__ import annotations

import dis
import os
import time
import traceback
from pathlib import Path
from types import TracebackType

USUAL = (ValueError, TypeError, RuntimeError, ImportError)  #: what phinmf raises for users


def sentence(error: BaseException) -> str:
    """Return what an error says, in one line."""
    if isinstance(error, OSError) and error.errno and error.strerror:
        where = f"{error.filename}: " if error.filename else ""
        return f"{where}{error.strerror}"
    return " ".join(str(error).split()) or type(error).__name__


def is_for_user(error: BaseException) -> bool:
    """Whether an error is about what the user asked for, or about the machine."""
    if isinstance(error, (OSError, MemoryError)):
        return True
    return isinstance(error, USUAL) and raised_by_phinmf(error.__traceback__)


def raised_by_phinmf(trace: TracebackType | None) -> bool:
    """Whether the last step of a traceback is a ``raise`` in the code of phinmf.

    In CPython the instruction at that step tells; it is another one where Python itself raises.
    """
    if trace is None:
        return True  # it was made to be shown, and never raised
    while trace.tb_next is not None:
        trace = trace.tb_next
    frame = trace.tb_frame
    if str(frame.f_globals.get("__name__", "")).partition(".")[0] != "phinmf":
        return False
    steps = dis.get_instructions(frame.f_code)
    return any(step.offset == trace.tb_lasti and step.opname == "RAISE_VARARGS" for step in steps)


def explained(error: BaseException) -> str:
    """Return one sentence about an error; a fault of phinmf is written to the log."""
    if is_for_user(error):
        return sentence(error)
    apology = f"this is a fault of phinmf, sorry ({type(error).__name__}: {sentence(error)})"
    try:
        return f"{apology}: please report it with what {logged(error)} says"
    except OSError:
        return f"{apology}: please report it with what --debug prints"


def logged(error: BaseException) -> Path:
    """Add the traceback of an error to the log, and return its path."""
    path = log_path()
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a", encoding="utf-8", errors="backslashreplace") as file:
        file.write(f"{time.strftime('%Y-%m-%d %H:%M:%S')}\n")
        file.writelines(traceback.format_exception(error))
    return path


def log_path() -> Path:
    """Return the log of faults, in the folder that the system has for such files."""
    above = os.environ.get("LOCALAPPDATA") or os.environ.get("XDG_STATE_HOME")
    return Path(above or Path.home() / ".local" / "state") / "phinmf" / "errors.log"
