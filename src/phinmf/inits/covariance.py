"""The covariance of the frames and its eigenvectors, the Karhunen–Loève transform.

With weights w_n, which say how often each frame counts, the covariance of C channels of N frames is
A = Σ_n w_n Σ_c y_cn y_cnᵀ / C, divided by Σ_n w_n where its eigenvalues are mean powers.

* Sums are made in double precision, block by block, and added up in an order that depends on the
  number of frames alone: threads and the chunks of a dask array change no bits.
* BLAS has one thread wherever it computes.

The strongest eigenvectors alone are computed in the range of Aᵗ times a random block (block power
iteration with the Rayleigh–Ritz method), and completed by any orthonormal basis of the rest. This
takes M² times their number, where all eigenvectors would take M³ with a large constant.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from phinmf._types import AnyArray, Array
from phinmf.arrays import (
    cast,
    cluster,
    contiguous,
    is_tensor,
    lazy,
    like,
    namespace,
    to_numpy,
)
from phinmf.arrays.lazy import is_lazy
from phinmf.arrays.levels import threads_for
from phinmf.arrays.threads import parallel_map, single_threaded_blas
from phinmf.engines.compiled.summation import Node, blocks_of, total

#: From the largest eigenvalues and the trace: how many are needed; None: more than these.
Enough = Callable[[Array, float], int | None]
POWER = 3  #: products with the covariance; each sharpens the block
LARGE = 2048  #: rows from which this is faster than all eigenvectors
FIRST = 256  #: columns of the first block
SPARE = 8  #: an eighth of a block is not used: its vectors have not converged
Cut: TypeAlias = Callable[[slice], list[Any]]  #: cuts frames out of the chunks of a dask array


def karhunen_loeve(
    Y: AnyArray, weights: Array | None, enough: Enough | None = None
) -> tuple[Array, Array]:
    """Return the eigenvectors of the covariance as rows, strongest first, and their mean powers.

    An eigenvector has no sign of its own: here its first entry of at least half the largest
    absolute value is positive. (The largest itself would be a bad choice, because many
    eigenvectors of audio are nearly symmetric and have it twice.) If `enough` says how many are
    needed, the others may be any orthonormal basis of the rest.
    """
    with nullcontext() if is_tensor(Y) else single_threaded_blas:
        rows, powers = eigenvectors(Y, weights, enough)
    xp = namespace(rows)
    sizes = xp.abs(rows)
    large = sizes >= xp.max(sizes, axis=1, keepdims=True) / 2
    first = xp.argmax(cast(large, np.int8), axis=1)
    signs = xp.sign(xp.take_along_axis(rows, first[:, None], axis=1))
    return rows * signs, powers


def eigenvectors(Y: AnyArray, weights: Array | None, enough: Enough | None) -> tuple[Array, Array]:
    """Return eigenvectors of any sign and their mean powers, in the fewest operations."""
    C, M, N = Y.shape
    total_weight = N if weights is None else float(weights.sum())
    if C * N < M:  # also of a dask array, whose frames then take less memory than a covariance
        columns = cast(cluster.in_memory(Y) if is_lazy(Y) else Y, np.float64) / C**0.5
        share = 1 / total_weight if weights is None else like(weights / total_weight, columns)
        columns = columns * share**0.5
        return of_product(namespace(columns).concat(list(columns), axis=1))
    A = covariance(Y, weights) / total_weight
    return all_eigenvectors(A) if enough is None else leading(A, enough)


def covariance(Y: AnyArray, weights: Array | None) -> Array:
    """A (M, M) of all frames, in one pass over them."""
    return covariances(Y, [Stretch(0, Y.shape[2], weights)])[0]


class Stretch(NamedTuple):
    """Consecutive frames, and how often each of them counts."""

    first: int
    end: int  #: the frame after the last
    weights: Array | None  #: (end - first,), on the host; None is 1


def covariances(Y: AnyArray, stretches: Sequence[Stretch]) -> list[Array]:
    """A (M, M) of each stretch, in one pass over the frames.

    A dask array is summed where its chunks are: one matrix for each stretch comes back.
    """
    chunks = _parts_of_chunks(Y) if is_lazy(Y) else None
    sums = [_sum_of_products(Y, stretch, chunks) for stretch in stretches]
    return sums if chunks is None else cluster.compute(sums)


def _sum_of_products(Y: AnyArray, stretch: Stretch, chunks: Cut | None) -> Any:
    """A of one stretch, or the delayed one of a dask array, whose chunks a function cuts.

    A power of two that all weights have in common changes no bits, though roots are taken.
    """
    first, end, weights = stretch
    unit = 1.0 if weights is None else 2.0 ** math.frexp(float(weights.max()))[1]
    blocks = blocks_of(end - first)

    def node(i: int) -> Node:
        block = blocks[i]
        frames = slice(first + block.start, first + block.stop)
        w = None if weights is None else weights[block] / unit
        if chunks is None:
            return Node(i, i + 1, [_products([Y[:, :, frames]], w)])
        return Node(i, i + 1, [lazy.dask().delayed(_products)(chunks(frames), w)])

    n_threads = 1 if chunks is not None else threads_for(Y)
    return total(len(blocks), parallel_map(node, range(len(blocks)), n_threads))[0] * unit


def _parts_of_chunks(Y: AnyArray) -> Cut:
    """Return a function that cuts frames out of the chunks of a dask array.

    A chunk is one task, however many blocks have a part of it, so that it is computed once.
    """
    chunks = cluster.chunks(Y)
    ends = np.cumsum(Y.chunks[2])
    starts = ends - Y.chunks[2]

    def cut(frames: slice) -> list[Any]:
        touched = np.flatnonzero((starts < frames.stop) & (ends > frames.start))
        spans = [(max(frames.start - starts[i], 0), frames.stop - starts[i]) for i in touched]
        return [chunks[i][:, :, a:b] for i, (a, b) in zip(touched, spans, strict=True)]

    return cut


def _products(parts: list[AnyArray], weights: Array | None) -> Array:
    """A of one block of frames, whatever its parts (C, M, n) and their layout."""
    Y = parts[0] if len(parts) == 1 else np.concatenate(parts, axis=2)
    Y = contiguous(cast(Y, np.float64))
    if weights is not None:
        Y = Y * like(np.sqrt(weights), Y)
    A = Y[0] @ Y[0].mT  # NumPy computes one half
    for channel in Y[1:]:
        A += channel @ channel.mT
    A /= len(Y)
    return A


# eigenvectors: rows of an orthogonal matrix (M, M), where A is, and eigenvalues (M,) on the host


def leading(A: Array, enough: Enough) -> tuple[Array, Array]:
    """Return as many eigenvectors as are needed, and any rows that complete them.

    The eigenvalue of each of the other rows is the mean of the rest of the trace.
    """
    M, trace = len(A), float(namespace(A).linalg.trace(A))
    n = FIRST
    while LARGE <= M and n <= M // 4:
        values, rows = block_power(A, n)
        P = enough(values[: n - n // SPARE], trace)
        if P is not None:
            rest = max(0.0, trace - float(values[:P].sum())) / (M - P)
            return completed(rows[:P]), np.concatenate([values[:P], np.full(M - P, rest)])
        n *= 2
    return all_eigenvectors(A)


def block_power(A: Array, n: int) -> tuple[Array, Array]:
    """Return n Ritz values, falling, and their vectors as rows (n, M)."""
    xp = namespace(A)
    block = like(np.random.default_rng(0).standard_normal((len(A), n)), A)
    for _ in range(POWER):
        block, _ = xp.linalg.qr(A @ block)
    values, vectors = xp.linalg.eigh(block.mT @ (A @ block))
    return positive(values), xp.flip((block @ vectors).mT, axis=0)


def all_eigenvectors(A: Array) -> tuple[Array, Array]:
    """Return all eigenvectors of A."""
    xp = namespace(A)
    values, vectors = xp.linalg.eigh(A)
    return xp.flip(vectors.mT, axis=0), positive(values)


def positive(values: Array) -> Array:
    """Return rising eigenvalues as falling ones on the host, none below 0."""
    return np.maximum(to_numpy(values)[::-1], 0)


def completed(rows: Array) -> Array:
    """Return an orthogonal matrix that begins with these orthonormal rows (P, M)."""
    xp, P = namespace(rows), len(rows)
    Q, _ = xp.linalg.qr(rows.mT, mode="complete")
    return xp.concat([rows, Q[:, P:].mT])


def of_product(B: Array) -> tuple[Array, Array]:
    """Return all eigenvectors of A = BBᵀ for B (M, n) with fewer columns than rows.

    They are those of a matrix (n, n), and A is not computed: its rounding would hide the weak ones.
    """
    xp = namespace(B)
    Q, R = xp.linalg.qr(B, mode="complete")
    n = B.shape[1]
    V, values = all_eigenvectors(R[:n] @ R[:n].mT)
    rows = xp.concat([V @ Q[:, :n].mT, Q[:, n:].mT])
    return rows, np.concatenate([values, np.zeros(len(B) - n)])
