"""Shards are pure functions, and however frames are cut and held, the bits are the same."""

import pickle

import numpy as np
import pytest
from clusters import needs_dask
from hypothesis import given
from hypothesis import strategies as st
from tensor_problems import needs_torch

from phinmf.arrays import with_separate_channels
from phinmf.arrays.threads import Workers
from phinmf.divergences import DIVERGENCES, Penalty
from phinmf.engines.compiled.engine import CompiledEngine, FramesInMemory
from phinmf.engines.compiled.on_disk import FramesOnDisk
from phinmf.engines.compiled.shard import PowerModel, Shard, shards_of
from phinmf.engines.compiled.summation import blocks_of, total
from phinmf.engines.tensor_shard import TensorShard
from phinmf.linalg.manifold import random_orthogonal

M, N, K = 6, 1100, 3  # four blocks
EPS = 1e-3


class Numbers:
    """Frames of one or two channels and what is computed with them, the same for a seed."""

    def __init__(self, C=2, dtype=np.float64, equal=False):
        rng = self.rng = np.random.default_rng(0)
        self.X = with_separate_channels(rng.standard_normal((C, N, M)).astype(dtype))
        self.weights = np.ones(N) if equal else rng.integers(1, 3, N).astype(float)
        self.H = rng.random((N, K)).astype(dtype) + dtype(0.1)
        self.W = rng.random((M, K)).astype(dtype)
        self.V_hat = rng.random((N, M)).astype(dtype) + dtype(0.1)
        self.T = random_orthogonal(M, rng, dtype)
        self.rates = np.full(K, 0.1)
        self.W.flags.writeable = self.T.flags.writeable = False

    def shards(self, number=1, divergence="itakura-saito", n_threads=1):
        workers = Workers(n_threads)
        return shards_of(self.weights, DIVERGENCES[divergence], workers, number)

    def rows(self, shard):
        """X, H and V̂ of a shard, as copies."""
        X = with_separate_channels(self.X[:, shard.frames].copy())
        return X, self.H[shard.frames].copy(), self.V_hat[shard.frames].copy()

    def sums(self, shard):
        """Every sum over frames, as nodes."""
        X, H, V_hat = self.rows(shard)
        model = PowerModel(H, self.W.T.copy())
        return {
            "energies": shard.energies(X),
            "activation_sums": shard.activation_sums(H),
            "nmf": shard.nmf_pass(X, H, self.W, self.rates, EPS, 0.7)[1],
            "sums of an NMF pass alone": shard.nmf_pass(X, H, self.W, self.rates, EPS, 0)[1],
            "loss": shard.evaluate(X, model, EPS, gradient=False),
            "loss of a model": shard.evaluate(X, PowerModel(V_hat), EPS, gradient=False),
            "evaluate": shard.evaluate(X, model, EPS),
            "evaluate at T": shard.evaluate(X, PowerModel(V_hat), EPS, self.T),
            "curvature": shard.curvature(X, model, EPS, True),
            "bound": shard.curvature(X, model, EPS, False),
        }

    def frames(self, shard):
        """Everything that has an axis of frames, with the frames first."""
        X, H, _ = self.rows(shard)
        return {
            "rotated": shard.rotated(X, self.T).transpose(1, 0, 2),
            "powers": shard.powers(X),
            "updated": shard.nmf_pass(X, H, self.W, self.rates, EPS, 0.7)[0],
            "converged": shard.converged_activations(X, H, self.W, 0.1, EPS, 1e-6, 20),
        }


@pytest.mark.parametrize(
    ("C", "dtype", "equal"), [(1, np.float64, True), (2, np.float32, False), (2, np.float64, True)]
)
@pytest.mark.parametrize("divergence", DIVERGENCES)
@pytest.mark.parametrize(("number", "n_threads"), [(1, 3), (3, 2), (99, 1)])
def test_the_number_of_shards_and_threads_changes_no_bits(
    C, dtype, equal, divergence, number, n_threads
):
    """Nor does pickling; W and T are read-only."""
    numbers = Numbers(C, dtype, equal)
    (whole,) = numbers.shards(divergence=divergence)
    parts = numbers.shards(number, divergence, n_threads)
    parts[1:] = pickle.loads(pickle.dumps(parts[1:]))
    assert len(parts) == min(number, len(blocks_of(N)))
    for name, nodes in numbers.sums(whole).items():
        expected = total(sum(whole.nodes), nodes)
        computed = total(sum(whole.nodes), [n for s in parts for n in numbers.sums(s)[name]])
        assert all(np.array_equal(a, b) for a, b in zip(computed, expected, strict=True)), name
    for name, rows in numbers.frames(whole).items():
        computed = np.concatenate([numbers.frames(s)[name] for s in parts])
        assert np.array_equal(computed, rows), name
        assert computed.dtype == dtype


def test_the_trial_point_is_kept_where_there_is_room_for_it():
    numbers = Numbers()
    (shard,) = numbers.shards()
    X, _, V_hat = numbers.rows(shard)
    X.flags.writeable = V_hat.flags.writeable = False
    out = np.empty_like(X)
    nodes = [shard.evaluate(X, PowerModel(V_hat), EPS, numbers.T, room) for room in (out, None)]
    assert all(map(np.array_equal, *(n[0].sums for n in nodes)))
    assert np.array_equal(out, shard.rotated(X, numbers.T))


