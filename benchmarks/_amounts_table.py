"""What to expect of 10 minutes, 10 hours and 1,000 hours of 44.1 kHz stereo: one table."""

from __future__ import annotations

import re

from _common import read_csv


def duration(seconds: float) -> str:
    """Seconds, minutes or hours, with two digits."""
    for unit, name in ((3600, "hours"), (60, "minutes")):
        if seconds >= 1.5 * unit:
            return f"{float(f'{seconds / unit:.2g}'):g} {name}"
    return f"{float(f'{seconds:.2g}'):g} s"


def place(described: str) -> str:
    """The processor of the first line of a results file, in few words."""
    cores = re.search(r"\d+ cores?", described)
    return cores[0] if cores else described


def row(sound: str, call: str, where: str, seconds: float, known: str) -> dict[str, str]:
    """One line of the table."""
    return {"sound": sound, "call": call, "where": where, "time": duration(seconds), "known": known}


def sound_of(minutes: str) -> str:
    """10 minutes, or 10 hours."""
    n = float(minutes)
    return f"{n / 60:g} hours" if n >= 60 else f"{n:g} minutes"


def table() -> list[dict[str, str]]:
    """Return all lines: what was measured, and what follows from it."""
    rows = []
    described, found = read_csv("amounts_cpu")
    for one in found:
        sound, seconds = sound_of(one["minutes"]), float(one["seconds"])
        rows.append(row(sound, one["call"], place(described), seconds, "measured"))
    _, clusters = read_csv("scaling_forecast")
    for one in clusters:
        seconds = 3600 * float(one["hours_for_40"])
        rows.append(
            row("1000 hours", "tl_nmf(dask_array, 10)", one["cluster"], seconds,
                "forecast: the model below, 40 outer iterations")
        )  # fmt: skip
    return sorted(rows, key=lambda r: float(r["sound"].split()[0]) * ("hour" in r["sound"]))
