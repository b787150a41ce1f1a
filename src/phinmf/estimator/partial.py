"""`TLNMF.partial_fit`: learn from frames as they arrive."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted as check_attributes

from phinmf import arrays, checks
from phinmf._types import Array, Components, Indices, RandomState
from phinmf.algorithm.options import divergence_of
from phinmf.arrays.lazy import is_lazy
from phinmf.estimator import encoding, fitting, validation
from phinmf.fit import weights
from phinmf.fit.advice import advise, refuse_transposed
from phinmf.fit.automatic import AUTO, checked_components
from phinmf.fit.blocks import converted
from phinmf.fit.description import label
from phinmf.fit.devices import ComputeDevice, check_same_device
from phinmf.fit.initial_factors import fixed_parts
from phinmf.fit.online import Learner, OnlineFit, again, prepared
from phinmf.fit.verbose import say
from phinmf.inits import Continuation, Init
from phinmf.result.terms import divergence_label

FORGET_FACTOR = 0.95  #: default
BLOCK = 2  #: default size of a block, as a multiple of M
STOP_REASON = "learned from all blocks so far: partial_fit continues with more frames"


class PartialFitMixin:
    """The method `partial_fit` of an estimator."""

    _learner: Learner | None = None  #: what the next call continues from

    def partial_fit(
        self, X: ArrayLike, y: Any = None, *, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Learn from some more frames, in constant memory.

        A step is made when `block_size` frames have arrived; frames that do not fill a block wait
        for the next call, so that the result does not depend on how frames are divided among calls.
        A sample of the frames so far is kept, in which recent ones prevail. The transform and the
        components are fitted to it when it has its first blocks, and again whenever enough of it is
        new; in between, components are learned from every block.

        If `fit` was called before, its transform and components are the start, and are kept until
        the first step. The history has a row for each step, the last 10,000 at most: what a block
        costs before anything is learned from it. The objective and `reconstruction_err_` are sums
        over steps. `verbose` prints a line after each step. `n_init`, `warm_start`, `max_time`,
        and `checkpoint` have no effect here, nor has what a callback returns: to stop and continue
        later, `save` and `load` the model.

        Parameters
        ----------
        X : array of shape (n_frames, n_features)
            Frames, any number of them; silent ones are left out.
        y : ignored
        sample_weight : array of shape (n_frames,), optional
            How often each frame counts; 0 leaves it out. What was learned before fades by
            `forget_factor` whenever the weights of new frames add up to `block_size`.
        """
        with validation.all_or_nothing(self):
            learn_more(self, X, sample_weight)
        return self

    def _forget_learner(self) -> None:
        """Begin anew with the next call of `partial_fit`."""
        self._learner = None
        for name in ("n_steps_", "n_frames_seen_"):
            vars(self).pop(name, None)

    def __sklearn_is_fitted__(self) -> bool:
        return is_fitted(self)


def learn_more(estimator: Any, X: ArrayLike, sample_weight: ArrayLike | None) -> None:
    """Learn from frames (n_frames, M), and set the attributes of the estimator."""
    before: Learner | None = estimator._learner
    if np.ndim(X) == 3:
        raise ValueError(
            "X has three dimensions, but partial_fit takes the frames of one channel, of shape"
            " (n_frames, n_features): pass all frames of several channels to tl_nmf"
        )
    frames = validation.validated(estimator, X, reset=before is None and not is_fitted(estimator))
    if is_lazy(frames):
        raise ValueError(
            "X is a dask array, but partial_fit takes frames that are in memory: pass X.compute(),"
            " or call fit"
        )
    others = {"sample_weight": sample_weight, "components": estimator.components}
    check_same_device("X", frames, {**others, "init": estimator.init})
    frame_weights = weights.weights_of(sample_weight, len(frames), may_be_zero=True)
    place = ComputeDevice("X", frames, estimator.device)
    with place.computing():
        Y = place.take(frames).T[None]
        if before is None:
            refuse_transposed(Y, sample_weight)
        learner = begun(estimator, Y) if before is None else continued(estimator, before)
        Y = converted("X", Y, learner.example)
        stepped = learner.feed(Y, frame_weights, watching(estimator, place))
        source = learner if stepped else None
        few = learner.at.learned is None and not learner.fit.continues_fit
        if few and learner.n_seen >= 2 * learner.n_tried:
            source = learner.with_all_frames()
            learner.n_tried = 0 if source is None else learner.n_seen
        if source is not None:
            set_attributes(estimator, source, place)
    estimator._learner = learner
    estimator.n_frames_seen_ = learner.n_seen
    estimator.n_steps_ = learner.at.step


def is_fitted(estimator: Any) -> bool:
    """Whether anything was learned."""
    return "components_" in vars(estimator)


def check_is_fitted(estimator: Any) -> None:
    """Raise if nothing was learned; say so if only silence has arrived."""
    learner: Learner | None = estimator._learner
    if learner is not None and not is_fitted(estimator):
        raise NotFittedError(
            f"this {type(estimator).__name__} has learned nothing from {learner.n_seen} frames: all"
            " were silent or of weight 0; call partial_fit with frames that hold sound"
        )
    check_attributes(estimator)


