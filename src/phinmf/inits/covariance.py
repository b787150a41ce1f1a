"""The covariance of the frames and its eigenvectors, the Karhunen–Loève transform.

With weights w_n, which say how often each frame counts, the covariance of C channels of N frames is
A = Σ_n w_n Σ_c y_cn y_cnᵀ / C, divided by Σ_n w_n where its eigenvalues are mean powers.

* Sums are made in double precision, block by block, and added up in an order that depends on the
  number of frames alone: threads and the chunks of a dask array change no bits.
* BLAS has one thread wherever it computes.
"""

from __future__ import annotations

import math
from contextlib import nullcontext
from functools import partial
from typing import Any

import numpy as np

from phinmf._types import AnyArray, Array
from phinmf.arrays import cast, cluster, contiguous, is_tensor, lazy, like, namespace, to_numpy
from phinmf.arrays.lazy import is_lazy
from phinmf.arrays.levels import of_pieces, threads_for
from phinmf.arrays.threads import parallel_map, single_threaded_blas
from phinmf.engines.compiled.summation import Node, blocks_of, total


def karhunen_loeve(Y: AnyArray, weights: Array | None) -> tuple[Array, Array]:
    """Return the eigenvectors of the covariance as rows, strongest first, and their mean powers.

    They are an orthogonal matrix (M, M) where the frames are, the powers (M,) are on the host.

    An eigenvector has no sign of its own: here its first entry of at least half the largest
    absolute value is positive. (The largest itself would be a bad choice, because many
    eigenvectors of audio are nearly symmetric and have it twice.)
    """
    C, M, N = Y.shape
    with nullcontext() if is_tensor(Y) else single_threaded_blas:
        if C * N < M:
            rows, powers = of_few_frames(Y, weights)
        else:
            A = covariance(Y, weights) / (N if weights is None else float(weights.sum()))
            values, vectors = namespace(A).linalg.eigh(A)
            rows = namespace(A).flip(vectors.mT, axis=0)
            powers = np.maximum(to_numpy(values)[::-1], 0)
    xp = namespace(rows)
    sizes = xp.abs(rows)
    large = sizes >= xp.max(sizes, axis=1, keepdims=True) / 2
    first = xp.argmax(cast(large, np.int8), axis=1)
    signs = xp.sign(xp.take_along_axis(rows, first[:, None], axis=1))
    return rows * signs, powers


def covariance(Y: AnyArray, weights: Array | None) -> Array:
    """A (M, M) of all frames, in one pass over them.

    A dask array is summed where its chunks are, and one matrix comes back. A power of two that all
    weights have in common changes no bits, though roots are taken.
    """
    unit = 1.0 if weights is None else 2.0 ** math.frexp(float(weights.max()))[1]
    blocks = blocks_of(Y.shape[2])

    def node(i: int) -> Node:
        block = Y[:, :, blocks[i]]
        roots = None if weights is None else np.sqrt(weights[blocks[i]] / unit)
        if not is_lazy(Y):
            return Node(1, [products(block, roots)])
        task = partial(products, roots=roots)
        return Node(1, [lazy.dask().delayed(of_pieces)(task, cluster.chunks(block))])

    n_threads = 1 if is_lazy(Y) else threads_for(Y)
    sums: list[Any] = total(len(blocks), parallel_map(node, range(len(blocks)), n_threads))
    (A,) = cluster.compute(sums) if is_lazy(Y) else sums
    return A * unit


def products(Y: AnyArray, roots: Array | None) -> Array:
    """A of frames (C, M, n) of any layout, from the roots of their weights."""
    Y = contiguous(cast(Y, np.float64))
    if roots is not None:
        Y = Y * like(roots, Y)
    A = Y[0] @ Y[0].mT  # NumPy computes one half
    for channel in Y[1:]:
        A += channel @ channel.mT
    A /= len(Y)
    return A


def of_few_frames(Y: AnyArray, weights: Array | None) -> tuple[Array, Array]:
    """Return eigenvectors of any sign, and mean powers, of fewer frames than samples in a frame.

    They are the left singular vectors of the frames: in A, rounding would hide the weak ones.
    """
    C, M, N = Y.shape
    columns = cast(cluster.in_memory(Y) if is_lazy(Y) else Y, np.float64)
    weights = np.ones(N) if weights is None else weights
    columns = columns * like(np.sqrt(weights / (C * weights.sum())), columns)
    xp = namespace(columns)
    vectors, values, _ = xp.linalg.svd(xp.concat(list(columns), axis=1), full_matrices=True)
    powers = np.zeros(M)
    powers[: C * N] = to_numpy(values) ** 2
    return vectors.mT, powers
