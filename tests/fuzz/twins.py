"""Attacks on reproducibility: equivalent problems give the same bits."""

import numpy as np

from fuzz.fits import Kind
from fuzz.formulas import same_bits
from fuzz.judging import must_not_be_refused
from fuzz.random_fits import fit, pick, problem


def alone(how, *names):
    return {k: v for k, v in how.items() if k not in names}


def twins(rng):
    """An equivalent problem gives the same bits."""
    large = rng.random() < 0.1
    Y, K, how = problem(rng, large, most_iter=4 if large else 12)
    way = pick(rng, sorted(WAYS))
    other = WAYS[way](rng, Y, K, how)
    if other is None:
        return
    Y, how, other_Y, other_how, names = other
    one = must_not_be_refused(fit, Y, K, how)
    two = must_not_be_refused(fit, other_Y, K, other_how)
    same_bits(one, two, way, names)


ALL, NOT_H = ("Phi", "W", "H", "objective"), ("Phi", "W", "objective")


def layout(rng, Y, K, how):
    """Another layout, or read-only."""
    kind = pick(rng, ["F", "backwards", "read-only", "strided", "list", "swapped"])
    other = Y.copy()
    if kind == "F":
        other = np.asfortranarray(Y)
    elif kind == "backwards":
        other = Y[..., ::-1].copy()[..., ::-1]
    elif kind == "strided":
        other = np.repeat(Y, 2, axis=-1)[..., ::2]
    elif kind == "list" and Y.dtype == np.float64:
        other = Y.tolist()
    elif kind == "swapped":
        other = Y.astype(Y.dtype.newbyteorder())
    if isinstance(other, np.ndarray):
        other.flags.writeable = False
    return Y, how, other, how, ALL


def power_of_two(rng, Y, K, how):
    """Frames times a power of two."""
    if "H" in how:
        return None
    factor = Y.dtype.type(2.0 ** int(rng.integers(-20, 21)))
    if abs(Y).min(where=Y != 0, initial=1) < 1e-30:
        return None
    return Y, how, Y * factor, how, NOT_H


def threads(rng, Y, K, how):
    """Another number of threads."""
    return Y, how, Y, how | {"n_threads": int(rng.integers(1, 6))}, ALL


def chunked(rng, Y, K, how):
    """As a dask array of any chunks."""
    import dask.array as da

    if how.get("engine") == "array":
        return None
    N = Y.shape[-1]
    cuts = np.sort(rng.integers(0, N, int(rng.integers(0, 4))))
    chunks = np.diff([0, *np.unique(cuts[cuts > 0]), N])
    lazy = da.from_array(Y, chunks=(*Y.shape[:-1], tuple(chunks.tolist())))
    return Y, how, lazy, alone(how, "engine"), ALL


def repeated(rng, Y, K, how):
    """A frame of weight n is that frame n times, where problems are small."""
    if "H" in how or Y.size * 3 >= 2**17:
        return None
    counts = rng.integers(1, 4, Y.shape[-1])
    how = alone(how, "sample_weight")
    return np.repeat(Y, counts, axis=-1), how, Y, how | {"sample_weight": counts}, NOT_H


def shuffled(rng, Y, K, how):
    """Another order of the frames, where problems are small."""
    if "H" in how or Y.size >= 2**17 or "sample_weight" in how:
        return None
    return Y, how, Y[..., rng.permutation(Y.shape[-1])], how, NOT_H


def left_out(rng, Y, K, how):
    """Frames of weight 0 have no effect."""
    if "H" in how or "sample_weight" not in how:
        return None
    weights = how["sample_weight"]
    fewer = how | {"sample_weight": weights[weights > 0]}
    return Y, how, Y[..., weights > 0], fewer, NOT_H


def weighed(rng, Y, K, how):
    """Weights that are not whole numbers, times a power of two."""
    if "sample_weight" not in how:
        return None
    w = how["sample_weight"] + 0.5 * (how["sample_weight"] > 0)
    factor = 2.0 ** int(rng.integers(-200, 200)) if rng.random() < 0.5 else 0.25
    if ((w * factor) % 1 == 0).all():
        return None
    return Y, how | {"sample_weight": w}, Y, how | {"sample_weight": w * factor}, ("Phi", "W", "H")


def watched(rng, Y, K, how):
    """With a callback that does nothing."""
    return Y, how, Y, how | {"callback": lambda state: None}, ALL


def integers(rng, Y, K, how):
    """Whole numbers of any type."""
    if "H" in how:
        return None
    whole = np.round(Y / abs(Y).max() * 100)
    dtype = pick(rng, [np.int8, np.int16, np.int64, np.float16, np.longdouble])
    return whole.astype(np.float64), how, whole.astype(dtype), how, ALL


WAYS = {f.__name__: f for f in (layout, power_of_two, threads, chunked, repeated, shuffled,
                                left_out, weighed, watched, integers)}  # fmt: skip


KINDS = {"same problem, same bits": Kind(twins, 3)}
