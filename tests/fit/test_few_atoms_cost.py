"""What a fit of few atoms computes: nothing of M rows inside the loop, the covariance once."""

import contextlib

import numpy as np
import pytest
from few_atoms import sound
from tensor_problems import tensor

import phinmf
from phinmf import TLNMF, Method, learn_transform, tl_nmf
from phinmf.algorithm.run import Run
from phinmf.engines.array import ArrayEngine, ArrayObjective
from phinmf.engines.compiled.compiled_shard import CompiledShard
from phinmf.inits import covariance as klt
from phinmf.linalg.algebra import Algebra
from phinmf.solvers import SOLVERS

pytestmark = pytest.mark.usefixtures("always_coarse")

M, P = 24, 6
HOW = {"n_components": 2, "max_iter": 11, "tol": 0, "random_state": 0, "n_atoms": P}


@contextlib.contextmanager
def inside_the_loop(monkeypatch, wholes):
    """Collect the sizes of products, inverses and evaluations between `open` and `measure`."""
    sizes, on = [], []
    spied = {
        Algebra: ("product", "inverse", "exponential"),
        CompiledShard: ("rotate", "at", "nmf_pass", "loss", "curvature", "pair_losses", "move"),
        ArrayEngine: ("rotate", "nmf_pass"),
        ArrayObjective: ("evaluate", "bound", "curvature", "pair_losses", "move"),
    }

    def size(owner, args):
        if isinstance(owner, CompiledShard):
            return owner.X.shape[-1]
        if isinstance(owner, ArrayEngine):
            return owner.shape[1]
        if isinstance(owner, ArrayObjective):
            return owner.engine.shape[1]
        return max(max(a.shape) for a in args)

    def spy(owner, name):
        whole = getattr(owner, name)

        def noted(self, *args, **how):
            if on:
                sizes.append((name, size(self, args)))
            return whole(self, *args, **how)

        monkeypatch.setattr(owner, name, noted)

    for owner, names in spied.items():
        for name in names:
            spy(owner, name)

    def between(name, then):
        whole = getattr(Run, name)

        def noted(self, *args):
            found = whole(self, *args)
            then()
            return found

        monkeypatch.setattr(Run, name, noted)

    between("begin_iteration", lambda: on.append(1))
    between("measured", on.clear)
    yield sizes


@pytest.mark.parametrize("anneal", [True, False])
@pytest.mark.parametrize("engine", ["array", "compiled"])
@pytest.mark.parametrize("solver", SOLVERS)
def test_nothing_in_the_loop_has_more_rows_than_atoms(monkeypatch, solver, engine, anneal):
    Y = sound()
    with inside_the_loop(monkeypatch, Run) as sizes:
        tl_nmf(Y, solver=solver, engine=engine, method=Method(anneal=anneal), **HOW)
    assert {name for name, _ in sizes} >= {"nmf_pass"}
    assert len({name for name, _ in sizes}) >= 3
    assert max(size for _, size in sizes) == P
    sizes.clear()
    tl_nmf(Y, solver=solver, engine=engine, method=Method(anneal=anneal), **HOW | {"n_atoms": None})
    assert max(size for _, size in sizes) == M  # the test sees it


def test_the_transform_alone_has_no_more_rows_either(monkeypatch):
    Y = sound()[0]
    with inside_the_loop(monkeypatch, Run) as sizes:
        learn_transform(Y, np.ones_like(Y), n_atoms=P, max_iter=6, tol=0)
    assert max(size for _, size in sizes) == P


def test_the_gradient_that_is_returned_is_small(monkeypatch):
    found = []
    whole = ArrayObjective.evaluate

    def noted(self, *args):
        here = whole(self, *args)
        found.append(here.G.shape)
        return here

    monkeypatch.setattr(ArrayObjective, "evaluate", noted)
    tl_nmf(sound(), engine="array", **HOW)
    assert {n for n, m in found if n == m} == {n for n, _ in found}
    assert max(found) == (P, P)


@pytest.mark.parametrize("init", ["dct", "random", "klt", "jd"])
@pytest.mark.parametrize("n_atoms", [P, 0.99, None])
@pytest.mark.parametrize("give", [np.asarray, tensor])
def test_the_covariance_is_computed_once(monkeypatch, init, n_atoms, give):
    calls = counted(monkeypatch)
    tl_nmf(give(sound()), init=init, **HOW | {"n_atoms": n_atoms, "max_iter": 3})
    assert len(calls) == 1


@pytest.mark.parametrize("n_jobs", [1, 3])
@pytest.mark.parametrize("n_atoms", [P, None])
def test_restarts_share_the_covariance(monkeypatch, n_jobs, n_atoms):
    calls = counted(monkeypatch)
    model = TLNMF(2, n_atoms=n_atoms, n_init=3, n_jobs=n_jobs, init="random", max_iter=3, tol=0)
    model.fit(sound()[0].T)
    assert len(calls) == 1
    assert len(model.objectives_) == 3


def counted(monkeypatch):
    calls, whole = [], klt.covariance

    def noted(*args):
        calls.append(1)
        return whole(*args)

    monkeypatch.setattr(klt, "covariance", noted)
    return calls


@pytest.mark.full
def test_dask_frames_are_read_for_the_covariance_once():
    da = pytest.importorskip("dask.array")
    Y = sound(M=24, n=40_000)[0]
    read = []

    def block(x):
        read.append(x.shape)
        return x

    lazy = da.from_array(Y, chunks=(-1, 500)).map_blocks(block, dtype=Y.dtype, meta=Y[:0, :0])
    frames = phinmf.inits.Frames(lazy[None])
    read.clear()
    U, powers = frames.karhunen_loeve
    assert sum(shape[1] for shape in read) == Y.shape[1]
    assert frames.karhunen_loeve[0] is U
    there = phinmf.inits.Frames(Y[None]).karhunen_loeve
    assert np.array_equal(U, there[0])
    assert np.array_equal(powers, there[1])


def test_cost_grows_with_the_atoms_not_with_the_window(monkeypatch):
    """Entries of X that are evaluated: those of P rows, whatever M is."""
    entries = []
    whole = CompiledShard.at

    def noted(self, *args):
        entries.append(self.X.size)
        return whole(self, *args)

    monkeypatch.setattr(CompiledShard, "at", noted)
    for M in (24, 48, 96):
        Y = sound(M=M, n=100 * M)
        entries.clear()
        tl_nmf(Y, engine="compiled", **HOW)
        assert max(entries) == P * Y.shape[2]
