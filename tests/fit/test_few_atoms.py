"""`n_atoms`: every solver, divergence, engine and precision learns inside the leading subspace."""

import numpy as np
import pytest
from clusters import engines_here
from few_atoms import LIKELIHOODS, check_few, eigenvectors, same_bits, sound
from fuzz.formulas import check_fit
from tensor_problems import host, tensor

import phinmf
from phinmf import Anneal, Method, Status, tl_nmf
from phinmf.algorithm.annealing import SINGLE_PAYS
from phinmf.divergences import DIVERGENCES
from phinmf.engines.array import ArrayEngine
from phinmf.inits import INITS
from phinmf.solvers import SOLVERS

pytestmark = pytest.mark.usefixtures("always_coarse")

HOW = {"n_components": 2, "max_iter": 7, "tol": 0, "random_state": 0}
#: engines by name, and tensors
ENGINES = [*engines_here(), "tensors"]


def fitted(Y, engine, **how):
    """The same fit on an engine of `ENGINES`."""
    if engine == "tensors":
        return tl_nmf(tensor(Y), **HOW | how)
    return tl_nmf(Y, engine=engine, **HOW | how)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("divergence", LIKELIHOODS)
@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("solver", SOLVERS)
def test_few_atoms_contract(solver, engine, divergence, dtype):
    Y = sound(dtype=dtype)
    how = {"solver": solver, "divergence": divergence, "n_atoms": 7}
    for anneal in (True, False):
        r = fitted(Y, engine, method=Method(anneal=anneal), **how)
        check_few(r, Y, 7, how)
        assert r.n_iter == HOW["max_iter"]
        assert r.objective < r.history.start


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(("C", "dtype"), [(1, "float64"), (2, "float32"), (2, "float64")])
def test_channels_weights_and_masks(engine, C, dtype):
    Y = sound(C=C, dtype=dtype)
    N = Y.shape[2]
    weights = np.arange(N) % 4 * 0.5  # some of them 0
    mask = np.arange(N) % 7 == 0
    for P in (5, 23):
        r = fitted(Y, engine, n_atoms=P, sample_weight=np.where(mask, 0, weights))
        check_few(r, Y, P, {}, np.where(mask, 0, weights))


@pytest.mark.parametrize("engine", ["compiled", "tensors"])
@pytest.mark.parametrize("P", [1, 2, 23])
@pytest.mark.parametrize("solver", SOLVERS)
def test_one_atom_and_nearly_all(engine, solver, P):
    Y = sound()
    r = fitted(Y, engine, solver=solver, n_atoms=P)
    check_few(r, Y, P, {})


@pytest.mark.parametrize("engine", ENGINES)
def test_all_atoms_are_none(engine):
    Y = sound()
    a, b = (fitted(Y, engine, n_atoms=n) for n in (None, 24))
    assert same_bits(a, b)
    assert (a.n_atoms, a.energy) == (b.n_atoms, b.energy) == (24, 1.0)


@pytest.mark.parametrize("share", [0.3, 0.9, 0.99, 0.999, 1 - 1e-12])
@pytest.mark.parametrize("weights", [None, np.arange(101) % 3])
def test_a_share_of_the_energy_is_reached_with_as_few_atoms_as_possible(share, weights):
    Y = sound()
    assert Y.shape[2] == 101
    r = tl_nmf(Y, n_atoms=share, sample_weight=weights, **HOW | {"max_iter": 1})
    _, powers = eigenvectors(Y, weights)
    held = np.cumsum(powers) / powers.sum()
    P = r.n_atoms
    assert held[P - 1] >= share * (1 - 1e-12)
    assert P == 1 or held[P - 2] < share
    assert r.energy == pytest.approx(held[P - 1] if P < 24 else 1, rel=1e-9)


@pytest.mark.parametrize("n_threads", [2, 3])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_threads_give_the_same_bits(dtype, n_threads):
    Y = sound(M=72, n=36_000, dtype=dtype)
    how = {"n_atoms": 0.999, "max_iter": 3}
    one, more = (tl_nmf(Y, n_threads=n, **HOW | how) for n in (1, n_threads))
    assert same_bits(one, more)
    one, more = (tl_nmf(Y, n_threads=n, **HOW | {"max_iter": 4}) for n in (1, n_threads))
    assert same_bits(one, more)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("init", INITS)
