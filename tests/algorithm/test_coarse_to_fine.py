"""A default fit begins with few atoms and ends with all of them."""

import numpy as np
import pytest
from few_atoms import check_falling, solvers_on, sound
from fuzz.formulas import check_fit
from hostile import nothing_changes
from tensor_problems import host, tensor

import phinmf
from phinmf import Anneal, Method, Status, learn_transform, tl_nmf
from phinmf.algorithm.options import Options
from phinmf.algorithm.schedule import Schedule
from phinmf.algorithm.subspace import Subspace

pytestmark = pytest.mark.usefixtures("always_coarse")

HOW = {"n_components": 2, "tol": 0, "random_state": 0}
GIVE = pytest.mark.parametrize("give", [np.asarray, tensor])


def stages(r):
    return r.history.atoms.tolist()


def schedule(powers, n_atoms=None, **how):
    M = len(powers)
    space = Subspace(np.eye(M), np.asarray(powers))
    options = Options(method=Method(anneal=Anneal(**how)))
    dtype = np.dtype(np.float64)
    return Schedule(options, (1, M, 4 * M), dtype, subspace=space, n_atoms=n_atoms)


def test_atoms_are_counted_by_their_power_over_the_floor():
    powers = 0.9 ** np.arange(100)
    s = schedule(powers, start=1e-2, coarse=10.0)
    found = []
    for t in range(60):
        phase = s.phase(t, 0.0)
        n = phase.stage.n_atoms or 100
        seen = np.count_nonzero(powers >= 10 * phase.floor)
        assert phase.final or n >= seen
        assert n in s.sizes
        assert all(size < seen for size in s.sizes if size < n) or phase.final
        assert s.allows(phase.stage.n_atoms)
        found.append(n)
    assert found == sorted(found)
    assert found[0] < 50
    assert found[-1] == 100


def test_no_more_atoms_than_were_asked_for():
    powers = 0.9 ** np.arange(100)
    s = schedule(powers, n_atoms=30, start=1e-2, coarse=10.0)
    found = [s.phase(t, 0.0).stage.n_atoms for t in range(60)]
    assert max(found) == found[-1] == 30
    assert found[0] < 30
    assert all(map(s.allows, found))
    assert not s.allows(31)
    assert not s.allows(None)


def test_a_schedule_without_a_coarse_beginning_allows_all_atoms_only():
    s = schedule(np.ones(20), coarse=0.0)
    assert {s.phase(t, 0.0).stage.n_atoms for t in range(60)} == {None}
    assert s.allows(None)
    assert not any(map(s.allows, range(1, 20)))


@GIVE
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("init", ["dct", "random", "klt", "jd"])
def test_the_default_fit_begins_coarse_and_ends_with_all_atoms(init, dtype, give):
    Y = sound(dtype=dtype)
    r = tl_nmf(give(Y), init=init, max_iter=20, **HOW)
    assert stages(r) == sorted(stages(r))
    assert stages(r)[0] < stages(r)[-1] == 24
    assert (r.n_atoms, r.energy) == (24, 1.0)
    check_fit(Y, r, {})
    check_falling(r)


@pytest.mark.parametrize(("solver", "engine"), solvers_on(["array", "compiled"]))
def test_every_solver_that_is_annealed_begins_coarse(solver, engine):
    Y = sound()
    r = tl_nmf(Y, solver=solver, engine=engine, method=Method(anneal=True), max_iter=10, **HOW)
    assert stages(r)[0] < stages(r)[-1] == 24
    check_fit(Y, r, {})
    check_falling(r)


def test_nothing_is_computed_for_a_coarse_beginning_that_is_not_made(monkeypatch):
    def never(*_):
        raise AssertionError("the covariance is not needed")

    monkeypatch.setattr(phinmf.inits.base, "karhunen_loeve", never)
    Y = sound()
    Phi = np.eye(24)
    for how in (
        {"max_iter": 0},
        {"method": Method(anneal=False)},
        {"method": Method(anneal=Anneal(coarse=0))},
        {"method": Method(anneal=Anneal(start=1e-9))},
        {"solver": None},
        {"init": Phi},
        {"init": Phi, "fixed": "Phi"},
        {"W": np.ones((24, 1))},
        {"H": np.ones((2, Y.shape[2]))},
    ):
        r = tl_nmf(Y, **HOW | {"max_iter": 3} | how)
        assert set(stages(r)) <= {24}
    learn_transform(Y, np.ones(Y.shape[1:]), max_iter=2, tol=0)


@GIVE
@pytest.mark.parametrize("when", [1, 4, 9])
@pytest.mark.parametrize("n_atoms", [None, 9])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_an_interrupt_in_a_coarse_stage_returns_all_atoms(when, n_atoms, dtype, give):
    Y = sound(dtype=dtype)

    def callback(state):
        assert state.Phi.shape == (24, 24)
        assert state.W.shape == (24, 2)
        Phi = host(state.Phi).astype(np.float64)
        np.testing.assert_allclose(Phi @ Phi.T, np.eye(24), atol=1e-5)
        np.testing.assert_allclose(host(state.W).sum(axis=0), 1, rtol=1e-4)
        if state.iteration == when:
            raise KeyboardInterrupt

    frames = give(Y)
    with nothing_changes(Y):
        r = tl_nmf(frames, callback=callback, n_atoms=n_atoms, **HOW)
    assert r.status is Status.INTERRUPTED
    assert stages(r)[0] < 24
    assert len(r.history) == when
    check_fit(Y, r, {})


def test_the_solver_forgets_its_pairs_when_the_floor_jumps(monkeypatch):
    from phinmf.solvers import LBFGS

    calls = []
    forget = LBFGS.forget

    def noted(self, memory):
        calls.append(memory is not None)
        return forget(self, memory)

    monkeypatch.setattr(LBFGS, "forget", noted)
    tl_nmf(
        sound(), max_iter=12, engine="compiled", **HOW | {"method": Method(anneal=Anneal(coarse=0))}
    )
    assert calls == [True]


@pytest.mark.parametrize("M", [2, 5, 9])
def test_memory_of_lbfgs_grows(M, rng):
    from phinmf.solvers import LBFGS
    from phinmf.solvers.lbfgs import Pair

    solver = LBFGS()
    memory = solver.empty(np.eye(3))
    E, F = (a - a.T for a in rng.standard_normal((2, 3, 3)))
    s, y = memory.vector(E), memory.vector(F)
    memory.pairs.append(Pair(s, y, 1 / (s @ y)))
    assert memory.M == 3
    grown = solver.grown(memory, 3 + M, np.eye(3 + M))
    assert grown.M == 3 + M
    ((s, y, rho),) = grown.pairs
    for e, before in ((s, E), (y, F)):
        wide = grown.matrix(e)
        assert np.array_equal(wide[:3, :3], before)
        assert not wide[3:].any()
    assert rho == 1 / (s @ y)
