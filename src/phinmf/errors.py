"""Errors of the user, and what is said about all others.

What phinmf checks raises a `UserError`; its message is one sentence that says what to do. The
command line and the studio print this sentence, and what the system says (no such file, a full
disk, no memory left). Every other error is a fault of phinmf: its traceback goes to a log, and the
user gets an apology that names the log.
"""

from __future__ import annotations

import os
import time
import traceback
from pathlib import Path


class UserError(Exception):
    """What the user passed cannot be used, as the message says."""


class InvalidValue(UserError, ValueError):
    """An argument, or the contents of a file, cannot have this value."""


class InvalidType(UserError, TypeError):
    """An argument cannot be of this type."""


class PackageError(UserError, ImportError):
    """A package is not installed, or has another version than it needs."""


def sentence(error: BaseException) -> str:
    """Return what an error says, in one line."""
    if isinstance(error, OSError) and error.errno and error.strerror:
        where = f"{error.filename}: " if error.filename else ""
        return f"{where}{error.strerror}"
    return " ".join(str(error).split()) or type(error).__name__


def is_for_user(error: BaseException) -> bool:
    """Whether an error is about what the user passed, or about the machine."""
    return isinstance(error, (UserError, OSError, MemoryError))


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
