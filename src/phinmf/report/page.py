"""The page: a template, filled with the sections and sounds of a report."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from dataclasses import replace
from html import escape
from importlib.resources import files
from pathlib import Path
from string import Template

import phinmf
from phinmf.report import sections
from phinmf.report.contents import Report, check, shortened, transformed
from phinmf.report.previews import previews
from phinmf.report.words import clean, clock
from phinmf.unmixing.preview import SECONDS

LIMIT = 15_000_000  #: bytes of a page
#: in the order in which they import each other; the studio serves those in core, too
MODULES = (
    "core/dom.js", "core/words.js", "core/levels.js", "core/keys.js", "playback.js", "player.js",
)  # fmt: skip
NOTEBOOK_LIMIT = 6_000_000  #: bytes of a fragment: a notebook holds several


def html(report: Report) -> str:
    """Return the whole page as one string of at most 15 MB, which needs no other file.

    Parameters
    ----------
    report : Report
        What to show. Its texts are escaped: scripts in them are not run.

    Returns
    -------
    str
        The page.
    """
    return _page(report, "page", LIMIT)


def fragment(report: Report) -> str:
    """Return only the player, for a notebook: an element that holds a separate page.

    Since it is a separate page, several of them in one notebook share no names, styles or keys.
    It has no links to files, since a notebook is not in the folder of the files.

    Parameters
    ----------
    report : Report
        What to show.

    Returns
    -------
    str
        An element ``<iframe>``.
    """
    components = [replace(component, file=None) for component in report.components]
    groups = [replace(group, file=None) for group in report.groups]
    unlinked = replace(report, components=components, groups=groups)
    page = _page(unlinked, "fragment", NOTEBOOK_LIMIT)
    rows = len(report.components) + len(report.groups)
    height = 500 + 70 * rows  # until the page inside has measured itself
    return (
        f'<iframe title="Player: {escape(clean(report.title))}" allow="autoplay" srcdoc="'
        f'{escape(page)}" style="width:100%;height:{height}px;border:0"></iframe>'
    )


def write(report: Report, path: str | Path) -> Path:
    """Write the whole page to a file.

    Parameters
    ----------
    report : Report
        What to show.
    path : path
        The file to write, in the folder that the links to files start from.

    Returns
    -------
    Path
        The file.
    """
    path = Path(path)
    path.write_text(html(report), encoding="utf-8")
    return path


def _page(report: Report, kind: str, limit: int) -> str:
    """Fill the template, with as much sound as there is room for; `kind` is page or fragment."""
    check(report)
    drawn = _sections(shortened(report, SECONDS), kind)
    room = limit - len(drawn) - 20_000 * (len(report.components) + 10)  # for the rest
    whole = min(SECONDS, report.seconds)
    heard = previews(report, max(0, room))
    report = heard.report
    if report.seconds < whole - 0.01:  # draw the same stretch
        drawn = _sections(report, kind)
    script = _script()
    sound = {
        "rate": heard.rate,
        "seconds": report.seconds,
        "start": report.start,
        "sounds": [base64.b64encode(sound).decode() for sound in heard.sounds],
    }
    return Template(_asset("template.html")).substitute(
        digest=base64.b64encode(hashlib.sha256(script.encode()).digest()).decode(),
        title=escape(clean(report.title)),
        style=_asset("core/base.css") + _asset("style.css"),
        kind=kind,
        lede=_lede(report),
        start=clock(report.start, 1),
        end=clock(report.start + report.seconds, 1),
        seconds=f"{report.seconds:.6f}",
        rows="\n".join(sections.rows(report)),
        ruler=sections.time_ruler(report),
        note=escape(heard.words),
        sections=drawn,
        version=escape(phinmf.__version__),
        sound=json.dumps(sound),  # numbers and base64 only, which cannot end their element
        script=script,
    )


def _sections(report: Report, kind: str) -> str:
    """Draw all sections below the player."""
    preview = transformed(report)
    drawn = list(sections.player_sections(report, preview))
    if kind == "page":
        drawn += sections.page_sections(report, preview)
    return "\n".join(drawn)


def _lede(report: Report) -> str:
    """Return the introduction of the page."""
    K = len(report.components)
    components = f"{K} components that add" if K > 1 else "one component that adds"
    joined = where = ""
    if n := sum(group.colour is not None for group in report.groups):
        joined = f" They were joined into {f'{n} groups' if n > 1 else 'one group'}."
    if report.start > 0:
        end = report.start + report.seconds
        where = f" You hear it from {clock(report.start)} to {clock(end)}."
    return (
        f"Taken apart into {components} up to the recording.{joined}{where}"
        " Play one alone, leave one out, or compare their sum with the original."
    )


def _script() -> str:
    """Return the modules of the player as one script; no name is at the top of two of them."""
    modules = "".join(map(_asset, MODULES))
    modules = re.sub(r"^import .*\n", "", modules, flags=re.MULTILINE)
    return '"use strict";\n{\n' + re.sub(r"^export ", "", modules, flags=re.MULTILINE) + "}\n"


def _asset(name: str) -> str:
    """Read a file of this package."""
    return files("phinmf.report").joinpath(name).read_text(encoding="utf-8")
