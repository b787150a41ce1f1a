"""Scores of sound files."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from phinmf._types import Array
from phinmf.algorithm.options import DEFAULT_SPARSITY
from phinmf.audio import files
from phinmf.scores.measures import described
from phinmf.scores.table import ScoreTable, score_components


def score_files(
    estimates: Sequence[str | os.PathLike[str]],
    references: Sequence[str | os.PathLike[str]],
    *,
    mixture: str | os.PathLike[str] | None = None,
    window: float = 0.04,
    sparsity: float = DEFAULT_SPARSITY,
    baseline: bool = True,
) -> ScoreTable:
    """Score sound files against the files of the true sources; see `score_components`.

    Parameters
    ----------
    estimates : sequence of paths
        Sound files of components, or of estimates of the sources.
    references : sequence of paths
        Sound files of the true sources; their names without the ending name the sources.
    mixture : path, optional
        The recording; the sum of the references if not given.
    window : float
        Seconds of a frame, to the nearest even number of samples.
    sparsity : float
        As in `score_components`.
    baseline : bool
        As in `score_components`.

    Returns
    -------
    ScoreTable
        The scores, with the sampling rate and the names of the estimates.
    """
    if not estimates or not references:
        what = "references" if estimates else "estimates"
        raise ValueError(f"no {what} are given, but at least one sound file is needed")
    paths = [Path(path) for path in [*estimates, *references, *([mixture] if mixture else [])]]
    sounds, rate = _read_alike(paths)
    K, J = len(estimates), len(references)
    names = [path.stem for path in paths[K : K + J]]
    if len(set(names)) < J:
        names = [f"{i}: {path}" for i, path in enumerate(paths[K : K + J], 1)]
    truths = dict(zip(names, sounds[K : K + J], strict=True))
    M = max(2, 2 * round(window * rate / 2))
    whole = sounds[-1] if mixture else None
    table = score_components(
        sounds[:K], truths, M, mixture=whole, sparsity=sparsity, baseline=baseline
    )
    estimated = [str(path) for path in paths[:K]]
    return replace(table, options=replace(table.options, sample_rate=rate, estimates=estimated))


def _read_alike(paths: list[Path]) -> tuple[list[Array], int]:
    """Read files that must have the same rate, length and number of channels."""
    sounds: list[Array] = []
    rates: list[int] = []
    for path in paths:
        sound = files.probe(path)
        y, rate = files.read(sound), sound.sample_rate
        sounds.append(y)
        rates.append(rate)
        if rate != rates[0] or y.shape != sounds[0].shape:
            this, first = (f"{described(sounds[i][None])} at {rates[i]} Hz" for i in (-1, 0))
            raise ValueError(
                f"{path} has {this}, but {paths[0]} has {first}: all files need the same rate,"
                " length and channels"
            )
    return sounds, rates[0]
