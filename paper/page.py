"""The page: the paper's claims, the measurements, and a verdict computed from the numbers."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any


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

    def render(self, note: str) -> str:
        """Markdown; the note says below the heading how this was measured."""
        parts = [f"## {self.title}", f"*{note}*", self.text]
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
        return "\n\n".join(parts) + "\n"


def with_section(page: str, section: str) -> str:
    """Replace the section that has the same heading, or append it; all else stays as it is."""
    heading = section.partition("\n")[0]
    parts = page.split("\n## ")
    titles = ["", *(f"## {part}".partition("\n")[0] for part in parts[1:])]
    place = titles.index(heading) if heading in titles else len(parts)
    parts[place : place + 1] = [section.removeprefix("## ")]
    return "\n## ".join(parts)


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
