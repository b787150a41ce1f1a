"""Names, objects and arrays that say where Φ starts, and the Karhunen–Loève transform."""

import numpy as np
import pytest
from problems import notes
from tensor_problems import KINDS, host

import phinmf
from phinmf import TLNMF, tl_nmf
from phinmf.analysis import karhunen_loeve
from phinmf.inits import (
    DCT,
    KLT,
    ArrayInit,
    Frames,
    JointDiagonalisation,
    RandomOrthogonal,
    init_of,
)
from phinmf.inits.covariance import covariance
from phinmf.linalg.manifold import dct, random_orthogonal

FRAMES = Frames(np.ones((1, 8, 3)))


def test_names_objects_and_arrays(rng):
    inits = [DCT(), RandomOrthogonal(), KLT(), JointDiagonalisation()]
    assert [init_of("init", name) for name in ("dct", "random", "klt", "jd")] == inits
    assert init_of("init", KLT()) == KLT()
    assert repr(KLT()) == "KLT()"
    Phi = random_orthogonal(8, rng)
    for array in (Phi.tolist(), *(give(Phi) for give in KINDS)):
        start = init_of("init", array).start(FRAMES, rng, np.float32)
        assert np.array_equal(host(start), Phi.astype(np.float32))
    start = ArrayInit(Phi).start(FRAMES, rng, np.float64)
    start[0] = 0
    assert Phi[0].any()  # it was a copy
    assert np.array_equal(DCT().start(FRAMES, rng, np.float32), dct(8, np.float32))
    drawn = RandomOrthogonal().start(FRAMES, np.random.default_rng(4), np.float64)
    assert np.array_equal(drawn, random_orthogonal(8, np.random.default_rng(4)))


@pytest.mark.parametrize(
    ("init", "message"),
    [
        (None, "init is None, which is not known: choose one of 'dct', 'random', 'klt', 'jd'"),
        ("fourier", "init is 'fourier', which is not known: choose one of 'dct', 'random', 'klt'"),
        (np.eye(3), r"init has shape \(3, 3\), but a transform of frames of length 8 has shape"),
        (np.ones((3, 8)), r"init has shape \(3, 8\), but .* length M has shape \(M, M\)"),
        (np.ones(8), r"init has shape \(8,\), but .* length M has shape \(M, M\)"),
        (2 * np.eye(8), r"init is not orthogonal: \|ΦΦᵀ - I\| reaches 3, but at most 1e-4"),
        (np.full((8, 8), np.nan), "init has 64 NaN"),
    ],
)
def test_what_cannot_be_a_start_is_refused(init, message):
    with pytest.raises(ValueError, match=message):
        tl_nmf(notes(8, 400), 2, init=init)


def test_a_model_file_keeps_the_name(tmp_path):
    model = TLNMF(2, init="klt", max_iter=2, tol=0, random_state=0).fit(notes(8, 400).T)
    model.save(tmp_path / "m.npz")
    assert TLNMF.load(tmp_path / "m.npz").init == "klt"


def test_rows_diagonalise_the_weighted_covariance_strongest_first(rng):
    Y, weights = rng.standard_normal((2, 6, 50)), rng.random(50) + 0.1
    Y *= np.arange(1, 7)[::-1, None]
    expected = np.einsum("cin,cjn,n->ij", Y, Y, weights) / 2
    np.testing.assert_allclose(covariance(Y, weights), expected, rtol=1e-12)
    Phi = KLT().start(Frames(Y, weights), rng, np.float64)
    energies = Phi @ expected @ Phi.T
    np.testing.assert_allclose(energies, np.diag(np.diag(energies)), atol=1e-10 * energies.max())
    assert (np.diff(np.diag(energies)) < 0).all()
    assert np.array_equal(karhunen_loeve(Y), KLT().start(Frames(Y), rng, np.float64))


@pytest.mark.parametrize("M", [8, 33])
def test_the_sign_does_not_depend_on_rounding(M, rng):
    """Eigenvectors of a stationary signal are symmetric: two entries are the largest."""
    lags = np.abs(np.subtract.outer(np.arange(M), np.arange(M)))
    Y = np.linalg.cholesky(0.9**lags)
    Phi = KLT().start(Frames(Y[None]), rng, np.float64)
    sizes = np.abs(Phi)
    largest = np.isclose(sizes, sizes.max(axis=1, keepdims=True), rtol=1e-9)
    assert (largest.sum(axis=1) == 2).any()
    for _ in range(5):  # the same covariance, rounded otherwise
        turned = Frames((Y @ random_orthogonal(M, rng))[None])
        np.testing.assert_allclose(KLT().start(turned, rng, np.float64), Phi, atol=1e-9)


@pytest.mark.parametrize("init", ["klt", "jd"])
def test_a_fit_passes_its_weights_to_the_start(init):
    """Frames of weight 0 do not count. A small fit sorts its frames; the start is in time order."""
    Y = notes()
    Y = np.concatenate([Y, Y[:, :7]], axis=1)
    weights = 1.0 + np.arange(Y.shape[1]) % 2
    weights[::5] = 0
    how = {"init": init, "max_iter": 0, "tol": 0, "random_state": 0}
    Phi = tl_nmf(Y, 2, sample_weight=weights, **how).Phi
    repeated = np.repeat(Y, weights.astype(int), axis=1)
    np.testing.assert_allclose(tl_nmf(repeated, 2, **how).Phi, Phi, atol=1e-8)
    frames = Frames(Y[None, :, weights > 0], weights[weights > 0])
    start = phinmf.inits.INITS[init]().start(frames, None, np.float64)
    np.testing.assert_allclose(start, Phi, atol=1e-8)
    assert not np.allclose(Phi, tl_nmf(Y, 2, **how).Phi, atol=1e-3)


@pytest.mark.full
@pytest.mark.parametrize("init", ["klt", "jd"])
def test_on_dask_frames(init):
    da = pytest.importorskip("dask.array")
    Y = notes(n=20000)
    how = {"init": init, "max_iter": 2, "tol": 0, "random_state": 0}
    in_memory = tl_nmf(Y, 2, **how)
    for chunk in (300, 1000):
        lazy = tl_nmf(da.from_array(Y, chunks=(-1, chunk)), 2, **how)
        assert np.array_equal(lazy.Phi, in_memory.Phi)
        assert lazy.objective == in_memory.objective