@pytest.mark.parametrize("engine", ["compiled", "tensors"])
def test_every_init_starts_inside_the_subspace(init, engine, dtype):
    Y = sound(dtype=dtype)
    start = fitted(Y, engine, init=init, n_atoms=6, max_iter=0)
    check_few(start, Y, 6, {})
    assert start.objective == pytest.approx(start.history.start, rel=1e-6)
    r = fitted(Y, engine, init=init, n_atoms=6)
    check_few(r, Y, 6, {})
    assert r.history.start == pytest.approx(start.objective, rel=1e-6)


@pytest.mark.parametrize("engine", ["compiled", "tensors"])
def test_single_precision_on_the_way_leaves_the_other_atoms_as_they_are(engine):
    """Where `tol` allows it, a run in double precision converges in single precision."""
    Y, seen = sound(M=40, n=80_000), []
    assert Y.size > SINGLE_PAYS

    def note(state):
        seen.append(host(state.Phi).dtype)

    for how in ({"tol": 1e-2, "max_iter": 60}, {"max_iter": 3}):
        r = fitted(Y, engine, n_atoms=6, callback=note, **how)
        check_few(r, Y, 6, {})
        assert host(r.Phi).dtype == np.float64
    assert set(seen) == {np.dtype(np.float64)}


def test_more_atoms_than_frames_have_directions():
    Y = sound()[:, :, :9]
    for P in (3, 9, 15, 23):
        check_few(tl_nmf(Y, n_atoms=P, **HOW), Y, P, {})
    assert tl_nmf(Y, n_atoms=1 - 1e-9, **HOW).n_atoms <= 9


def test_silent_rows_and_constant_frames():
    Y = sound()
    Y[:, :10] = 0
    check_few(tl_nmf(Y, n_atoms=5, **HOW), Y, 5, {})
    flat = np.ones((1, 24, 60))
    for P in (1, 4):
        r = tl_nmf(flat, n_atoms=P, **HOW | {"n_components": 1})
        check_fit(flat, r, {})
        assert r.energy == pytest.approx(1)
        assert r.n_atoms == P


def test_few_atoms_of_a_simple_sound_cost_little():
    """Two tones and a little noise: 8 atoms reach nearly what all of them do."""
    Y = sound(M=32, n=6000)
    how = {"n_components": 2, "random_state": 0}
    few, start = tl_nmf(Y, n_atoms=8, **how), tl_nmf(Y, max_iter=0, tol=0, **how)
    assert few.energy > 0.99
    assert few.objective < start.objective


@pytest.mark.parametrize("divergence", DIVERGENCES)
@pytest.mark.parametrize("C", [1, 2])
def test_the_gradient_is_the_first_block_of_that_of_all_atoms(divergence, C, rng):
    """And finite differences along rotations of the learned atoms alone."""
    Y, P, eps = sound(C=C), 6, 1e-2
    M, N = Y.shape[1:]
    U, _ = eigenvectors(Y)
    W, H = rng.random((M, 2)), rng.random((2, N))
    measure = DIVERGENCES[divergence]

    def objective(frames, Phi, W):
        engine = ArrayEngine(frames, measure)
        engine.rotate(Phi)
        engine.set_activations(H)
        return engine.objective(W, eps)

    whole = objective(Y, U, W).evaluate()
    few = objective(U[:P] @ Y, np.eye(P), W[:P]).evaluate()
    np.testing.assert_allclose(few.G, whole.G[:P, :P], rtol=1e-9, atol=1e-9 * abs(whole.G).max())
    E = rng.standard_normal((P, P))
    E -= E.T

    def loss(step):
        T = np.eye(P) + step * E + step**2 / 2 * E @ E  # exp to second order
        full = np.eye(M)
        full[:P, :P] = T
        return np.array([objective(U[:P] @ Y, T, W[:P]).loss(), objective(Y, full @ U, W).loss()])

    slopes = (loss(1e-5) - loss(-1e-5)) / 2e-5
    np.testing.assert_allclose(slopes, (few.G * E).sum(), rtol=1e-5)


