"""Atoms in pairs: two rows of Φ share one power, so that W has half as many rows."""

import numpy as np
import pytest
from problems import HOLDING, Problem, frames_for, mean_power, notes
from tensor_problems import host

import phinmf
from phinmf.divergences import DIVERGENCES
from phinmf.engines import sums
from phinmf.linalg.manifold import dft, givens, is_dft, orthogonality_error, random_orthogonal
from phinmf.result.masks import component_rows


@pytest.mark.parametrize("name", DIVERGENCES)
def test_derivatives_agree_with_finite_differences(name):
    """Of the loss along a rotation, and of the loss of one coefficient, the mean over its pair."""
    p = Problem(3, M=6, N=40, C=2, divergence=name, pairs=True)
    objective, E, step = p.objective, p.antisymmetric(), 1e-5
    curve = [objective.evaluate(np.eye(p.M) + s * E + (s * E) @ (s * E) / 2) for s in (step, -step)]
    numeric = (curve[0].loss - curve[1].loss) / (2 * step)
    assert (objective.evaluate().G * E).sum() == pytest.approx(numeric, rel=1e-5)

    d, eps, v_hat = p.divergence, 1e-2, np.geomspace(0.1, 10, 7)
    x = p.rng.standard_normal((2, 7))

    def of_pair(a, b):
        return 2 * d.value((a * a + b * b) / 2, v_hat, eps)

    h = 1e-3
    centre = of_pair(*x)
    for_a = (of_pair(x[0] + h, x[1]) - 2 * centre + of_pair(x[0] - h, x[1])) / h**2
    for_b = (of_pair(x[0], x[1] + h) - 2 * centre + of_pair(x[0], x[1] - h)) / h**2
    v = (x**2).mean(axis=0)
    exact = sums.second_derivative(d, v[:, None], v_hat[:, None], eps, 14)[:, 0]
    np.testing.assert_allclose(exact, (for_a + for_b) / 2, rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("init", ["dft", "dct", "klt", "jd", "random", "matrix"])
def test_a_rotation_inside_a_pair_changes_nothing(init):
    Y = notes()
    start = random_orthogonal(32, np.random.default_rng(1)) if init == "matrix" else init
    how = {"pairs": True, "max_iter": 0, "tol": 0, "random_state": 0}
    r = phinmf.tl_nmf(Y, 3, init=start, **how)
    turn = givens(32, np.arange(0, 32, 2), np.arange(1, 32, 2), np.linspace(0, 3, 16))
    turned = phinmf.tl_nmf(Y, 3, init=turn @ r.Phi, **how)
    assert turned.objective == pytest.approx(r.objective, rel=1e-9)


@pytest.mark.parametrize("engine", HOLDING)
def test_few_atoms_are_whole_pairs(engine):
    Y, engine = frames_for(notes(), engine)
    for n_atoms, number in ((7, 8), (12, 12), (0.9, None)):
        r = phinmf.tl_nmf(Y, 2, pairs=True, n_atoms=n_atoms, engine=engine, max_iter=8, tol=0,
                          random_state=0)  # fmt: skip
        assert r.n_atoms % 2 == 0
        assert number in (None, r.n_atoms)
        assert r.W.shape == (16, 2)
        assert orthogonality_error(host(r.Phi)) < 1e-12


def test_components_of_pairs_add_up():
    Y = np.stack([notes(seed=s) for s in range(2)])
    H = np.random.default_rng(0).random((3, Y.shape[2]))
    how = {"sparsity": 2, "smoothness": 0.5, "fixed": "H", "H": H, "max_iter": 5, "tol": 0}
    r = phinmf.tl_nmf(Y, 3, pairs=True, **how)
    parts = r.separate(Y)
    np.testing.assert_allclose(parts.sum(axis=0), Y, atol=1e-12)
    model = np.repeat(r.W, 2, axis=0)
    mask = (np.outer(model[:, 0], r.H[0]) + r.floor / 3) / (model @ r.H + r.floor)
    np.testing.assert_allclose(parts[0], r.Phi.T @ (mask * (r.Phi @ Y)), atol=1e-12)


def test_the_estimator_models_the_power_of_both_atoms():
    Y = notes()
    model = phinmf.TLNMF(3, pairs=True, max_iter=8, tol=0, random_state=0).fit(Y.T)
    assert model.components_.shape == (3, 16)
    power = model.inverse_transform(model.transform(Y.T))
    assert power.shape == Y.T.shape
    assert np.array_equal(power[:, ::2], power[:, 1::2])


def test_a_transform_alone_fits_a_model_of_pairs():
    Y, Phi = notes(), random_orthogonal(32, np.random.default_rng(0))
    V_hat = mean_power((Phi @ Y)[None], pairs=True)
    r = phinmf.learn_transform(Y, V_hat, pairs=True, max_iter=20, tol=0)
    assert r.objective < 0.5 * r.history.start
    assert r.pairs


@pytest.mark.parametrize(
    ("call", "number"),
    [
        (lambda Y: phinmf.tl_nmf(Y[:-1], 2, pairs=True), "odd"),
        (lambda Y: phinmf.analysis.strongest_atoms(np.eye(9), Y[:9], 2, pairs=True), "9 rows"),
        (lambda Y: phinmf.analysis.atom_frequencies(np.eye(9), 8000, pairs=True), "9 rows"),
        (lambda Y: phinmf.tl_nmf(Y, 2, pairs=True, W=np.ones((32, 2))), "16"),
        (lambda Y: phinmf.learn_transform(Y, Y**2, pairs=True), "16"),
    ],
)
def test_what_cannot_be_a_pair_is_refused(call, number):
    with pytest.raises(ValueError, match=number):
        call(notes())


def test_analysis_ranks_and_names_whole_pairs():
    Y, Phi = notes(), dft(32)
    atoms = phinmf.analysis.strongest_atoms(Phi, Y, 3, pairs=True)
    energies = (Phi @ Y) ** 2
    first = int(energies.reshape(16, 2, -1).sum(axis=(1, 2)).argmax())
    assert np.array_equal(atoms[:2], Phi[2 * first : 2 * first + 2])
    peaks = phinmf.analysis.atom_frequencies(Phi[2:8], 3200, pairs=True).peak
    np.testing.assert_allclose(peaks, [100, 200, 300], atol=20)


@pytest.mark.parametrize("M", [6, 32])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_masks_of_bins_are_those_of_the_real_dft(M, dtype):
    """Fast transforms and products of matrices give the same components."""
    rng = np.random.default_rng(0)
    Y, W, H = rng.standard_normal((2, 9, M)), rng.random((M // 2, 3)), rng.random((3, 9))
    Y, W, H, Phi = (a.astype(dtype) for a in (Y, W, H, dft(M)))
    assert is_dft(Phi)
    assert not is_dft(Phi[::-1])
    for fast, slow in zip(
        component_rows(Y, Phi, W, H, 0.1, True), component_rows(Y, Phi, W, H, 0.1, False),
        strict=True,
    ):  # fmt: skip
        assert fast.dtype == dtype
        np.testing.assert_allclose(fast, slow, atol=1e-6 if dtype == np.float32 else 1e-14)
