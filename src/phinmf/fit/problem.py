"""A fit without its random state: checked, scaled and started once for all restarts."""

from __future__ import annotations

import math
import numbers
import time
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike
from sklearn.exceptions import ConvergenceWarning

from phinmf import arrays, checks
from phinmf._types import AnyArray, Array, Components, Fixed, RandomState
from phinmf.algorithm.alternate import alternate
from phinmf.algorithm.model import Iterate, Model
from phinmf.algorithm.nmf import normalise
from phinmf.algorithm.options import Options
from phinmf.algorithm.run import Outcome, Run
from phinmf.algorithm.schedule import SINGLE_PAYS, Schedule
from phinmf.algorithm.subspace import Subspace, check_length
from phinmf.arrays.threads import single_threaded_blas
from phinmf.errors import InvalidValue
from phinmf.fit.automatic import checked_components, counted
from phinmf.fit.checkpoint import Checkpoint, description, seed_of
from phinmf.fit.data import Data, data_of
from phinmf.fit.encode import Learned, with_left_out_frames
from phinmf.fit.engine import engine_of
from phinmf.fit.initial_factors import InitialFactors, initial_factors
from phinmf.result import Callback, Result, State, Status, Terms
from phinmf.warn import say, warn

COARSE_PAYS = SINGLE_PAYS  #: minimum number of samples for which a coarse beginning saves time

Start = tuple[Array, InitialFactors]  #: Φ, and the factors of the caller for its atoms


@dataclass(frozen=True)
class Problem:
    """Frames, and how Φ, W and H, or Φ alone, are learned from them: see `prepared`."""

    data: Data
    options: Options
    initial: InitialFactors
    start: Start | None  #: of all restarts; None: each draws its own
    subspace: Subspace | None  #: in which few atoms are learned, or learning all atoms begins
    schedule: Schedule
    V_hat: Array | None = None  #: (P, N) at unit power, if Φ alone is learned, with all its atoms

    def fit(
        self,
        random_state: RandomState,
        callback: Callback | None = None,
        checkpoint: Checkpoint | None = None,
        name: str | None = None,
    ) -> Result:
        """Run Algorithm 1 from one start; under a `name`, print each outer iteration and the end.

        Raises
        ------
        InvalidValue
            If the objective is not finite at the start.
        """
        data, options, V_hat = self.data, self.options, self.V_hat
        seed = "" if checkpoint is None else seed_of(random_state)  # before it is drawn from
        rng_Phi, rng_W, rng_sample = checks.generators(random_state, 3)
        if V_hat is not None:
            rng_sample = rng_W
        with engine_of(options, data.Y, data.weights, data.links) as engine:
            Phi, initial = self.start or start_of(
                data, options, self.initial, self.subspace, rng_Phi
            )
            with np.errstate(all="ignore"):
                start = Iterate(Phi, *initial.start(engine.powers(), options.penalty, rng_W))
                model = Model(engine, options.penalty, V_hat, initial.fixed)
                run = Run(model, options, self.schedule, start, rng_sample, self.subspace)
            if not math.isfinite(run.history.start):
                raise InvalidValue(
                    "the objective is not finite at the start: scale the W, H or V_hat that you"
                    " pass to the power of Y, and if floor is 0, which allows no zeros in ΦY and"
                    " its model, set it to a small number such as 1e-8"
                )
            save = None
            if checkpoint is not None:
                save = checkpoint.attach(run, description(options, data, self.initial, seed))
            if name is not None:
                callback = printed(name, callback)
            outcome = alternate(run, None if callback is None else self.watched(callback), save)
        result = self.result(outcome, initial)
        if name is not None:
            say(f"{name}: {result.status.value}; objective {result.objective:.6g}")
        return result

    def watched(self, callback: Callback) -> Callback:
        """Return a callback that gets the scale of the data, too."""
        return lambda state: callback(replace(state, scale=self.data.scale))

    def result(self, outcome: Outcome, initial: InitialFactors) -> Result:
        """Return the result in the units of the caller, and for all of his frames."""
        data, options, subspace = self.data, self.options, self.subspace
        iterate, divergence, penalty, history, status = outcome
        W = H = None
        if self.V_hat is None:
            W, H = initial.in_units_of_caller(iterate.W, iterate.H, data)
            if initial.fixed.H is not None and initial.H_original is not None:
                H = arrays.cast(initial.H_original, initial.dtype)
            elif not isinstance(data.used, slice):
                learned = Learned(iterate.Phi, W, data.scale, options)
                H = with_left_out_frames(H, data, learned)
        n_atoms = None if subspace is None else subspace.n_atoms
        return Result(
            Phi=iterate.Phi,
            W=W,
            H=H,
            objective=divergence + penalty,
            divergence=divergence,
            penalty=penalty,
            history=history,
            status=status,
            floor=options.floor * data.scale**2,
            scale=data.scale,
            n_atoms=n_atoms or data.M,
            energy=1.0 if subspace is None or n_atoms is None else subspace.share(n_atoms),
            terms=None if W is None else Terms(options.divergence, options.penalty),
            pairs=options.pairs,
        )


