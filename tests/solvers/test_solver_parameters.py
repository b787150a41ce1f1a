"""Solvers check their parameters when they are made."""

import pytest

from phinmf.solvers import LBFGS, Jacobi, QuasiNewton


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: LBFGS(metric="nope"), "metric is 'nope', which is not known"),
        (lambda: LBFGS(metric_every=0), "metric_every is 0, but a whole number ≥ 1"),
        (lambda: LBFGS(memory_size=-1), "memory_size is -1, but a whole number ≥ 0"),
        (lambda: LBFGS(retraction="x"), "retraction is 'x', which is not known"),
        (lambda: QuasiNewton(metric="x"), "metric is 'x', which is not known"),
        (lambda: QuasiNewton(retraction=None), "retraction is None, which is not known"),
        (lambda: Jacobi(n_refine=0), "n_refine is 0, but a whole number ≥ 1"),
    ],
)
def test_a_wrong_parameter_is_refused_in_a_sentence(make, said):
    with pytest.raises(ValueError, match=said):
        make()
