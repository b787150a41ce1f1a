"""Learning the transform and the components of a recording, on as much of it as is needed."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from phinmf import checks
from phinmf._types import Array
from phinmf.algorithm import Callback
from phinmf.annealing import Anneal
from phinmf.api import tl_nmf
from phinmf.audio.frames import to_frames
from phinmf.encoding import encode
from phinmf.manifold import exactly_orthogonal
from phinmf.result import History, Result

STRETCH = 64  #: frames in a row that are read together
NMF_STEPS: dict[str, Any] = {"solver": None, "max_iter": 200, "tol": 1e-5}
#: A lower objective is not by itself a better separation: plain NMF in the DCT comes first, the
#: transform is learned from there, gently, and the factors once more in it (docs/separation.md).
LEARNING: dict[str, Any] = {"anneal": Anneal(start=3e-4, length=6), "max_iter": 9, "tol": 0}


@dataclass(frozen=True)
class Options:
    """How a recording is unmixed."""

    n_components: int = 8
    window: str | int = "40ms"
    sparsity: float = 10.0
    solver: Any = "lbfgs"  #: None keeps the transform: plain NMF
    init: str = "dct"
    seed: int | None = None
    max_time: float | None = None  #: seconds of learning
    learn_on: int | None = None  #: frames to learn on
    n_threads: int | None = None
    device: str | None = None  #: where it is learned


@dataclass(frozen=True, eq=False)
class Learned:
    """A transform and components, with all that is needed to use them on other frames."""

    Phi: Array
    W: Array
    scale: float  #: root mean square of the frames they were learned on
    floor: float  #: ε, in the units of their power
    sparsity: float
    sample_rate: int
    history: History = field(repr=False)
    stop_reason: str

    @property
    def M(self) -> int:
        """Samples of a frame."""
        return len(self.Phi)

    @property
    def K(self) -> int:
        """Number of components."""
        return self.W.shape[1]

    def activations(self, Y: Array, n_threads: int | None = None) -> Array:
        """H of frames (channels, M, N), in the units of their power."""
        return encode(
            Y, self.Phi, self.W, scale=self.scale, sparsity=self.sparsity,
            floor=self.floor / self.scale**2, n_threads=n_threads,
        ).H  # fmt: skip

    def in_order(self, order: Any) -> Learned:
        """The same with components in another order."""
        return Learned(**{**vars(self), "W": self.W[:, order]})


def window_length(window: str | int, sample_rate: int) -> int:
    """Samples of a frame from "40ms", "0.04s" or a number: the nearest even one."""
    found = re.fullmatch(r"\s*([0-9.]+)\s*(ms|s|)\s*", str(window))
    try:
        value = float(found[1]) if found else 0.0
    except ValueError:
        value = 0.0
    unit = found[2] if found else ""
    samples = value * {"ms": sample_rate / 1000, "s": sample_rate, "": 1}[unit]
    if not 2 <= samples < 2**16:
        raise ValueError(
            f"window is {window!r}, which is {samples:g} samples at {sample_rate} Hz, but 2 to"
            " 65535 are needed: give a length such as 40ms, or a number of samples"
        )
    return max(2, 2 * round(samples / 2))


def learn(
    read: Callable[[int, int], Array],
    length: int,
    channels: int,
    sample_rate: int,
    options: Options,
    callback: Callback | None = None,
    frames: Any = None,
) -> Learned:
    """Learn from a signal; `read(start, n)` gives samples (n, channels) of it.

    If a dask array of all its frames is given, it is learned on all of them, where they are.
    """
    M = window_length(options.window, sample_rate)
    rng = checks.generator(options.seed)
    Y = frames
    if Y is None:
        Y = some_frames(read, length, channels, M, options.learn_on, rng)
    if frames is None and not Y.any():
        raise ValueError("the recording is silent: there is nothing to take apart")
    K = checks.count(
        "n_components", options.n_components, 1, min(Y.shape[1:]), " for this recording and window"
    )
    how: dict[str, Any] = {
        "sparsity": options.sparsity,
        "random_state": int(rng.integers(2**63)),
        "n_threads": options.n_threads,
        "device": options.device,
    }
    with warnings.catch_warnings(action="ignore", category=ConvergenceWarning):
        result: Result = tl_nmf(Y, K, init=options.init, callback=callback, **NMF_STEPS, **how)
        history, status = result.history, result.status
        if options.solver is not None:
            fit = {**LEARNING, "solver": options.solver, "max_time": options.max_time}
            result = tl_nmf(Y, K, callback=callback, **fit, **start_of(result), **how)
            history, status = result.history, result.status
            result = tl_nmf(Y, K, callback=callback, **NMF_STEPS, **start_of(result), **how)
    assert result.W is not None
    return Learned(
        Phi=exactly_orthogonal(result.Phi, np.float64),
        W=result.W.astype(np.float64),
        scale=result.scale,
        floor=result.floor,
        sparsity=options.sparsity,
        sample_rate=sample_rate,
        history=history,
        stop_reason=status.value,
    )


def start_of(result: Result) -> dict[str, Any]:
    """Where another fit goes on."""
    return {"init": result.Phi, "W": result.W, "H": result.H}


def enough_frames(M: int, channels: int) -> int:
    """Frames that say all there is to learn, as far as time allows."""
    return max(4 * M // channels, 512)


def some_frames(
    read: Callable[[int, int], Array],
    length: int,
    channels: int,
    M: int,
    wanted: int | None,
    rng: np.random.Generator,
) -> Array:
    """Frames (channels, M, N) of the whole signal, or of stretches of it drawn at random.

    In single precision, which is enough to learn from and half as large.
    """
    hop = M // 2
    N = -(-length // hop) + 1
    wanted = wanted or enough_frames(M, channels)
    if wanted >= N:
        return to_frames(read(0, length).astype(np.float32), M)
    n = STRETCH * hop
    starts = np.arange(0, max(length - n, 1), n)
    chosen = np.sort(rng.choice(starts, min(max(1, wanted // STRETCH), len(starts)), replace=False))

    def frames_at(s: int) -> Array:
        """Those of a stretch but the first and the last, which it fills only by half."""
        return to_frames(read(s, n).astype(np.float32), M)[:, :, 1:-1]

    return np.concatenate([frames_at(int(s)) for s in chosen], axis=2)
