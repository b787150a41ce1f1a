"""From the outcome of a run to a result, in the units of the data."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from phinmf import arrays
from phinmf.algorithm.options import Options
from phinmf.algorithm.run import Outcome
from phinmf.engines.base import links_among
from phinmf.fit.data import Data
from phinmf.fit.encode import encode
from phinmf.fit.options import FitOptions
from phinmf.result import Result, Status
from phinmf.warn import warn, warns_of_early_stops


def result_of(outcome: Outcome, options: Options, scale: float) -> Result:
    """Return the result in the units of the data; warn if it did not converge."""
    last, divergence, penalty, history, status = outcome
    asked_for = (Status.CALLBACK, Status.INTERRUPTED)
    unfinished = options.tol > 0 and not status.converged and status not in asked_for
    if status.failed or (unfinished and warns_of_early_stops()):
        message = f"not converged to tol={options.tol:g}; {status.value}"
        warn(message, ConvergenceWarning)
    unit = float(arrays.dtype_of(last.H).type(scale) ** 2)
    return Result(
        Phi=last.Phi,
        W=last.W,
        H=scaled(last.H, unit),
        objective=divergence + penalty,
        divergence=divergence,
        penalty=penalty,
        history=history,
        status=status,
        floor=options.floor * scale**2,
        scale=scale,
        n_atoms=len(last.Phi),
    )


def scaled(H: Any, unit: float) -> Any:
    """Return activations in the units of the data; raise if they cannot be held there."""
    dtype = arrays.dtype_of(H)
    peak = 0.0 if 0 in H.shape else float(arrays.namespace(H).max(H))
    if peak * unit > np.finfo(dtype).max:
        raise ValueError(
            f"the activations reach {peak:.3g} times the mean power of Y, which leaves the range of"
            f" {dtype}: give W and H whose product is nearer to the power of Y, or scale Y"
        )
    return H * unit


def with_left_out_frames(result: Result, data: Data, options: FitOptions) -> Result:
    """The result with activations of all frames: those that were left out are encoded."""
    assert result.W is not None
    assert result.H is not None
    assert not isinstance(data.used, slice)
    N = data.frames.shape[2]
    others = np.setdiff1d(np.arange(N), data.used)
    H = arrays.zeros((len(result.H), N), result.H)
    H[:, arrays.indices(data.used, H)] = result.H
    found = encode(
        arrays.take_frames(data.frames, others),
        result.Phi,
        result.W,
        scale=result.scale,
        penalty=options.algorithm.penalty,
        floor=options.algorithm.floor,
        divergence=options.divergence,
        links=links_among(others, data.frame_links),
        engine=options.engine,
        n_threads=options.n_threads,
    )
    H[:, arrays.indices(others, H)] = found.H
    return replace(result, H=H)
