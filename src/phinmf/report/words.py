"""Texts from outside made safe for a page, and numbers in words."""

from __future__ import annotations

import os
from html import escape
from urllib.parse import quote


def clean(text: str) -> str:
    """Return text that can be encoded: file names may hold bytes that are not text."""
    return text.encode("utf-8", "replace").decode().replace("\0", "")


def shown(text: str) -> str:
    """Return text for the page; its direction of writing does not affect the text around it."""
    return f"<bdi>{escape(clean(text))}</bdi>"


def link(file: str, words: str, about: str) -> str:
    """Return a link to a file beside the page; "./" keeps it from being another address."""
    address = escape("./" + quote(os.fsencode(file)))
    label = escape(f"{words}: {clean(about)}")
    return f'<a href="{address}" aria-label="{label}">{escape(words)}</a>'


def clock(seconds: float, digits: int = 0) -> str:
    """Return minutes and seconds: 1:05 or 1:05.2."""
    unit = 10**digits
    minutes, rest = divmod(round(seconds * unit), 60 * unit)
    width = 2 if digits == 0 else 3 + digits
    return f"{minutes}:{rest / unit:0{width}.{digits}f}"


def percent(share: float) -> str:
    """Return a share of the energy in percent."""
    if not share > 0:  # NaN too: 0/0 is the share of silence
        return "0 %"
    if share < 0.01:
        return "below 1 %"
    return f"{100 * share:.0f} %"