def test_a_fit_of_few_atoms_keeps_what_is_left_out():
    """Frames are reconstructed exactly: Φ is orthogonal whatever is learned."""
    Y = sound()
    r = tl_nmf(Y, n_atoms=4, **HOW)
    np.testing.assert_allclose(r.Phi.T @ (r.Phi @ Y), Y, atol=1e-12)


@pytest.mark.parametrize("given", [["init"], ["W"], ["H"], ["W", "H"], ["init", "W", "H"]])
def test_a_given_start_begins_with_all_atoms_that_are_learned(given):
    """Nothing that was given is lost."""
    Y = sound()
    before = tl_nmf(Y, n_atoms=10, **HOW | {"max_iter": 40})
    start = {"init": before.Phi, "W": before.W, "H": before.H}
    for n_atoms in (10, None):
        how = {name: start[name] for name in given} | {"method": Method(anneal=Anneal())}
        r = tl_nmf(Y, n_atoms=n_atoms, **HOW | how)
        assert set(r.history.atoms) == {n_atoms or 24}
        check_fit(Y, r, {})


def test_a_given_start_is_kept_as_far_as_the_subspace_allows():
    Y = sound()
    before = tl_nmf(Y, n_atoms=10, **HOW | {"max_iter": 40})
    how = HOW | {"max_iter": 0, "init": before.Phi, "W": before.W, "H": before.H}
    again = tl_nmf(Y, n_atoms=10, **how)
    assert again.objective == pytest.approx(before.objective, rel=1e-9)
    np.testing.assert_allclose(again.Phi, before.Phi, atol=1e-9)
    np.testing.assert_allclose(again.W, before.W, atol=1e-9)
    whole = tl_nmf(Y, **HOW | {"max_iter": 40})
    few = tl_nmf(Y, n_atoms=10, **how | {"init": whole.Phi, "W": whole.W, "H": whole.H})
    np.testing.assert_allclose(few.W.sum(axis=0), 1, rtol=1e-12)
    fresh = tl_nmf(Y, n_atoms=10, **HOW | {"max_iter": 0, "init": whole.Phi})
    assert few.objective < fresh.objective  # W and H say something about the frames


@pytest.mark.parametrize("divergence", DIVERGENCES)
@pytest.mark.parametrize("engine", ["compiled", "tensors"])
def test_few_atoms_are_not_compared_with_a_start_over_all_of_them(divergence, engine):
    """The weak rows of a good start cost less than nothing with the Gaussian likelihood."""
    Y = sound()
    before = tl_nmf(Y, n_atoms=6, divergence=divergence, **HOW | {"max_iter": 40})
    start = {"init": before.Phi, "W": before.W, "H": before.H}
    if engine == "tensors":
        start = {name: tensor(value) for name, value in start.items()}
    r = fitted(Y, engine, n_atoms=6, method=Method(anneal=False), divergence=divergence, **start)
    assert r.n_iter == HOW["max_iter"]
    assert r.status is Status.MAX_ITER
    check_few(r, Y, 6, {"divergence": divergence})
    if divergence == "gaussian":
        assert r.history.objective[0] > r.history.start


def test_a_fixed_H_stays():
    Y = sound()
    H = tl_nmf(Y, **HOW).H
    r = tl_nmf(Y, H=H, fixed="H", n_atoms=6, **HOW)
    check_few(r, Y, 6, {"fixed": "H"})
    assert np.array_equal(r.H, H)
    assert (r.history.atoms == 6).all()


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_left_out_frames_get_activations(dtype):
    Y = sound(dtype=dtype)
    mask = np.arange(101) < 5
    r = tl_nmf(Y, n_atoms=6, sample_weight=~mask, **HOW)
    alone = tl_nmf(Y[:, :, 5:], n_atoms=6, **HOW)
    assert same_bits(alone, r) or np.array_equal(alone.Phi, r.Phi)
    assert (r.H[:, mask].sum(axis=0) > 0).any()


def test_paper_settings_learn_few_atoms():
    Y, how = sound(), phinmf.PAPER | HOW
    check_few(tl_nmf(Y, n_atoms=5, **how), Y, 5, how)