def begun(estimator: Any, Y: Array) -> Learner:
    """Begin with the first frames (1, M, n), from what `fit` has learned if it was called."""
    e, M, options = estimator, Y.shape[1], encoding.options_of(estimator)
    K = checked_components(e.n_components)
    W = arrays.zeros((M, 0), Y, np.float64)
    if e.components is not None:
        shape = checks.real_array("components", e.components).shape
        n = shape[0] if shape else 1
        n = n if K == AUTO else min(n, K)
        W = arrays.like(checks.factor("components", e.components, (n, M), np.float64), Y).T
    keeps_Phi, columns, _ = fixed_parts(e.fixed, W.shape[1], has_H=False)
    kept = None if columns is None else arrays.indices(columns, Y)
    seed, first = drawn_seed(e.random_state), arrays.copied(Y[:, :, :1])
    fit = online_fit(e, K, options.init, seed, W, keeps_Phi or M == 1, kept)
    advise(Y, fit.options)
    if is_fitted(e):
        init = Continuation(arrays.like(e.transform_matrix_, Y))
        W = arrays.like(e.components_.T, Y, np.float64)
        fit = online_fit(e, e.n_components_, init, seed, W, fit.keeps_Phi, kept)
    return Learner(fit, first, lasting(e))


def continued(estimator: Any, before: Learner) -> Learner:
    """Continue with the parameters that the estimator has now, except for its init."""
    for was, now in zip(before.lasting, lasting(estimator), strict=True):
        if was != now:
            raise ValueError(
                f"{now}, but partial_fit began with {was}, on which all that was learned depends:"
                " set it back, or begin again with fit or a clone"
            )
    learner, fit = before.copied(), before.fit
    learner.fit = online_fit(
        estimator, fit.n_components, fit.options.init, fit.seed, fit.W, fit.keeps_Phi, fit.columns
    )
    return learner


def online_fit(
    estimator: Any,
    n_components: Components,
    init: Init,
    seed: int,
    W: Array,
    keeps_Phi: bool,
    columns: Indices | None,
) -> OnlineFit:
    """Return a fit with the parameters that the estimator has now, as far as they may change."""
    e = estimator
    options = prepared(encoding.options_of(e), keeps_Phi)
    if isinstance(init, Continuation):
        options = again(options, init.Phi)
    block_size = BLOCK * len(W)
    if e.block_size is not None:
        block_size = checks.count("block_size", e.block_size, 1)
    return OnlineFit(
        options=replace(options, init=init),
        n_components=n_components,
        block_size=block_size,
        forget_factor=checks.number("forget_factor", e.forget_factor, 0, strict=True, most=1),
        seed=seed,
        W=W,
        keeps_Phi=keeps_Phi,
        columns=columns,
    )


def drawn_seed(random_state: RandomState) -> int:
    """Return a whole number that stands for a random state."""
    generator = checks.generator(random_state)
    if isinstance(random_state, (int, np.integer)):
        return int(random_state)
    return int(generator.integers(2**32))


def lasting(estimator: Any) -> tuple[str, ...]:
    """Return the parameters that what was learned depends on, as texts."""
    e = estimator
    components = None if e.components is None else label(arrays.to_numpy(e.components))
    divergence = divergence_label(divergence_of("divergence", e.divergence))
    values = {"n_components": e.n_components, "divergence": divergence, "fixed": e.fixed}
    return tuple(f"{name}={v!r}" for name, v in (values | {"components": components}).items())


def watching(estimator: Any, place: ComputeDevice) -> Callable[[Learner], object]:
    """Return what is called after each step: it prints and calls the callback if that is wanted."""
    callback = checks.function("callback", estimator.callback)

    def watch(learner: Learner) -> None:
        if estimator.verbose:
            row = learner.history[-1]
            say(
                f"TLNMF: step {learner.at.step}, {learner.at.n_frames} frames, objective per entry"
                f" {row.objective / (row.frames * row.atoms):.4g}, {row.seconds:.1f} s"
            )
        if callback is not None:
            callback(place.for_callback(learner.state()))

    return watch


def set_attributes(estimator: Any, learner: Learner, place: ComputeDevice) -> None:
    """Set what `fit` sets, as far as frames that are gone leave it known."""
    at, (Phi, W) = learner.at, learner.factors
    assert at.window is not None
    learned = fitting.attributes(estimator, place.back(Phi), place.back(W), at.scale)
    for name, value in learned.items():
        setattr(estimator, name, value)
    estimator.n_iter_, estimator.history_ = len(learner.history), learner.history
    estimator.stop_reason_, estimator.converged_ = STOP_REASON, False
    estimator.n_atoms_, estimator.energy_ = len(Phi), 1.0
    estimator.reconstruction_err_ = at.divergence
    estimator.objective_ = at.divergence + at.penalty
    estimator.objectives_ = np.array([estimator.objective_])
    X = Phi @ at.window.Y[0]
    energies = arrays.namespace(X).sum(arrays.cast(X, np.float64) ** 2, axis=1)
    share = energies / float(energies.sum())
    estimator.atom_energies_ = place.back(share * at.energy)
