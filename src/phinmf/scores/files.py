"""Scores of sound files, and of folders that hold them."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from phinmf._types import Array
from phinmf.algorithm.options import DEFAULT_SPARSITY
from phinmf.audio import files
from phinmf.audio.files import Sound
from phinmf.scores.measures import described
from phinmf.scores.table import ScoreTable, score_components
from phinmf.unmixing import ownership
from phinmf.unmixing.groups import groups_of
from phinmf.unmixing.record import FolderRecord

MISSING = 0.01  #: share of the energy that is in no reference for which a source seems missing


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
        Sound files of components, or of estimates of the sources, or folders of them. A folder that
        `unmix` has written stands for its components, and its groups, if there are any, are scored
        as well; if it holds a stretch of the recording, longer files are cut to that.
    references : sequence of paths
        Sound files of the true sources, or folders of them; their names without the ending name the
        sources.
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
    unmixed = _unmixed([Path(path) for path in estimates])
    estimated = _expanded(estimates) if unmixed is None else unmixed.components
    truths = _expanded(references)
    others = [*truths, *([Path(mixture)] if mixture else [])]
    sounds, rate = _read_alike(estimated, others, unmixed)
    K, J = len(estimated), len(truths)
    names = [path.stem for path in truths]
    if len(set(names)) < J:
        names = [f"{i}: {path}" for i, path in enumerate(truths, 1)]
    table = score_components(
        sounds[:K],
        dict(zip(names, sounds[K : K + J], strict=True)),
        max(2, 2 * round(window * rate / 2)),
        mixture=sounds[-1] if mixture else None,
        groups=[] if unmixed is None else [one.components for one in groups_of(unmixed.record)],
        sparsity=sparsity,
        baseline=baseline,
    )
    options = replace(
        table.options,
        sample_rate=rate,
        estimates=[str(path) for path in estimated],
        stretch=None if unmixed is None else unmixed.stretch,
        missing=_missing(sounds[:K], sounds[K : K + J], sounds[-1] if mixture else None),
    )
    return replace(table, options=options)


def _missing(estimates: list[Array], references: list[Array], mixture: Array | None) -> str | None:
    """Say that the references do not add up to the recording, if they do not.

    The recording is the mixture, of which some sources may be unknown, or else what the estimates
    add up to.
    """
    whole, known = sum(estimates) if mixture is None else mixture, sum(references)
    energy, rest = (float(np.sum(np.square(y, dtype=np.float64))) for y in (whole, whole - known))
    name = "estimates" if mixture is None else "mixture"
    if rest > energy:  # a source of the recording would leave less
        return (
            f"the references do not add up to the {name} (the difference is louder than the"
            f" {name}): they seem to be those of another recording, and the scores then mean"
            " nothing; give the sources of this recording"
        )
    if mixture is None and rest > MISSING * energy:
        return (
            f"the references do not add up to the estimates (the difference has {rest / energy:.0%}"
            " of the energy): some sources seem to be missing, and the scores of the mixture and of"
            " the oracle mask are then too high; name all sources, or the recording with --mixture"
        )
    return None


@dataclass(frozen=True)
class _Unmixed:
    """A folder that `unmix` has written."""

    path: Path
    record: FolderRecord

    @property
    def components(self) -> list[Path]:
        """The files of its components."""
        return [ownership.inside(self.path, one.file) for one in self.record.components]

    @property
    def stretch(self) -> str | None:
        """Say which part of the recording it holds; None for all of it."""
        record, source = self.record, self.record.source
        if source is None or record.length == source.length:
            return None
        start, end = (n / source.sample_rate for n in (record.start, record.start + record.length))
        return (
            f"{self.path} holds {start:.1f} s to {end:.1f} s of {source.path}: the references and"
            " the mixture are cut to that"
        )

    def cut(self, sound: Sound) -> Array:
        """Read a file that is as long as the components, or the stretch of one that is longer."""
        record = self.record
        if self.stretch is None or sound.length == record.length:
            return files.read(sound)
        if sound.length < record.start + record.length:
            raise ValueError(
                f"{sound.path} has {sound.length} samples, but {self.path} holds the samples"
                f" {record.start} to {record.start + record.length} of the recording"
            )
        return files.read(sound, record.start, record.length)


def _unmixed(estimates: list[Path]) -> _Unmixed | None:
    """Return the folder of components that is given, or None if other files are given."""
    folders = [path for path in estimates if (path / ownership.LISTING).exists()]
    if folders and len(estimates) > 1:
        raise ValueError(
            f"{folders[0]} has been written by phinmf unmix, and other estimates are given as well:"
            " score it by itself"
        )
    return _Unmixed(folders[0], ownership.read(folders[0])) if folders else None


def _expanded(paths: Sequence[str | os.PathLike[str]]) -> list[Path]:
    """Replace folders by the sound files in them."""
    found: list[Path] = []
    for path in map(Path, paths):
        found += files.found_in(path) if path.is_dir() else [path]
    return found


def _read_alike(
    estimates: list[Path], others: list[Path], unmixed: _Unmixed | None
) -> tuple[list[Array], int]:
    """Read files that must have the same rate, length and number of channels."""
    sounds: list[Array] = []
    rates: list[int] = []
    paths = [*estimates, *others]
    for path in paths:
        sound = files.probe(path)
        is_other = len(sounds) >= len(estimates)
        y = unmixed.cut(sound) if unmixed and is_other else files.read(sound)
        rate = sound.sample_rate
        sounds.append(y)
        rates.append(rate)
        if rate != rates[0] or y.shape != sounds[0].shape:
            this, first = (f"{described(sounds[i][None])} at {rates[i]} Hz" for i in (-1, 0))
            raise ValueError(
                f"{path} has {this}, but {paths[0]} has {first}: all files need the same rate,"
                " length and channels"
            )
    return sounds, rates[0]