def printed(name: str, callback: Callback | None) -> Callback:
    """Return a callback that prints each outer iteration, too."""

    def reported(state: State) -> bool:
        """Print the best objective so far: that of an iteration rises while the floor falls."""
        best, seconds = state.history.target_objective.min(), state.history[-1].seconds
        say(f"{name}: iteration {state.iteration}, best objective {best:.6g}, {seconds:.1f} s")
        return bool(callback is not None and callback(state))

    return reported


def warn_unless_converged(status: Status, tol: float) -> None:
    """Warn if a run failed, or ended before it converged to `tol` and nobody asked for that.

    Whoever runs a fit calls this in the thread of the caller; tol = 0 warns of failures only.
    """
    by_request = (Status.CALLBACK, Status.INTERRUPTED)
    unfinished = tol > 0 and not status.converged and status not in by_request
    if status.failed or unfinished:
        warn(f"not converged to tol={tol:g}; {status.value}", ConvergenceWarning)


def problem_of(
    frames: AnyArray,
    n_components: Components,
    options: Options,
    *,
    W: ArrayLike | None = None,
    H: ArrayLike | None = None,
    fixed: Fixed = None,
    sample_weight: ArrayLike | None = None,
) -> Problem:
    """Return the fit of frames (C, M, N), checked by `checks.frames`; check its other arguments."""
    data = data_of(frames, options, sample_weight=sample_weight, may_merge=H is None)
    used = data.used
    n_used = frames.shape[2] if isinstance(used, slice) else len(used)
    if not isinstance(n_components, numbers.Integral):  # "auto"
        checked_components(n_components)
        began = time.perf_counter()
        n_components = counted(data, options, W, H, fixed)
        options = options.after(time.perf_counter() - began)
    P = rows_of_W(data.M, options)
    rows = f"M/2={P}" if options.pairs else f"M={P}"
    most = (min(P, n_used), f" = min({rows}, N={n_used})") if W is None else (None, "")
    K = checks.count("n_components", n_components, 1, *most)
    initial = initial_factors(W, H, fixed, K, data, P)
    if options.n_atoms is not None and initial.fixed.columns is not None:
        raise InvalidValue(
            "n_atoms is set and fixed names W, but rows of W belong to atoms of the start, which"
            " n_atoms replaces: leave one of them out"
        )
    if options.n_atoms is not None and initial.fixes_Phi:
        raise InvalidValue(
            "n_atoms is set and fixed names Phi, so that no atoms are learned: leave one of them"
            " out"
        )
    return prepared(data, options.keeping_Phi() if initial.fixes_Phi else options, initial)


def rows_of_W(M: int, options: Options) -> int:
    """Return the number of powers that M atoms have; refuse pairs of an odd number of them."""
    if options.pairs and M % 2:
        raise InvalidValue(
            f"pairs is True, but frames of {M} samples have an odd number of atoms: take frames of"
            " an even length"
        )
    return M // options.atoms_per_power


