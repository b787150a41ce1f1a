"""What the methods of a shard declare is what they do, and what shards elsewhere build on."""

import inspect
import itertools
from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from phinmf.arrays import with_separate_channels
from phinmf.arrays.threads import Workers
from phinmf.divergences import DIVERGENCES
from phinmf.engines.compiled.compiled_shard import CompiledShard
from phinmf.engines.compiled.shard import ACCESS, LASTING, STATE, Shard, SmoothStep, access
from phinmf.engines.compiled.shards import Call, LocalShards
from phinmf.engines.compiled.stretch import Stretch, frames_in_blocks
from phinmf.engines.compiled.summation import blocks_of, stretches_of
from phinmf.engines.remote.disk import DiskShards
from phinmf.engines.remote.journal import Journal
from phinmf.linalg.manifold import random_orthogonal

C, M, N, K = 2, 6, 1100, 3  # four blocks
EPS = 1e-3


METHODS = [name for name in vars(Shard) if name in Shard.__abstractmethods__]


class Numbers:
    """Frames and the arguments of calls, the same for the same seed."""

    def __init__(self, seed=0):
        self.rng = np.random.default_rng(seed)
        self.Y = with_separate_channels(self.rng.standard_normal((C, N, M)))  # as in engines
        self.weights = self.rng.integers(1, 3, N).astype(float)
        starts = [block.start for block in blocks_of(N)]  # shards begin here, and need no edges
        self.links = ~np.isin(np.arange(N), starts) & (np.arange(N) % 50 > 0)

    def stretch(self, blocks):
        frames = frames_in_blocks(N, blocks)
        links = np.append(self.links, False)[frames.start : frames.stop + 1]
        weights = self.weights[frames]
        return Stretch(N, blocks, DIVERGENCES["itakura-saito"], weights, False, links)

    def shard(self):
        blocks = slice(0, len(blocks_of(N)))
        return CompiledShard(self.Y, self.stretch(blocks), Workers(1))

    def transform(self):
        return random_orthogonal(M, self.rng)

    def W(self):
        return self.rng.random((M, K))

    def H(self):
        return self.rng.random((N, K)) + 0.1

    def V_hat(self):
        return self.rng.random((N, M)) + 0.1

    def calls(self, name):
        """Every way of calling a method."""
        models = [(self.W(), EPS), (None, EPS)]
        pairs = np.array([0, 2]), np.array([1, 3]), self.rng.uniform(-1, 1, (2, 4))
        arguments = {
            "rest": [()],
            "rotate": [(self.transform(),)],
            "move": [(self.transform(),), (None,)],
            "powers": [()],
            "activations": [()],
            "keep_activations": [()],
            "restore_activations": [()],
            "kept_activations": [()],
            "scale_activations": [(self.rng.random(K),)],
            "converge_activations": [(self.W(), 0.1, EPS, 1e-6, 20)],
            "energies": [()],
            "activation_sums": [()],
            "edges": [()],
            "roughness": [({},)],
            "update_every_other": [
                (first, SmoothStep(self.W(), np.full(K, 0.1), 2.0, EPS, 1.0), {})
                for first in (0, 1)
            ],
            "nmf_pass": [(self.W(), np.full(K, 0.1), EPS, gamma) for gamma in (1.0, 0.0)],
            "at": [(*model, T) for model in models for T in (self.transform(), None)],
            "loss": models,
            "curvature": [(*model, exact) for model in models for exact in (True, False)],
            "pair_losses": [(*model, *pairs) for model in models],
        }
        rows = {"set_activations": self.H, "set_model": self.V_hat}
        if name in rows:
            return [Call(name, rows=rows[name]())]
        return [Call(name, args) for args in arguments[name]]


def make(shard, call):
    return getattr(shard, call.name)(*call.arguments(slice(None)))


def with_all_state(numbers):
    """A shard that holds something of everything."""
    shard = numbers.shard()
    first = ("rotate", "energies", "set_activations", "keep_activations")
    for name in (*first, "set_model", "at", "nmf_pass"):
        make(shard, numbers.calls(name)[0])
    assert all(getattr(shard, name) is not None for name in STATE)
    return shard


