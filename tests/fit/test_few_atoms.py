"""`n_atoms`: every solver, divergence, engine and precision learns inside the leading subspace."""

import numpy as np
import pytest
from clusters import engines_here
from few_atoms import LIKELIHOODS, check_few, covariance, eigenvectors, same_bits, sound
from fuzz.formulas import check_fit, divergence_of, power
from problems import serves
from tensor_problems import KINDS, host, tensor

from phinmf import TLNMF, Anneal, Method, Status, learn_transform, tl_nmf
from phinmf.algorithm import alternate
from phinmf.algorithm.run import Run
from phinmf.algorithm.schedule import SINGLE_PAYS
from phinmf.divergences import DIVERGENCES
from phinmf.engines.array import ArrayEngine
from phinmf.engines.compiled.engine import CompiledEngine
from phinmf.inits import INITS, Frames
from phinmf.inits import covariance as klt
from phinmf.linalg.algebra import Algebra
from phinmf.linalg.manifold import random_orthogonal
from phinmf.solvers import SOLVERS

pytestmark = pytest.mark.usefixtures("always_coarse")

HOW = {"n_components": 2, "max_iter": 7, "tol": 0, "random_state": 0}
ALONE = {"max_iter": 6, "tol": 0, "random_state": 0}
#: engines by name, and tensors
ENGINES = [*engines_here(), "tensors"]
SERVED = [(s, e) for s in SOLVERS for e in ENGINES if e == "tensors" or serves(e, s)]


def fitted(Y, engine, **how):
    """The same fit on an engine of `ENGINES`."""
    if engine == "tensors":
        return tl_nmf(tensor(Y), **HOW | how)
    return tl_nmf(Y, engine=engine, **HOW | how)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("divergence", LIKELIHOODS)
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
    r = tl_nmf(Y, n_atoms=share, sample_weight=weights, **HOW | {"max_iter": 1})
    _, powers = eigenvectors(Y, weights)
    energy = np.cumsum(powers) / powers.sum()
    P = r.n_atoms
    assert energy[P - 1] >= share * (1 - 1e-12)
    assert P == 1 or energy[P - 2] < share
    assert r.energy == pytest.approx(energy[P - 1] if P < 24 else 1, rel=1e-9)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_threads_give_the_same_bits(dtype):
    Y = sound(M=72, n=36_000, dtype=dtype)
    how = HOW | {"n_atoms": 0.999, "max_iter": 4}
    single, *others = (tl_nmf(Y, n_threads=n, **how) for n in (1, 2, 3))
    assert all(same_bits(single, other) for other in others)


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
    for P in (1, 4):
        r = tl_nmf(flat, n_atoms=P, **HOW | {"n_components": 1})
        check_fit(flat, r, {})
        assert (r.n_atoms, r.energy) == (P, pytest.approx(1))


# a start, and what is fixed


@pytest.mark.parametrize("names", [["init"], ["W"], ["H"], ["W", "H"], ["init", "W", "H"]])
def test_a_run_from_factors_begins_with_all_atoms_that_are_learned(names):
    """Nothing of the factors is lost."""
    Y = sound()
    before = tl_nmf(Y, n_atoms=10, **HOW | {"max_iter": 40})
    start = {"init": before.Phi, "W": before.W, "H": before.H}
    for n_atoms in (10, None):
        how = {name: start[name] for name in names} | {"method": Method(anneal=Anneal())}
        r = tl_nmf(Y, n_atoms=n_atoms, **HOW | how)
        assert set(r.history.atoms) == {n_atoms or 24}
        check_fit(Y, r, {})


def test_a_start_is_kept_as_far_as_the_subspace_allows():
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


# what it costs


@pytest.mark.parametrize("anneal", [True, False])
@pytest.mark.parametrize(("solver", "engine"), [case for case in SERVED if "tensors" not in case])
def test_nothing_in_the_loop_has_more_rows_than_atoms(monkeypatch, solver, engine, anneal):
    """From the beginning of an iteration to its measurements."""
    rows, inside, method = [], [], Method(anneal=anneal)

    def spy(owner, name, size):
        whole = getattr(owner, name)

        def noted(self, *args, **how):
            if inside:
                rows.append(size(self, args))
            return whole(self, *args, **how)

        monkeypatch.setattr(owner, name, noted)

    for name in ("product", "inverse", "exponential"):
        spy(Algebra, name, lambda self, args: max(max(a.shape) for a in args))
    for kind in (ArrayEngine, CompiledEngine):
        for name in ("rotate", "nmf_pass", "objective"):
            spy(kind, name, lambda self, args: self.shape[1])
    begin, measured = Run.begin_iteration, Run.measured
    monkeypatch.setattr(Run, "begin_iteration", lambda *a: begin(*a) or inside.append(1))
    monkeypatch.setattr(Run, "measured", lambda *a: inside.clear() or measured(*a))
    Y = sound()
    fits = {
        6: lambda P: tl_nmf(Y, solver=solver, engine=engine, method=method, n_atoms=P, **HOW),
        5: lambda P: learn_transform(Y[0], np.ones_like(Y[0]), solver=solver, n_atoms=P, **ALONE),
    }
    for P, fit in fits.items():
        rows.clear()
        fit(P)
        assert max(rows) == P
        fit(None)
        assert max(rows) == 24  # the test sees it


