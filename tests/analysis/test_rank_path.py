"""Choosing the number of components by prediction."""

import numpy as np
import pytest
from matplotlib.figure import Figure
from problems import LogShare, known_components, notes

from phinmf.analysis import RankPath, rank_path
from phinmf.divergences import Gaussian
from phinmf.report import plots


@pytest.mark.full
def test_the_rank_of_synthetic_frames_is_found():
    Y = known_components(100, 1200, 4, seed=0)
    how = {"divergence": "gaussian", "sparsity": 0, "max_iter": 60, "tol": 0}
    path = rank_path(Y, [2, 4, 6], random_state=0, **how)
    assert path.best == 4
    assert path.held_out[1] < min(path.held_out[0], path.held_out[2]) - 0.1
    again = rank_path(Y, [2, 4, 6], random_state=0, **how)
    assert np.array_equal(path.held_out, again.held_out)


def test_a_path_with_a_divergence_of_ones_own():
    """Objects are passed on to the fits, and to the activations of the held-out frames."""
    how = {"max_iter": 6, "tol": 0, "random_state": 0, "sparsity": 3.0}
    named = rank_path(notes(), [1, 2], divergence="gaussian", **how)
    by_object = rank_path(notes(), [1, 2], divergence=Gaussian(), **how)
    assert np.array_equal(named.held_out, by_object.held_out)
    own = rank_path(notes(), [1, 2], divergence=LogShare(0.5), **how)
    assert np.isfinite(own.held_out).all()
    assert not np.array_equal(own.held_out, by_object.held_out)
    less = rank_path(notes(), [1, 2], divergence=LogShare(0.5), **how | {"sparsity": 0.0})
    assert not np.array_equal(own.held_out, less.held_out)


def test_a_rank_path_can_be_plotted():
    ax = Figure().subplots()
    plots.plot_rank_path(ax, RankPath(np.array([1, 2, 3]), np.zeros(3), np.array([3.0, 1.0, 2.0])))
    assert ax.get_title() == "best: 2"


def test_bad_input_is_refused():
    with pytest.raises(ValueError, match="one frame to hold out"):
        rank_path(notes(), [1], share=1.0)
    with pytest.raises(ValueError, match="ranks is 0, but a whole number ≥ 1"):
        rank_path(notes(), [0])
    with pytest.raises(ValueError, match="at least one rank"):
        rank_path(notes(), [])
