"""Choosing the number of components by prediction."""

import numpy as np
import pytest
from matplotlib.figure import Figure
from problems import notes

from phinmf.analysis import RankPath, rank_path
from phinmf.linalg.manifold import random_orthogonal
from phinmf.report import plots


def test_the_rank_of_synthetic_frames_is_found():
    rng = np.random.default_rng(0)
    M, N, K = 100, 1200, 4
    W = rng.exponential(size=(M, K)) ** 3
    H = rng.exponential(size=(K, N)) * (rng.random((K, N)) < 0.5)
    X = rng.standard_normal((M, N)) * np.sqrt(W / W.sum(axis=0) @ (M * H) + 1e-4)
    Y = random_orthogonal(M, rng).T @ X
    how = {"divergence": "gaussian", "sparsity": 0, "max_iter": 60, "tol": 0}
    path = rank_path(Y, [2, 4, 6], random_state=0, **how)
    assert path.best == 4
    assert path.held_out[1] < min(path.held_out[0], path.held_out[2]) - 0.1
    again = rank_path(Y, [2, 4, 6], random_state=0, **how)
    assert np.array_equal(path.held_out, again.held_out)


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
