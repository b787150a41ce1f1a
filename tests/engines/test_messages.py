"""What passes the client of a cluster: few messages, no activations, nothing twice."""

import numpy as np
import pytest
from clusters import cluster, growing_noise, needs_dask, same
from hostile import blas_threads

from phinmf import Checkpoint, Method, Status, tl_nmf
from phinmf.arrays.cluster_watch import Watch
from phinmf.divergences import DIVERGENCES
from phinmf.engines.compiled.summation import blocks_of
from phinmf.engines.remote.journal import MOST_CALLS, Journal, size
from phinmf.engines.remote.old_shard import ACCESS
from phinmf.engines.remote.old_shards import Call
from phinmf.engines.remote.old_stretch import Stretch

needs_dask()
import dask
import dask.array as da

from phinmf.engines.remote.actor import ShardActor
from phinmf.engines.remote.cluster import ClusterShards
from phinmf.engines.remote.engine import DaskEngine
from phinmf.engines.remote.message import Failure

pytestmark = pytest.mark.full

M, N, K = 16, 6000, 3
HOW = {
    "n_components": K,
    "random_state": 0,
    "max_iter": 8,
    "tol": 0,
    "method": Method(anneal=False),
}
PLACES = {"star": 100, "tree": 2}


def frames():
    return growing_noise(M, N)


def lazily():
    return da.from_array(frames(), chunks=(-1, -1, 700))


@pytest.fixture(scope="module")
def three_workers():
    with cluster(3, processes=False) as client:
        yield client


@pytest.fixture(params=PLACES)
def place(request, three_workers):
    with dask.config.set({"phinmf.tree": PLACES[request.param]}):
        yield request.param


@pytest.fixture
def made(monkeypatch):
    """The shards that are made on clusters, the last ones last."""
    begin, found = ClusterShards.__init__, []

    def noted(self, *args):
        begin(self, *args)
        found.append(self)

    monkeypatch.setattr(ClusterShards, "__init__", noted)
    return found


def test_no_activations_travel_and_few_messages(place, made):
    seen = []

    def look(state):
        seen.append((made[-1].post.travelled.copy(), made[-1].post.messages.copy()))

    found = tl_nmf(lazily(), callback=look, **HOW)
    same(found, tl_nmf(frames(), engine="compiled", **HOW))
    assert len(made) == 1
    (before, messages), (after, more) = seen[0], seen[-1]
    assert after["activations"] == after["kept_activations"] == 0
    assert after["set_activations"] == N * 8  # the flat start: a number for each frame
    assert after["keep_activations"] == after["move"] == 0
    assert before["keep_activations"] == 0
    n = 1 if place == "tree" else 3
    assert more["at"] == found.history[-1].evaluations * n
    others = (more - messages).total() - (more["at"] - messages["at"])
    # three NMF steps and the sums of H; the curvatures in every third iteration
    assert others <= (4 * 7 + 3) * n
    assert made[-1].post.travelled["activations"] == N * K * 8  # the result


def test_checkpoints_and_callbacks_change_nothing(place, made, tmp_path):
    how = HOW | {"checkpoint": Checkpoint(tmp_path / "c", every=0, resume=True)}
    tl_nmf(lazily(), callback=lambda state: state.iteration == 6, **how)
    assert made[-1].post.travelled["activations"] == 2 * N * K * 8  # a checkpoint and the result
    same(tl_nmf(lazily(), **how), tl_nmf(frames(), engine="compiled", **HOW))


def test_memory_is_freed_at_once(place, made):
    """A call that returns nothing waits for the next one, unless others need the memory."""
    with DaskEngine(lazily(), DIVERGENCES["itakura-saito"]) as engine:
        engine.rotate(np.eye(M))
        assert not made[-1].post.messages
        engine.rest()
        assert made[-1].post.messages["rest"] == (1 if place == "tree" else 3)
        assert made[-1].flush() == []


@pytest.mark.parametrize("call", [3, 17, 19, 26, 32, 47])
def test_an_interrupted_message_leaves_the_last_complete_iterate(place, call, monkeypatch):
    """Ctrl-C right after a message was sent: some shards make its calls, and some may not."""
    wait, count = Watch.result, []

    def interrupted(self, begun, lost, pending=None):
        if pending is None:
            count.append(1)
        if len(count) == call and pending is None:
            begun.cancel()
            raise KeyboardInterrupt
        return wait(self, begun, lost, pending)

    monkeypatch.setattr(Watch, "result", interrupted)
    try:
        found = tl_nmf(lazily(), **HOW | {"max_iter": 20})
    except KeyboardInterrupt:
        assert call == 3  # before the first iteration
        return
    assert len(count) > call
    assert found.status is Status.INTERRUPTED
    made = len(found.history)
    same(found, tl_nmf(frames(), engine="compiled", **HOW | {"max_iter": made}))


