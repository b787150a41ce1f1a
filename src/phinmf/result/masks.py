"""Frames of each component: its share of the expected power is a mask on the coefficients."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from phinmf._types import Array, Indices
from phinmf.linalg.manifold import is_dft

SHARE = 8  #: an eighth of all atoms with one mask is worth a case of its own


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
    W, H : arrays of shape (M, K), or (M/2, K) if atoms share their power in pairs, and (K, N)
        Factors, in the units of Y².
    floor : float
        ε in the same units.
    """
    for rows in component_rows(Y.swapaxes(-1, -2), Phi, W, H, floor, is_dft(Phi)):
        yield rows.swapaxes(-1, -2)


def component_rows(
    Y: Array, Phi: Array, W: Array, H: Array, floor: float, fourier: bool
) -> Iterator[Array]:
    """Yield the same for frames that are rows, (N, M) or (C, N, M): one product for all channels.

    If Φ is the real DFT (`fourier`) in pairs, masks are gains of its bins, and fast transforms
    take the place of the products; the first pair is bins 0 and M/2.

    Atoms with the same row of W have the same mask t, and Φᵀ(m ∘ ΦY) = Φᵀ((m - t) ∘ ΦY) + t ∘ Y:
    only the other atoms are multiplied.
    """
    if fourier and len(Phi) == 2 * len(W):
        spectrum = np.fft.rfft(Y)
        for mask in masks(W, H, floor):
            yield np.fft.irfft(spectrum * np.concatenate([mask, mask[:, :1]], axis=1), len(Phi))
        return
    frames = Y.reshape(-1, len(Phi))
    other, shared = rows_apart(W)
    size = len(Phi) // len(W)  # 2 if the atoms of a pair have one mask
    Phi, W = Phi[(size * other[:, None] + np.arange(size)).ravel()], W[[*other, *shared]]
    X = (frames @ Phi.T).reshape(*Y.shape[:-1], len(Phi))
    for mask in masks(W, H, floor):
        t = mask[:, len(other) :]  # one column, or none
        own = mask[:, : len(other)] - t if t.size else mask
        X_k = X * (own if size == 1 else own.repeat(size, axis=1))
        Y_k = (X_k.reshape(len(frames), len(Phi)) @ Phi).reshape(Y.shape)
        if t.size:
            Y_k += t * Y
        yield Y_k


def masks(W: Array, H: Array, floor: float) -> Iterator[Array]:
    """Yield the mask (N, M) of each component in turn; it may be overwritten."""
    Wt, Ht, K = np.ascontiguousarray(W.T), H.T, len(H)
    model = Ht @ Wt + W.dtype.type(floor)
    model[model == 0] = 1  # 0/0: there is nothing to share
    for k in range(K):
        mask = Ht[:, k, None] * Wt[k]
        mask += W.dtype.type(floor / K)
        mask /= model
        yield mask


def rows_apart(W: Array) -> tuple[Indices, Indices]:
    """Return the indices of all rows of W but the largest group of equal ones, and one of these.

    If the group is small, return all rows and no index.
    """
    _, first, which, counts = np.unique(
        W, axis=0, return_index=True, return_inverse=True, return_counts=True
    )
    most = counts.argmax()
    if counts[most] < max(2, len(W) // SHARE):
        return np.arange(len(W)), first[:0]
    return np.flatnonzero(which.ravel() != most), first[most : most + 1]
