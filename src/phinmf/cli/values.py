"""Types of the values of options: each reads a text or says in one sentence what is needed."""

from __future__ import annotations

import argparse
import math
import re
from collections.abc import Callable
from pathlib import Path


def number(
    least: float, most: float = math.inf, unit: str = "", above: bool = False
) -> Callable[[str], float]:
    """Return a type: a finite number from `least` to `most`, or above `least`."""
    start = f"above {least:g}" if above else f"of at least {least:g}"
    bounds = start if most == math.inf else f"from {least:g} to {most:g}"

    def read(text: str) -> float:
        try:
            value = float(text)
        except ValueError:
            value = math.nan
        if not (math.isfinite(value) and least <= value <= most) or (above and value == least):
            raise argparse.ArgumentTypeError(f"{text!r} is no number{unit} {bounds}")
        return value

    return read


def whole(
    least: int, most: float = math.inf, word: str | None = None
) -> Callable[[str], int | str]:
    """Return a type: a whole number from `least` to `most`, or else a word."""

    def read(text: str) -> int | str:
        if text.strip() == word:
            return text.strip()
        if not re.fullmatch(r"\s*[-+]?[0-9]{1,18}\s*", text) or not least <= int(text) <= most:
            bounds = f"of at least {least}" if most == math.inf else f"from {least} to {most}"
            other = "" if word is None else f", or {word!r}"
            raise argparse.ArgumentTypeError(f"{text!r} is no whole number {bounds}{other}")
        return int(text)

    return read


def atoms(text: str) -> int | float | None:
    """Read a number of atoms, a share of the energy below 1, or "all"."""
    if text.strip() == "all":
        return None
    try:
        return int(whole(1)(text)) if re.fullmatch(r"\s*[0-9]+\s*", text) else share(text)
    except argparse.ArgumentTypeError:
        raise argparse.ArgumentTypeError(
            f"{text!r} is no number of atoms, share of the energy such as 0.999, or 'all'"
        ) from None


def path(text: str) -> Path:
    """Read the path of a file or a folder; an empty one would be the current folder."""
    if not text:
        raise argparse.ArgumentTypeError("it is empty, but a name is needed")
    return Path(text)


count, seed, share = whole(1), whole(0), number(0, 1, above=True)
seconds, duration = number(0, unit=" of seconds"), number(0, unit=" of seconds", above=True)