def snapshot(shard):
    """Copies of all arrays of a shard, not only of those that can be declared."""
    held = {name: x for name, x in vars(shard).items() if x is None or is_array(x)}
    held |= {name: getattr(shard, name) for name in STATE}
    held = {name: x for name, x in held.items() if name not in getattr(shard, "stands_for", ())}
    return {name: None if x is None else np.array(x) for name, x in held.items()}


def is_array(x):
    return isinstance(x, np.ndarray)


def spoil(shard, state):
    """Replace an array by one without any information."""
    spoilt = getattr(shard, state).copy()
    spoilt[...] = np.nan
    setattr(shard, state, spoilt)


def differing(before, after):
    return {name for name in before.keys() | after.keys() if not equal(before[name], after[name])}


def equal(a, b):
    return np.array_equal(a, b) if a is not None and b is not None else a is b


def arrays_in(value):
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, np.ndarray):
        yield value
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from arrays_in(item)


def flat(answer):
    """Everything in an answer, as a list of arrays and numbers."""
    if isinstance(answer, dict):
        answer = list(answer.items())
    if isinstance(answer, (list, tuple)):
        return [x for item in answer for x in flat(item)]
    return [answer]


def same(a, b):
    return len(flat(a)) == len(flat(b)) and all(
        equal(x, y) for x, y in zip(map(as_array, flat(a)), map(as_array, flat(b)), strict=True)
    )


def as_array(x):
    return x


def test_every_method_of_the_contract_declares_what_it_reads_and_changes():
    assert METHODS
    assert set(METHODS) == set(ACCESS)
    assert set(METHODS) <= Shard.__abstractmethods__
    assert LASTING < STATE
    assert all("Y" not in declared.changes for declared in ACCESS.values())
    assert all(declared.restored_by in {None, *METHODS} for declared in ACCESS.values())


@pytest.mark.parametrize("name", [n for n in METHODS if "X" in ACCESS[n].changes])
def test_what_changes_x_can_be_deferred(name):
    """Shards on disk make these calls later, when X is next in memory."""
    assert ACCESS[name].changes == {"X", "trial"}
    assert inspect.signature(getattr(Shard, name)).return_annotation == "None"


def test_a_declaration_of_unknown_state_is_refused():
    with pytest.raises(AssertionError, match="Z"):
        access(reads="X Z")


@pytest.mark.parametrize("name", METHODS)
def test_a_method_changes_what_it_declares_and_nothing_else(name):
    changed = set()
    for call in Numbers(1).calls(name):
        shard = with_all_state(Numbers())
        before = snapshot(shard)
        answer = make(shard, call)
        changed |= differing(before, snapshot(shard))
        after = snapshot(shard)
        for array in arrays_in(answer):
            array.fill(np.nan)  # an answer shares no memory with the shard
        assert not differing(after, snapshot(shard))
    assert changed == ACCESS[name].changes


@pytest.mark.parametrize("name", METHODS)
def test_a_method_depends_on_what_it_declares_and_nothing_else(name):
    for number in range(len(Numbers(1).calls(name))):
        outcomes = []
        for spoilt in (set(), STATE - ACCESS[name].reads):
            shard = with_all_state(Numbers())
            for state in spoilt:
                spoil(shard, state)
            answer = make(shard, Numbers(1).calls(name)[number])
            outcomes.append([answer, *(getattr(shard, s) for s in ACCESS[name].changes & LASTING)])
        assert same(*outcomes)


@pytest.mark.parametrize("name", [n for n in METHODS if ACCESS[n].restored_by])
def test_what_a_method_returns_restores_the_state_that_it_reads(name):
    shard = with_all_state(Numbers())
    before, answer = snapshot(shard), make(shard, Numbers().calls(name)[0])
    for state in ACCESS[name].reads:
        spoil(shard, state)
    make(shard, Call(ACCESS[name].restored_by, rows=answer))
    assert not differing(before, snapshot(shard))


names = st.lists(st.sampled_from(METHODS), max_size=12)


def sequence(numbers, chosen):
    """Calls after everything has been set once; a move is one to T, not to the trial point."""
    start = ["rotate", "set_activations", "keep_activations", "set_model"]
    return [numbers.calls(name)[0] for name in [*start, *chosen]]


