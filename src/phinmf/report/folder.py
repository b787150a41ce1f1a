"""The page about an unmixing, from its folder or from arrays in memory."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np

from phinmf._types import Array
from phinmf.audio import files
from phinmf.report.contents import Component, ComponentGroup, Report
from phinmf.report.page import html
from phinmf.unmixing import listing
from phinmf.unmixing.folder import component_sounds
from phinmf.unmixing.listing import FolderRecord
from phinmf.unmixing.mix import with_rest
from phinmf.unmixing.model import UnmixModel, model_for
from phinmf.unmixing.null_test import adds_up
from phinmf.unmixing.overview import preview_of
from phinmf.unmixing.placing import exchange


def write_report(folder: Path) -> FolderRecord:
    """Write report.html into a folder that `unmix` has written; return what that says now."""
    record = listing.read(folder)
    with exchange(folder, record, [listing.PAGE]) as new:
        page = html(report_of_folder(folder, record))
        (new / listing.PAGE).write_text(page, encoding="utf-8")
        return listing.write(new, record, add=[listing.PAGE])


def refresh_report(folder: Path) -> FolderRecord | None:
    """Write the page of a folder again, if it has one."""
    return write_report(folder) if os.path.lexists(folder / listing.PAGE) else None


def report_of_folder(folder: Path, record: FolderRecord) -> Report:
    """Return what the page says about a folder, of which it reads a preview."""
    sounds = component_sounds(folder, record)
    rate = sounds[0].sample_rate
    model = model_for(listing.inside(folder, listing.MODEL), rate)
    start, n = preview_of(record.length, rate)
    components = [
        Component(f"component {k}", files.read(sound, start, n), component.file, component.share)
        for k, (sound, component) in enumerate(zip(sounds, record.components, strict=True), 1)
    ]
    paths = {frozenset(group.components): group.file for group in record.groups.values()}
    groups = [
        ComponentGroup(
            group.name, group.components, group.colour, paths.get(frozenset(group.components))
        )
        for group in with_rest(record.mix.coloured(), len(record.components))
        if record.mix.has_groups
    ]
    seconds = (record.start + start) / rate
    return Report(title_of(record), model, components, seconds, facts_of(record), groups)


def report_of_arrays(components: Array, model: UnmixModel) -> Report:
    """Return what the page says about components (K, n) or (K, n, channels) in memory."""
    K, length = components.shape[:2]
    start, n = preview_of(length, model.sample_rate)
    columns = components.reshape(K, length, -1)
    energies = np.square(columns).sum(axis=(1, 2))
    shares = energies / max(float(energies.sum()), 1e-300)
    parts = [
        Component(f"component {k}", samples, None, share)
        for k, (samples, share) in enumerate(
            zip(columns[:, start : start + n], shares.tolist(), strict=True), 1
        )
    ]
    return Report("Unmixing", model, parts, start / model.sample_rate)


def title_of(record: FolderRecord) -> str:
    """Return the title in the tags of a recording, or the name of its file."""
    if record.source is None:
        return Path(record.track).stem
    return record.source.tags.get("title") or record.source.path.stem


def facts_of(record: FolderRecord) -> list[tuple[str, str]]:
    """Return what is known about an unmixing, as a table."""
    options, source = record.options or {}, record.source
    transform = None if not options else "learned from this recording"
    if record.model is not None:
        transform = f"learned before, from {record.model}"
    elif options and options.get("solver") is None:
        transform = "fixed"
    atoms = None
    if record.n_atoms != record.window:
        energy = f"{100 * record.energy:.2f} % of the energy"
        atoms = f"{record.n_atoms} of {record.window}, with {energy}"
    facts = [
        ("adds up", adds_up(record)),
        ("recording", source and f"{source.sample_format}, {source.sample_rate} Hz"),
        ("window", f"{record.window} samples"),
        ("sparsity", options.get("sparsity")),
        ("transform", transform),
        ("atoms learned", atoms),
        ("seed", options.get("seed")),
        ("learning", record.stop_reason),
        ("seconds", ", ".join(f"{name} {value:.0f}" for name, value in record.seconds.items())),
    ]
    return [(name, str(value)) for name, value in facts if value not in (None, "")]
