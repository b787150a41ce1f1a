"""Which engine holds the frames of a fit."""

from __future__ import annotations

from phinmf import arrays
from phinmf._types import AnyArray, Array, Device, Mask
from phinmf.arrays.lazy import current_client, is_lazy
from phinmf.divergences import COMPILED, DIVERGENCES, Divergence
from phinmf.engines import ENGINES, Engine
from phinmf.engines.compiled.engine import NOT_IN_MEMORY
from phinmf.engines.compiled.on_disk import shards_needed
from phinmf.engines.dask import DaskEngine
from phinmf.solvers import Solver


def engine_for(
    name: str,
    Y: AnyArray,
    divergence: Divergence,
    n_threads: int | None,
    weights: Array | None = None,
    links: Mask | None = None,
    solver: Solver | None = None,
    smoothness: float = 0.0,
    device: Device = None,
) -> Engine:
    """Return the engine of this name on these frames; "auto" is the first that serves them.

    It serves the solver, too, if one is named. Raise before any frames are moved if it does not
    compute the fit.
    """
    pair_losses = solver is not None and solver.needs_pair_losses
    lazy = is_lazy(Y)
    if lazy and name != "auto" and not ENGINES[name].dask_arrays:
        raise ValueError(
            f"engine is {name!r}, which does not hold dask arrays: use engine='auto', or pass"
            " Y.compute() if it fits into memory"
        )
    if arrays.is_tensor(Y) and name != "auto" and not ENGINES[name].tensors:
        raise ValueError(
            f"engine is {name!r}, which computes with NumPy, but Y is a tensor or a device is"
            " named: use engine='auto', or pass Y as an array of NumPy without a device"
        )
    if name == "auto":
        tensors = arrays.is_tensor(Y)
        able = [
            n
            for n, kind in ENGINES.items()
            if (kind.tensors or not tensors)
            and (kind.dask_arrays or not lazy)
            and (kind.pair_losses or not pair_losses or lazy)
        ]
        name = next((n for n in able if ENGINES[n].supports(divergence)), able[0])
        if lazy and current_client() is not None:
            name = "dask"
    if pair_losses and not ENGINES[name].pair_losses:
        raise ValueError(
            f"engine {name!r} does not compute the losses of pairs of atoms that this solver needs:"
            " use engine='array', with Y.compute() if Y is a dask array, or another solver"
        )
    if not ENGINES[name].supports(divergence):
        instead = "engine='auto', which takes the readable one"
        if lazy:
            instead = "Y.compute() if it fits into memory, which the readable engine takes"
        names = {family: repr(n) for n, family in DIVERGENCES.items()}
        compiled = ", ".join(names.get(family) or repr(family) for family in COMPILED.values())
        raise ValueError(
            f"engine {name!r} does not compute this divergence, only {compiled}: use {instead}"
        )
    if name != "dask" and not arrays.is_tensor(Y) and str(device or "cpu") != "cpu":
        raise ValueError(
            f"device is {str(device)!r}, but a dask array is computed on other devices only by the"
            " workers of a cluster: make a distributed.Client first, leave device out, or pass an"
            " array of NumPy or a tensor"
        )
    if smoothness and name == "dask":
        raise ValueError(
            "smoothness is set, which needs all frames in the memory of one process, but they are"
            " on the workers of a cluster: leave it out, or pass frames in memory without"
            " engine='dask'"
        )
    if smoothness and lazy and shards_needed(Y.shape, Y.dtype, None) > 1:
        raise ValueError(NOT_IN_MEMORY)
    if name == "dask":
        return DaskEngine(Y, divergence, n_threads, weights, links, device)
    return ENGINES[name](Y, divergence, n_threads, weights, links)
