"""How well a model predicts coefficients that were held out: the number that compares models.

The coefficients of a frame are cut into four parts. The activations that are found from three parts
predict the fourth. (Activations found from all coefficients would fit them the better, the more
components there are.)

The prediction is v̂ = g Wh + ε. A penalty makes all of Wh too small, the more the heavier it is, so
the factor g of a frame is fitted to the other coefficients: what is compared is which
components a model finds in a frame, not how much a penalty shrinks them. The noise ε is what no
component explains, one number for all frames, and the best one is taken.

Given its variance a coefficient is Gaussian, but the variance is known only as well as h, and that
may depend on very few coefficients: with a good transform, a tone is in two or three of them. So
the likelihood is Student's, which is Gaussian with an uncertain variance. With a plain Gaussian
one entry where v̂ is far too small outweighs all others, and one component is chosen where there
are several.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from phinmf import arrays
from phinmf._types import AnyArray, Array, Indices
from phinmf.arrays import cluster, lazy
from phinmf.arrays.levels import levels, of_pieces
from phinmf.arrays.threads import single_threaded_blas
from phinmf.fit.encode import Learned, encode, to_unit_power

PARTS = 4  #: of the coefficients; each is predicted from the others
FRAMES = 1024  #: that are predicted at a time: the same for arrays in memory and dask arrays
STEP = 0.5  #: between two variances of the noise that are tried, in decades
NOISE = 10.0 ** np.arange(-8, 1 + STEP / 2, STEP)  #: relative to the power of the frames
LEAST_FLOOR = float(NOISE[0])  #: with which activations are found, so that no model is exactly zero
TINY = 1e-300  #: less than any power
NONE = 1e-100  #: a model of a frame that is below this, where the power is 1, is zero


class Prediction(NamedTuple):
    """How well held-out coefficients were predicted."""

    nll: float  #: negative log-likelihood per entry in nats, where the frames have unit power
    noise: float  #: best ε, relative to the power of the frames


@dataclass(frozen=True, eq=False)
class Predictor:
    """How coefficients are predicted; the same for every stretch of frames."""

    learned: Learned
    parts: list[Indices]  #: of the coefficients
    loudest: float  #: largest absolute value of all frames
    rms: float  #: root mean square of all frames that are not silent

    def losses(self, Y: Array, weights: Array) -> Array:
        """Return the weighted sum over frames (C, M, n), for each level of noise."""
        total, used = np.zeros(len(NOISE)), np.flatnonzero(weights)
        if len(used) == 0:
            return total
        Y, weight = arrays.take_frames(Y, used), arrays.like(weights[used], Y)
        learned = self.learned
        Phi = arrays.like(learned.Phi, Y, arrays.dtype_of(Y))
        W = arrays.like(learned.W, Y, np.float64)
        unit = arrays.contiguous(to_unit_power(Y, learned.scale, self.loudest))
        with nullcontext() if arrays.is_tensor(Y) else single_threaded_blas:  # for equal bits
            X = Phi @ unit
        xp = arrays.namespace(X)
        power = max((self.rms / learned.scale) ** 2, TINY)
        v = arrays.cast(X, np.float64) ** 2 / power
        for part in self.parts:
            others = np.setdiff1d(np.arange(len(W)), part)
            inside, outside = arrays.indices(part, Y), arrays.indices(others, Y)
            H = activations(X[:, outside], W[outside], learned) / power
            observed = xp.mean(v[:, outside], axis=0)
            for i, v_hat in enumerate(predictions(observed, W[outside] @ H, W[inside] @ H)):
                lost = xp.mean(negative_log_likelihood(v[:, inside], v_hat), axis=0)
                total[i] += float(xp.sum(lost, axis=0) @ weight)
        return total


def predict(
    Y: AnyArray, learned: Learned, rng: np.random.Generator, weights: Array | None = None
) -> Prediction:
    """Predict each part of the coefficients of frames Y (C, M, N) from the others.

    Frames that are exactly silent are left out. A dask array is computed where it is.
    """
    C, M, N = Y.shape
    level = levels(Y)
    if level.bad:
        raise ValueError(f"the frames have {level.bad} NaN or infinite values: remove them")
    weights = np.ones(N) if weights is None else weights / weights.max()
    weights = np.where(arrays.to_numpy(level.silent), 0.0, weights)
    if not weights.any():
        return Prediction(0.0, 1.0)
    mean = arrays.to_numpy(level.energies) @ weights / (C * M * weights.sum())
    rms = float(np.ldexp(np.sqrt(mean), level.exponent))
    if learned.engine == "dask":
        learned = replace(learned, engine="auto")  # a stretch of frames is in memory
    parts = np.array_split(rng.permutation(M), min(PARTS, M))
    predictor = Predictor(learned, parts, float(level.largest.max()), rms)
    return lowest(total_losses(predictor, Y, weights) / (M * weights.sum()))


def total_losses(predictor: Predictor, Y: AnyArray, weights: Array) -> Array:
    """Return the losses of all frames, summed over stretches of them."""
    N = Y.shape[2]
    length = N if arrays.is_tensor(Y) else FRAMES
    cuts = [slice(i, i + length) for i in range(0, N, length)]
    if not lazy.is_lazy(Y):
        return np.sum([predictor.losses(Y[:, :, cut], weights[cut]) for cut in cuts], axis=0)
    delayed, learned = lazy.dask().delayed, predictor.learned
    learned = replace(learned, n_threads=learned.n_threads or 1)  # dask runs stretches in parallel
    shared, losses = delayed(replace(predictor, learned=learned)), delayed(losses_of_pieces)
    tasks = [losses(shared, cluster.chunks(Y[:, :, cut]), weights[cut]) for cut in cuts]
    return np.sum(cluster.compute(tasks), axis=0)


def losses_of_pieces(predictor: Predictor, pieces: list[Array], weights: Array) -> Array:
    """Return the losses of frames from pieces (C, M, …) of them; a task."""
    return of_pieces(lambda Y: predictor.losses(Y, weights), pieces)


def activations(X: Array, W: Array, learned: Learned) -> Array:
    """Return the activations of coefficients at unit power, in double precision."""
    if len(W) == 0:
        return arrays.zeros((W.shape[1], X.shape[2]), W)
    identity = arrays.identity(len(W), X)
    floor = max(learned.floor, LEAST_FLOOR)
    encoded = encode(X, replace(learned, Phi=identity, W=W, scale=1.0, floor=floor))
    return arrays.cast(encoded.H, np.float64)


def negative_log_likelihood(v: Array, v_hat: Array) -> Array:
    """Return -log p(x) for v = x², Student's distribution with 4 degrees of freedom.

    p(x) = 3/8 v̂^(-1/2) (1 + x²/(4 v̂))^(-5/2).
    """
    log, wide = arrays.namespace(v).log, v_hat + v / 4
    return 2 * log(wide / v_hat) + log(wide) / 2 - math.log(3 / 8)


def predictions(v: Array, outside: Array, inside: Array) -> Iterator[Array]:
    """Yield g Wh + ε of the coefficients of a part, for each ε.

    `v` are the powers of the coefficients outside of the part, `outside` and `inside` the model Wh
    of both. The factor g of a frame is updated as activations are: g ← g Σ(v Wh/v̂²) / Σ(Wh/v̂). It
    hardly changes from one ε to the next, so that one update for each is enough.
    """
    xp = arrays.namespace(v)
    if len(outside) == 0:
        yield from (inside + eps for eps in NOISE)
        return
    level, unit = xp.mean(outside, axis=0), xp.ones_like(outside[0])
    shape = xp.where(level > NONE, unit / xp.where(level > NONE, level, unit), 0 * unit)
    outside, inside, g = outside * shape, inside * shape, level  # so that g is a power
    for eps in NOISE:
        v_hat = g * outside + eps
        share = outside / v_hat
        numerator, denominator = xp.sum(v / v_hat * share, axis=0), xp.sum(share, axis=0)
        g = g * arrays.divided(numerator, denominator, unit)
        yield g * inside + eps


def lowest(totals: Array) -> Prediction:
    """Return the minimum over the noise: of a parabola through the lowest three levels."""
    i = int(np.argmin(totals))
    if not 0 < i < len(totals) - 1:
        return Prediction(float(totals[i]), float(NOISE[i]))
    before, least, after = totals[i - 1 : i + 2]
    bend = before - 2 * least + after
    shift = 0.5 * (before - after) / bend if bend > 0 else 0.0
    noise = NOISE[i] * 10 ** (STEP * shift)
    return Prediction(float(least - 0.25 * (before - after) * shift), float(noise))
