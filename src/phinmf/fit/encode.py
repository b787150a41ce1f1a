"""Activations of frames for a learned transform and dictionary, each frame on its own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from phinmf import arrays
from phinmf._types import AnyArray, Array, Device, Mask
from phinmf.algorithm.model import Model
from phinmf.algorithm.nmf import flat_activations, normalise
from phinmf.arrays.levels import levels
from phinmf.divergences import Divergence, Penalty
from phinmf.engines import engine_for
from phinmf.engines.base import links_among
from phinmf.engines.sums import CHECK_EVERY
from phinmf.fit import scaling
from phinmf.fit.weights import in_own_unit

TOLERANCE = 3e-6  #: a frame is done when five updates lower its cost by less an entry, at its power
MAX_UPDATES = 1000


@dataclass(frozen=True, eq=False)
class Learned:
    """What was learned, and how activations of new frames are found with it."""

    Phi: Array
    W: Array
    scale: float  #: root mean square of the frames of the fit
    floor: float  #: relative to their power
    divergence: Divergence
    penalty: Penalty
    engine: str = "auto"
    n_threads: int | None = None
    device: Device = None  #: of the workers of a cluster


class EncodedFrames(NamedTuple):
    """Activations, and how well they explain the frames."""

    H: Array  #: (K, N), in the units of Y²
    divergence: float  #: weighted sum over all entries
    penalty: float
    energies: Array  #: (M,): of each atom, weighted, at unit power

    def times(self, unit: float) -> EncodedFrames:
        """Return the same in another unit of the weights."""
        if unit == 1:
            return self
        return EncodedFrames(
            self.H, unit * self.divergence, unit * self.penalty, unit * self.energies
        )


def encode(
    Y: AnyArray, learned: Learned, weights: Array | None = None, links: Mask | None = None
) -> EncodedFrames:
    """Compute the activations of frames Y (C, M, N) with what was learned from others.

    Each frame starts from its own best flat model and stops when it has converged. So its result
    does not depend on the other frames, up to rounding, which depends on the number of columns of
    a product. Only smooth activations depend on their neighbours; `links` say which.
    """
    scale, penalty, floor = learned.scale, learned.penalty, learned.floor
    weights, weight_unit = in_own_unit(weights)
    dtype = arrays.dtype_of(Y)
    scaling.check_range(dtype, sparsity=penalty.sparsity, floor=floor)
    Phi, W = arrays.like(learned.Phi, Y, dtype), arrays.like(learned.W, Y)
    level = levels(Y)
    if level.bad:
        raise ValueError(f"the frames have {level.bad} NaN or infinite values: remove them")
    loud = ~level.silent
    if floor == 0 and not loud.all():  # a silent frame gets activations 0
        H = arrays.zeros((W.shape[1], Y.shape[2]), W, dtype)
        if not loud.any():
            return EncodedFrames(H, 0.0, 0.0, arrays.zeros((len(W),), W, dtype))
        mask = arrays.to_numpy(loud)
        links = links_among(mask, np.ones(len(mask), bool) if links is None else links)
        loud_weights = None if weights is None else weights[mask]
        encoded = encode(Y[:, :, loud], learned, loud_weights, links)
        H[:, loud] = encoded.H
        return encoded._replace(H=H).times(weight_unit)
    unit = to_unit_power(Y, scale, float(level.largest.max()))
    columns, s = normalise(arrays.cast(W, np.float64))
    with engine_for(
        learned.engine, unit, learned.divergence, learned.n_threads, weights, links,
        smoothness=penalty.smoothness, device=learned.device,
    ) as frames:  # fmt: skip
        frames.rotate(Phi)
        frames.set_activations(flat_activations(frames.powers(), len(W), W.shape[1], penalty))
        frames.converge_activations(columns, penalty, floor, TOLERANCE, MAX_UPDATES)
        model, W = Model(frames, penalty), arrays.cast(columns, dtype)
        if penalty.smoothness:
            converge_smoothly(model, W, floor)
        fit = frames.objective(W, floor).loss()
        H = frames.activations() * (float(dtype.type(scale) ** 2) / arrays.cast(s, dtype))[:, None]
        cost = model.penalty_of(columns)
        return EncodedFrames(H, fit, cost, frames.energies()).times(weight_unit)


def converge_smoothly(model: Model, W: Array, eps: float) -> None:
    """Update all activations together until their cost falls by at most `TOLERANCE` per entry."""
    engine = model.engine
    _, M, N = engine.shape
    before = model.cost(W, eps)
    for _ in range(0, MAX_UPDATES, CHECK_EVERY):
        for _ in range(CHECK_EVERY):
            engine.nmf_pass(W, model.penalty, eps, engine.divergence.max_exponent)
        now = model.cost(W, eps)
        if not before - now > TOLERANCE * M * N:
            break
        before = now


def to_unit_power(Y: AnyArray, scale: float, loudest: float) -> Array:
    """Return frames divided by the scale of the fit; raise if they leave the range of numbers."""
    dtype = arrays.dtype_of(Y)
    with np.errstate(over="ignore"):
        unit = Y / float(dtype.type(scale))
        reach = dtype.type(loudest) / dtype.type(scale)
    if not reach < float(np.finfo(dtype).max) ** 0.25:  # powers are squared again
        raise ValueError(
            f"the frames reach {loudest:.3g}, which leaves the range of {dtype} at the scale of"
            f" the fit, {scale:.3g}: scale them as the frames of the fit were"
        )
    return unit
