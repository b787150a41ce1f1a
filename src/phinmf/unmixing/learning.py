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
from phinmf.algorithm.annealing import Anneal
from phinmf.algorithm.group import Callback
from phinmf.algorithm.options import solver_named
from phinmf.api import tl_nmf
from phinmf.audio.frames import to_frames
from phinmf.fit.encode import encode
from phinmf.linalg.manifold import dct, exactly_orthogonal
from phinmf.penalties import Sparse
from phinmf.result import History, Result, Status
from phinmf.unmixing import estimate
from phinmf.unmixing.budget import Budget
from phinmf.unmixing.estimate import Size

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
    max_time: float | None = None  #: most seconds of learning, as a whole
    learn_on: int | None = None  #: frames to learn on, whatever max_time is
    n_threads: int | None = None
    device: str | None = None  #: where it is learned

    def __post_init__(self) -> None:
        """Refuse what cannot be meant, whether or not it comes to be used."""
        solver_named(self.solver)
        if self.max_time is not None:
            checks.number("max_time", self.max_time, 0)
        if self.learn_on is not None:
            checks.count("learn_on", self.learn_on, 1)


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
            Y, self.Phi, self.W, scale=self.scale, penalty=Sparse(self.sparsity),
            floor=self.floor / self.scale**2, n_threads=n_threads,
        ).H  # fmt: skip

    def in_order(self, order: Any) -> Learned:
        """The same with components in another order."""
        return Learned(**{**vars(self), "W": self.W[:, order]})


def parsed_window(window: str | int) -> tuple[float, str]:
    """A number and its unit ("ms", "s" or none, for samples) from "40ms", "0.04s" or 640."""
    found = re.fullmatch(r"\s*([0-9]+\.?[0-9]*|\.[0-9]+)\s*(ms|s|)\s*", str(window))
    if not found:
        raise ValueError(
            f"window is {window!r}, but a length such as 40ms, or a number of samples, is needed"
        )
    return float(found[1]), found[2]


def window_length(window: str | int, sample_rate: int) -> int:
    """Samples of a frame from "40ms", "0.04s" or a number: the nearest even one."""
    value, unit = parsed_window(window)
    samples = value * {"ms": sample_rate / 1000, "s": sample_rate, "": 1}[unit]
    if not 2 <= samples < 2**16:
        raise ValueError(
            f"window is {window!r}, which is {samples:g} samples at {sample_rate} Hz, but 2 to"
            " 65535 are needed: give a length such as 40ms, or a number of samples"
        )
    return max(2, 2 * round(samples / 2))


def check_size(options: Options, length: int, sample_rate: int) -> int:
    """Samples of a frame; windows and numbers of components that do not fit are refused."""
    M = window_length(options.window, sample_rate)
    most = min(M, frame_count(length, M))
    checks.count("n_components", options.n_components, 1, most, " for this recording and window")
    return M


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
    on_processor = frames is None and options.device in (None, "cpu")
    budget = Budget(options.max_time, options.n_threads, on_processor)
    M = check_size(options, length, sample_rate)
    K, rng = options.n_components, checks.generator(options.seed)
    size = Size(M, min(enough_frames(M, channels), frame_count(length, M)), channels, K)
    learns = options.solver is not None and budget.allows_transform(size)
    Y = frames
    if Y is None:
        n = options.learn_on or budget.frames(size, learns)
        Y = some_frames(read, length, M, max(n, 2 * K + STRETCH), rng)
        if not Y.any():
            raise ValueError(
                "the recording is silent: there is nothing to take apart; if it is only very"
                " quiet, scale it nearer to 1"
            )
    size = size._replace(N=Y.shape[2])
    how: dict[str, Any] = {
        "sparsity": options.sparsity,
        "random_state": int(rng.integers(2**63)),
        "n_threads": options.n_threads,
        "device": options.device,
        "callback": callback,
    }
    with warnings.catch_warnings(action="ignore", category=ConvergenceWarning):
        seconds = budget.first(size, learns)
        result: Result = tl_nmf(Y, K, init=options.init, max_time=seconds, **NMF_STEPS, **how)
        history, status = result.history, result.status
        if options.solver is not None and not learns:
            status = Status.MAX_TIME
        if learns:
            fit = {**LEARNING, "solver": options.solver, "max_time": budget.second(size)}
            result = tl_nmf(Y, K, **fit, **start_of(result), **how)
            history, status = result.history, result.status
            seconds = budget.left(estimate.nmf_setup(size))
            result = tl_nmf(Y, K, max_time=seconds, **NMF_STEPS, **start_of(result), **how)
    Phi = dct(M) if options.init == "dct" and not learns else result.Phi
    assert result.W is not None
    return Learned(
        Phi=exactly_orthogonal(Phi, np.float64),
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


def frame_count(length: int, M: int) -> int:
    """Frames of M samples that `to_frames` makes of a signal."""
    return -(-length // (M // 2)) + 1


def enough_frames(M: int, channels: int) -> int:
    """Frames that say all there is to learn, as far as time allows."""
    return max(4 * M // channels, 512)


def single(y: Array) -> Array:
    """Samples in single precision, if they can be."""
    loudest = float(abs(y).max(initial=0))
    if float(np.finfo(np.float32).max) < loudest < np.inf:
        raise ValueError(f"the recording reaches {loudest:.3g}: scale it nearer to 1")
    return y.astype(np.float32)


def some_frames(
    read: Callable[[int, int], Array],
    length: int,
    M: int,
    wanted: int,
    rng: np.random.Generator,
) -> Array:
    """Frames (channels, M, N) of the whole signal, or of stretches of it drawn at random.

    If all that are drawn are silent, others are drawn from those that are not.

    In single precision, which is enough to learn from and half as large.
    """
    hop = M // 2
    n = STRETCH * hop
    starts = np.arange(0, max(length - n, 1), n)
    number = max(1, wanted // STRETCH)
    if wanted >= frame_count(length, M) or number > len(starts):
        return to_frames(single(read(0, length)), M)

    def drawn(starts: Any) -> Array:
        """Frames of some stretches but the first and last, which a stretch fills only by half."""
        chosen = np.sort(rng.choice(starts, min(number, len(starts)), replace=False))
        stretches = (single(read(int(s), n)) for s in chosen)
        return np.concatenate([to_frames(y, M)[:, :, 1:-1] for y in stretches], axis=2)

    Y = drawn(starts)
    if not Y.any():
        audible = [s for s in starts if read(int(s), n).any()]
        Y = drawn(audible) if audible else Y
    return Y
