"""`TLNMF.partial_fit`: learn from frames as they arrive."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted as check_attributes

from phinmf import arrays, checks
from phinmf._types import Array, Components, Indices, RandomState
from phinmf.algorithm.options import divergence_of
from phinmf.arrays.lazy import is_lazy
from phinmf.estimator import encoding, fitting
from phinmf.estimator.parameters import Parameters
from phinmf.fit import weights
from phinmf.fit.advice import advise, refuse_transposed
from phinmf.fit.automatic import AUTO, checked_components
from phinmf.fit.description import label
from phinmf.fit.devices import ComputeDevice, check_same_device
from phinmf.fit.initial_factors import fixed_parts
from phinmf.fit.online import Learner, OnlineFit, continuation, options_of_windows
from phinmf.inits import Continuation, Init
from phinmf.result.terms import divergence_label
from phinmf.warn import say

BLOCK = 2  #: default size of a block, as a multiple of M
STOP_REASON = "learned from all blocks so far: partial_fit continues with more frames"


def learn_more(estimator: Parameters, X: ArrayLike, sample_weight: ArrayLike | None) -> None:
    """Learn from frames (n_frames, M), and set the attributes of the estimator."""
    if np.ndim(X) == 3:
        raise ValueError(
            "X has three dimensions, but partial_fit takes the frames of one channel, of shape"
            " (n_frames, n_features): pass all frames of several channels to tl_nmf"
        )
    before = estimator._learner
    frames = encoding.validated(estimator, X, reset=before is None and not estimator._is_fitted)
    if is_lazy(frames):
        raise ValueError(
            "X is a dask array, but partial_fit takes frames that are in memory: pass X.compute(),"
            " or call fit"
        )
    others = {"sample_weight": sample_weight, "components": estimator.components}
    check_same_device("X", frames, {**others, "init": estimator.init})
    frame_weights = weights.weights_of(sample_weight, len(frames), may_be_zero=True)
    device = ComputeDevice("X", frames, estimator.device)
    with device.computing():
        Y = device.take(frames).T[None]
        if before is None:
            refuse_transposed(Y, sample_weight)
            learner = first_learner(estimator, Y)
        else:
            learner = continued(estimator, before)
        learned = learner.feed(like_first(Y, learner), frame_weights, watching(estimator, device))
        source = learner if learned else None
        few = learner.progress.factors is None and not learner.fit.continues_fit
        if few and learner.n_seen >= 2 * learner.n_tried:  # a fit of few frames, now and then
            source = learner.with_all_frames()
            learner.n_tried = 0 if source is None else learner.n_seen
        if source is not None:
            set_attributes(estimator, source, device)
    estimator._learner = learner
    estimator.n_frames_seen_ = learner.n_seen
    estimator.n_steps_ = learner.progress.step


def forget(estimator: Parameters) -> None:
    """Begin anew with the next call of `partial_fit`."""
    estimator._learner = None
    for name in ("n_steps_", "n_frames_seen_"):
        estimator.__dict__.pop(name, None)


def check_is_fitted(estimator: Parameters) -> None:
    """Raise if nothing was learned; say so if only silence has arrived."""
    learner = estimator._learner
    if learner is not None and not estimator._is_fitted:
        raise NotFittedError(
            f"this {type(estimator).__name__} has learned nothing from {learner.n_seen} frames: all"
            " were silent or of weight 0; call partial_fit with frames that hold sound"
        )
    check_attributes(estimator)


def first_learner(estimator: Parameters, Y: Array) -> Learner:
    """Begin with the first frames (1, M, n), from what `fit` has learned if it was called."""
    e, M, options = estimator, Y.shape[1], estimator._options()
    K = checked_components(e.n_components)
    W = arrays.like(fitting.first_components(e, M, None if K == AUTO else K), Y).T
    fixes_Phi, columns, _ = fixed_parts(e.fixed, W.shape[1], has_H=False)
    columns = None if columns is None else arrays.indices(columns, Y)
    init, seed = options.init, drawn_seed(e.random_state)
    fit = online_fit(e, K, init, seed, W, fixes_Phi or M == 1, columns)
    advise(Y, fit.options)
    if e._is_fitted:
        K, init = e.n_components_, Continuation(arrays.like(e.transform_matrix_, Y))
        W = arrays.like(e.components_.T, Y, np.float64)
        fit = online_fit(e, K, init, seed, W, fit.fixes_Phi, columns)
    return Learner(fit, arrays.copied(Y[:, :, :1]), lasting(e))


def continued(estimator: Parameters, before: Learner) -> Learner:
    """Continue with the parameters that the estimator has now, except for its init."""
    for old, new in zip(before.lasting, lasting(estimator), strict=True):
        if old != new:
            raise ValueError(
                f"{new}, but partial_fit began with {old}, on which all that was learned depends:"
                " set it back, or begin again with fit or a clone"
            )
    learner, fit = before.copied(), before.fit
    learner.fit = online_fit(
        estimator, fit.n_components, fit.options.init, fit.seed, fit.W, fit.fixes_Phi, fit.columns
    )
    return learner


def online_fit(
    estimator: Parameters,
    n_components: Components,
    init: Init,
    seed: int,
    W: Array,
    fixes_Phi: bool,
    columns: Indices | None,
) -> OnlineFit:
    """Return a fit with the parameters that the estimator has now, as far as they may change."""
    e, M = estimator, len(W)
    options = options_of_windows(e._options(), fixes_Phi)
    if isinstance(init, Continuation):
        options = continuation(options, init.Phi)
    return OnlineFit(
        options=replace(options, init=init),
        n_components=n_components,
        block_size=checks.count(
            "block_size", BLOCK * M if e.block_size is None else e.block_size, 1
        ),
        forget_factor=checks.number("forget_factor", e.forget_factor, 0, strict=True, most=1),
        seed=seed,
        W=W,
        fixes_Phi=fixes_Phi,
        columns=columns,
    )


def like_first(Y: Array, learner: Learner) -> Array:
    """Return a copy of frames on the device and in the precision of the first ones."""
    dtype = arrays.dtype_of(learner.example)
    with np.errstate(over="ignore"):  # refused next
        frames = arrays.copied(arrays.like(Y, learner.example), dtype)
    if not bool(arrays.namespace(frames).isfinite(frames).all()):
        raise ValueError(
            f"X has values that {dtype}, the precision of the first frames, cannot hold: scale them"
            " nearer to 1, or give all frames in float64"
        )
    return frames


def drawn_seed(random_state: RandomState) -> int:
    """Return a whole number that stands for a random state."""
    generator = checks.generator(random_state)
    if isinstance(random_state, (int, np.integer)):
        return int(random_state)
    return int(generator.integers(2**32))


def lasting(estimator: Parameters) -> tuple[str, ...]:
    """Return the parameters that what was learned depends on, as texts."""
    e = estimator
    components = None if e.components is None else label(arrays.to_numpy(e.components))
    divergence = divergence_label(divergence_of("divergence", e.divergence))
    values = {"n_components": e.n_components, "divergence": divergence, "fixed": e.fixed}
    return tuple(f"{name}={v!r}" for name, v in (values | {"components": components}).items())


def watching(estimator: Parameters, device: ComputeDevice) -> Callable[[Learner], object]:
    """Return what is called after each step: it prints if `verbose`, and calls the callback."""
    callback = checks.function("callback", estimator.callback)

    def watch(learner: Learner) -> None:
        progress, row = learner.progress, learner.history[-1]
        if estimator.verbose:
            say(
                f"TLNMF: step {progress.step}, {progress.n_frames} frames, objective per entry"
                f" {row.objective / (row.frames * row.atoms):.4g}, {row.seconds:.1f} s"
            )
        if callback is not None and progress.factors is not None:
            callback(device.for_callback(learner.state(progress.factors)))

    return watch


def set_attributes(estimator: Parameters, learner: Learner, device: ComputeDevice) -> None:
    """Set what `fit` sets, as far as it can be computed without the frames that are gone."""
    e, progress = estimator, learner.progress
    if progress.factors is None or progress.window is None:
        return
    state = learner.state(progress.factors)
    e.__dict__.update(fitting.attributes(e, device, state))
    e.n_iter_, e.history_ = len(learner.history), learner.history
    e.stop_reason_, e.converged_ = STOP_REASON, False
    e.n_atoms_, e.energy_ = len(state.Phi), 1.0
    e.reconstruction_err_ = progress.divergence
    e.objective_ = progress.divergence + progress.penalty
    e.objectives_ = np.array([e.objective_])
    X = state.Phi @ progress.window.Y[0]
    energies = arrays.namespace(X).sum(arrays.cast(X, np.float64) ** 2, axis=1)
    e.atom_energies_ = device.back(energies / float(energies.sum()) * progress.energy)
