"""Text on a terminal: any text is safe to print, in any encoding of the terminal."""

from __future__ import annotations

import io
import os
import re
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from phinmf.cli.options import spelled
from phinmf.errors import explained, is_for_user


def shown(text: object) -> str:
    r"""Escape what a terminal would interpret, such as \x1b, and bytes that are not text."""
    return "".join(
        character if character.isprintable() else escaped(character) for character in str(text)
    )


def escaped(character: str) -> str:
    """Return a character as Python writes it; a byte that could not be decoded as that byte."""
    byte = ord(character) - 0xDC00
    if 0x80 <= byte <= 0xFF:
        return f"\\x{byte:02x}"
    return character.encode("unicode_escape").decode("ascii")


def note(text: str) -> None:
    """Print a line to standard error: standard output is only for results."""
    print(shown(text), file=sys.stderr)


def about(path: Path, text: str) -> str:
    """Return a message about an input; its path is added if the message does not name it."""
    named = re.search(rf"(?<![\w/]){re.escape(str(path))}(?!\w)", text)
    return text if named else f"{path}: {text}"


@dataclass
class Failures:
    """Prints errors and counts them, so that one input that fails does not stop the others."""

    debug: bool = False  #: whether the traceback of a fault of phinmf is printed as well
    number: int = 0  #: of errors

    def report(self, error: Exception, path: Path | None = None) -> None:
        """Print one line about an error, and about the input that it is about, if there is one."""
        self.number += 1
        if self.debug and not is_for_user(error):
            traceback.print_exception(error)
        text = spelled(explained(error))
        note(f"phinmf: {text if path is None else about(path, text)}")

    @contextmanager
    def reported(self, path: Path | None) -> Iterator[None]:
        """Report an error of the block."""
        try:
            yield
        except Exception as error:
            self.report(error, path)


def print_anything() -> None:
    """Let standard output and error escape characters that their encoding does not have.

    A closed stream is replaced by the null device: otherwise `print` to standard error would go to
    standard output, and the next opened file would get the number of the closed one.
    """
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:
            setattr(sys, name, open(os.devnull, "w"))  # noqa: SIM115
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


@contextmanager
def written_out() -> Iterator[None]:
    """Raise if what was printed cannot be written, before Python notices at its end."""
    try:
        yield
    finally:
        try:
            sys.stdout.flush()
        except OSError as error:
            null = os.open(os.devnull, os.O_WRONLY)
            os.dup2(null, sys.stdout.fileno())  # for what is printed later
            raise OSError(f"standard output cannot be written ({error.strerror})") from None