@given(chosen=names)
def test_the_journal_leads_to_the_same_bits(chosen):
    numbers, journal = Numbers(), Journal()
    shard, again = numbers.shard(), numbers.shard()
    for call in sequence(numbers, chosen):
        journal.note(call)
        answer = make(shard, call)
        if call.access.restored_by:
            journal.note(Call(call.access.restored_by, rows=answer))
    for call in journal.calls:
        make(again, call)
    assert not differing(snapshot(shard), snapshot(again)) - {"trial"}


def test_the_journal_keeps_no_call_that_has_lost_its_effect():
    numbers, journal = Numbers(), Journal()

    def noted(*names):
        for name in names:
            journal.note(numbers.calls(name)[0])
        return [call.name for call in journal.calls]

    first = noted("rotate", "set_activations", "set_model", "move", "nmf_pass", "at", "loss")
    assert first == ["rotate", "set_activations", "set_model", "move", "nmf_pass"]
    assert noted("rotate")[3:] == ["move", "nmf_pass", "rotate"]  # H depends on the old X
    assert noted("move", "set_activations") == ["set_model", "rotate", "move", "set_activations"]
    assert noted("set_model") == ["rotate", "move", "set_activations", "set_model"]
    assert noted("rest") == ["set_activations", "set_model", "rest"]
    journal.clear()
    assert not journal.calls


@given(chosen=names, number=st.integers(1, 3))
def test_shards_on_disk_answer_as_one_in_memory(chosen, number):
    numbers = Numbers()
    n_blocks = len(blocks_of(N))
    stretches = [numbers.stretch(blocks) for blocks in stretches_of(n_blocks, number)]
    local = LocalShards(numbers.shard(), n_blocks)

    def load(frames):
        return with_separate_channels(numbers.Y[:, frames].copy())

    disk = DiskShards(load, (C, M), np.dtype(float), stretches, n_blocks, Workers(1), None)
    for call in sequence(numbers, chosen):
        here, there = [*local.answers(call)], [*disk.answers(call)]
        if isinstance(here[0], np.ndarray):
            assert np.array_equal(here[0], np.concatenate(there))
        elif isinstance(here[0], dict):  # the edges of each shard
            parts = {n: row for edges in there for n, row in edges.items()}
            assert all(np.array_equal(parts[n], row) for n, row in here[0].items())
        elif here[0] is not None:
            method, rest = getattr(Shard, call.name), call.args
            assert same(local.sums(method, *rest), disk.sums(method, *rest))
    disk.close()
    assert not disk.folder.exists()


def test_only_who_holds_the_trial_point_gets_shorter_arguments():
    T = np.eye(M)
    call = Call("move", (T,), args_at_trial=(None,))
    assert call.arguments(slice(None)) == (T,)
    assert call.arguments(slice(None), holds_trial=True) == (None,)
    assert Call("move", (T,)).arguments(slice(None), holds_trial=True) == (T,)


@pytest.mark.parametrize("between", [None, *METHODS])
def test_a_move_to_the_trial_point_needs_no_product_unless_x_has_changed(between, monkeypatch):
    numbers = Numbers()
    shard = with_all_state(numbers)
    shards = LocalShards(shard, len(blocks_of(N)))
    T, given = numbers.transform(), []
    move = shard.move
    monkeypatch.setattr(shard, "move", lambda T: (given.append(T), move(T)))
    shards.evaluate(numbers.W(), EPS, T)
    if between is not None:
        call = numbers.calls(between)[0]
        ask = partial(shards.ask_rows, rows=call.rows) if call.rows is not None else shards.ask
        ask(getattr(Shard, between), *call.args)
        given.clear()
    X = T @ shard.X.transpose(0, 2, 1)
    shards.move(T)
    (sent,) = given
    kept = between is None or "trial" not in ACCESS[between].changes
    assert (sent is None) == kept
    np.testing.assert_allclose(shard.X.transpose(0, 2, 1), X, atol=1e-12)


def test_stretches_of_blocks_cover_all_frames():
    for number in (1, 2, 3):
        frames = [Numbers().stretch(b).frames for b in stretches_of(len(blocks_of(N)), number)]
        assert (frames[0].start, frames[-1].stop) == (0, N)
        assert all(a.stop == b.start for a, b in itertools.pairwise(frames))
