"""Activations of frames for a learned transform and dictionary, each frame on its own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from phinmf import arrays
from phinmf._types import AnyArray, Array, Mask
from phinmf.algorithm.model import Model
from phinmf.algorithm.nmf import flat_activations, normalise
from phinmf.algorithm.options import Options
from phinmf.arrays.levels import Levels, levels
from phinmf.engines.base import links_among
from phinmf.engines.sums import CHECK_EVERY
from phinmf.errors import InvalidValue
from phinmf.fit.data import Data
from phinmf.fit.engine import engine_of

TOLERANCE = 3e-6  #: a frame is done when five updates lower its cost by less an entry, at its power
MAX_UPDATES = 1000


@dataclass(frozen=True, eq=False)
class Learned:
    """What was learned, and how activations of new frames are found with it."""

    Phi: Array
    W: Array
    scale: float  #: root mean square of the frames of the fit
    options: Options  #: the divergence, the penalty, the floor, and where to compute


class EncodedFrames(NamedTuple):
    """Activations, and how well they explain the frames."""

    H: Array  #: (K, N), in the units of Y²
    divergence: float  #: weighted sum over all entries
    penalty: float
    energies: Array  #: (M,): of each atom, weighted, at unit power


def encode(
    Y: AnyArray, learned: Learned, weights: Array | None = None, links: Mask | None = None
) -> EncodedFrames:
    """Compute the activations of frames Y (C, M, N) with what was learned from others.

    Each frame starts from its own best flat model and stops when it has converged. So its result
    does not depend on the other frames, up to rounding, which depends on the number of columns of
    a product. Only smooth activations depend on their neighbours; `links` say which.
    """
    scale, dtype = learned.scale, arrays.dtype_of(Y)
    options = learned.options.keeping_Phi()  # any engine serves, whatever the solver was
    penalty = options.penalty
    smallest = float(np.finfo(dtype).tiny) ** 0.5  # else a silent frame and its model are 0/0
    floor = max(options.floor, smallest)
    Phi, W = arrays.like(learned.Phi, Y, dtype), arrays.like(learned.W, Y)
    unit = to_unit_power(Y, scale, levels(Y))
    columns, s = normalise(arrays.cast(W, np.float64))
    with engine_of(options, unit, weights, links) as frames:
        frames.rotate(Phi)
        frames.set_activations(flat_activations(frames.powers(), len(W), W.shape[1], penalty))
        frames.converge_activations(columns, penalty, floor, TOLERANCE, MAX_UPDATES)
        model, W = Model(frames, penalty), arrays.cast(columns, dtype)
        if penalty.smoothness:
            converge_smoothly(model, W, floor)
        divergence, cost = frames.objective(W, floor).loss(), model.penalty_of(columns)
        H = frames.activations() * (float(dtype.type(scale) ** 2) / arrays.cast(s, dtype))[:, None]
        return EncodedFrames(H, divergence, cost, frames.energies())


def with_left_out_frames(H: Array, data: Data, learned: Learned) -> Array:
    """Return activations (K, N) of all frames; those of weight 0, which H lacks, are encoded."""
    N = data.frames.shape[2]
    frames = np.arange(N)
    used = frames[data.used]
    others = np.setdiff1d(frames, used)
    links = links_among(others, np.ones(N, bool))
    encoded = encode(arrays.take_frames(data.frames, others), learned, links=links)
    result = arrays.zeros((len(H), N), H)
    result[:, arrays.indices(used, H)] = H
    result[:, arrays.indices(others, H)] = encoded.H
    return result


def converge_smoothly(model: Model, W: Array, eps: float) -> None:
    """Update all activations together until their cost falls by at most `TOLERANCE` per entry."""
    engine = model.engine
    _, M, N = engine.shape
    before = sum(model.costs(W, eps))
    for _ in range(0, MAX_UPDATES, CHECK_EVERY):
        for _ in range(CHECK_EVERY):
            engine.nmf_pass(W, model.nmf_penalty(W), eps, engine.divergence.max_exponent)
        now = sum(model.costs(W, eps))
        if not before - now > TOLERANCE * M * N:
            break
        before = now


def to_unit_power(Y: AnyArray, scale: float, level: Levels) -> AnyArray:
    """Return frames divided by the scale of the fit; raise if they leave the range of numbers."""
    dtype, loudest = arrays.dtype_of(Y), float(level.largest.max())
    if not loudest / scale < float(np.finfo(dtype).max) ** 0.25:  # powers are squared again
        raise InvalidValue(
            f"the frames reach {loudest:.3g}, which leaves the range of {dtype} at the scale of"
            f" the fit, {scale:.3g}: scale them as the frames of the fit were"
        )
    return Y / float(dtype.type(scale))
