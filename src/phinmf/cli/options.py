"""Parse the values of options; impossible values are refused in one sentence."""

from __future__ import annotations

import argparse
import math
import os
import re
from collections.abc import Callable, Sequence
from pathlib import Path

MAX_WEIGHT = 1e9
#: parameters of the library and the options that set them
SPELLING = {
    "n_components": "-k",
    "window": "--window",
    "sparsity": "--sparsity",
    "n_atoms": "--atoms",
    "solver": "--solver",
    "init": "--init",
    "seed": "--seed",
    "random_state": "--seed",
    "max_time": "--max-time",
    "n_threads": "--threads",
    "device": "--device",
    "groups": "--groups",
    "group": "--group",
    "filename": "--filename",
    "format": "--format",
    "subtype": "--subtype",
    "gain": "--gain",
}

SOUND = re.compile(r"-[^=]*\.(wav|flac|aiff?|mp3|ogg|oga|opus|m4a|mp4|aac|wma|w64|caf|au)", re.I)


def dashed(argv: Sequence[str]) -> str | None:
    """Return the first argument that begins with a dash but is a file, or is named like one."""
    for text in argv:
        if text == "--":
            return None
        if text.startswith("-") and (SOUND.fullmatch(text) or os.path.isfile(text)):
            return text
    return None


def as_typed(message: str) -> str:
    """Replace a parameter at the beginning of a message by the option that sets it."""
    found = re.match(r"(\w+)(?= (is|names|has) )", message)
    if found is None or found[0] not in SPELLING:
        return message
    return SPELLING[found[0]] + message[found.end() :]


def number(text: str, least: float, most: float = math.inf, unit: str = "") -> float:
    """Read a finite number within bounds."""
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not (math.isfinite(value) and least <= value <= most):
        bounds = f"of at least {least:g}" if most == math.inf else f"from {least:g} to {most:g}"
        raise argparse.ArgumentTypeError(
            f"{text!r} is given, but a number{unit} {bounds} is needed"
        )
    return value


def whole(text: str, least: int) -> int:
    """Read a whole number."""
    if not re.fullmatch(r"\s*[-+]?[0-9]{1,18}\s*", text) or int(text) < least:
        raise argparse.ArgumentTypeError(
            f"{text!r} is given, but a whole number of at least {least} is needed"
        )
    return int(text)


def seconds(text: str) -> float:
    """Read a position in a recording."""
    return number(text, 0, unit=" of seconds")


def duration(text: str) -> float:
    """Read a length of time, which must not be 0."""
    value = number(text, 0, unit=" of seconds")
    if value == 0:
        raise argparse.ArgumentTypeError(f"{text!r} is given, but more than 0 seconds are needed")
    return value


def decibels(text: str) -> float:
    """Read a gain."""
    from phinmf.unmixing.options import MAX_GAIN

    return number(text, -MAX_GAIN, MAX_GAIN, unit=" of decibels")


def weight(text: str) -> float:
    """Read the weight of a penalty, within the range of single precision."""
    return number(text, 0, MAX_WEIGHT)


def atoms(text: str) -> int | float | None:
    """Read a number of atoms, a share of the energy below 1, or "all"."""
    if text.strip() == "all":
        return None
    if re.fullmatch(r"\s*[0-9]{1,9}\s*", text) and int(text) > 0:
        return int(text)
    try:
        share = float(text)
    except ValueError:
        share = math.nan
    if not 0 < share < 1:
        raise argparse.ArgumentTypeError(
            f"{text!r} is given, but a number of atoms, a share of the energy such as 0.999, or"
            " 'all' is needed"
        )
    return share


def count_or(word: str) -> Callable[[str], int | str]:
    """Return a function that reads a number of things, or this word."""

    def read(text: str) -> int | str:
        try:
            return word if text.strip() == word else whole(text, 1)
        except argparse.ArgumentTypeError:
            raise argparse.ArgumentTypeError(
                f"{text!r} is given, but a whole number of at least 1, or {word!r}, is needed"
            ) from None

    return read


def count(text: str) -> int:
    """Read a number of things."""
    return whole(text, 1)


def seed(text: str) -> int:
    """Read the seed of random numbers."""
    return whole(text, 0)


def port(text: str) -> int:
    """Read the number of a port; 0 is any free one."""
    if (value := whole(text, 0)) > 65_535:
        raise argparse.ArgumentTypeError(f"{text!r} is given, but ports end at 65535")
    return value


def path(text: str) -> Path:
    """Read the path of a file or a folder; an empty one would be the current folder."""
    if not text:
        raise argparse.ArgumentTypeError("it is empty, but a name is needed")
    return Path(text)
