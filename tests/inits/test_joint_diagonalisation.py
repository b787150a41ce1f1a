"""Joint diagonalisation of the covariances of stretches as a start."""

import numpy as np
import pytest
from problems import notes
from tensor_problems import host, tensor

from phinmf.inits import KLT, Frames, JointDiagonalisation
from phinmf.inits.joint_diagonalisation import Diagonality, stretch_covariances
from phinmf.linalg.manifold import Exponential, orthogonality_error, random_orthogonal, skew


def start(Y, weights=None, dtype=np.float64, **how):
    """The start for frames (C, M, N), on the host."""
    frames = Frames(Y, weights)
    return host(JointDiagonalisation(**how).start(frames, np.random.default_rng(0), dtype))


def covariances_of(Y, S, weights=None):
    """(S, M, M)."""
    return np.stack(stretch_covariances(Frames(Y, weights), S))


def criterion(Phi, C, floor):
    """Σ_s [Σ_i log (ΦC_sΦᵀ)_ii - log det C_s], the floor added to every C_s."""
    C = C + floor * np.eye(len(Phi))
    rows = np.log(np.einsum("im,smk,ik->si", Phi, C, Phi)).sum()
    return rows - np.linalg.slogdet(C)[1].sum()


def made_of_atoms(Phi, powers, n, rng):
    """Frames whose covariance in stretch s, of n frames, is exactly Φᵀ diag(powers_s) Φ."""
    M = len(Phi)
    stretches = []
    for p in powers:
        X = np.linalg.qr(rng.standard_normal((n, M)))[0].T * np.sqrt(n)  # uncorrelated rows
        stretches.append(Phi.T @ (np.sqrt(p)[:, None] * X))
    return np.concatenate(stretches, axis=1)[None]


def uncertain_powers(S, M, rng):
    """Powers of M atoms in S stretches, of equal sums: the eigenvectors of the total are any."""
    powers = rng.exponential(size=(S, M)) ** 2 + 0.05
    for _ in range(2000):
        powers /= powers.sum(axis=1, keepdims=True)
        powers /= powers.sum(axis=0)
    return powers * S


@pytest.mark.parametrize("give", [np.asarray, tensor])
@pytest.mark.parametrize("seed", range(4))
def test_the_atoms_of_diagonalisable_covariances(seed, give):
    """The Karhunen–Loève transform cannot have them: all eigenvalues of the total are equal."""
    rng = np.random.default_rng(seed)
    M, S, floor = 12, 8, 1e-4
    Phi = random_orthogonal(M, rng)
    Y = made_of_atoms(Phi, uncertain_powers(S, M, rng), 40, rng)
    C = covariances_of(Y, S)
    learned = start(give(Y), floor=floor, n_iter=200)
    assert criterion(Phi, C, floor) == pytest.approx(0, abs=1e-9)
    assert criterion(learned, C, floor) == pytest.approx(0, abs=1e-9)
    assert criterion(KLT().start(Frames(Y), rng, np.float64), C, floor) > 1
    overlap = np.abs(learned @ Phi.T)
    np.testing.assert_allclose(np.sort(overlap, axis=1)[:, -1], 1, atol=1e-9)
    assert sorted(overlap.argmax(axis=1)) == list(range(M))


@pytest.mark.parametrize("give", [np.asarray, tensor])
def test_gradient_and_curvature_by_finite_differences(give, rng):
    M, S, eps, h = 6, 5, 0.03, 1e-3
    C = covariances_of(rng.standard_normal((2, M, 40)), S)
    objective = Diagonality(give(C), eps)
    objective.move(give(random_orthogonal(M, rng)))
    loss, G = objective.evaluate()

    def losses(objective, E):
        curve = (Exponential.point(i * h * E, 1.0) for i in (-2, -1, 0, 1, 2))
        return np.array([objective.evaluate(give(T)).loss for T in curve])

    for _ in range(5):
        E = skew(rng.standard_normal((M, M)))
        slope = np.array([1, -8, 0, 8, -1]) @ losses(objective, E) / (12 * h)
        assert slope == pytest.approx((host(G) * E).sum(), rel=1e-8)
    assert loss == pytest.approx(objective.loss(), rel=1e-14)
    Q = host(objective.Q)
    d = np.einsum("im,smk,ik->si", Q, C, Q) + eps
    assert loss == pytest.approx(np.log(d).sum(), rel=1e-12)

    diagonal = Diagonality(give(np.stack([np.diag(row) for row in d])), eps)
    c, G = host(diagonal.curvature()), host(diagonal.evaluate().G)
    for i, j in ((0, 1), (2, 5)):
        E = np.zeros((M, M))
        E[i, j], E[j, i] = 1, -1
        second = np.array([-1, 16, -30, 16, -1]) @ losses(diagonal, E) / (12 * h**2)
        assert second == pytest.approx(c[i, j] + c[j, i] - G[i, i] - G[j, j], rel=1e-4)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("n_iter", [0, 1, 40])
def test_never_worse_than_the_karhunen_loeve_transform(seed, n_iter):
    Y = notes(seed=seed)[None]
    frames, floor = Frames(Y), 0.1
    C = covariances_of(Y, 8)
    klt = KLT().start(frames, None, np.float64)
    Phi = start(Y, n_iter=n_iter)
    values = [criterion(rows, C, floor) for rows in (Phi, klt)]
    assert values[0] <= values[1] + 1e-9
    if n_iter == 0:
        np.testing.assert_allclose(Phi, klt, atol=1e-13)
    else:
        assert values[0] < values[1]


@pytest.mark.parametrize("give", [np.asarray, tensor])
def test_silence(give):
    Y = notes()[None].copy()
    n = Y.shape[2]
    assert orthogonality_error(start(give(0 * Y))) < 1e-12
    Y[:, :, n // 4 : n // 2] = 0  # two whole stretches
    Phi = start(give(Y))
    assert np.isfinite(Phi).all()
    assert orthogonality_error(Phi) < 1e-12
    Y[:, :, n // 4 : n // 2] = 1e-9 * notes(seed=1)[None, :, : n // 2 - n // 4]
    np.testing.assert_allclose(start(give(Y)), Phi, atol=1e-6)  # inaudible: it has no say