@pytest.mark.parametrize("n_jobs", [1, 3])
@pytest.mark.parametrize("init", ["dct", "random", "klt", "jd"])
@pytest.mark.parametrize("n_atoms", [6, 0.99, None])
@pytest.mark.parametrize("give", [np.asarray, tensor])
def test_the_covariance_is_computed_once_for_all_restarts(monkeypatch, init, n_atoms, give, n_jobs):
    calls, whole = [], klt.covariance
    monkeypatch.setattr(klt, "covariance", lambda *args: calls.append(1) or whole(*args))
    X = give(np.ascontiguousarray(sound()[0].T))
    TLNMF(2, n_atoms=n_atoms, n_init=3, n_jobs=n_jobs, init=init, max_iter=3, tol=0).fit(X)
    assert len(calls) == 1


@pytest.mark.full
def test_dask_frames_are_read_for_the_covariance_once():
    da = pytest.importorskip("dask.array")
    Y, shapes = sound(M=24, n=40_000)[0], []
    read = lambda x: shapes.append(x.shape) or x  # noqa: E731
    lazy = da.from_array(Y, chunks=(-1, 500)).map_blocks(read, dtype=Y.dtype, meta=Y[:0, :0])
    frames = Frames(lazy[None])
    U, powers = frames.karhunen_loeve
    assert sum(shape[1] for shape in shapes) == Y.shape[1]
    assert frames.karhunen_loeve[0] is U
    for ours, theirs in zip((U, powers), Frames(Y[None]).karhunen_loeve, strict=True):
        assert np.array_equal(ours, theirs)


# learn_transform: the strongest rows of V̂ are fitted by what is learned


def model(Y, P, rng):
    """Φ* = diag(Q, I) U with its rows in another order, and V̂ = |Φ*Y|²."""
    Phi, _ = eigenvectors(Y)
    Phi[:P] = random_orthogonal(P, rng) @ Phi[:P]
    Phi = Phi[rng.permutation(len(Phi))]
    return Phi, np.square(Phi @ Y).mean(axis=0) if Y.ndim == 3 else np.square(Phi @ Y)


def cost(r, Y, V_hat, divergence="itakura-saito", floor=1e-8):
    """L(Φ) at unit power."""
    scale = np.sqrt(np.square(np.asarray(Y, np.float64)).mean())
    V = power(Y, host(r.Phi), scale)
    return divergence_of(V + floor, V_hat / scale**2 + floor, divergence).sum()


@pytest.mark.parametrize("give", [np.asarray, tensor])
@pytest.mark.parametrize("divergence", LIKELIHOODS)
@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("anneal", [True, False])
def test_no_worse_than_the_start_and_in_the_order_of_the_model(
    solver, divergence, anneal, give, rng
):
    Y, P = sound()[0], 6
    _, V_hat = model(Y, P, rng)
    how = ALONE | {"solver": solver, "divergence": divergence, "n_atoms": P}
    how["method"] = Method(anneal=anneal)
    transforms = []
    r = learn_transform(
        give(Y), V_hat, callback=lambda state: transforms.append(state.Phi) and None, **how
    )
    assert len(transforms) == len(r.history)
    assert r.objective <= r.history.start
    assert r.objective == pytest.approx(cost(r, Y, V_hat, divergence), rel=1e-6)
    assert (r.history.atoms == P).all()
    Phi = host(r.Phi)
    np.testing.assert_allclose(Phi @ Phi.T, np.eye(24), atol=1e-12)
    np.testing.assert_allclose(host(transforms[-1]), Phi, atol=1e-9)  # in the same order
    learned = np.zeros(24, bool)
    learned[np.argsort(-V_hat.sum(axis=1))[:P]] = True
    A = covariance(Y)
    mixed = Phi @ A @ Phi.T
    np.testing.assert_allclose(mixed[~learned][:, learned], 0, atol=1e-12 * np.trace(A))
    assert r.n_atoms == P
    assert r.energy == pytest.approx(np.trace(mixed[learned][:, learned]) / np.trace(A))


