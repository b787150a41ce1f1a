"""The transform alone, for a fixed model of the power: the paper's first experiments."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike

from phinmf import arrays, checks
from phinmf._types import Array, Indices, RandomState
from phinmf.algorithm.alternate import alternate
from phinmf.algorithm.model import Iterate, Model
from phinmf.algorithm.options import Options
from phinmf.algorithm.run import Run
from phinmf.engines import engine_for
from phinmf.fit import scaling
from phinmf.fit.data import Data
from phinmf.fit.few_atoms import FewAtoms, check_length
from phinmf.fit.finalize import result_of, warn_unless_converged
from phinmf.fit.weights import in_units
from phinmf.result import Callback, Result


def model_of_power(V_hat: ArrayLike, data: Data, floor: float) -> Array:
    """Check a model V̂ (M, N) in the units of Y², and return it for frames at unit power."""
    _, M, N = data.Y.shape
    model = arrays.like(checks.factor("V_hat", V_hat, (M, N), np.float64), data.Y)
    model = arrays.frames_contiguous(model / data.scale**2, arrays.dtype_of(data.Y))
    if floor == 0 and (zeros := int(arrays.namespace(model).sum(model == 0))):
        raise ValueError(
            f"floor is 0 but V_hat has {zeros} zeros, which cost infinitely much: set floor to a"
            " small number such as 1e-8"
        )
    return model


def learned_transform(
    data: Data,
    V_hat: Array,
    options: Options,
    random_state: RandomState,
    callback: Callback | None,
) -> Result:
    """Learn Φ so that the power of ΦY fits V̂ (M, N), both at unit power.

    If few atoms are learned, these fit the rows of V̂ of most power, and the eigenvectors that stay
    fit the others by falling power. The callback and the result have Φ in the order of V̂.
    """
    Y, M = data.Y, data.Y.shape[1]
    check_length(options.n_atoms, M)
    if M == 1:  # a 1×1 transform has nothing to learn
        options = options.keeping_Phi()
    few = None if options.n_atoms is None else FewAtoms.of(options.n_atoms, data)
    rng_Phi, rng_sample = checks.generators(random_state, 2)
    Phi = arrays.like(options.init.start(data.weighted, rng_Phi, arrays.dtype_of(Y)), Y)
    subspace = number = None
    if few is not None:
        subspace, number = few.subspace, few.number
        powers = arrays.to_numpy(V_hat).sum(axis=1, dtype=np.float64)
        order = np.argsort(-powers, kind="stable")
        rows = arrays.indices(np.argsort(order), Phi)  # of Φ, for each row of V̂
        order = arrays.indices(order, Phi)
        V_hat, Phi, callback = V_hat[order], few.nearest(Phi[order]), in_rows(rows, callback)
    if options.floor == 0:
        scaling.check_entries(Phi, Y, learned=True)
    start = Iterate(Phi, arrays.zeros((M, 0), Y), arrays.zeros((0, Y.shape[2]), Y))
    pair_losses = options.solver is not None and options.solver.needs_pair_losses
    with engine_for(
        options.engine,
        Y,
        options.divergence,
        options.n_threads,
        pair_losses=pair_losses,
        device=options.device,
    ) as engine:
        model = Model(engine, options.penalty, V_hat)
        schedule = data.schedule(options, n_atoms=number)
        run = Run(model, options, schedule, start, rng_sample, subspace)
        if callback is not None:
            callback = in_units(callback, data.unit, data.scale)
        outcome = alternate(run, callback)
    warn_unless_converged(outcome.status, options.tol)
    result = result_of(outcome, data, options, few)
    return result if few is None else replace(result, Phi=result.Phi[rows])


def in_rows(rows: Indices, callback: Callback | None) -> Callback | None:
    """Return a callback that sees these rows of Φ."""
    if callback is None:
        return None
    return lambda state: callback(replace(state, Phi=state.Phi[rows]))
