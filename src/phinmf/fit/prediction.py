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
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from phinmf import arrays
from phinmf._types import AnyArray, Array, Indices
from phinmf.arrays.cluster import in_memory
from phinmf.arrays.lazy import is_lazy
from phinmf.arrays.levels import levels
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


def predict(
    Y: AnyArray, learned: Learned, rng: np.random.Generator, weights: Array | None = None
) -> Prediction:
    """Predict each part of the coefficients of frames Y (C, M, N) from the others.

    Frames that are exactly silent are left out. A dask array is read in stretches of frames.
    """
    C, M, N = Y.shape
    level = levels(Y)
    weights = np.ones(N) if weights is None else weights / weights.max()
    weights = np.where(arrays.to_numpy(level.largest) == 0, 0.0, weights)
    if not weights.any():
        return Prediction(0.0, 1.0)
    floor = max(learned.options.floor, LEAST_FLOOR)
    options = replace(learned.options, engine="auto", device=None, floor=floor)
    learned = replace(learned, options=options)  # a stretch of frames is in memory
    mean = float(arrays.to_numpy(level.energies) @ weights) / (C * M * weights.sum())
    power = max(mean / learned.scale**2, TINY)
    parts = np.array_split(rng.permutation(M), min(PARTS, M))
    Phi = arrays.cast(learned.Phi, arrays.dtype_of(Y))
    totals = np.zeros(len(NOISE))
    length = N if arrays.is_tensor(Y) else FRAMES
    for begin in range(0, N, length):
        stretch = Y[:, :, begin : begin + length]
        used = np.flatnonzero(weights[begin : begin + length])
        if len(used):
            stretch = in_memory(stretch) if is_lazy(stretch) else stretch
            frames = arrays.take_frames(stretch, used)
            unit = arrays.contiguous(to_unit_power(frames, learned.scale, level))
            with nullcontext() if arrays.is_tensor(Y) else single_threaded_blas:  # for equal bits
                X = arrays.like(Phi, Y) @ unit
            totals += losses(X, power, parts, learned, weights[begin + used])
    return lowest(totals / (M * weights.sum()))


def losses(X: Array, power: float, parts: list[Indices], learned: Learned, weights: Array) -> Array:
    """Return the weighted sum of losses over coefficients X (C, M, n), for each level of noise.

    `power` is the mean power of all frames, `parts` are those that are predicted.
    """
    xp, total = arrays.namespace(X), np.zeros(len(NOISE))
    W = arrays.for_each_atom(arrays.like(learned.W, X, np.float64), X.shape[1])
    weight = arrays.like(weights, X)
    v = arrays.cast(X, np.float64) ** 2 / power
    for part in parts:
        others = np.setdiff1d(np.arange(len(W)), part)
        inside, outside = arrays.indices(part, X), arrays.indices(others, X)
        H = activations(X[:, outside], W[outside], learned) / power
        observed = xp.mean(v[:, outside], axis=0)
        for i, v_hat in enumerate(predictions(observed, W[outside] @ H, W[inside] @ H)):
            lost = xp.mean(negative_log_likelihood(v[:, inside], v_hat), axis=0)
            total[i] += float(xp.sum(lost, axis=0) @ weight)
    return total


def activations(X: Array, W: Array, learned: Learned) -> Array:
    """Return the activations of coefficients at unit power, in double precision."""
    if len(W) == 0:
        return arrays.zeros((W.shape[1], X.shape[2]), W)
    identity = arrays.identity(len(W), X)
    encoded = encode(X, replace(learned, Phi=identity, W=W, scale=1.0))
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
