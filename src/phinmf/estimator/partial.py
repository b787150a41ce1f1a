"""`TLNMF.partial_fit`: learn from frames as they arrive."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted as check_attributes

from phinmf import arrays, checks
from phinmf._types import Array
from phinmf.arrays.lazy import is_lazy
from phinmf.estimator import fitting, validation
from phinmf.fit import weights
from phinmf.fit.advice import advise, refuse_transposed
from phinmf.fit.blocks import Waiting, converted
from phinmf.fit.description import label
from phinmf.fit.devices import ComputeDevice, check_same_device
from phinmf.fit.engine import divergence_of
from phinmf.fit.online import again
from phinmf.fit.online_options import (
    checked_forget_factor,
    checked_size,
    online_fit,
    prepared,
)
from phinmf.fit.stream import Learner, print_step
from phinmf.inits.given import KnownTransform
from phinmf.result import Status
from phinmf.result.terms import divergence_label


@dataclass
class EstimatorStream:
    """What an estimator keeps between two calls of `partial_fit`."""

    learner: Learner
    example: Array  #: (1, M, 1): frames of later calls are converted to its type and device
    waiting: Waiting = field(default_factory=Waiting)  #: less than a block
    n_seen: int = 0  #: number of frames that were given
    n_tried: int = 0  #: the same at the last fit that had fewer frames than a first fit needs
    lasting: tuple[str, ...] = ()  #: parameters that must not change any more, as texts

    @property
    def continues_fit(self) -> bool:
        """Whether it starts from what `fit` has learned, which is kept until the first step."""
        return isinstance(self.learner.fit.options.init, KnownTransform)

    def copied(self) -> EstimatorStream:
        """A copy that can learn without changing this one."""
        learner = replace(self.learner, history=self.learner.history.copied())
        waiting = Waiting()
        waiting.parts = list(self.waiting.parts)
        return replace(self, learner=learner, waiting=waiting)

    def feed(self, Y: Array, known: Array | None, watch: Callable[[Learner], object]) -> bool:
        """Learn from frames (C, M, n) as far as they fill blocks; return whether they do."""
        self.waiting.put(Y, known)
        self.n_seen += Y.shape[2]
        stepped = False
        while self.waiting.n_frames >= self.learner.fit.block_size:
            if self.learner.learn(*self.waiting.take(self.learner.fit.block_size)):
                stepped = True
                watch(self.learner)
        return stepped

    def with_all_frames(self) -> Learner | None:
        """A learner that has also learned from the frames that wait; None if there is no sound."""
        ahead = self.copied()
        if ahead.waiting.n_frames:
            ahead.learner.learn(*ahead.waiting.take(ahead.waiting.n_frames))
        if ahead.learner.at.window is None:
            return None
        ahead.learner.complete()
        return ahead.learner


class PartialFitMixin:
    """The method `partial_fit` of an estimator."""

    _stream: EstimatorStream | None = None  #: what the next call continues from

    def partial_fit(
        self, X: ArrayLike, y: Any = None, *, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Learn from some more frames, in constant memory, as from a stream in `tl_nmf`.

        Steps are made when `block_size` frames have arrived; frames that do not fill a block wait
        for the next call, so that the result does not depend on how frames are divided among calls.
        If `fit` was called before, its transform and components are the start, and are kept until
        the first step. The objective, the history and `reconstruction_err_` are sums over steps,
        as `tl_nmf` explains. `verbose` prints a line after each step. `n_init`, `warm_start`,
        `max_time`, `checkpoint` and `resume` have no effect here, nor has what a callback returns.

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

    def _forget_stream(self) -> None:
        """Begin anew with the next call of `partial_fit`."""
        self._stream = None
        for name in ("n_steps_", "n_frames_seen_"):
            vars(self).pop(name, None)

    def __sklearn_is_fitted__(self) -> bool:
        return is_fitted(self)


def learn_more(estimator: Any, X: ArrayLike, sample_weight: ArrayLike | None) -> None:
    """Learn from frames (n_frames, M), and set the attributes of the estimator."""
    before: EstimatorStream | None = estimator._stream
    if np.ndim(X) == 3:
        raise ValueError(
            "X has three dimensions, but partial_fit takes the frames of one channel, of shape"
            " (n_frames, n_features): pass the frames of all channels to tl_nmf as a stream"
        )
    frames = validation.validated(estimator, X, reset=before is None and not is_fitted(estimator))
    if is_lazy(frames):
        raise ValueError(
            "X is a dask array, but partial_fit takes frames that are in memory: pass X.compute(),"
            " or call fit"
        )
    others = {"sample_weight": sample_weight, "components": estimator.components}
    check_same_device("X", frames, {**others, "init": estimator.init})
    known = weights.checked(sample_weight, None, len(frames), may_be_zero=True)
    place = ComputeDevice("X", frames, estimator.device)
    with place.computing():
        Y = place.take(frames).T[None]
        if before is None:
            refuse_transposed(Y, sample_weight)
        stream = begun(estimator, Y) if before is None else continued(estimator, before)
        Y = converted("X", Y, stream.example)
        stepped = stream.feed(Y, known, watching(estimator, place))
        learner = stream.learner if stepped else None
        few = stream.learner.at.learned is None and not stream.continues_fit
        if few and stream.n_seen >= 2 * stream.n_tried:
            learner = stream.with_all_frames()
            stream.n_tried = 0 if learner is None else stream.n_seen
        if learner is not None:
            set_attributes(estimator, learner, place)
    estimator._stream = stream
    estimator.n_frames_seen_ = stream.n_seen
    estimator.n_steps_ = stream.learner.at.step


def is_fitted(estimator: Any) -> bool:
    """Whether anything was learned."""
    return "components_" in vars(estimator)


def check_is_fitted(estimator: Any) -> None:
    """Raise if nothing was learned; say so if only silence has arrived."""
    stream: EstimatorStream | None = estimator._stream
    if stream is not None and not is_fitted(estimator):
        raise NotFittedError(
            f"this {type(estimator).__name__} has learned nothing from {stream.n_seen} frames: all"
            " were silent or of weight 0; call partial_fit with frames that hold sound"
        )
    check_attributes(estimator)


def begun(estimator: Any, Y: Array) -> EstimatorStream:
    """Begin with the first frames, from what `fit` has learned before if it was called."""
    e = estimator
    W: ArrayLike | None = None
    if e.components is not None:
        W = arrays.to_numpy(checks.real_array("components", e.components)).T
    elif e.n_components != "auto":
        W = np.zeros((Y.shape[1], 0))  # not None: then K may be larger than M
    fit = online_fit(
        Y, e.n_components, fitting.options_of(e), W=W, fixed=e.fixed,
        forget_factor=e.forget_factor, block_size=e.block_size, random_state=e.random_state,
    )  # fmt: skip
    advise(Y, fit.options, more_come=True)
    if is_fitted(e):
        known = arrays.like(e.components_.T, Y, np.float64)
        options = again(fit.options, arrays.like(e.transform_matrix_, Y))
        fit = replace(fit, options=options, n_components=e.n_components_, W=known)
    return EstimatorStream(Learner(fit), arrays.copied(Y[:, :, :1]), lasting=lasting(e))


def lasting(estimator: Any) -> tuple[str, ...]:
    """Return the parameters that what was learned depends on, as texts."""
    e, given = estimator, estimator.components
    components = None if given is None else label(arrays.to_numpy(given))
    divergence = divergence_label(divergence_of(e.divergence))
    values = {"n_components": e.n_components, "divergence": divergence, "fixed": e.fixed}
    return tuple(f"{name}={v!r}" for name, v in (values | {"components": components}).items())


def continued(estimator: Any, before: EstimatorStream) -> EstimatorStream:
    """Continue with the parameters that the estimator has now, except for its init."""
    stream, e = before.copied(), estimator
    for was, now in zip(stream.lasting, lasting(e), strict=True):
        if was != now:
            raise ValueError(
                f"{now}, but partial_fit began with {was}, on which all that was learned depends:"
                " set it back, or begin again with fit or a clone"
            )
    fit = stream.learner.fit
    init = fit.options.init
    options = prepared(fitting.options_of(e), fit.keeps_Phi)
    stream.learner.fit = replace(
        fit,
        options=again(options, init.Phi)
        if isinstance(init, KnownTransform)
        else replace(options, init=init),
        block_size=checked_size(e.block_size, len(fit.W)),
        forget_factor=checked_forget_factor(e.forget_factor),
    )
    return stream


def watching(estimator: Any, place: ComputeDevice) -> Callable[[Learner], object]:
    """Return what is called after each step: it prints and calls the callback if that is wanted."""
    callback = checks.function("callback", estimator.callback)

    def watch(learner: Learner) -> None:
        if estimator.verbose:
            print_step("TLNMF", learner)
        if callback is not None:
            callback(place.for_callback(learner.state()))

    return watch


def set_attributes(estimator: Any, learner: Learner, place: ComputeDevice) -> None:
    """Set what `fit` sets, as far as a stream has it."""
    at, result = learner.at, learner.result(Status.STREAM_ENDED)
    assert at.window is not None
    assert result.W is not None
    named = fitting.attributes(
        estimator, place.back(result.Phi), place.back(result.W), result.scale
    )
    for name, value in named.items():
        setattr(estimator, name, value)
    estimator.n_iter_ = result.n_iter
    estimator.history_ = result.history
    estimator.stop_reason_ = result.status.value
    estimator.converged_ = False
    estimator.n_atoms_, estimator.energy_ = result.n_atoms, 1.0
    estimator.objectives_ = np.array([result.objective])
    estimator.reconstruction_err_ = result.divergence
    estimator.objective_ = result.objective
    X = result.Phi @ at.window.Y[0]
    energies = arrays.namespace(X).sum(arrays.cast(X, np.float64) ** 2, axis=1)
    share = energies / float(energies.sum())
    estimator.atom_energies_ = place.back(share * at.energy)
