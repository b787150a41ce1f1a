"""`TLNMF.partial_fit`: from parameters to steps of a `Learner`, and from these to attributes."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike

from phinmf import arrays, checks
from phinmf._types import Array, RandomState
from phinmf.arrays.lazy import is_lazy
from phinmf.errors import InvalidValue
from phinmf.estimator import encoding, fitting
from phinmf.estimator.parameters import Parameters
from phinmf.fit.advice import advise, refuse_transposed
from phinmf.fit.automatic import AUTO, checked_components
from phinmf.fit.data import weights_of
from phinmf.fit.devices import ComputeDevice, check_same_device
from phinmf.fit.initial_factors import fixed_parts
from phinmf.fit.online import Learner, Plan
from phinmf.warn import say

BLOCK = 2  #: default size of a block, as a multiple of M
STOP_REASON = "learned from all blocks so far: partial_fit continues with more frames"


def learn_more(estimator: Parameters, X: ArrayLike, sample_weight: ArrayLike | None) -> None:
    """Learn from frames (n_frames, M), and set the attributes of the estimator."""
    if np.ndim(X) == 3:
        raise InvalidValue(
            "X has three dimensions, but partial_fit takes the frames of one channel, of shape"
            " (n_frames, n_features): pass all frames of several channels to tl_nmf"
        )
    e, before = estimator, estimator._learner
    frames = encoding.validated(e, X, reset=before is None and not e._is_fitted)
    if is_lazy(frames):
        raise InvalidValue(
            "X is a dask array, but partial_fit takes frames that are in memory: pass X.compute(),"
            " or call fit"
        )
    others = {"sample_weight": sample_weight, "components": e.components, "init": e.init}
    check_same_device("X", frames, others)
    frame_weights = weights_of(sample_weight, len(frames), may_be_zero=True)
    device = ComputeDevice("X", frames, e.device)
    with device.computing():
        Y = device.take(frames).T[None]
        plan = plan_of(e, Y.shape[1])
        if before is None:
            refuse_transposed(Y, sample_weight)
            advise(Y, plan.options)
            before = first_learner(e, Y)
        elif before.W.shape[1] and plan.n_components not in (AUTO, before.W.shape[1]):
            raise InvalidValue(
                f"n_components is {plan.n_components}, but partial_fit began with"
                f" {before.W.shape[1]}: set it back, or begin again with fit or a clone"
            )
        learner = before.with_frames(Y, frame_weights)
        while len(learner.waiting_weights) >= plan.block_size:
            history = learner.history
            learner = learner.after_block(plan, plan.block_size)
            if learner.history is not history:
                report(e, learner, device)
        learner = replace(learner, waiting=arrays.copied(learner.waiting))  # frees the blocks
        if learner.fitted_at and learner.step > before.step:
            set_attributes(e, learner, device)
        elif not learner.W.shape[1] and is_time_to_try(e, before, learner):
            set_attributes(e, learner.after_all_frames(plan), device)
    e._learner = learner
    e.n_frames_seen_ = learner.n_frames
    e.n_steps_ = learner.step


def forget(estimator: Parameters) -> None:
    """Begin anew with the next call of `partial_fit`."""
    estimator._learner = None
    for name in ("n_steps_", "n_frames_seen_"):
        estimator.__dict__.pop(name, None)


def plan_of(estimator: Parameters, M: int) -> Plan:
    """Return how frames are learned from with the parameters that the estimator has now."""
    e, options = estimator, estimator._options()
    for what, needs_all_frames in {
        f"n_atoms is {options.n_atoms}": options.n_atoms is not None,
        f"smoothness is {options.smoothness:g}": bool(options.smoothness),
        "floor is 0": options.floor == 0,
        "engine is 'dask'": options.engine == "dask",
    }.items():
        if needs_all_frames:
            raise InvalidValue(f"{what}, which needs all frames at once: use fit, or the default")
    K = checked_components(e.n_components)
    W = fitting.first_components(e, M // options.atoms_per_power, None if K == AUTO else K).T
    fixes_Phi, columns, _ = fixed_parts(e.fixed, W.shape[1], has_H=False)
    return Plan(
        options=replace(options.keeping_Phi() if fixes_Phi else options, max_time=None),
        n_components=K,
        W=W,
        fixed={"Phi": fixes_Phi, "W": False if columns is None else columns},
        block_size=checks.count(
            "block_size", BLOCK * M if e.block_size is None else e.block_size, 1
        ),
        forget_factor=checks.number("forget_factor", e.forget_factor, 0, strict=True, most=1),
    )


def first_learner(estimator: Parameters, Y: Array) -> Learner:
    """Begin with the first frames (1, M, n), from what `fit` has learned if it was called."""
    e, M = estimator, Y.shape[1]
    seed = drawn_seed(e.random_state)
    if not e._is_fitted:
        return Learner.of(seed, M, Y, arrays.dtype_of(Y))
    learner = Learner.of(seed, M, Y, arrays.dtype_of(e.components_))
    Phi, W = arrays.like(e.transform_matrix_, Y), arrays.like(e.components_.T, Y)
    return replace(learner, Phi=Phi, W=W)


def drawn_seed(random_state: RandomState) -> int:
    """Return a whole number that stands for a random state."""
    generator = checks.generator(random_state)
    if isinstance(random_state, (int, np.integer)):
        return int(random_state)
    return int(generator.integers(2**32))


def is_time_to_try(estimator: Parameters, before: Learner, learner: Learner) -> bool:
    """Whether to learn from fewer frames than a first fit needs: when their number has doubled."""
    doubled = learner.n_frames.bit_length() > before.n_frames.bit_length()
    return doubled or not estimator._is_fitted


def report(estimator: Parameters, learner: Learner, device: ComputeDevice) -> None:
    """Print a line about a step if `verbose`, and call the callback."""
    row, callback = learner.history[-1], checks.function("callback", estimator.callback)
    if estimator.verbose:
        say(
            f"TLNMF: step {learner.step}, {learner.n_frames} frames, objective per entry"
            f" {row.objective / (row.frames * row.atoms):.4g}, {row.seconds:.1f} s"
        )
    if callback is not None:
        callback(device.for_callback(learner.state()))


def set_attributes(estimator: Parameters, learner: Learner, device: ComputeDevice) -> None:
    """Set what `fit` sets, as far as it can be computed without the frames that are gone."""
    if not learner.fitted_at:  # nothing but silence has arrived
        return
    e, state = estimator, learner.state()
    e.__dict__.update(fitting.attributes(e, device, state))
    e.n_iter_, e.history_ = len(learner.history), learner.history
    e.stop_reason_, e.converged_ = STOP_REASON, False
    e.n_atoms_, e.energy_ = len(state.Phi), 1.0
    e.reconstruction_err_ = learner.divergence
    e.objective_ = learner.divergence + learner.penalty
    e.objectives_ = np.array([e.objective_])
    X = state.Phi @ learner.window[0]
    energies = arrays.namespace(X).sum(arrays.cast(X, np.float64) ** 2, axis=1)
    e.atom_energies_ = device.back(energies / float(energies.sum()) * learner.energy)
