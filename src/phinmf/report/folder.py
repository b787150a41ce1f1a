"""The page of an unmixing, from its folder or from memory."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np

from phinmf import report
from phinmf._types import Array
from phinmf.audio.frames import to_frames
from phinmf.report import Part, Report
from phinmf.unmixing import ownership
from phinmf.unmixing.in_memory import Unmixing
from phinmf.unmixing.learning import Learned
from phinmf.unmixing.placing import exchange

PREVIEW = 60.0  #: seconds that a page lets one hear


def write_report(folder: Path) -> Path:
    """Write report.html into a folder that `unmix` has written, in place of the one before."""
    result, page = ownership.read(folder), folder / ownership.PAGE
    there = os.path.lexists(page)
    if there and not ownership.ours(folder, page.name, result):
        raise FileExistsError(f"{page} was not written by phinmf, or was changed: move it away")
    with exchange(folder, result, [page.name] * there) as new:
        report.write(report_of_folder(folder), new / page.name)
        ownership.write(new, result, add=[page.name])
    return page


def report_of_folder(folder: Path) -> Report:
    """What a page says of a folder: its files are read, at most a minute of each."""
    from phinmf.audio import files
    from phinmf.unmixing.model_files import load_model

    result = ownership.read(folder)
    with ownership.understood(folder):
        names = [c["file"] for c in result["components"]]
        shares = [float(c["share"]) for c in result["components"]]
        start, length = int(result["start"]), int(result["length"])
        title, facts = title_of(result), facts_of(result)
    sounds = [files.probe(ownership.inside(folder, name)) for name in names]
    if not 1 <= length <= min(sound.length for sound in sounds):
        raise ownership.damaged(folder)
    rate = sounds[0].sample_rate
    first, n = preview_of(length, rate)
    samples = [files.read(sound, first, n) for sound in sounds]
    learned = load_model(ownership.inside(folder, ownership.MODEL), rate)
    parts = [
        Part(f"component {k + 1}", y, name, share)
        for k, (y, name, share) in enumerate(zip(samples, names, shares, strict=True))
    ]
    return assembled(title, rate, parts, (start + first) / rate, learned, facts)


def title_of(result: dict[str, Any]) -> str:
    """The title of a recording, or its name."""
    source = result.get("source") or {}
    return str(
        source.get("tags", {}).get("title") or Path(source.get("path", result["track"])).stem
    )


def report_of_unmixing(unmixing: Unmixing, title: str = "Unmixing") -> Report:
    """What a page says of an unmixing in memory."""
    first, n = preview_of(len(unmixing.mixture), unmixing.sample_rate)
    shares = np.square(unmixing.components).reshape(len(unmixing.components), -1).sum(axis=1)
    shares = shares / max(float(shares.sum()), 1e-300)
    parts = [
        Part(f"component {k + 1}", y[first : first + n].reshape(n, -1), None, float(share))
        for k, (y, share) in enumerate(zip(unmixing.components, shares, strict=True))
    ]
    facts = [("null test", f"{unmixing.null_db:.0f} dB"), ("window", f"{unmixing.model.M} samples")]
    start = first / unmixing.sample_rate
    return assembled(title, unmixing.sample_rate, parts, start, unmixing.model, facts)


def assembled(
    title: str,
    sample_rate: int,
    parts: list[Part],
    start: float,
    learned: Learned,
    facts: list[tuple[str, str]],
) -> Report:
    """A report on parts and the model that made them."""
    mixture: Array = np.sum([part.samples for part in parts], axis=0)
    Y = to_frames(mixture, learned.M)
    return Report(
        title=title,
        sample_rate=sample_rate,
        mixture=Part("mixture", mixture, None, 1.0),
        parts=parts,
        start=start,
        Phi=learned.Phi,
        W=learned.W,
        H=learned.activations(Y),
        history=learned.history,
        facts=facts,
    )


def preview_of(length: int, sample_rate: int) -> tuple[int, int]:
    """First sample and number of samples of a minute from the middle, or of all there is."""
    n = min(length, round(PREVIEW * sample_rate))
    return (length - n) // 2, n


def facts_of(result: dict[str, Any]) -> list[tuple[str, str]]:
    """A run in words."""
    source, options = result.get("source") or {}, result.get("options") or {}
    seconds = result.get("seconds") or {}
    facts = [
        ("adds up", result.get("adds_up")),
        ("recording", f"{source['format']} {source['subtype']}, {source['sample_rate']} Hz"
         if source else None),
        ("window", f"{result.get('window')} samples"),
        ("sparsity", options.get("sparsity")),
        ("solver", options.get("solver") or "none: the DCT is kept" if options else None),
        ("seed", options.get("seed")),
        ("learning", result.get("stop_reason")),
        ("seconds", ", ".join(f"{name} {value:.0f}" for name, value in seconds.items())),
        ("gain", f"{result['gain_db']:g} dB" if result.get("gain_db") else None),
    ]  # fmt: skip
    return [(name, str(value)) for name, value in facts if value not in (None, "")]
