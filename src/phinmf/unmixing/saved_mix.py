"""Save the groups and levels of a folder; of two listeners who save at once, one is told."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from phinmf.unmixing import ownership
from phinmf.unmixing.mix import Mix, check_mix
from phinmf.unmixing.placing import exchange
from phinmf.unmixing.record import FolderRecord


class MixChanged(ValueError):
    """Somebody else has saved groups or levels since they were read; `mix` is what is stored."""

    def __init__(self, folder: Path, mix: Mix) -> None:
        super().__init__(f"the groups of {folder} were changed elsewhere: look at them again")
        self.mix = mix


def save_mix(folder: Path, mix: Mix, workplace: Path | None = None) -> FolderRecord:
    """Store groups and levels in result.json, and return what that says now.

    The `revision` of the mix must be the one that is stored, which is 0 if nothing was saved yet;
    otherwise MixChanged is raised. It is stored with the next one. `workplace` is an existing
    folder on the same disk for temporary files, by default the one above `folder`.
    """
    record = ownership.read(folder)
    if mix.revision != stored(record).revision:
        raise MixChanged(folder, stored(record))
    check_mix(mix, len(record.components))
    changed = replace(record, mix=replace(mix, revision=mix.revision + 1))
    try:
        with exchange(folder, record, workplace=workplace) as new:
            return ownership.write(new, changed, add=[])
    except FileExistsError:
        raise MixChanged(folder, stored(ownership.read(folder))) from None


def stored(record: FolderRecord) -> Mix:
    """Return the groups and levels of a folder; those that were never saved are empty."""
    return record.mix or Mix()
