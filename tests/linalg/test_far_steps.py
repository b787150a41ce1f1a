"""Where the curvature is nearly 0 a direction can be 1e20 radians long: steps are limited."""

import numpy as np
import pytest

import phinmf
from phinmf.linalg.manifold import orthogonality_error
from phinmf.solvers.base import FARTHEST, curve, within_reach


@pytest.mark.parametrize("floor", [1e-11, 1e-8])
def test_a_click_in_single_precision_keeps_the_transform_orthogonal(floor):
    Y = np.zeros((11, 3), np.float32)
    Y[5, 1] = 1e-4
    errors = []
    how = {
        "sparsity": 0,
        "floor": floor,
        "max_iter": 6,
        "method": phinmf.Method(n_iter_nmf=0),
        "random_state": 490,
    }
    r = phinmf.tl_nmf(
        Y, 3, tol=0, **how, callback=lambda at: errors.append(orthogonality_error(at.Phi))
    )
    assert orthogonality_error(r.Phi) < 1e-6
    assert max(errors) < 1e-4


def test_no_trial_goes_too_far():
    E = np.array([[0, 1e20], [-1e20, 0]])
    near = within_reach(E)
    assert np.array_equal(near, -near.T)
    assert np.abs(near).max() == FARTHEST
    assert curve(None, near, None)(2.0).loss == np.inf
