"""The table of the gallery, from the facts of the full run."""

from __future__ import annotations

import re

from page import Section, table
from setting import ROOT

PAGE = ROOT / "docs" / "gallery.md"
PLACE = re.compile(r"(<!-- facts -->\n).*?(<!-- /facts -->)", re.S)


def fill(sections: list[Section]) -> None:
    """Replace the text between the marks."""
    rows = [
        {"what": what, "measured": value}
        for section in sections
        for what, value in section.facts.items()
    ]
    if not rows:
        return
    page, found = PLACE.subn(lambda m: m[1] + table(rows) + "\n" + m[2], PAGE.read_text())
    assert found == 1, f"{PAGE} has no place for the facts"
    PAGE.write_text(page)
