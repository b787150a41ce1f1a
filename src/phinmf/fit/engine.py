"""Which engine holds the frames of a fit."""

from __future__ import annotations

from phinmf import arrays
from phinmf._types import AnyArray, Array, Mask
from phinmf.algorithm.options import Options
from phinmf.arrays.lazy import current_client, is_lazy
from phinmf.divergences import COMPILED, DIVERGENCES, Divergence
from phinmf.engines import ENGINES, Engine
from phinmf.engines.compiled.engine import NOT_IN_MEMORY
from phinmf.engines.compiled.on_disk import shards_needed
from phinmf.engines.dask import DaskEngine
from phinmf.errors import InvalidValue


def engine_of(options: Options, Y: AnyArray, weights: Array | None, links: Mask | None) -> Engine:
    """Return the engine of these options on frames Y (C, M, N); "auto" is the first that serves.

    Raise before any frames are moved if it does not compute the fit.
    """
    lazy, tensors, divergence = is_lazy(Y), arrays.is_tensor(Y), options.divergence
    pair_losses = options.solver is not None and options.solver.needs_pair_losses
    name: str = options.engine
    if name == "auto":
        name = first_able(Y, divergence, pair_losses)
    elif lazy and not ENGINES[name].dask_arrays:
        raise InvalidValue(
            f"engine is {name!r}, which does not hold dask arrays: use engine='auto', or pass"
            " Y.compute() if it fits into memory"
        )
    elif tensors and not ENGINES[name].tensors:
        raise InvalidValue(
            f"engine is {name!r}, which computes with NumPy, but Y is a tensor or a device is"
            " named: use engine='auto', or pass Y as an array of NumPy without a device"
        )
    if pair_losses and not ENGINES[name].pair_losses:
        raise InvalidValue(
            f"engine {name!r} does not compute the losses of pairs of atoms that this solver needs:"
            " use engine='array', with Y.compute() if Y is a dask array, or another solver"
        )
    if not ENGINES[name].supports(divergence):
        instead = "engine='auto', which takes the readable one"
        if lazy:
            instead = "Y.compute() if it fits into memory, which the readable engine takes"
        names = {family: repr(n) for n, family in DIVERGENCES.items()}
        compiled = ", ".join(names.get(family) or repr(family) for family in COMPILED.values())
        raise InvalidValue(
            f"engine {name!r} does not compute this divergence, only {compiled}: use {instead}"
        )
    if name != "dask" and not tensors and str(options.device or "cpu") != "cpu":
        raise InvalidValue(
            f"device is {str(options.device)!r}, but a dask array is computed on other devices only"
            " by the workers of a cluster: make a distributed.Client first, leave device out, or"
            " pass an array of NumPy or a tensor"
        )
    if options.smoothness and name == "dask":
        raise InvalidValue(
            "smoothness is set, which needs all frames in the memory of one process, but they are"
            " on the workers of a cluster: leave it out, or pass frames in memory without"
            " engine='dask'"
        )
    if options.smoothness and lazy and shards_needed(Y.shape, Y.dtype, None) > 1:
        raise InvalidValue(NOT_IN_MEMORY)
    if name == "dask":
        return DaskEngine(Y, divergence, options.n_threads, weights, links, options.device)
    return ENGINES[name](Y, divergence, options.n_threads, weights, links)


def first_able(Y: AnyArray, divergence: Divergence, pair_losses: bool) -> str:
    """Return the name of the first engine that serves a fit, or the kind of its frames at least.

    A dask array is on the workers of the current client if there is one.
    """
    lazy, tensors = is_lazy(Y), arrays.is_tensor(Y)
    if lazy and current_client() is not None:
        return "dask"
    able = []
    for name, kind in ENGINES.items():
        if (tensors and not kind.tensors) or (lazy and not kind.dask_arrays):
            continue
        if pair_losses and not kind.pair_losses and not lazy:
            continue
        if kind.supports(divergence):
            return name
        able.append(name)
    return able[0]
