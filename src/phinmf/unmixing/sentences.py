"""Errors in words."""

from __future__ import annotations


def sentence(error: BaseException) -> str:
    """Return what an error says, in one line."""
    if isinstance(error, OSError) and error.errno and error.strerror:
        where = f"{error.filename}: " if error.filename else ""
        return f"{where}{error.strerror}"
    return " ".join(str(error).split()) or type(error).__name__