def test_frames_that_do_not_fit_are_refused_by_what_helps(monkeypatch):
    def no_room(*_):
        raise MemoryError

    numbers = Numbers()
    monkeypatch.setattr(np, "empty", no_room)
    with pytest.raises(MemoryError, match=r"n_atoms.*float32.*partial_fit"):
        numbers.shards()[0].rotated(numbers.X, numbers.T)


def engine_on(frames_of, numbers, C):
    Y = numbers.X.transpose(0, 2, 1)
    engine = CompiledEngine(Y, DIVERGENCES["itakura-saito"], 1, numbers.weights)
    engine._frames = frames_of(engine, Y)
    engine.set_activations(numbers.H.T)
    return engine


def on_disk(engine, Y, number=3):
    needs_dask()
    import dask.array as da

    shards = shards_of(engine.weights, engine.divergence, engine.workers, number)
    return FramesOnDisk(shards, da.from_array(Y, chunks=(-1, -1, 300)), engine.dtype, None)


#: what can be done to an engine: each returns something to compare, or None
STEPS = {
    "rest": lambda e, n: e.rest(),
    "rotate": lambda e, n: e.rotate(n.T),
    "move": lambda e, n: e.objective(n.W, EPS).move(random_orthogonal(M, n.rng)),
    "evaluate": lambda e, n: e.objective(n.W, EPS).evaluate(random_orthogonal(M, n.rng)),
    "evaluate at X": lambda e, n: e.objective(n.W, EPS).evaluate(),
    "evaluate and move": lambda e, n: evaluate_and_move(e, n),
    "given model": lambda e, n: (e.objective_of(n.V_hat.T, EPS).loss(),),
    "curvature": lambda e, n: (e.objective(n.W, EPS).curvature(),),
    "nmf": lambda e, n: e.nmf_pass(n.W, Penalty(0.1), EPS, 1.0),
    "converge": lambda e, n: e.converge_activations(n.W, Penalty(0.1), EPS, 1e-6, 10),
    "scale": lambda e, n: e.scale_activations(n.rng.random(K)),
    "activations": lambda e, n: (e.activations(), e.activation_sums()),
    "powers": lambda e, n: (e.powers(), e.energies()),
}


def evaluate_and_move(engine, numbers):
    T, objective = random_orthogonal(M, numbers.rng), engine.objective(numbers.W, EPS)
    evaluation = objective.evaluate(T)
    objective.move(T)
    return evaluation


@pytest.mark.full
@given(steps=st.lists(st.sampled_from(sorted(STEPS)), max_size=12), C=st.integers(1, 2))
def test_frames_on_disk_give_the_bits_of_those_in_memory(steps, C):
    numbers, again = Numbers(C), Numbers(C)
    memory = engine_on(lambda e, Y: e.frames, numbers, C)
    disk = engine_on(on_disk, again, C)
    for step in [*steps, "powers", "activations"]:
        expected, computed = STEPS[step](memory, numbers), STEPS[step](disk, again)
        if expected is not None:
            assert all(np.array_equal(a, b) for a, b in zip(computed, expected, strict=True))
    folder = disk.frames.folder
    with disk:
        pass
    assert not folder.exists()


@pytest.mark.full
def test_a_file_that_is_half_written_is_not_used(monkeypatch):
    """An interrupt while X is stored leaves what was stored, and what was pending."""
    numbers = Numbers()
    memory, disk = (engine_on(f, numbers, 2) for f in (lambda e, Y: e.frames, on_disk))
    for engine in (memory, disk):
        engine.rotate(numbers.T)
        engine.energies()
        engine.frames.move(numbers.T)

    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("pathlib.Path.replace", interrupted)
    with pytest.raises(KeyboardInterrupt):
        disk.energies()
    monkeypatch.undo()
    assert np.array_equal(disk.energies(), memory.energies())


@pytest.mark.parametrize("between", [None, *STEPS])
def test_a_move_to_the_trial_point_needs_no_product_unless_x_has_changed(between, monkeypatch):
    numbers = Numbers()
    engine = engine_on(lambda e, Y: e.frames, numbers, 2)
    assert isinstance(engine.frames, FramesInMemory)
    engine.rotate(numbers.T)
    T, objective = random_orthogonal(M, numbers.rng), engine.objective(numbers.W, EPS)
    objective.evaluate(T)
    if between is not None:
        STEPS[between](engine, numbers)
    changed = between in ("rest", "rotate", "move", "evaluate", "evaluate and move")
    products, rotated = [], Shard.rotated
    monkeypatch.setattr(Shard, "rotated", lambda *args: products.append(1) or rotated(*args))
    X = engine.frames.X @ T.T
    objective.move(T)
    assert bool(products) == changed
    np.testing.assert_allclose(engine.frames.X, X, atol=1e-12)


@pytest.mark.full
def test_the_number_of_threads_of_pytorch_changes_no_bits_and_is_restored():
    """It differs between workers: one that takes over frames has to continue with the same bits."""
    needs_torch()
    import torch

    rng = np.random.default_rng(0)
    H, W, Y = (rng.random(shape) for shape in ((6000, 3), (40, 3), (2, 6000, 40)))
    shard = Shard(np.arange(6000) % 3.0, DIVERGENCES["itakura-saito"], Workers(1))
    shard, before, results = TensorShard("cpu:0", shard), torch.get_num_threads(), []
    try:
        for n_threads in (1, 2):
            torch.set_num_threads(n_threads)
            with shard.computing():
                X = shard.placed(Y)
                results.append(shard.converged_activations(X, H, W, 0.0, 1e-2, 1e-6, 20))
            assert torch.get_num_threads() == n_threads
    finally:
        torch.set_num_threads(before)
    assert np.array_equal(*results)
