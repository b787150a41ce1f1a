"""What a checkpoint must agree with: the frames, the options and the start, in values for JSON."""

from __future__ import annotations

import copy
import hashlib
from dataclasses import fields
from typing import Any

import numpy as np

from phinmf import arrays, checks, inits
from phinmf._types import AnyArray, Array, RandomState
from phinmf.algorithm.options import Method, Options
from phinmf.arrays.levels import each
from phinmf.engines.compiled.summation import blocks_of
from phinmf.fit.data import Data
from phinmf.fit.initial_factors import InitialFactors
from phinmf.inits import Init
from phinmf.result.terms import divergence_label

#: Options that may change when a run is resumed; the fields of `method` are compared one by one.
NOT_COMPARED = ("max_iter", "max_time", "tol", "engine", "device", "n_threads", "method")

Seed = int | str | None

PLAIN = (bool, int, float, str, np.generic, type(None))  #: what JSON and a text can hold


def seed_of(random_state: RandomState) -> Seed:
    """The seed, or a text that identifies the state of a generator."""
    if random_state is None or isinstance(random_state, (int, np.integer)):
        return None if random_state is None else int(random_state)
    drawn = checks.generator(copy.deepcopy(random_state)).integers(2**63, size=4)
    return f"{type(random_state).__name__} {digest(drawn.astype(np.float64))}"


def description(
    options: Options, data: Data, frames: str, initial: InitialFactors, K: int, seed: Seed
) -> dict[str, Any]:
    """Return what a checkpoint must agree with, in values for JSON.

    `frames` is the digest of the frames. Arrays are described as the caller passed them: what is
    computed from them may differ in the last bit on another machine.
    """
    columns = initial.fixed.columns
    values = vars(options) | vars(options.method) | {
        "divergence": divergence_label(options.divergence),
        "sparsity": options.penalty.sparsity,
        "anneal": object_label("anneal", data.schedule(options).anneal),
        "solver": object_label("solver", options.solver),
        "nmf_exponent": options.nmf_exponent,
        "init": init_label(options.init),
    }  # fmt: skip
    names = [field.name for field in (*fields(Options), *fields(Method))]
    return {name: values[name] for name in names if name not in NOT_COMPARED} | {
        "frames": f"array {frames}",
        "n_components": K,
        "fixed": {
            "W": None if columns is None else columns.tolist(),
            "H": initial.fixed.H is not None,
        },
        "random_state": seed,
        "W": label(initial.W) if initial.W.shape[1] else None,
        "H": None if initial.H_original is None else label(initial.H_original),
    }


def init_label(init: Init) -> str:
    """The name of a registered init, or a text that identifies another one."""
    if isinstance(init, inits.ArrayInit):
        return label(init.Phi)
    named = (name for name, kind in inits.INITS.items() if type(init) is kind and init == kind())
    return next(named, None) or object_label("init", init)


def label(array: Array) -> str:
    """A text that identifies an array."""
    return f"array {digest(array)}"


def object_label(name: str, value: object) -> str:
    """The class and the attributes of an object, as a text that is the same in every process."""
    if value is None:
        return "None"
    kind, attributes = type(value).__qualname__, getattr(value, "__dict__", {"": object()})
    if not all(isinstance(v, PLAIN) for v in attributes.values()):
        raise ValueError(
            f"{name} is {kind}, whose attributes are not all numbers or texts, so that a checkpoint"
            " cannot compare them: leave checkpoint and resume out, or change the class"
        )
    plain = {k: v.item() if isinstance(v, np.generic) else v for k, v in attributes.items()}
    return f"{kind}({', '.join(f'{k}={v!r}' for k, v in plain.items())})"


def digest(*contents: Array | None) -> str:
    """A short text that identifies the contents of arrays, on any device."""
    text = hashlib.blake2b(digest_size=12)
    for array in contents:
        if array is not None:
            array = arrays.to_numpy(array)
            text.update(f"{array.shape} {array.dtype}".encode())
            text.update(np.ascontiguousarray(array.T).data)
    return text.hexdigest()


def digest_of_frames(Y: AnyArray, weights: Array | None) -> str:
    """The same for frames (C, M, N), block by block: of any chunks, here or on a cluster."""
    text = hashlib.blake2b(digest(weights).encode(), digest_size=12)
    for block in each(digest, Y, blocks_of(Y.shape[2])):
        text.update(block.encode())
    return text.hexdigest()
