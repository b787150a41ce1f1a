"""How many components frames have: begin with too many, remove what explains too little.

A short fit with many components, the Gaussian likelihood and a high floor comes first. Then
components are removed one by one, each replaced by the others as well as possible
(`algorithm/elimination.py`). A component counts if the frames are less likely without it by more
than `CHANCE` in each frame, which a superfluous one may gain by fitting noise, by more than `WORTH`
in each coefficient, and by more than `SHARE` of what components are worth on average. So that
white noise hardly counts, the floor is at least a part of the power in the quietest moments of the
quietest atoms. The number depends on nothing but the frames and the start of the transform.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import gammaincinv

from phinmf import arrays, checks
from phinmf._types import Components, Fixed
from phinmf.algorithm.alternate import alternate
from phinmf.algorithm.elimination import Count, eliminate
from phinmf.algorithm.model import Iterate, Model
from phinmf.algorithm.nmf import flat_activations, normalise
from phinmf.algorithm.options import Method, Options
from phinmf.algorithm.run import Run
from phinmf.algorithm.schedule import Schedule
from phinmf.arrays.cluster import in_memory
from phinmf.arrays.lazy import is_lazy
from phinmf.arrays.levels import levels
from phinmf.errors import InvalidType, InvalidValue
from phinmf.fit.data import Data, data_of
from phinmf.fit.engine import engine_of
from phinmf.fit.initial_factors import fixed_parts
from phinmf.inits import KLT, Frames
from phinmf.result import Status

AUTO: Literal["auto"] = "auto"
FIRST, FIRST_OF_LONG = 32, 24  #: components at first, and if frames have more than `ATOMS` atoms
SAMPLES, FRAMES = 2**19, 1000  #: samples that are looked at, and frames if these are long
ATOMS = 128  #: maximum number of atoms that are learned to count components
CHANCE = 1.1  #: logarithm of the likelihood of a frame that a superfluous component may gain
WORTH = 0.011  #: the same of each coefficient, that a component must gain
SHARE = 0.35  #: of what components gain on average, that each must gain
FLOOR, SPARSITY = 0.02, 6.0  #: of the short fit
QUIETEST = 0.1  #: share of the atoms, and of the time, that has hardly more than noise
NOISE = 0.3  #: of its power is enough of a floor, since other sounds may be in it
ITERATIONS, NMF_STEPS = 36, 5  #: outer iterations, half of them if Φ is not learned; NMF in each
TIME_SHARE = 0.25  #: of a limit on the time, that the short fit may take


def count_components(data: Data, options: Options) -> int:
    """Return the number of components of the frames of a fit."""
    learns = options.solver is not None and not options.init.counts
    max_time = options.max_time
    how = Options(
        solver="lbfgs" if learns else None,
        divergence="gaussian",
        sparsity=SPARSITY,
        floor=FLOOR,
        method=Method(anneal=False, n_iter_nmf=NMF_STEPS),
        max_iter=ITERATIONS if learns else ITERATIONS // 2,
        max_time=None if max_time is None else TIME_SHARE * max_time,
        tol=0.0,
        n_threads=options.n_threads,
    )
    frames = sounding_frames(data)
    init = KLT() if learns else options.init
    Phi = arrays.to_numpy(init.start(frames, np.random.default_rng(0), np.float32))
    if learns:
        Phi = Phi[:ATOMS]
    unit = data_of(Phi @ frames.Y, how, sample_weight=frames.weights, may_merge=False)
    path = over_complete_path(unit, replace(how, floor=max(FLOOR, NOISE * noise_level(unit))))
    return best_number(path, unit)


def sounding_frames(data: Data) -> Frames:
    """Return frames that sound in single precision on the host, evenly spaced if they are many."""
    Y, weights = data.Y, data.weights
    most = max(FRAMES, SAMPLES // data.M)
    if Y.shape[2] > most:
        sounding = np.flatnonzero(arrays.to_numpy(levels(Y).largest))
        places = np.linspace(0, len(sounding) - 1, min(most, len(sounding)))
        which = sounding[np.unique(places.round().astype(int))]
        Y, weights = arrays.take_frames(Y, which), None if weights is None else weights[which]
    Y = in_memory(Y) if is_lazy(Y) else arrays.to_numpy(Y)
    return Frames(Y.astype(np.float32), weights)


def noise_level(data: Data) -> float:
    """Return the power of white noise, from the quietest moments of the quietest atoms.

    White noise is everywhere, and these have little else. Their power is that of normal numbers of
    which a quantile is known. The mean power of all is 1.
    """
    V = np.square(data.Y).mean(axis=0)
    quiet = V[np.argsort(V.mean(axis=1))[: max(1, int(QUIETEST * len(V)))]]
    C = data.Y.shape[0]  # V is the mean of C squares
    return float(np.quantile(quiet, QUIETEST) / (2 / C * gammaincinv(C / 2, QUIETEST)))


def over_complete_path(data: Data, how: Options) -> list[Count]:
    """Fit many components, then remove them one by one."""
    _, M, N = data.Y.shape
    K, rng = min(FIRST_OF_LONG if M > ATOMS else FIRST, M, N), np.random.default_rng(0)
    with engine_of(how, data.Y, data.weights, data.links) as engine:
        model = Model(engine, how.penalty)
        W, _ = normalise(rng.exponential(size=(M, K)).astype(np.float32))
        H = flat_activations(engine.powers(), M, K, how.penalty)
        start = Iterate(np.eye(M, dtype=np.float32), W, H)
        outcome = alternate(Run(model, how, Schedule(how, data), start, rng))
        if outcome.status is Status.INTERRUPTED:
            raise KeyboardInterrupt
        last = outcome.iterate
        V = np.mean(np.square(last.Phi @ data.Y), axis=0)
        return eliminate(model, last, V, how.floor)


def best_number(path: list[Count], data: Data) -> int:
    """Return the number of components that are all worth it."""
    N = data.Y.shape[2] if data.weights is None else data.weights.sum()
    least = 2 * N * max(CHANCE, WORTH * data.M)  # the objective is twice a log-likelihood
    while True:
        best = min(path, key=lambda count: count.objective + least * count.number)
        if best.number <= 2:
            return best.number
        mean = (path[-2].objective - best.objective) / (best.number - 2)  # down to two
        if SHARE * mean <= least:
            return best.number
        least = SHARE * mean


def checked_components(n_components: object) -> Components:
    """Return "auto" or a number of components; another text is refused, and so is a float."""
    if not isinstance(n_components, (str, float)):
        return checks.count("n_components", n_components, 1)
    if n_components != AUTO:
        raise InvalidType(
            f"n_components is {n_components!r}, but a whole number is needed, or 'auto' to count"
            " them"
        )
    return AUTO


def counted(
    data: Data, options: Options, W: ArrayLike | None, H: ArrayLike | None, fixed: Fixed
) -> int:
    """Return the number of components; refuse factors, which have a number of them already."""
    named = (("W or components", W), ("H or activations", H))
    factors = [name for name, factor in named if factor is not None]
    if factors:
        raise InvalidValue(
            f"n_components is 'auto', but {' and '.join(factors)} is given for a known number of"
            " components: pass that number instead"
        )
    fixes_Phi, _, _ = fixed_parts(fixed, 0, has_H=False)
    return count_components(data, options.keeping_Phi() if fixes_Phi else options)
