"""The page about an unmixing, from its folder or from arrays in memory."""

from __future__ import annotations

import os
from collections.abc import Iterable
from functools import reduce
from pathlib import Path

import numpy as np

from phinmf._types import Array
from phinmf.audio.frames import to_frames
from phinmf.report.contents import Component, ComponentGroup, Report
from phinmf.report.page import write
from phinmf.unmixing import ownership
from phinmf.unmixing.folder import UnmixedFolder, read_folder
from phinmf.unmixing.groups import groups_of
from phinmf.unmixing.model import UnmixModel
from phinmf.unmixing.null_test import adds_up
from phinmf.unmixing.placing import exchange
from phinmf.unmixing.preview import Preview, preview_of
from phinmf.unmixing.record import FolderRecord


def write_report(folder: UnmixedFolder) -> FolderRecord:
    """Write report.html into a folder that `unmix` has written; return what that says now."""
    page = folder.path / ownership.PAGE
    exists = os.path.lexists(page)
    if exists and not ownership.ours(folder.path, page.name):
        raise FileExistsError(f"{page} was not written by phinmf, or was changed: move it away")
    with exchange(folder.path, folder.record, [page.name] * exists) as new:
        write(report_of_folder(folder), new / page.name)
        return ownership.write(new, folder.record, add=[page.name])


def refresh_report(folder: Path) -> FolderRecord | None:
    """Write the page of a folder again, if it has one that is as it was written."""
    return write_report(read_folder(folder)) if ownership.ours(folder, ownership.PAGE) else None


def report_of_folder(folder: UnmixedFolder) -> Report:
    """Return what the page says about a folder."""
    record = folder.record
    return assembled(
        title_of(record),
        folder.preview,
        folder.model,
        files=[component.file for component in record.components],
        shares=[component.share for component in record.components],
        start=record.start,
        facts=facts_of(record),
        groups=component_groups(record),
    )


def component_groups(record: FolderRecord) -> list[ComponentGroup]:
    """Return the groups of a folder with their files, if they were written."""
    files = {
        frozenset(written.components): written.file for written in (record.groups or {}).values()
    }
    return [
        ComponentGroup(
            group.name, group.components, group.colour, files.get(frozenset(group.components))
        )
        for group in groups_of(record)
    ]


def report_of_arrays(components: Array, model: UnmixModel, title: str = "Unmixing") -> Report:
    """Return what the page says about components (K, n) or (K, n, channels) in memory."""
    K, length = components.shape[:2]
    start, n = preview_of(length, model.sample_rate)
    shares = np.square(components).reshape(K, -1).sum(axis=1)
    shares = shares / max(float(shares.sum()), 1e-300)
    return assembled(
        title,
        Preview(start, [y[start : start + n].reshape(n, -1) for y in components]),
        model,
        files=[None] * K,
        shares=map(float, shares),
        start=0,
        facts=[],
    )


def assembled(
    title: str,
    preview: Preview,
    model: UnmixModel,
    *,
    files: Iterable[str | None],
    shares: Iterable[float],
    start: int,
    facts: list[tuple[str, str]],
    groups: list[ComponentGroup] | None = None,
) -> Report:
    """Return a report on a preview; `start` is the sample of the recording that it counts from."""
    mixture: Array = reduce(np.add, preview.components)
    return Report(
        title=title,
        sample_rate=model.sample_rate,
        mixture=mixture,
        components=[
            Component(f"component {k}", samples, file, share)
            for k, (samples, file, share) in enumerate(
                zip(preview.components, files, shares, strict=True), 1
            )
        ],
        start=(start + preview.start) / model.sample_rate,
        Phi=model.Phi,
        W=model.W,
        H=model.activations(to_frames(mixture, model.M).astype(np.float32)),  # to be drawn
        history=model.history,
        facts=facts,
        groups=groups or [],
    )


def title_of(record: FolderRecord) -> str:
    """Return the title in the tags of a recording, or the name of its file."""
    if record.source is None:
        return Path(record.track).stem
    return record.source.tags.get("title") or record.source.path.stem


def transform_of(record: FolderRecord) -> str | None:
    """Say where the transform comes from; None if that was not recorded."""
    if record.model is not None:
        return f"learned before, from {record.model}"
    if record.options is None:
        return None
    return "fixed" if record.options.get("solver") is None else "learned from this recording"


def atoms_of(record: FolderRecord) -> str | None:
    """Say how many atoms were learned and what they hold; None if all were, or none."""
    if record.n_atoms == record.window:
        return None
    return f"{record.n_atoms} of {record.window}, with {100 * record.energy:.2f} % of the energy"


def facts_of(record: FolderRecord) -> list[tuple[str, str]]:
    """Return what is known about an unmixing, as a table."""
    options, source = record.options or {}, record.source
    seconds = ", ".join(f"{name} {value:.0f}" for name, value in record.seconds.items())
    facts = [
        ("adds up", adds_up(record)),
        ("recording", source and f"{source.sample_format}, {source.sample_rate} Hz"),
        ("window", f"{record.window} samples"),
        ("sparsity", options.get("sparsity")),
        ("transform", transform_of(record)),
        ("atoms learned", atoms_of(record)),
        ("seed", options.get("seed")),
        ("learning", record.stop_reason),
        ("seconds", seconds),
        ("gain", f"{record.gain_db:g} dB" if record.gain_db else None),
    ]
    return [(name, str(value)) for name, value in facts if value not in (None, "")]
