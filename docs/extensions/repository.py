"""Links between the pages and the files of the repository's root, valid on a forge and here.

A page of the site includes each Markdown file of the root, for instance project/changelog.md the
file CHANGELOG.md. A link to the file becomes a link to its page, and the links in the file, which
are relative to the root, become relative to the page.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
#: Files of the root, and the pages that include or replace them.
PAGES = {
    "README.md": "index.md",
    "ARCHITECTURE.md": "project/architecture.md",
    "CHANGELOG.md": "project/changelog.md",
    "CONTRIBUTING.md": "project/contributing.md",
    "CODE_OF_CONDUCT.md": "project/conduct.md",
    "RELEASING.md": "project/releasing.md",
    "SECURITY.md": "project/security.md",
    "examples": "examples/index.rst",
}
LINK = re.compile(r"(\]\()(?!https?:|mailto:|#)([^)#\s]+)")


def relinked(text: str, written_in: Path, shown_in: Path) -> str:
    """Return Markdown with its links changed from the folder of a file to that of a page."""

    def target(link: re.Match[str]) -> str:
        path = (written_in / link[2]).resolve()
        if path.parent == ROOT and path.name in PAGES:
            path = ROOT / "docs" / PAGES[path.name]
        return link[1] + Path(os.path.relpath(path, shown_in)).as_posix()

    return LINK.sub(target, text)


def read_page(app, docname: str, content: list[str]) -> None:
    """Change the links of a page."""
    if app.env.doc2path(docname).suffix == ".md":
        folder = app.env.doc2path(docname).parent.resolve()
        content[0] = relinked(content[0], folder, folder)


def read_included(app, path: Path, docname: str, content: list[str]) -> None:
    """Change the links of a file that a page includes; `docname` lacks the folder of the page."""
    folder = app.env.doc2path(app.env.docname).parent.resolve()
    content[0] = relinked(content[0], (Path(app.srcdir) / path).resolve().parent, folder)


def setup(app):
    """Connect to the events of reading."""
    app.connect("source-read", read_page)
    app.connect("include-read", read_included)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
