"""What a caller asks for: how to unmix, and what to write where; checked when it is made."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from phinmf import checks
from phinmf._types import Components, Device, RandomState
from phinmf.algorithm.options import Options
from phinmf.arrays.precision import torch_device
from phinmf.audio import Source
from phinmf.errors import InvalidValue
from phinmf.fit.automatic import checked_components
from phinmf.inits import INITS, InitName
from phinmf.solvers import Solver, SolverName
from phinmf.unmixing.marks import Marks
from phinmf.unmixing.mix import Grouping
from phinmf.unmixing.model import UnmixModel
from phinmf.unmixing.references import Reference

MAX_WINDOW = 65_535  #: samples

USUAL = 24  #: components, where no number is named: more are better, but must be grouped

Plain = str | bool | int | float | None  #: values that JSON has


@dataclass(frozen=True)
class UnmixOptions:
    """How a recording is unmixed; the parameters are those of `phinmf.unmix`."""

    n_components: Components | None = None  #: None: `USUAL`, or as many as a short recording has
    window: str | float = "93ms"
    sparsity: float = 50.0
    floor: float = 1e-3
    pairs: bool = True
    n_atoms: int | float | None = 0.99
    solver: SolverName | Solver | None = None
    init: InitName | None = None
    seed: RandomState = None
    max_time: float | None = Options.max_time
    learn_on: int | None = None
    n_threads: int | None = Options.n_threads
    device: Device = None

    def __post_init__(self) -> None:
        """Refuse values that cannot be meant, whether or not they are used."""
        if self.n_components is not None:
            checked_components(self.n_components)
        parsed_window(self.window)
        checks.choice("init", self.init, [None, *INITS])
        Options(
            solver=self.solver, sparsity=self.sparsity, floor=self.floor, pairs=self.pairs,
            max_time=self.max_time, n_threads=self.n_threads,
        )  # fmt: skip
        Options(n_atoms=self.n_atoms)  # which is not used without a solver
        if not isinstance(self.seed, np.random.RandomState):  # which would be drawn from
            checks.generator(self.seed, "seed")
        if self.device not in (None, "cpu"):
            torch_device(self.device)
        if self.learn_on is not None:
            checks.count("learn_on", self.learn_on, 1)

    @property
    def likely_components(self) -> int:
        """The number of components, or the usual one where they are still to be counted."""
        return USUAL if isinstance(self.n_components, str | None) else int(self.n_components)

    def plain(self) -> dict[str, Plain]:
        """Return the options as JSON holds them; a solver or a generator is described in words."""
        return {
            name: value if isinstance(value, Plain) else str(value)
            for name, value in vars(self).items()
        }


@dataclass(frozen=True)
class Output:
    """Where the components of a recording are written, and in which format."""

    folder: Path
    format: str | None = None  #: None: that of the recording
    subtype: str | None = None  #: None: that of the recording
    overwrite: bool = False


@dataclass(frozen=True)
class Request:
    """One recording, or a stretch of it, what to do with it, and where to write."""

    recording: Source
    output: Output
    options: UnmixOptions
    model: Path | UnmixModel | None = None  #: a file or a folder; is used instead of learning one
    groups: Grouping | None = None  #: groups of components that are written as well
    references: Sequence[Reference] = ()  #: sounds whose like is looked for: a group each
    #: where groups of the model sound, or are silent: a model in a file is refined with them first,
    #: one in memory was refined already
    marks: Marks | None = None
    page: bool = True  #: whether a page is written
    others: tuple[Path, ...] = ()  #: other recordings: a folder that holds one is not replaced

    @property
    def inputs(self) -> list[Path]:
        """Files that are read: a folder that holds one of them is not replaced."""
        sound, model = self.recording.sound, self.model
        own = [] if sound is None else [sound.path]
        return [*self.others, *own, *([model] if isinstance(model, Path) else [])]


def parsed_window(window: str | float) -> tuple[float, str]:
    """Return a number and its unit ("ms", "s", or "" for samples) from "40ms", "0.04s" or 640."""
    match = re.fullmatch(r"\s*([0-9]+\.?[0-9]*|\.[0-9]+)\s*(ms|s|)\s*", str(window))
    if not match:
        raise InvalidValue(
            f"window is {window!r}, but a length such as 40ms, or a number of samples, is needed"
        )
    return float(match[1]), match[2]


def window_length(window: str | float, sample_rate: int) -> int:
    """Return the samples of a frame from "40ms", "0.04s" or a number: the nearest even one."""
    value, unit = parsed_window(window)
    samples = value * {"ms": sample_rate / 1000, "s": sample_rate, "": 1}[unit]
    if not 2 <= samples < MAX_WINDOW + 1:
        raise InvalidValue(
            f"window is {window!r}, which is {samples:g} samples at {sample_rate} Hz, but 2 to"
            f" {MAX_WINDOW} are needed: give a length such as 40ms, or a number of samples"
        )
    return max(2, 2 * round(samples / 2))
