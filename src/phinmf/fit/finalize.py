"""From the outcome of a run to a result, in the units of the data."""

from __future__ import annotations

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from phinmf import arrays
from phinmf._types import Array
from phinmf.algorithm.options import Options
from phinmf.algorithm.run import Outcome
from phinmf.engines.base import links_among
from phinmf.fit.data import Data
from phinmf.fit.encode import Learned, encode
from phinmf.fit.few_atoms import FewAtoms
from phinmf.fit.weights import weighted
from phinmf.result import Result, Status, Terms
from phinmf.warn import warn, warns_of_early_stops


def result_of(
    outcome: Outcome,
    data: Data,
    options: Options,
    few_atoms: FewAtoms | None,
    W: Array | None = None,
    H: Array | None = None,
) -> Result:
    """Return the result of a fit, whose W and H are those of the caller's frames.

    The sums are in the unit of the weights that the caller passed.
    """
    iterate, divergence, penalty, history, status = outcome
    unit = data.unit
    return Result(
        Phi=iterate.Phi,
        W=W,
        H=H,
        objective=unit * (divergence + penalty),
        divergence=unit * divergence,
        penalty=unit * penalty,
        history=history if unit == 1 else weighted(history, unit),
        status=status,
        floor=options.floor * data.scale**2,
        scale=data.scale,
        n_atoms=len(iterate.Phi) if few_atoms is None else few_atoms.number,
        energy=1.0 if few_atoms is None else few_atoms.energy,
        terms=None if W is None else Terms(options.divergence, options.penalty),
    )


def warn_unless_converged(status: Status, tol: float) -> None:
    """Warn if a run failed, or ended before it converged and nobody asked for that."""
    by_request = (Status.CALLBACK, Status.INTERRUPTED)
    unfinished = tol > 0 and not status.converged and status not in by_request
    if status.failed or (unfinished and warns_of_early_stops()):
        warn(f"not converged to tol={tol:g}; {status.value}", ConvergenceWarning)


def in_units_of_data(H: Array, scale: float) -> Array:
    """Return activations for frames of root mean square `scale`; raise if these are too large."""
    dtype = arrays.dtype_of(H)
    unit = float(dtype.type(scale) ** 2)
    peak = 0.0 if 0 in H.shape else float(arrays.namespace(H).max(H))
    if peak * unit > np.finfo(dtype).max:
        raise ValueError(
            f"the activations reach {peak:.3g} times the mean power of Y, which leaves the range of"
            f" {dtype}: give W and H whose product is nearer to the power of Y, or scale Y"
        )
    return H * unit


def with_left_out_frames(Phi: Array, W: Array, H: Array, data: Data, options: Options) -> Array:
    """Return activations (K, N) of all frames; those of weight 0, which H lacks, are encoded."""
    N = data.frames.shape[2]
    frames = np.arange(N)
    others = np.setdiff1d(frames, frames[data.used])
    learned = Learned(
        Phi, W, data.scale, options.floor, options.divergence, options.penalty, options.engine,
        options.n_threads,
    )  # fmt: skip
    links = links_among(others, np.ones(N, bool))
    encoded = encode(arrays.take_frames(data.frames, others), learned, links=links)
    result = arrays.zeros((len(H), N), H)
    result[:, arrays.indices(frames[data.used], H)] = H
    result[:, arrays.indices(others, H)] = encoded.H
    return result