def test_a_copy_of_the_activations_is_fetched_when_it_is_smaller_than_the_journal(
    place, made, monkeypatch
):
    monkeypatch.setattr("phinmf.engines.remote.journal.MOST_CALLS", 12)
    fetched = []
    how = HOW | {"callback": lambda state: fetched.append(made[-1].post.travelled["activations"])}
    same(tl_nmf(lazily(), **how), tl_nmf(frames(), engine="compiled", **HOW))
    copies = [n // (N * K * 8) for n in np.diff(fetched)]
    assert set(copies) == {0, 1}
    assert sum(copies) >= 2


class Chain:
    """A journal of calls as a fit makes them."""

    def __init__(self, n, T):
        self.journal, self.n, self.T = Journal(), n, np.zeros((T, T))
        self.note("set_activations", rows=np.zeros((n, K)))
        self.note("rotate", self.T)

    def note(self, name, *args, rows=None):
        call = Call(name, args, rows)
        outgrown = self.journal.outgrown_by(call)
        if outgrown:
            self.journal.note(Call("set_activations", rows=np.zeros((self.n, K))))
        self.journal.note(call)
        return outgrown

    def iterations(self, number):
        """How many iterations passed before each copy."""
        copies, last = [], 0
        for i in range(number):
            outgrown = self.note("keep_activations")
            outgrown |= self.note("nmf_pass", np.zeros((4, K)), np.zeros(K), 0.0, 1.0)
            for name in ("scale_activations", "move"):
                outgrown |= self.note(name, self.T if name == "move" else np.zeros(K))
            if i % 5 == 4:
                outgrown |= self.note("rotate", self.T)
            if outgrown:
                copies.append(i - last)
                last = i
        return copies


def test_the_journal_stays_short():
    chain, longest = Chain(n=10**5, T=4), 0
    for _ in range(100):
        assert len(chain.iterations(5)) <= 1
        longest = max(longest, len(chain.journal.calls))
    assert MOST_CALLS < longest < MOST_CALLS + 40
    heavy = Chain(n=1000, T=20)
    # a move has 3200 bytes, the activations have 24,000
    assert 6 <= min(heavy.iterations(100)[1:]) <= max(heavy.iterations(100)[1:]) <= 12
    assert sum(size(call.args) for call in heavy.journal.calls) < 2 * 24_000


def test_what_does_not_update_activations_fetches_no_copy():
    chain = Chain(n=10, T=20)
    for name in ACCESS:
        if "H" not in ACCESS[name].reads or not ACCESS[name].changes:
            assert not chain.journal.outgrown_by(Call(name))
    assert not Journal().outgrown_by(Call("nmf_pass"))


def test_the_size_of_a_view_is_what_is_sent():
    level = np.ones(10)
    assert size(np.broadcast_to(level, (4, 10)).T) == size([level]) == 80
    assert size({"a": (level, 3)}) == 80


def test_a_message_that_comes_again_is_not_made_again():
    Y, threads = frames(), blas_threads()
    blocks = slice(0, len(blocks_of(N)))
    stretch = Stretch(
        N, blocks, DIVERGENCES["itakura-saito"], np.ones(N), True, np.zeros(N + 1, bool)
    )
    actor = ShardActor([Y], (1, N, M), Y.dtype, 1, stretch)
    H, W = np.full((N, K), 0.5), np.random.default_rng(0).random((M, K))
    step = ("nmf_pass", (W, np.zeros(K), 1e-3, 1.0))
    first = actor.ask(4, [("set_activations", (H,)), step])
    after = actor.shard.H.copy()
    assert actor.ask(4, [step]) is first
    assert np.array_equal(actor.shard.H, after)
    assert not first[0].sums[0].flags.writeable  # sums are made in place
    older = actor.ask(3, [step])
    assert isinstance(older, Failure)
    assert "older" in str(older.error)
    actor.ask(5, [step])
    assert not np.array_equal(actor.shard.H, after)
    assert blas_threads() == threads  # between messages, too: nobody may come to close the actor
