"""What a report is made of."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from phinmf._types import Array
from phinmf.analysis import atom_frequencies
from phinmf.audio.frames import to_frames
from phinmf.linalg.manifold import dct
from phinmf.result import History


@dataclass(frozen=True, eq=False)
class Part:
    """A component, a group of components, or the mixture, as it is heard.

    Attributes
    ----------
    name : str
        What to call it: "component 1", or the name of a group.
    samples : array of shape (n, channels)
        The preview; those of all parts are equally long and add up to that of the mixture.
    file : str or None
        The whole of it: a path relative to the page.
    share : float
        Share of the energy, 0 to 1.
    """

    name: str
    samples: Array
    file: str | None
    share: float


@dataclass(frozen=True, eq=False)
class Report:
    """What the page shows.

    Attributes
    ----------
    title : str
        Name of the recording.
    sample_rate : int
        Samples per second.
    mixture : Part
        The recording itself.
    parts : list of Part
        What adds up to it.
    start : float
        Second of the recording at which the preview begins.
    Phi, W, H : arrays of shape (M, M), (M, K) and (K, N)
        Transform and factors; H for the frames of the preview.
    history : History
        How the transform was learned; without rows if it was not learned here.
    facts : list of pairs of str
        What else is to be known, as a table: ``("seed", "0")``.
    """

    title: str
    sample_rate: int
    mixture: Part
    parts: list[Part]
    start: float
    Phi: Array
    W: Array
    H: Array
    history: History
    facts: list[tuple[str, str]]

    @property
    def seconds(self) -> float:
        """Length of the preview."""
        return len(self.mixture.samples) / self.sample_rate

    @property
    def everything(self) -> list[Part]:
        """The mixture, then the parts."""
        return [self.mixture, *self.parts]


@dataclass(frozen=True, eq=False)
class Seen:
    """The preview as the transform sees it; what several pictures are drawn from."""

    frames: Array  #: (channels, M, N)
    power: Array  #: (M, N), |ΦY|², mean over channels
    frequencies: Array  #: (M,), of the peaks of the atoms, in Hz
    learned: bool  #: whether the transform is another than the DCT


def seen(report: Report) -> Seen:
    """Transform the preview."""
    Y = to_frames(report.mixture.samples, len(report.Phi))
    power = np.square(report.Phi @ Y, dtype=np.float64).mean(axis=0)
    few = np.array_split(report.Phi, -(-len(report.Phi) // 64))  # their fine spectra are large
    peaks = [atom_frequencies(atoms, report.sample_rate).peak for atoms in few]
    learned = not np.allclose(report.Phi, dct(len(report.Phi)), atol=1e-4)
    return Seen(Y, power, np.concatenate(peaks), learned)


def check(report: Report) -> None:
    """Raise ValueError if the parts cannot be played together."""
    expected = report.mixture.samples.shape
    if len(expected) != 2 or 0 in expected:
        raise ValueError(
            f"the mixture has samples of shape {expected}, but (n, channels) is needed, none empty"
        )
    if not report.parts:
        raise ValueError("the report has no parts, but at least one is needed")
    for part in report.parts:
        if part.samples.shape != expected:
            raise ValueError(
                f"part {part.name!r} has samples of shape {part.samples.shape}, but the mixture"
                f" has {expected}: cut them to the same preview"
            )
    for part in report.everything:
        if not np.isfinite(part.samples).all():
            raise ValueError(f"part {part.name!r} has samples that are infinite or not numbers")


def shortened(report: Report, seconds: float) -> Report:
    """The same report with a preview of at most so many seconds."""
    n = max(1, int(seconds * report.sample_rate))
    if n >= len(report.mixture.samples):
        return report
    mixture, *parts = (replace(part, samples=part.samples[:n]) for part in report.everything)
    frames = -(-n // (len(report.Phi) // 2)) + 1  # as many as `to_frames` makes of n samples
    return replace(report, mixture=mixture, parts=parts, H=report.H[:, :frames])
