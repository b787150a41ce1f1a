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
    for rows in component_rows(Y.swapaxes(-1, -2), Phi, W, H, floor):
        yield rows.swapaxes(-1, -2)


def component_rows(Y: Array, Phi: Array, W: Array, H: Array, floor: float) -> Iterator[Array]:
    """Do the same for frames that are rows, (N, M) or (C, N, M): one product for all channels."""
    (M, K), shape = W.shape, Y.shape
    X = (Y.reshape(-1, M) @ Phi.T).reshape(shape)
    Wt, Ht, eps = np.ascontiguousarray(W.T), H.T, X.dtype.type(floor)
    with np.errstate(divide="ignore", invalid="ignore"):
        X /= Ht @ Wt + eps
    X[~np.isfinite(X)] = 0  # 0/0: there is nothing to share
    mask, masked = np.empty(shape[-2:], X.dtype), np.empty_like(X)
    for k in range(K):
        np.multiply(Ht[:, k, None], Wt[k], out=mask)
        mask += X.dtype.type(floor / K)
        np.multiply(X, mask, out=masked)
        yield (masked.reshape(-1, M) @ Phi).reshape(shape)
