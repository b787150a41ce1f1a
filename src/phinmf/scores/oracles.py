"""What a separation is compared with: the oracle mask, and NMF in the DCT."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from phinmf._types import Array
from phinmf.algorithm.options import Options
from phinmf.api import tl_nmf
from phinmf.audio.frames import from_frames, to_frames
from phinmf.inits import Frames, init_of
from phinmf.linalg.manifold import dct
from phinmf.result import Result
from phinmf.result.masks import component_frames
from phinmf.scores.measures import signals
from phinmf.warn import early_stops


def oracle_mask(
    references: Sequence[ArrayLike] | Array, M: int, Phi: ArrayLike | None = None
) -> Array:
    """Share each coefficient of the mixture among the sources by their true power there.

    This is the ideal ratio mask: the best that masks of this kind could do.

    Parameters
    ----------
    references : sequence of J arrays of shape (n,) or (n, channels)
        The true sources; the mixture is their sum.
    M : int
        Frame length, even.
    Phi : array of shape (M, M), optional
        The transform; the DCT if not given.

    Returns
    -------
    array of shape (J, n, channels)
        Estimates of the sources, which add up to the mixture. Channels share the mask.
    """
    truths = signals("references", references)
    frames = to_frames(truths.sum(axis=0), M)
    init = init_of("dct" if Phi is None else Phi)
    transform = init.start(Frames(frames), np.random.default_rng(0), np.float64)
    powers = [np.square(transform @ to_frames(one, M)).mean(axis=0) for one in truths]
    total = np.sum(powers, axis=0)
    mixture = transform @ frames
    with np.errstate(divide="ignore", invalid="ignore"):
        shares = [np.where(total > 0, power / total, 1 / len(truths)) for power in powers]
    back = transform.T
    return np.stack([from_frames(back @ (share * mixture), truths.shape[1]) for share in shares])


def dct_nmf(
    mixture: ArrayLike, M: int, n_components: int, sparsity: float, max_iter: int = 200
) -> Array:
    """Take a recording apart by Itakura-Saito NMF in the DCT, which is not learned.

    Parameters
    ----------
    mixture : array of shape (n,) or (n, channels)
        The recording.
    M : int
        Frame length, even.
    n_components : int
        Number of components.
    sparsity : float
        As in `tl_nmf`.
    max_iter : int
        Maximum number of iterations.

    Returns
    -------
    array of shape (n_components, n, channels)
        The components; they add up to the recording.
    """
    y = signals("mixture", [mixture])[0]
    if not y.any():
        return np.zeros((n_components, *y.shape))
    Y = to_frames(y, M)
    with early_stops():
        result = tl_nmf(
            Y, n_components, solver=None, init=dct(M), sparsity=sparsity, floor=Options.floor,
            max_iter=max_iter, tol=1e-5, random_state=0,
        )  # fmt: skip
    return component_signals(Y, result, len(y), Options.floor)


def component_signals(Y: Array, result: Result, length: int, floor: float) -> Array:
    """Return the components of a fit: (K, length, channels), or (K, length) for Y (M, N)."""
    assert result.W is not None
    assert result.H is not None
    components = component_frames(Y, result.Phi, result.W, result.H, floor * result.scale**2)
    return np.stack([from_frames(frames, length) for frames in components])
