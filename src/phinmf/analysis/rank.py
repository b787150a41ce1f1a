"""Choosing the number of components: fits of growing rank, evaluated on held-out frames."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from phinmf import checks
from phinmf._types import Array, Indices, RandomState
from phinmf.analysis.evaluation import learned_by, split_frames
from phinmf.api import tl_nmf
from phinmf.fit.prediction import predict


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
        Negative log-likelihood of held-out coefficients, per entry, as `held_out` explains it: it
        increases again when components are fitted to noise.
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
    **options: Any,
) -> RankPath:
    """Fit with each number of components, and predict held-out frames with it.

    Some stretches of consecutive frames are held out of the fit (`split_frames`), and each fit is
    evaluated on them (`held_out`), as in a grid search of `TLNMF`. This takes one fit for each
    rank. The number that predicts best is not that of sounds: it is lower where components are too
    similar to be separated in a frame, and higher where sounds do not fit the model.

    Parameters
    ----------
    Y : array of shape (M, N) or (C, M, N)
        Frames.
    ranks : sequence of int
        Numbers of components to try.
    share : float
        Share of the frames to hold out.
    random_state : None, int, RandomState or Generator
        Chooses the frames and the parts of the coefficients, and seeds the fits.
    **options
        Further arguments of `tl_nmf`, such as a `Divergence`.

    Returns
    -------
    RankPath
        The fit and the loss of predictions for each rank.
    """
    frames = checks.frames(Y)
    _, M, N = frames.shape
    numbers = np.array([checks.count("ranks", K, 1) for K in ranks])
    if M < 2 or len(numbers) == 0:
        raise ValueError(
            f"ranks {list(numbers)} on frames of {M} samples cannot be compared: at least one rank"
            " and two samples in a frame are needed"
        )
    rng = checks.generator(random_state)
    learn, out = split_frames(N, share, random_state=rng)
    parts, seed = rng.integers(2**63, size=2).tolist()
    fit, prediction = [], []
    for K in numbers:
        result = tl_nmf(frames[:, :, learn], int(K), random_state=seed, **options)
        fit.append(result.objective / (M * len(learn)))
        loss = predict(frames[:, :, out], learned_by(result), np.random.default_rng(parts)).nll
        prediction.append(loss)
    return RankPath(numbers, np.array(fit), np.array(prediction))