def transform_problem(frames: AnyArray, V_hat: ArrayLike, options: Options) -> Problem:
    """Return the fit of Φ alone, so that the power of ΦY fits V̂ (P, N), in the units of Y²."""
    data = data_of(frames, options, may_merge=False)
    P, N, dtype = rows_of_W(data.M, options), data.Y.shape[2], arrays.dtype_of(data.Y)
    model = arrays.like(checks.factor("V_hat", V_hat, (P, N), np.float64), data.Y) / data.scale**2
    initial = initial_factors(None, None, None, 0, data, P)
    return prepared(data, options, initial, V_hat=arrays.frames_contiguous(model, dtype))


def prepared(
    data: Data,
    options: Options,
    initial: InitialFactors,
    subspace: Subspace | None = None,
    V_hat: Array | None = None,
) -> Problem:
    """Compute what all restarts share: the start, the subspace that is learned in, the schedule.

    Few atoms are learned in this subspace instead of that of the leading eigenvectors; the start is
    in it already.
    """
    if data.M == 1:  # a 1×1 transform has nothing to learn
        options = options.keeping_Phi()
    if options.floor == 0 and options.solver is not None:
        check_rank(data)
    check_length(options.n_atoms, data.M)
    start, coarse = None, V_hat is None and begins_coarse(data, options, initial)
    with single_threaded_blas:
        leading = None
        if subspace is None and (coarse or options.n_atoms is not None):
            leading = Subspace(*data.karhunen_loeve)
            if options.n_atoms is not None:
                leading = leading.with_few(options.n_atoms, options.atoms_per_power)
        if not options.init.draws:
            start = start_of(data, options, initial, leading, np.random.default_rng(0))
    subspace = subspace or leading
    n_atoms = None if subspace is None else subspace.n_atoms
    if subspace is not None and n_atoms is not None and start is not None:
        W = start[1].W
        if 0 < W.shape[1] == initial.shape[2]:
            subspace = replace(subspace, W=normalise(arrays.cast(W, initial.dtype))[0])
    schedule = Schedule(options, data, subspace if coarse else None, n_atoms)
    return Problem(data, options, initial, start, subspace, schedule, V_hat)


def start_of(
    data: Data,
    options: Options,
    initial: InitialFactors,
    subspace: Subspace | None,
    rng: np.random.Generator,
) -> Start:
    """Return the start of Φ, and the factors of the caller for its atoms.

    If few atoms are learned, they replace the strongest ones of the start. Each new atom is a
    combination of those before, and the squares of its coefficients, which sum to 1, are the shares
    of their rows of W that it has.
    """
    Phi = arrays.like(options.init.start(data, rng, initial.dtype), data.Y)
    if subspace is None or subspace.n_atoms is None:
        return Phi, initial
    size, P = options.atoms_per_power, len(initial.W)
    nearest = subspace.nearest(Phi, size)
    squares = (arrays.cast(nearest @ Phi.mT, np.float64) ** 2).reshape(P, size, P, size)
    xp = arrays.namespace(Phi)
    shares = xp.mean(xp.sum(squares, axis=3), axis=1)  # those of pairs are the mean of both atoms
    return nearest, replace(initial, W=shares @ initial.W)


def begins_coarse(data: Data, options: Options, initial: InitialFactors) -> bool:
    """Whether runs begin with few atoms: not if a transform or factors would be lost."""
    anneal, has_factors = options.anneal, initial.H is not None or initial.W.shape[1] > 0
    if anneal is None or options.solver is None or options.init.all_atoms or has_factors:
        return False
    return options.max_iter > 0 and anneal.coarse > 0 and math.prod(data.Y.shape) >= COARSE_PAYS


def check_rank(data: Data) -> None:
    """Raise for a floor of 0 if a transform can make coefficients of the frames zero."""
    _, powers = data.karhunen_loeve
    rank = int((powers > data.M * np.finfo(np.float64).eps * powers[0]).sum())
    if rank < data.M:
        raise InvalidValue(
            f"floor is 0 but the frames have rank {rank}, and the transform of {data.M} samples can"
            " make entries zero, which costs infinitely much: set floor to a small number such as"
            " 1e-8"
        )
