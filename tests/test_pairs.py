"""Atoms in pairs: two rows of Φ share one power, so that W has half as many rows."""

import dataclasses
import itertools

import numpy as np
import pytest
from problems import HOLDING, SUPPORTED, Problem, divergence_named, frames_for, notes, serves
from tensor_problems import host

import phinmf
from phinmf.divergences import DIVERGENCES, Penalty
from phinmf.engines import sums
from phinmf.linalg.manifold import dft, givens, is_dft, orthogonality_error, random_orthogonal
from phinmf.result.masks import component_rows
from phinmf.solvers import SOLVERS

OWN = {"half"}
CASES = [
    (solver, divergence, engine)
    for solver, (divergence, engine) in itertools.product([*SOLVERS, None], SUPPORTED)
    if serves(engine, solver) and divergence not in OWN
]


def mean_power(X):
    """(M/2, N): mean over channels and over the rows 2p and 2p + 1."""
    C, M, N = X.shape
    return (X**2).reshape(C, M // 2, 2, N).mean(axis=(0, 2))


def pairs_problem(divergence, engine, C=2, M=6, N=40):
    """A random problem whose model has a row for each pair."""
    p = Problem(3, M=M, N=N, K=3, C=C, divergence=divergence, engine=engine)
    p.W = p.W[::2] / p.W[::2].sum(axis=0)
    return p


@pytest.mark.parametrize(("divergence", "engine"), SUPPORTED)
@pytest.mark.parametrize("C", [1, 2])
def test_engines_compute_the_sums_of_pairs(divergence, engine, C):
    p = pairs_problem(divergence, engine, C)
    X, eps, d = p.Phi @ p.Y, p.eps, p.divergence
    v_hat, rows = p.W @ p.H + eps, np.repeat(np.arange(p.M // 2), 2)

    def expected(X):
        v = mean_power(X)
        slopes = d.slope(v, v_hat, eps)[rows] * X
        G = sum(f @ x.T for f, x in zip(slopes, X, strict=True)) / C
        return 2 * d.value(v, v_hat, eps).sum(), G

    objective, T = p.objective, random_orthogonal(p.M, p.rng)
    for turned, given in ((X, None), (T @ X, p.give(T))):
        loss, G = objective.evaluate(given)
        assert loss == pytest.approx(expected(turned)[0], rel=1e-12)
        assert np.allclose(host(G), expected(turned)[1], rtol=1e-10, atol=1e-10)
    v, powers = mean_power(X), (X**2).mean(axis=0)
    assert np.allclose(host(objective.bound()), (d.bound(v, v_hat, eps) @ powers.T)[rows])
    second = sums.second_derivative(d, v, v_hat, eps, p.M)
    assert np.allclose(host(objective.curvature()), (second @ powers.T)[rows])

    found = p.engine.nmf_pass(p.give(p.W), Penalty(0.5), eps, 1.0)
    P, Q = d.nmf_split(v, v_hat, eps)
    H = p.H * (p.W.T @ P) / (p.W.T @ Q + 0.5)
    P, Q = d.nmf_split(v, p.W @ H + eps, eps)
    assert np.allclose(host(p.engine.activations()), H)
    assert np.allclose(host(found.numerator), P @ H.T)
    assert np.allclose(host(found.denominator), Q @ H.T)


@pytest.mark.parametrize("name", DIVERGENCES)
def test_derivatives_agree_with_finite_differences(name):
    """Of the loss along a rotation, and of the loss of one coefficient, the mean over its pair."""
    p = pairs_problem(name, "array", C=2)
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


@pytest.mark.parametrize(("solver", "divergence", "engine"), CASES)
def test_fit(solver, divergence, engine):
    Y = np.stack([notes(seed=s) for s in range(2)]).astype(np.float32)
    given, engine = frames_for(Y, engine)

    def fit():
        how = {"solver": solver, "divergence": divergence, "engine": engine, "init": "random"}
        r = phinmf.tl_nmf(given, 3, pairs=True, random_state=1, max_iter=6, tol=0, **how)
        return dataclasses.replace(r, Phi=host(r.Phi), W=host(r.W), H=host(r.H))

    r = fit()
    _, M, N = Y.shape
    assert r.pairs
    assert (r.Phi.shape, r.W.shape, r.H.shape) == ((M, M), (M // 2, 3), (3, N))
    assert r.Phi.dtype == r.W.dtype == r.H.dtype == np.float32
    assert orthogonality_error(r.Phi) < 1e-6
    assert np.allclose(r.W.sum(axis=0), 1, atol=1e-6)
    h, slack = r.history, 1e-5 * max(abs(r.history.start), Y[0].size)
    same_problem = (np.diff(h.floor) == 0) & (np.diff(h.frames) == 0)
    assert (np.diff(h.objective)[same_problem] <= slack).all()
    assert r.objective <= h.start + slack
    mean = (Y.astype(np.float64) ** 2).mean()
    d, v_hat = divergence_named(divergence), r.W.astype(np.float64) @ r.H + r.floor
    v = mean_power(r.Phi.astype(np.float64) @ Y)
    cost = d.value(v / mean, v_hat / mean, r.floor / mean).sum()
    cost += d.default_sparsity / mean * r.H.sum(dtype=np.float64)
    assert r.objective == pytest.approx(2 * cost, rel=1e-4, abs=slack)
    assert np.array_equal(r.H, fit().H)


def test_pairs_are_channels_of_half_as_many_atoms():
    """NMF of the power spectrum: the cosines and the sines of the DFT as two channels of it."""
    Y = notes(M=32)
    X = dft(32) @ Y
    how = {"solver": None, "sparsity": 3.0, "random_state": 0, "max_iter": 12, "tol": 0}
    pairs = phinmf.tl_nmf(Y, 3, pairs=True, **how)
    channels = phinmf.tl_nmf(np.stack([X[::2], X[1::2]]), 3, init=np.eye(16), **how)
    np.testing.assert_allclose(pairs.W, channels.W, rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(pairs.H, channels.H, rtol=1e-6, atol=1e-9)
    assert pairs.objective == pytest.approx(2 * channels.objective, rel=1e-9)


@pytest.mark.parametrize(
    ("divergence", "gamma"), [("itakura-saito", 0.5), ("kullback-leibler", 1), ("euclidean", 1)]
)
def test_nmf_of_the_power_spectrogram_is_that_of_scikit_learn(divergence, gamma):
    from sklearn.decomposition import non_negative_factorization

    rng = np.random.default_rng(2)
    Y = rng.standard_normal((32, 200)) * rng.exponential(size=200)
    V = np.abs(np.fft.rfft(Y, axis=0, norm="ortho"))[1:16] ** 2  # without the ends of the spectrum
    spectrum = np.vstack([(dft(32)[:2] @ Y) ** 2]).mean(axis=0, keepdims=True)
    V = np.vstack([spectrum, V])
    W = rng.exponential(size=(16, 3))
    W /= W.sum(axis=0)
    H = rng.exponential(size=(3, 200))
    method = phinmf.Method(anneal=False, n_iter_nmf=1, nmf_exponent=gamma)
    r = phinmf.tl_nmf(Y, 3, pairs=True, solver=None, divergence=divergence, sparsity=0, floor=0,
                      W=W, H=H, method=method, max_iter=20, tol=0)  # fmt: skip
    beta = divergence if divergence != "euclidean" else "frobenius"
    H_rows, W_rows, _ = non_negative_factorization(  # it updates the rows first
        V.T, H.T.copy(), W.T.copy(), n_components=3, init="custom", solver="mu", beta_loss=beta,
        max_iter=20, tol=0,
    )  # fmt: skip
    np.testing.assert_allclose(r.W @ r.H, (H_rows @ W_rows).T, rtol=1e-6)


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


def test_components_of_pairs_add_up_and_a_file_keeps_them(tmp_path):
    Y = np.stack([notes(seed=s) for s in range(2)])
    H = np.random.default_rng(0).random((3, Y.shape[2]))
    how = {"sparsity": 2, "smoothness": 0.5, "fixed": "H", "H": H, "max_iter": 5, "tol": 0}
    r = phinmf.tl_nmf(Y, 3, pairs=True, **how)
    parts = r.separate(Y)
    np.testing.assert_allclose(parts.sum(axis=0), Y, atol=1e-12)
    model = np.repeat(r.W, 2, axis=0)
    mask = (np.outer(model[:, 0], r.H[0]) + r.floor / 3) / (model @ r.H + r.floor)
    np.testing.assert_allclose(parts[0], r.Phi.T @ (mask * (r.Phi @ Y)), atol=1e-12)
    r.save(tmp_path / "result.npz")
    again = phinmf.Result.load(tmp_path / "result.npz")
    assert again.pairs
    assert np.array_equal(again.W, r.W)
    wrong = dataclasses.replace(r, W=r.W[:5])
    wrong.save(tmp_path / "wrong.npz")
    with pytest.raises(ValueError, match="5"):
        phinmf.Result.load(tmp_path / "wrong.npz")


def test_a_run_is_resumed_with_the_same_bits(tmp_path):
    how = {"pairs": True, "init": "dft", "random_state": 0, "tol": 0}
    whole = phinmf.tl_nmf(notes(), 3, max_iter=9, **how)
    path = tmp_path / "run.npz"
    first = {"checkpoint": phinmf.Checkpoint(path, every=0), "callback": lambda s: s.iteration == 6}
    phinmf.tl_nmf(notes(), 3, max_iter=9, **first, **how)
    resume = phinmf.Checkpoint(path, every=0, resume=True)
    resumed = phinmf.tl_nmf(notes(), 3, max_iter=9, checkpoint=resume, **how)
    assert np.array_equal(resumed.Phi, whole.Phi)
    with pytest.raises(ValueError, match="pairs"):
        phinmf.tl_nmf(notes(), 3, max_iter=9, checkpoint=resume, **how | {"pairs": False})


def test_estimator_encodes_predicts_and_learns_more(tmp_path):
    Y = notes()
    model = phinmf.TLNMF(3, pairs=True, max_iter=8, tol=0, random_state=0).fit(Y.T)
    assert model.components_.shape == (3, 16)
    power = model.inverse_transform(model.transform(Y.T))
    assert power.shape == Y.T.shape
    assert np.array_equal(power[:, ::2], power[:, 1::2])
    model.save(tmp_path / "model.npz")
    again = phinmf.TLNMF.load(tmp_path / "model.npz")
    assert again.score(Y.T) == model.score(Y.T)
    assert np.array_equal(again.transform(Y.T), model.transform(Y.T))
    partial = phinmf.TLNMF(3, pairs=True, block_size=16, max_iter=4, tol=0, random_state=0)
    for rows in np.array_split(Y.T, 5):
        partial.partial_fit(rows)
    assert partial.components_.shape == (3, 16)


def test_a_transform_alone_fits_a_model_of_pairs():
    Y, Phi = notes(), random_orthogonal(32, np.random.default_rng(0))
    V_hat = mean_power((Phi @ Y)[None])
    r = phinmf.learn_transform(Y, V_hat, pairs=True, max_iter=20, tol=0)
    assert r.objective < 0.5 * r.history.start
    assert r.pairs


def test_what_cannot_be_a_pair_is_refused():
    with pytest.raises(ValueError, match="odd"):
        phinmf.tl_nmf(notes()[:-1], 2, pairs=True)
    with pytest.raises(ValueError, match="9 rows"):
        phinmf.analysis.strongest_atoms(np.eye(9), np.ones((9, 4)), 2, pairs=True)
    with pytest.raises(ValueError, match="9 rows"):
        phinmf.analysis.atom_frequencies(np.eye(9), 8000, pairs=True)
    with pytest.raises(ValueError, match="16"):
        phinmf.tl_nmf(notes(), 2, pairs=True, W=np.ones((32, 2)))
    with pytest.raises(ValueError, match="16"):
        phinmf.learn_transform(notes(), notes() ** 2, pairs=True)


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
