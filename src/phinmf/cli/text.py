"""Text on a terminal: any text is safe to print, in any encoding of the terminal."""

from __future__ import annotations

import io
import os
import re
import sys
import traceback
import unicodedata
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, TextIO

from phinmf.errors import explained, is_for_user

if TYPE_CHECKING:
    from rich.console import Console

#: control characters, formats such as right-to-left overrides, invalid bytes, line separators
NOT_SHOWN = ("Cc", "Cf", "Cs", "Zl", "Zp")


def shown(text: object) -> str:
    r"""Escape what a terminal would interpret, such as \x1b, and bytes that are not text."""
    return "".join(
        character if unicodedata.category(character) not in NOT_SHOWN else escaped(character)
        for character in str(text)
    )


def escaped(character: str) -> str:
    """Return a character as Python writes it; a byte that could not be decoded as that byte."""
    byte = ord(character) - 0xDC00
    if 0x80 <= byte <= 0xFF:
        return f"\\x{byte:02x}"
    return character.encode("unicode_escape").decode("ascii")


def about(path: Path, text: str) -> str:
    """Return a message about an input; its path is added if the message does not name it."""
    named = re.search(rf"(?<![\w/]){re.escape(str(path))}(?!\w)", text)
    return text if named else f"{path}: {text}"


def print_error(
    error: Exception,
    debug: bool = False,
    path: Path | None = None,
    spelling: Mapping[str, str] = MappingProxyType({}),
) -> None:
    """Print one line about an error, and about the input that it is about, if there is one.

    `debug` prints the traceback of a fault of phinmf as well. A parameter of the library at the
    beginning of a message is replaced by the option that sets it, as `spelling` says.
    """
    if debug and not is_for_user(error):
        traceback.print_exception(error)
    text = explained(error)
    parameter = re.match(r"\w+(?= (is|names|has) )", text)
    if parameter is not None and parameter[0] in spelling:
        text = spelling[parameter[0]] + text[parameter.end() :]
    print(f"phinmf: {shown(text if path is None else about(path, text))}", file=sys.stderr)


class Failures:
    """Prints errors and counts them, so that one input that fails does not stop the others."""

    def __init__(self, debug: bool, spelling: Mapping[str, str]) -> None:
        self.debug = debug
        self.spelling = spelling  #: as `print_error` takes it
        self.number = 0

    @contextmanager
    def reported(self, path: Path | None) -> Iterator[None]:
        """Print an error of the block, and the input that it is about."""
        try:
            yield
        except Exception as error:
            print_error(error, self.debug, path, self.spelling)
            self.number += 1


def plain_console(file: TextIO | None = None) -> Console:
    """Return a console of rich that prints text literally: no markup, no emoji, no colours."""
    from rich.console import Console

    return Console(file=file, markup=False, emoji=False, highlight=False)


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
            os.dup2(
                os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno()
            )  # for what is printed later
            raise OSError(f"standard output cannot be written ({error.strerror})") from None
