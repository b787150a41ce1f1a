"""TLNMF with few atoms: restarts, warm starts, scikit-learn's tools, and files."""

import numpy as np
import pytest
from few_atoms import check_few, eigenvectors, sound
from sklearn.model_selection import GridSearchCV
from tensor_problems import host, tensor

from phinmf import TLNMF, tl_nmf

pytestmark = pytest.mark.usefixtures("always_coarse")

X = np.ascontiguousarray(sound()[0].T)
HOW = {"n_components": 2, "max_iter": 8, "tol": 0, "random_state": 0}
GIVE = pytest.mark.parametrize("give", [np.asarray, tensor])


@GIVE
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("n_jobs", [1, 3])
def test_restarts(give, dtype, n_jobs):
    how = HOW | {"n_atoms": 7, "init": "random", "n_init": 3}
    model = TLNMF(n_jobs=n_jobs, **how).fit(give(X.astype(dtype)))
    assert len(model.objectives_) == 3
    assert len(set(model.objectives_)) == 3
    assert model.n_atoms_ == 7
    _, powers = eigenvectors(X.T)
    assert model.energy_ == pytest.approx(powers[:7].sum() / powers.sum(), rel=1e-5)
    Phi = host(model.transform_matrix_).astype(np.float64)
    np.testing.assert_allclose(Phi @ Phi.T, np.eye(24), atol=1e-5)
    alone = TLNMF(**how).fit(give(X.astype(dtype)))
    assert np.array_equal(host(alone.components_), host(model.components_))


@GIVE
def test_the_attributes_are_those_of_the_function(give):
    model = TLNMF(n_atoms=0.999, **HOW).fit(give(X))
    r = tl_nmf(give(X.T), n_atoms=0.999, **HOW)
    assert (model.n_atoms_, model.energy_) == (r.n_atoms, r.energy)
    assert np.array_equal(host(model.transform_matrix_), host(r.Phi))
    check_few(r, X.T, r.n_atoms, {})


@GIVE
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_a_warm_start_continues_with_the_same_atoms(give, dtype):
    frames = give(X.astype(dtype))
    model = TLNMF(n_atoms=7, warm_start=True, **HOW).fit(frames)
    before = model.objective_
    for _ in range(3):
        model.fit(frames)
        assert (model.history_.atoms == 7).all()
        assert model.history_.start == pytest.approx(before, rel=1e-2)
        assert model.objective_ <= before * (1 + 1e-3)
        before = model.objective_


def test_a_warm_start_may_change_the_number_of_atoms():
    model = TLNMF(n_atoms=7, warm_start=True, **HOW).fit(X)
    for n_atoms, P in ((12, 12), (4, 4), (None, 24)):
        model.set_params(n_atoms=n_atoms).fit(X)
        assert model.n_atoms_ == P
        assert set(model.history_.atoms) == {P}
        assert model.objective_ < model.history_.start * (1 + 1e-9)


def test_a_grid_search_over_n_atoms():
    search = GridSearchCV(TLNMF(**HOW), {"n_atoms": [3, 0.99, None]}, cv=2)
    search.fit(X)
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()
    assert search.best_estimator_.n_atoms == search.best_params_["n_atoms"]


@pytest.mark.parametrize("n_atoms", [5, 0.99, None])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_files(tmp_path, n_atoms, dtype):
    path = tmp_path / "model.npz"
    model = TLNMF(n_atoms=n_atoms, **HOW).fit(X.astype(dtype))
    model.save(path)
    again = TLNMF.load(path)
    assert again.n_atoms == n_atoms
    assert (again.n_atoms_, again.energy_) == (model.n_atoms_, model.energy_)
    assert again.history_.atoms.tolist() == model.history_.atoms.tolist()
    assert np.array_equal(again.transform(X[:9]), model.transform(X[:9]))
    assert np.array_equal(
        again.inverse_transform(again.transform(X)), model.inverse_transform(model.transform(X))
    )


@GIVE
def test_transform_and_score(give):
    model = TLNMF(n_atoms=5, **HOW)
    found = model.fit_transform(give(X))
    assert np.array_equal(host(found), host(model.transform(give(X))))
    assert np.isfinite(model.score(give(X)))
    assert (
        host(model.atom_energies_)[:5].sum() / host(model.atom_energies_).sum()
    ) == pytest.approx(model.energy_, rel=1e-6)
