"""From the outcome of a run to a result, in the units of the data."""

from __future__ import annotations

from sklearn.exceptions import ConvergenceWarning

from phinmf import arrays
from phinmf.algorithm.alternate import Outcome
from phinmf.algorithm.options import Options
from phinmf.result import Result, Status
from phinmf.warn import warn


def result_of(outcome: Outcome, options: Options, scale: float) -> Result:
    """Return the result in the units of the data; warn if the run did not converge."""
    last, history, status, divergence, penalty = outcome
    asked_for = (Status.CALLBACK, Status.INTERRUPTED)
    if status.failed or (options.tol > 0 and not status.converged and status not in asked_for):
        message = f"not converged to tol={options.tol:g}; {status.value}"
        warn(message, ConvergenceWarning)
    unit = float(arrays.dtype_of(last.H).type(scale) ** 2)
    return Result(
        Phi=last.Phi,
        W=last.W,
        H=last.H * unit,
        objective=divergence + penalty,
        divergence=divergence,
        penalty=penalty,
        history=history,
        status=status,
        floor=options.floor * scale**2,
        scale=scale,
    )
