"""Measured claims and tables in Markdown, to be copied to docs/paper/paper.md."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any


def print_claims(measured: Mapping[str, str]) -> None:
    """Print what was measured beside each claim; the verdict is written on the page."""
    print_table([{"the paper": says, "measured here": what} for says, what in measured.items()])


def print_table(rows: list[dict[str, Any]]) -> None:
    """Print rows as a table, numbers with four digits."""
    print("\n| " + " | ".join(rows[0]) + " |", "|" + "---|" * len(rows[0]), sep="\n")
    for row in rows:
        print("| " + " | ".join(cell(v) for v in row.values()) + " |", flush=True)


def cell(value: Any) -> str:
    """A number with four digits, anything else as it is."""
    if isinstance(value, float):
        return f"{value:.4g}"
    return str(value).replace("|", "\\|")


def listed(values: Iterable[Any], between: str = " / ") -> str:
    """Numbers in a row."""
    return between.join(cell(value) for value in values)
