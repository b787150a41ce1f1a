"""The score of TLNMF chooses between models: more components or less sparsity do not win always."""

import numpy as np
import pytest
from problems import known_components, notes
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV

from phinmf import TLNMF, Method
from phinmf.analysis import held_out, split_frames

QUICK = {"n_components": 3, "max_iter": 8, "tol": 0, "random_state": 0}
#: The score, and what it was before: minus the divergence of frames encoded with all coefficients.
SCORING = {
    "score": lambda model, X, y=None: model.score(X),
    "divergence": lambda model, X, y=None: -held_out(model, X.T).divergence,
}


def chosen(model, grid, X):
    """The value of the one parameter in a grid that each measure chooses."""
    cv = [split_frames(len(X), 0.3, gap=0, random_state=seed) for seed in range(2)]
    search = GridSearchCV(model, grid, cv=cv, scoring=SCORING, refit=False).fit(X)
    (values,) = grid.values()
    means = {name: search.cv_results_[f"mean_test_{name}"] for name in SCORING}
    return {name: values[int(np.argmax(mean))] for name, mean in means.items()}


@pytest.mark.full
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_a_grid_search_finds_the_number_of_components():
    """Of frames in an unknown transform; the divergence asks for as many as there are to try."""
    X = known_components(64, 1000, 4, seed=0, noise=1e-3).T
    how = {"divergence": "gaussian", "n_init": 2, "max_iter": 60, "random_state": 0}
    found = chosen(TLNMF(**how), {"n_components": [2, 3, 4, 5, 8]}, X)
    assert found == {"score": 4, "divergence": 8}


def few_at_a_time(M, N, K, active, seed):
    """Frames with a few active components in each, in the transform in which they are given."""
    rng = np.random.default_rng(seed)
    W = rng.exponential(size=(M, K)) ** 3
    on = rng.random((K, N)).argsort(axis=0) < active
    V = W / W.sum(axis=0) @ (M * rng.exponential(size=(K, N)) * on)
    return (rng.standard_normal((M, N)) * np.sqrt(V + 1e-3)).T


@pytest.mark.full
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize(
    ("K", "active", "best"), [(12, 2, {3.0, 10.0, 30.0}), (8, 8, {0.0, 0.3, 1.0})]
)
def test_a_grid_search_finds_how_sparse_activations_are(K, active, best):
    """Sparsity helps if few components are active in a frame, and harms if all are."""
    X = few_at_a_time(64, 1000, K, active, seed=0)
    how = {"init": np.eye(64), "divergence": "gaussian", "random_state": 0}
    model = TLNMF(K, solver=None, method=Method(anneal=False), **how)
    found = chosen(model, {"sparsity": [0.0, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0, 300.0]}, X)
    assert found["score"] in best
    assert found["divergence"] == 0.0


def test_the_score_is_minus_the_held_out_likelihood_of_the_same_parts():
    X = notes().T
    model = TLNMF(**QUICK).fit(X)
    assert model.score(X) == -held_out(model, X.T).nll == model.score(X, None)
    assert model.score(X[::-1]) == pytest.approx(model.score(X), rel=1e-6)
    assert model.score(0 * X[:3]) == 0
    n = np.arange(len(X)) % 3
    repeated = model.score(np.repeat(X, n, axis=0))
    assert model.score(X, sample_weight=0.1 * n) == pytest.approx(repeated, rel=1e-9)
    with pytest.raises(NotFittedError):
        TLNMF().score(X)
