"""What a report is made of."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from phinmf._types import Array
from phinmf.analysis import atom_frequencies
from phinmf.arrays.threads import parallel_map
from phinmf.audio.frames import frame_count, to_frames
from phinmf.linalg.manifold import dct
from phinmf.result import History


@dataclass(frozen=True, eq=False)
class Component:
    """A component, or a group of components, as it is heard.

    Attributes
    ----------
    name : str
        What to call it: "component 1", or the name of a group.
    samples : array of shape (n, channels)
        The preview; the previews of all components add up to that of the mixture.
    file : str or None
        The file that holds the whole component: a path relative to the page.
    share : float
        Share of the energy, 0 to 1.
    """

    name: str
    samples: Array
    file: str | None
    share: float


@dataclass(frozen=True)
class ComponentGroup:
    """Components that were joined; they are shown and heard together.

    Attributes
    ----------
    name : str
        What to call the group.
    components : list of int
        Numbers of its components, counted from 1.
    colour : int or None
        Number of its colour; None for the components that are in no group.
    file : str or None
        The file that holds the whole group: a path relative to the page.
    """

    name: str
    components: list[int]
    colour: int | None = None
    file: str | None = None


@dataclass(frozen=True, eq=False)
class Report:
    """What the page shows.

    Attributes
    ----------
    title : str
        Name of the recording.
    sample_rate : int
        Samples per second.
    mixture : array of shape (n, channels)
        The preview of the recording itself.
    components : list of Component
        What adds up to it.
    start : float
        Second of the recording at which the preview begins.
    Phi, W, H : arrays of shape (M, M), (M, K) and (K, N)
        Transform and factors; H for the frames of the preview.
    history : History
        How the transform was learned; without rows if it was not learned here.
    facts : list of pairs of str
        Other facts, as a table: ``("seed", "0")``.
    groups : list of ComponentGroup
        How the components are grouped, each of them once; empty if they are not.
    """

    title: str
    sample_rate: int
    mixture: Array
    components: list[Component]
    start: float
    Phi: Array
    W: Array
    H: Array
    history: History
    facts: list[tuple[str, str]]
    groups: list[ComponentGroup] = field(default_factory=list)

    @property
    def seconds(self) -> float:
        """Length of the preview."""
        return len(self.mixture) / self.sample_rate

    @property
    def sounds(self) -> list[Array]:
        """Samples (n, channels) of the mixture, then of the components."""
        return [self.mixture, *(component.samples for component in self.components)]

    @property
    def has_links(self) -> bool:
        """Whether the page links to files."""
        files = [component.file for component in self.components]
        return any([*files, *(group.file for group in self.groups)])


@dataclass(frozen=True, eq=False)
class Transformed:
    """The preview in the transform; several pictures are drawn from it."""

    frames: Array  #: (channels, M, N)
    power: Array  #: (M, N), |ΦY|², mean over channels
    frequencies: Array  #: (M,), of the peaks of the atoms, in Hz
    learned: bool  #: whether the transform is another than the DCT


def transformed(report: Report) -> Transformed:
    """Transform the preview."""
    Y = to_frames(report.mixture, len(report.Phi))
    X = report.Phi.astype(np.float32) @ Y.astype(np.float32)  # finer than a picture shows
    power = np.square(X, dtype=np.float64).mean(axis=0)
    few = np.array_split(report.Phi, -(-len(report.Phi) // 64))  # their fine spectra are large

    def peaks_of(atoms: Array) -> Array:
        return atom_frequencies(atoms, report.sample_rate).peak

    peaks = list(parallel_map(peaks_of, few))
    learned = not np.allclose(report.Phi, dct(len(report.Phi)), atol=1e-4)
    return Transformed(Y, power, np.concatenate(peaks), learned)


def check(report: Report) -> None:
    """Raise ValueError if the components cannot be played at the same time."""
    expected = report.mixture.shape
    if len(expected) != 2 or 0 in expected:
        raise ValueError(
            f"the mixture has samples of shape {expected}, but (n, channels) is needed, none empty"
        )
    if not report.components:
        raise ValueError("the report has no components, but at least one is needed")
    for component in report.components:
        if component.samples.shape != expected:
            raise ValueError(
                f"component {component.name!r} has samples of shape {component.samples.shape}, but"
                f" the mixture has {expected}: cut them to the same preview"
            )
    names = ["the mixture", *(f"component {component.name!r}" for component in report.components)]
    grouped = sorted(number for group in report.groups for number in group.components)
    if grouped and grouped != list(range(1, len(report.components) + 1)):
        raise ValueError("the groups do not hold each component once")
    for name, samples in zip(names, report.sounds, strict=True):
        if not np.isfinite(samples).all():
            raise ValueError(f"{name} has samples that are infinite or not numbers")


def shortened(report: Report, seconds: float) -> Report:
    """Return the same report with a preview of at most so many seconds."""
    n = max(1, int(seconds * report.sample_rate))
    if n >= len(report.mixture):
        return report
    return replace(
        report,
        mixture=report.mixture[:n],
        components=[replace(part, samples=part.samples[:n]) for part in report.components],
        H=report.H[:, : frame_count(n, len(report.Phi))],
    )
