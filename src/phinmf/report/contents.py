"""What a report is made of, and what its pictures are drawn from."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from phinmf._types import Array
from phinmf.audio.frames import to_frames
from phinmf.result.plots import periods
from phinmf.unmixing.model import UnmixModel


@dataclass(frozen=True, eq=False)
class Component:
    """A component as it is heard."""

    name: str  #: "component 1"
    samples: Array  #: (n, channels), the preview
    file: str | None  #: that holds the whole component: a path relative to the page
    share: float  #: of the energy, 0 to 1


@dataclass(frozen=True)
class ComponentGroup:
    """Components that were joined; they are shown and heard together."""

    name: str
    components: list[int]  #: numbers of its components, counted from 1
    colour: int | None = None  #: None for the components that are in no group
    file: str | None = None  #: that holds the whole group: a path relative to the page


@dataclass(frozen=True, eq=False)
class Report:
    """What the page shows."""

    title: str  #: name of the recording
    model: UnmixModel  #: whose components these are, in the same order
    components: list[Component]  #: what adds up to the recording; all previews are equally long
    start: float = 0.0  #: second of the recording at which the preview begins
    facts: list[tuple[str, str]] = field(default_factory=list)  #: a table: ("seed", "0")
    groups: list[ComponentGroup] = field(default_factory=list)  #: each component once, or empty

    @property
    def sample_rate(self) -> int:
        """Samples per second."""
        return self.model.sample_rate

    @property
    def seconds(self) -> float:
        """Length of the preview."""
        return len(self.mixture) / self.sample_rate

    @cached_property
    def mixture(self) -> Array:
        """The preview of the recording itself, (n, channels)."""
        return np.sum([component.samples for component in self.components], axis=0)

    @property
    def sounds(self) -> list[Array]:
        """Samples (n, channels) of the mixture, then of the components."""
        return [self.mixture, *(component.samples for component in self.components)]

    @cached_property
    def peak(self) -> float:
        """The largest sample of all sounds."""
        return max(float(np.abs(samples).max()) for samples in self.sounds)

    @cached_property
    def frames(self) -> Array:
        """Frames (channels, M, N) of the preview, in the precision of a picture."""
        return to_frames(self.mixture, self.model.M).astype(np.float32)

    @cached_property
    def H(self) -> Array:
        """Activations (K, N) of the preview."""
        return self.model.activations(self.frames)

    @cached_property
    def energies(self) -> Array:
        """|ΦY|² (M, N) of the preview, mean over channels."""
        X = self.model.Phi.astype(np.float32) @ self.frames
        return np.square(X, dtype=np.float64).mean(axis=0)

    @cached_property
    def power(self) -> Array:
        """The power (P, N) of each atom, or of each pair, whose mean power it is."""
        P, N = len(self.model.W), self.energies.shape[1]
        return self.energies.reshape(P, -1, N).mean(axis=1)

    @cached_property
    def frequencies(self) -> Array:
        """Frequency in Hz of the peak of each atom, or of each pair, (P,)."""
        M = self.model.M
        first = self.model.Phi[:: M // len(self.model.W)]
        return periods(first, padding=4) * self.sample_rate / M

    @property
    def learned(self) -> bool:
        """Whether the transform was learned: its history then has gradients."""
        return bool(np.isfinite(self.model.history.gradient).any())


def shortened(report: Report, seconds: float) -> Report:
    """Return the same report with a preview of at most so many seconds."""
    n = max(1, int(seconds * report.sample_rate))
    if n >= len(report.mixture):
        return report
    components = [replace(part, samples=part.samples[:n]) for part in report.components]
    return replace(report, components=components)
