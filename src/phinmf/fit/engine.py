"""Which engine holds the frames of a fit."""

from __future__ import annotations

from phinmf import arrays
from phinmf._types import AnyArray, Array, Mask
from phinmf.arrays.lazy import current_client, is_lazy
from phinmf.divergences import COMPILED, DIVERGENCES, Divergence
from phinmf.engines import ENGINES, Engine
from phinmf.engines.remote.engine import ChunkedEngine


def engine_for(
    name: str,
    Y: AnyArray,
    divergence: Divergence,
    n_threads: int | None,
    weights: Array | None = None,
    links: Mask | None = None,
) -> Engine:
    """Return the engine of this name on these frames; "auto" is the first that serves them.

    Frames of a dask array are on the workers of the current `distributed.Client` if there is one,
    otherwise in this process.
    """
    lazily = is_lazy(Y)
    if lazily and name == "array":
        raise ValueError(
            "engine is 'array', which does not hold dask arrays: use engine='auto', or pass"
            " Y.compute() if it fits into memory"
        )
    if arrays.is_tensor(Y) and name != "auto" and not ENGINES[name].tensors:
        raise ValueError(
            f"engine is {name!r}, which computes with NumPy, but Y is a tensor or a device is"
            " named: use engine='auto', or pass Y as an array of NumPy without a device"
        )
    if name == "auto" and lazily:
        name = "compiled" if current_client() is None else "dask"
    elif name == "auto":
        able = [n for n, kind in ENGINES.items() if kind.tensors or not arrays.is_tensor(Y)]
        name = next((n for n in able if ENGINES[n].supports(divergence)), able[0])
    if not ENGINES[name].supports(divergence):
        instead = "engine='auto', which takes the readable one"
        if lazily:
            instead = "Y.compute() if it fits into memory, which the readable engine takes"
        names = {family: repr(n) for n, family in DIVERGENCES.items()}
        compiled = ", ".join(names.get(family) or repr(family) for family in COMPILED.values())
        raise ValueError(
            f"engine {name!r} does not compute this divergence, only {compiled}: use {instead}"
        )
    kind = ChunkedEngine if lazily and name == "compiled" else ENGINES[name]
    return kind(Y, divergence, n_threads, weights, links)
