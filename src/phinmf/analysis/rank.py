"""Choosing the number of components: fits of growing rank, evaluated on held-out frames."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from phinmf import checks
from phinmf._types import Array, Indices, RandomState
from phinmf.api import tl_nmf
from phinmf.divergences import Gaussian
from phinmf.fit.encode import encode
from phinmf.fit.engine import divergence_of
from phinmf.fit.options import penalty_for
from phinmf.result import Result

STRETCH = 16  #: consecutive frames that are held out, because neighbours overlap
#: Variances of what no component explains; the best one is used.
NOISE = np.geomspace(1e-8, 1.0, 33)


@dataclass(frozen=True, eq=False)
class RankPath:
    """Result of `rank_path`; one entry for each rank.

    Attributes
    ----------
    ranks : (R,) array
        Numbers of components.
    fit : (R,) array
        Objective of the fit, per entry: it decreases with every component.
    held_out : (R,) array
        Negative log-likelihood of held-out coefficients, per entry, up to a constant: it increases
        again when components are fitted to noise.
    """

    ranks: Indices
    fit: Array
    held_out: Array

    @property
    def best(self) -> int:
        """The rank of the best prediction."""
        return int(self.ranks[np.argmin(self.held_out)])


def rank_path(
    Y: ArrayLike,
    ranks: Sequence[int],
    *,
    share: float = 0.2,
    random_state: RandomState = None,
    **how: Any,
) -> RankPath:
    """Fit with each number of components, and predict held-out frames with it.

    Some stretches of consecutive frames are held out of the fit. In each of these frames,
    activations are found from a random half of the coefficients and predict the other half, then
    the other way round. (Activations found from all coefficients would fit them the better, the
    more components there are.) The likelihood is that of Gaussian coefficients of variance Wh + ε.
    It can be compared between transforms because they are orthogonal.

    Parameters
    ----------
    Y : array of shape (M, N) or (C, M, N)
        Frames.
    ranks : sequence of int
        Numbers of components to try.
    share : float
        Share of the frames to hold out.
    random_state : None, int, RandomState or Generator
        Draws the frames and the halves, and seeds the fits.
    **how
        Further arguments of `tl_nmf`.
    """
    frames = checks.frames(Y)
    _, M, N = frames.shape
    tried = np.array([checks.count("ranks", K, 1) for K in ranks])
    share = checks.number("share", share, 0, strict=True)
    if M < 2 or not 1 <= round(share * N) < N or len(tried) == 0:
        raise ValueError(
            f"ranks {list(tried)} on {N} frames of {M} samples with share={share:g} cannot be"
            " compared: at least one rank, two samples in a frame, one frame to fit and one frame"
            " to hold out are needed"
        )
    rng = checks.generator(random_state)
    out = held_out_frames(N, share, rng)
    halves = np.array_split(rng.permutation(M), 2)
    seed = int(rng.integers(2**63))
    fit, predicted = [], []
    for K in tried:
        result = tl_nmf(frames[:, :, ~out], int(K), random_state=seed, **how)
        fit.append(result.objective / (M * (~out).sum()))
        predicted.append(prediction_error(result, frames[:, :, out], halves, how))
    return RankPath(tried, np.array(fit), np.array(predicted))


def held_out_frames(N: int, share: float, rng: np.random.Generator) -> NDArray[np.bool_]:
    """Return a mask of random stretches of frames."""
    wanted = round(share * N)
    starts = np.arange(0, N, min(STRETCH, wanted))
    out = np.zeros(N, bool)
    for start in rng.permutation(starts):
        out[start : start + min(STRETCH, wanted - int(out.sum()))] = True
        if out.sum() == wanted:
            break
    return out


def prediction_error(
    result: Result, Y: Array, halves: list[Indices], how: Mapping[str, Any]
) -> float:
    """Negative log-likelihood per entry of each half of the coefficients, given the other half."""
    X, W = result.Phi @ Y, result.W
    assert W is not None
    floor = result.floor / result.scale**2
    divergence = divergence_of(how.get("divergence", "itakura-saito"))
    penalty = penalty_for(divergence, how.get("penalty", "sparse"), how.get("sparsity"))
    totals = np.zeros(len(NOISE))
    for seen, unseen in (halves, halves[::-1]):
        identity = np.eye(len(seen), dtype=X.dtype)
        H = encode(
            X[:, seen], identity, W[seen], scale=result.scale, penalty=penalty, floor=floor,
            divergence=divergence,
        ).H  # fmt: skip
        v = np.square(X[:, unseen], dtype=np.float64).mean(axis=0) / result.scale**2
        WH = W[unseen] @ H.astype(np.float64) / result.scale**2
        for i, eps in enumerate(NOISE):
            totals[i] += Gaussian().value(v, WH + eps, 0.0).sum()
    return float(totals.min()) / X[0].size
