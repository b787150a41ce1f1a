"""Names of files from anywhere as names that every disk accepts."""

from __future__ import annotations

import re
import unicodedata

from phinmf.unmixing.mix import NOT_IN_NAMES, RESERVED

LONGEST = 80  #: characters of a name without its ending
HIDDEN = ("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp")


def shown_name(name: str) -> str:
    """Return the last part of a path as it can be shown, without characters that are not seen."""
    last = re.split(r"[/\\]", name)[-1]
    seen = "".join(c for c in last if unicodedata.category(c) not in HIDDEN).strip()
    stem, ending = split(seen)
    return f"{stem[: 2 * LONGEST - len(ending)]}{ending}" or "recording"


def safe_stem(name: str) -> str:
    """Return the name without its ending, as a folder can be called on every disk."""
    stem, _ = split(shown_name(name))
    kept = "".join("_" if c in NOT_IN_NAMES else c for c in unicodedata.normalize("NFC", stem))
    kept = kept[:LONGEST].encode()[: 2 * LONGEST].decode(errors="ignore").strip(" .")
    if not kept or kept.casefold().split(".")[0] in RESERVED:
        return f"recording {kept}".strip()
    return kept


def safe_name(name: str) -> str:
    """Return the name with its ending, as a file can be called on every disk."""
    _, ending = split(shown_name(name))
    return f"{safe_stem(name)}{ending}"


def split(name: str) -> tuple[str, str]:
    """Return a name and its ending, which is empty if it does not look like one."""
    found = re.fullmatch(r"(.+)(\.[A-Za-z0-9]{1,5})", name)
    return (found[1], found[2]) if found else (name, "")
