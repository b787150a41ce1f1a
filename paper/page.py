"""The page: the paper's claims, the measurements, and a verdict computed from the numbers."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

END = "\n---\n\n"  #: before the last lines of a page


@dataclass
class Claim:
    """One sentence of the paper and what was measured."""

    says: str
    measured: str
    verdict: str


@dataclass
class Section:
    """One experiment as the page shows it."""

    title: str
    text: str = ""
    claims: list[Claim] = field(default_factory=list)
    figures: list[tuple[str, str]] = field(default_factory=list)  #: file, what it shows
    tables: list[tuple[str, list[dict[str, Any]]]] = field(default_factory=list)  #: caption, rows
    files: list[str] = field(default_factory=list)
    facts: dict[str, str] = field(default_factory=dict)  #: for the gallery
    seconds: float = 0.0
    note: str = ""  #: the last line

    def render(self) -> str:
        """Markdown."""
        parts = [f"## {self.title}", self.text]
        if self.claims:
            rows = [
                {"the paper": c.says, "measured here": c.measured, "verdict": f"**{c.verdict}**"}
                for c in self.claims
            ]
            parts.append(table(rows))
        parts += [f"![{shows}]({file})\n\n*{shows}*" for file, shows in self.figures]
        parts += [f"{caption}\n\n{table(rows)}" for caption, rows in self.tables]
        if self.files:
            parts.append("Numbers: " + ", ".join(f"[{name}]({name})" for name in self.files))
        parts.append(self.note)
        return "\n\n".join(part for part in parts if part) + "\n"


@dataclass(frozen=True)
class Earlier:
    """What an earlier run wrote: the text of each section by its title, and the last lines."""

    sections: dict[str, str]
    end: str


def earlier(path: Path, opening: str) -> Earlier | None:
    """Read the page of an earlier run, if there is one that begins in the same way."""
    page = path.read_text() if path.exists() else ""
    if not page.startswith(f"{opening}\n## "):
        return None
    body, _, end = page.removeprefix(opening).rpartition(END)
    sections = (part.partition("\n") for part in body.split("\n## ")[1:])
    return Earlier({title: text.strip() for title, _, text in sections}, end)


def table(rows: list[dict[str, Any]]) -> str:
    """Rows as a table in Markdown."""
    lines = ["| " + " | ".join(rows[0]) + " |", "|" + "---|" * len(rows[0])]
    lines += ["| " + " | ".join(cell(v) for v in row.values()) + " |" for row in rows]
    return "\n".join(lines)


def cell(value: Any) -> str:
    """A number with four digits, anything else as it is."""
    if isinstance(value, float):
        return f"{value:.4g}"
    return str(value).replace("|", "\\|")


def listed(values: Iterable[Any], between: str = " / ") -> str:
    """Numbers in a row."""
    return between.join(cell(value) for value in values)


def verdict(holds: bool, yes: str = "holds", no: str = "does not hold") -> str:
    """The verdict in words."""
    return yes if holds else no
