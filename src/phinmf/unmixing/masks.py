"""Frames of each component: its share of the expected power is a mask on the coefficients."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from phinmf._types import Array


def component_frames(Y: Array, Phi: Array, W: Array, H: Array, floor: float) -> Iterator[Array]:
    """Yield the frames of each component in turn; their sum is Y.

    The mask of component k is (w_k h_k + ε/K) / (WH + ε), the same for every channel: the masks add
    up to 1, and Φ is orthogonal.

    Parameters
    ----------
    Y : array of shape (M, N) or (C, M, N)
        Frames.
    Phi : array of shape (M, M)
        Orthogonal transform.
    W, H : arrays of shape (M, K) and (K, N)
        Factors, in the units of Y².
    floor : float
        ε in the same units.
    """
    K = W.shape[1]
    X = Phi @ Y
    with np.errstate(divide="ignore", invalid="ignore"):
        X = X / (W @ H + X.dtype.type(floor))
    X[~np.isfinite(X)] = 0  # 0/0: there is nothing to share
    for k in range(K):
        yield Phi.T @ (X * (np.outer(W[:, k], H[k]) + X.dtype.type(floor / K)))
