"""Ways to update the transform.

To add one, subclass `Solver` in a new file and add the class to `SOLVERS`.
"""

from typing import Literal, TypeAlias

from phinmf.solvers.base import Descent, Solver
from phinmf.solvers.jacobi import Jacobi
from phinmf.solvers.lbfgs import LBFGS
from phinmf.solvers.projected_gradient import ProjectedGradient
from phinmf.solvers.quasi_newton import QuasiNewton

#: Names that the argument ``solver`` accepts.
SOLVERS: dict[str, type[Solver]] = {
    "lbfgs": LBFGS,
    "quasi-newton": QuasiNewton,
    "projected-gradient": ProjectedGradient,
    "jacobi": Jacobi,
}
SolverName: TypeAlias = Literal["lbfgs", "quasi-newton", "projected-gradient", "jacobi"]

__all__ = ["LBFGS", "SOLVERS", "Descent", "Jacobi", "ProjectedGradient", "QuasiNewton", "Solver"]
