"""Values of options, refused in a sentence where they cannot be meant."""

from __future__ import annotations

import argparse
import math
import os
import re
from collections.abc import Sequence
from pathlib import Path

MOST_WEIGHT = 1e9
#: parameters of the library and the options that set them
SPELLING = {
    "n_components": "-k",
    "window": "--window",
    "sparsity": "--sparsity",
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
    "gain": "--gain",
}

SOUND = re.compile(r"-[^=]*\.(wav|flac|aiff?|mp3|ogg|oga|opus|m4a|mp4|aac|wma|w64|caf|au)", re.I)


def dashed(argv: Sequence[str]) -> str | None:
    """The first argument that begins with a dash and is a file, or is called like a sound file."""
    for text in argv:
        if text == "--":
            return None
        if text.startswith("-") and (SOUND.fullmatch(text) or os.path.isfile(text)):
            return text
    return None


def as_typed(message: str) -> str:
    """A message of the library that begins with a parameter, with the option that was typed."""
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
    """A place in a recording."""
    return number(text, 0, unit=" of seconds")


def duration(text: str) -> float:
    """A length of time, which is more than nothing."""
    value = number(text, 0, unit=" of seconds")
    if value == 0:
        raise argparse.ArgumentTypeError(f"{text!r} is given, but more than 0 seconds are needed")
    return value


def decibels(text: str) -> float:
    """A gain."""
    from phinmf.unmixing.planning import MOST_GAIN

    return number(text, -MOST_GAIN, MOST_GAIN, unit=" of decibels")


def weight(text: str) -> float:
    """The weight of a penalty, within what single precision can weigh."""
    return number(text, 0, MOST_WEIGHT)


def count(text: str) -> int:
    """How many of something."""
    return whole(text, 1)


def seed(text: str) -> int:
    """What random numbers begin with."""
    return whole(text, 0)


def path(text: str) -> Path:
    """The path of a file or a folder; an empty one, which would be the current folder, is none."""
    if not text:
        raise argparse.ArgumentTypeError("it is empty, but a name is needed")
    return Path(text)
