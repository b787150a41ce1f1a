"""`n_atoms`: every solver, divergence, engine and precision learns inside the leading subspace."""

import numpy as np
import pytest
from clusters import engines_here
from formulas import check_few, check_fit, eigenvectors
from problems import serves, sound
from tensor_problems import host, tensor

from phinmf import Method, Status, tl_nmf
from phinmf.algorithm.schedule import SINGLE_PAYS
from phinmf.inits import INITS
from phinmf.solvers import SOLVERS

pytestmark = pytest.mark.usefixtures("always_coarse")

HOW = {"n_components": 2, "max_iter": 7, "tol": 0, "random_state": 0}
#: engines by name, and tensors
ENGINES = [*engines_here(), "tensors"]
SERVED = [(s, e) for s in SOLVERS for e in ENGINES if e == "tensors" or serves(e, s)]


def fitted(Y, engine, **how):
    """The same fit on an engine of `ENGINES`."""
    if engine == "tensors":
        return tl_nmf(tensor(Y), **HOW | how)
    return tl_nmf(Y, engine=engine, **HOW | how)


@pytest.mark.parametrize(
    ("divergence", "dtype"), [("itakura-saito", "float32"), ("gaussian", "float64")]
)
@pytest.mark.parametrize(("solver", "engine"), SERVED)
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
def test_channels_and_weights(engine, C, dtype):
    Y = sound(C=C, dtype=dtype)
    weights = np.arange(Y.shape[2]) % 4 * 0.5  # some of them 0
    for P in (1, 5, 23):
        r = fitted(Y, engine, n_atoms=P, sample_weight=weights)
        check_few(r, Y, P, {}, weights)


@pytest.mark.parametrize("share", [0.3, 0.9, 0.99, 0.999, 1 - 1e-12])
@pytest.mark.parametrize("weights", [None, np.arange(101) % 3])
def test_a_share_of_the_energy_is_reached_with_as_few_atoms_as_possible(share, weights):
    Y = sound()
    r = tl_nmf(Y, n_atoms=share, sample_weight=weights, **HOW | {"max_iter": 1})
    _, powers = eigenvectors(Y, weights)
    energy = np.cumsum(powers) / powers.sum()
    P = r.n_atoms
    assert energy[P - 1] >= share * (1 - 1e-12)
    assert P == 1 or energy[P - 2] < share
    assert r.energy == pytest.approx(energy[P - 1] if P < 24 else 1, rel=1e-9)


@pytest.mark.parametrize("init", INITS)
@pytest.mark.parametrize("engine", ["compiled", "tensors"])
def test_every_init_starts_inside_the_subspace(init, engine):
    Y = sound(dtype="float32")
    start = fitted(Y, engine, init=init, n_atoms=6, max_iter=0)
    check_few(start, Y, 6, {})
    assert start.objective == pytest.approx(start.history.start, rel=1e-6)


@pytest.mark.parametrize("engine", ["compiled", "tensors"])
def test_single_precision_on_the_way_leaves_the_other_atoms_as_they_are(engine):
    """Where `tol` allows it, a run in double precision converges in single precision."""
    Y, dtypes = sound(M=40, n=80_000), set()
    assert Y.size > SINGLE_PAYS
    for how in ({"tol": 1e-2, "max_iter": 60}, {"max_iter": 3}):
        callback = lambda state: dtypes.add(host(state.Phi).dtype) and None  # noqa: E731
        r = fitted(Y, engine, n_atoms=6, callback=callback, **how)
        check_few(r, Y, 6, {})
        dtypes.add(host(r.Phi).dtype)
    assert dtypes == {np.dtype(np.float64)}


def test_frames_that_do_not_have_all_directions():
    Y = sound()[:, :, :9]
    for P in (3, 9, 15, 23):
        check_few(tl_nmf(Y, n_atoms=P, **HOW), Y, P, {})
    assert tl_nmf(Y, n_atoms=1 - 1e-9, **HOW).n_atoms <= 9
    Y = sound()
    Y[:, :10] = 0
    check_few(tl_nmf(Y, n_atoms=5, **HOW), Y, 5, {})
    flat = np.ones((1, 24, 60))
    r = tl_nmf(flat, n_atoms=4, **HOW | {"n_components": 1})
    check_fit(flat, r, {})
    assert (r.n_atoms, r.energy) == (4, pytest.approx(1))


# a start, and what is fixed


def test_a_start_is_kept_as_far_as_the_subspace_allows():
    Y = sound()
    before = tl_nmf(Y, n_atoms=10, **HOW | {"max_iter": 40})
    how = HOW | {"max_iter": 0, "init": before.Phi, "W": before.W, "H": before.H}
    again = tl_nmf(Y, n_atoms=10, **how)
    assert again.objective == pytest.approx(before.objective, rel=1e-9)
    np.testing.assert_allclose(again.Phi, before.Phi, atol=1e-9)
    whole = tl_nmf(Y, **HOW | {"max_iter": 40})
    few = tl_nmf(Y, n_atoms=10, **how | {"init": whole.Phi, "W": whole.W, "H": whole.H})
    np.testing.assert_allclose(few.W.sum(axis=0), 1, rtol=1e-12)
    fresh = tl_nmf(Y, n_atoms=10, **HOW | {"max_iter": 0, "init": whole.Phi})
    assert few.objective < fresh.objective  # W and H say something about the frames


@pytest.mark.parametrize("divergence", ["itakura-saito", "gaussian"])
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