def test_a_transform_near_its_model_comes_back_to_it(rng):
    """§4.1 of the paper, inside a subspace."""
    Y, P = rng.standard_normal((20, 400)) * np.linspace(2, 0.2, 20)[:, None], 7
    Phi, V_hat = model(Y, P, rng)
    E = 1e-3 * rng.standard_normal((20, 20))
    near, _ = np.linalg.qr((np.eye(20) + E - E.T) @ Phi)
    near *= np.sign((near * Phi).sum(axis=1, keepdims=True))
    method = Method(anneal=False, n_iter_transform=5)
    r = learn_transform(Y, V_hat, init=near, n_atoms=P, max_iter=60, tol=0, method=method)
    start = learn_transform(Y, V_hat, init=near, n_atoms=P, max_iter=0, tol=0)
    assert r.objective < 0.2 * start.objective
    assert abs((r.Phi * Phi).sum(axis=1)).min() > 0.999


@pytest.mark.parametrize("engine", ["array", "compiled"])
@pytest.mark.parametrize(("C", "dtype"), [(1, "float32"), (2, "float64")])
def test_a_transform_alone_on_every_engine(engine, C, dtype, rng):
    Y = sound(C=C, dtype=dtype)
    _, V_hat = model(Y.astype(np.float64), 6, rng)
    for n_atoms in (1, 0.99, 23, 24):
        r = learn_transform(Y, V_hat, n_atoms=n_atoms, engine=engine, **ALONE)
        assert r.objective <= r.history.start
        assert r.Phi.dtype == dtype
        error = abs(r.Phi.astype(np.float64) @ r.Phi.T.astype(np.float64) - np.eye(24)).max()
        assert error < 50 * np.finfo(dtype).eps
    assert np.array_equal(r.Phi, learn_transform(Y, V_hat, engine=engine, **ALONE).Phi)


def test_the_scale_of_the_gradient_is_that_of_the_atoms_that_are_learned(monkeypatch, rng):
    """A gradient is small or not compared with that of P atoms."""
    Y = sound()[0]
    Phi, V_hat = model(Y, 6, rng)
    scales, judged = set(), alternate.reason_to_stop
    monkeypatch.setattr(
        alternate,
        "reason_to_stop",
        lambda run, callback: scales.add(run.gradient_scale) or judged(run, callback),
    )
    for n_atoms in (6, None):
        scales.clear()
        how = {"n_atoms": n_atoms, "method": Method(anneal=False)}
        assert learn_transform(Y, V_hat, init=Phi, **how).converged
        assert scales == {Y.shape[1] * (n_atoms or 24) ** 0.5}


# numbers of atoms that make no sense


@pytest.mark.parametrize(
    ("n_atoms", "message"),
    [
        (0, "n_atoms is 0, but a whole number ≥ 1"),
        (25, "n_atoms is 25, but frames of 24 samples have 24 atoms"),
        (1.5, "n_atoms is 1.5, but a whole number of atoms, or a share of the energy below 1"),
        (7.0, "n_atoms is 7.0, but a whole number of atoms"),
        (0.0, "n_atoms is 0.0, but a finite number > 0"),
        (np.nan, "n_atoms is nan, but a finite number > 0"),
        ("many", "n_atoms is 'many', but"),
        (True, "n_atoms is True, but"),
    ],
)
def test_numbers_of_atoms_that_are_none(n_atoms, message):
    Y = sound()[0]
    for fit in (
        *(lambda kind=kind: tl_nmf(kind(Y), 2, n_atoms=n_atoms) for kind in KINDS),
        lambda: TLNMF(2, n_atoms=n_atoms).fit(Y.T),
        lambda: learn_transform(Y, np.ones_like(Y), n_atoms=n_atoms),
    ):
        with pytest.raises((TypeError, ValueError), match=message) as error:
            fit()
        assert "\n" not in str(error.value)


@pytest.mark.parametrize("n_atoms", [np.int64(5), np.uint8(5), np.float32(0.99), np.array(0.99)])
def test_numbers_of_numpy_are_plain_ones_in_the_result(n_atoms):
    r = tl_nmf(sound()[0], n_atoms=n_atoms, **HOW)
    assert same_bits(r, tl_nmf(sound()[0], n_atoms=n_atoms.item(), **HOW))
    assert (type(r.n_atoms), type(r.energy)) == (int, float)


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ({"solver": None}, "n_atoms is 5, but solver is None, which learns no atoms"),
        ({"fixed": "Phi"}, "n_atoms is set and fixed names Phi"),
        ({"W": np.ones((24, 2)), "fixed": {"W": [0]}}, "n_atoms is set and fixed names W"),
    ],
)
def test_what_n_atoms_excludes(how, message):
    with pytest.raises(ValueError, match=message):
        tl_nmf(sound()[0], 2, n_atoms=5, **how)
