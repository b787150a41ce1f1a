"""A default fit begins with few atoms and ends with all of them."""

import itertools

import numpy as np
import pytest
from formulas import check_fit
from hostile import nothing_changes
from problems import serves, sound
from tensor_problems import host, tensor

import phinmf
from phinmf import Anneal, Method, Status, tl_nmf
from phinmf.algorithm.options import Options
from phinmf.algorithm.schedule import Schedule
from phinmf.algorithm.subspace import Subspace
from phinmf.inits import Frames
from phinmf.solvers import SOLVERS

pytestmark = pytest.mark.usefixtures("always_coarse")

HOW = {"n_components": 2, "tol": 0, "random_state": 0}
GIVE = pytest.mark.parametrize("give", [np.asarray, tensor])


def stages(r):
    return r.history.atoms.tolist()


def schedule(powers, n_atoms=None, **how):
    M = len(powers)
    space = Subspace(np.eye(M), np.asarray(powers))
    options = Options(method=Method(anneal=Anneal(**how)))
    return Schedule(options, Frames(np.empty((1, M, 4 * M))), space, n_atoms)


@pytest.mark.parametrize(("n_atoms", "last"), [(None, 100), (30, 30)])
def test_atoms_are_counted_by_their_power_over_the_floor(n_atoms, last):
    powers = 0.9 ** np.arange(100)
    s = schedule(powers, n_atoms=n_atoms, start=1e-2, coarse=10.0)
    phases = [s.phase(t, 0.0) for t in range(60)]
    sizes = [phase.stage.n_atoms or 100 for phase in phases]
    assert sizes == sorted(sizes)
    assert (sizes[0], sizes[-1]) == (25, last)
    for phase, n in zip(phases, sizes, strict=True):
        strong = min(np.count_nonzero(powers >= 10 * phase.floor), last)
        assert phase.final or n >= strong
        assert phase.final or all(size < strong for size in (13, 25, 50) if size < n)
        assert s.allows(phase.stage.n_atoms)
    assert s.allows(31) == (last > 31)
    assert s.coarse.count(powers[20]) == 21


@GIVE
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(
    "how",
    [
        *({"init": init, "max_iter": 20} for init in ("dct", "random", "klt", "jd")),
        *(
            {"solver": solver, "engine": engine, "method": Method(anneal=True), "max_iter": 10}
            for solver, engine in itertools.product(SOLVERS, ("array", "compiled"))
            if serves(engine, solver)
        ),
    ],
    ids=str,
)
def test_an_annealed_fit_begins_coarse_and_ends_with_all_atoms(how, dtype, give):
    how = how | ({"engine": "auto"} if give is tensor else {})
    Y = sound(dtype=dtype)
    r = tl_nmf(give(Y), **HOW | how)
    assert stages(r) == sorted(stages(r))
    assert stages(r)[0] < stages(r)[-1] == 24
    assert (r.n_atoms, r.energy) == (24, 1.0)
    check_fit(Y, r, {})


@pytest.mark.parametrize(
    "how",
    [
        {"max_iter": 0},
        {"method": Method(anneal=False)},
        {"method": Method(anneal=Anneal(coarse=0))},
        {"solver": None},
        {"init": np.eye(24)},
        {"W": np.ones((24, 1))},
    ],
    ids=str,
)
def test_no_covariance_is_computed_for_a_run_that_does_not_begin_coarse(how, monkeypatch):
    monkeypatch.setattr(phinmf.inits.base, "karhunen_loeve", None)
    assert set(stages(tl_nmf(sound(), **HOW | {"max_iter": 3} | how))) <= {24}


@GIVE
@pytest.mark.parametrize(("when", "dtype"), [(1, "float64"), (4, "float32"), (9, "float64")])
@pytest.mark.parametrize("n_atoms", [None, 9])
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
