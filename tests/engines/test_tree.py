"""Messages along a tree of workers: the bits of one machine, also if workers are lost."""

import asyncio
import functools
import os
import signal

import numpy as np
import pytest
from clusters import cluster, growing_noise, needs_dask, same, worker_process

from phinmf import Method, Status, tl_nmf
from phinmf.engines.compiled.summation import Node, stretches_of, total
from phinmf.engines.remote.tree import added, pays_from, right_halves

needs_dask()
import dask
import dask.array as da

from phinmf.engines.remote.actor import ShardActor
from phinmf.engines.remote.cluster import ClusterShards

pytestmark = pytest.mark.full

HOW = {
    "n_components": 3,
    "random_state": 0,
    "max_iter": 6,
    "tol": 0,
    "method": Method(anneal=False),
}


def frames(N=6000):
    return growing_noise(24, N)


def lazily():
    return da.from_array(frames(), chunks=(-1, -1, 700))


@functools.cache
def expected(**how):
    return tl_nmf(frames(), engine="compiled", **HOW | how)


@pytest.fixture
def relayed(monkeypatch):
    """The names of the calls that took the tree."""
    relay, names = ClusterShards._relay, []

    def noted(self, message):
        answers = relay(self, message)
        names.append(message.last.name)
        return answers

    monkeypatch.setattr(ClusterShards, "_relay", noted)
    return names


def test_every_shard_is_reached_once():
    def reached(shards):
        found = [shards[0]]
        for half in right_halves(len(shards)):
            found += reached(shards[half])
        return found

    for n in range(1, 40):
        assert sorted(reached(range(n))) == [*range(n)]
    assert [len(right_halves(n)) for n in (1, 2, 8, 64)] == [0, 1, 3, 6]


@pytest.mark.parametrize("workers", range(1, 9))
def test_sums_of_some_shards_are_nodes_of_the_whole(workers, rng):
    """Whatever is added up on the way, the bits do not change."""
    n = 21
    values = [rng.standard_normal(5) * 10.0**k for k in rng.integers(-9, 9, n)]

    def nodes(blocks):
        return [Node(i, i + 1, [values[i].copy()]) for i in range(n)[blocks]]

    (whole,) = total(n, nodes(slice(None)))
    cuts = stretches_of(n, workers)
    for middle in range(1, len(cuts)):
        parts = cuts[:middle], cuts[middle:]
        halves = [added(n, [added(n, [nodes(cut)]) for cut in part]) for part in parts]
        (found,) = total(n, [node for half in halves for node in half])
        assert np.array_equal(found, whole)


@pytest.mark.parametrize("smooth", [0.0, 7.0])
@pytest.mark.parametrize("workers", [1, 2, 3, 5, 6])
def test_any_number_of_workers_gives_the_same_bits(workers, smooth, relayed):
    how = {"smoothness": smooth}
    with dask.config.set({"phinmf.tree": 1}), cluster(workers, processes=False):
        same(tl_nmf(lazily(), **HOW | how), expected(**how))
    assert {"at", "nmf_pass", "loss"} <= set(relayed)
    assert ("edges" in relayed) == (smooth > 0)
    assert not {"activations", "powers"} & set(relayed)


def test_several_shards_on_one_worker(relayed):
    """One of two workers closes: the head and the shard that it calls are then on the same one."""
    with dask.config.set({"phinmf.tree": 2}), cluster(2, processes=False) as client:

        def close(state):
            if state.iteration == 2:
                next(iter(client.cluster.workers.values())).executors["actor"].shutdown()

        same(tl_nmf(lazily(), callback=close, **HOW), expected())
    assert relayed.count("at") > 10


def test_an_error_of_any_shard_is_raised_in_the_client(monkeypatch):
    made = ShardActor._made

    def failing(self, steps):
        if steps[-1][0] == "energies" and self.stretch.frames.start > 0:
            steps = [("no_such_method", ())]
        return made(self, steps)

    monkeypatch.setattr(ShardActor, "_made", failing)
    from phinmf.divergences import DIVERGENCES
    from phinmf.engines.remote.engine import DaskEngine

    with (
        dask.config.set({"phinmf.tree": 2}),
        cluster(4, processes=False),
        DaskEngine(lazily(), DIVERGENCES["itakura-saito"]) as engine,
    ):
        engine.rotate(np.eye(24))
        with pytest.raises(AttributeError, match="no_such_method"):
            engine.energies()
        assert engine.powers().shape == (6000,)  # it goes on


@pytest.fixture
def lost(monkeypatch):
    """The shards that were lost, each with the number of the message."""
    make, found = ClusterShards._make_elsewhere, []

    def noted(self, i):
        found.append((self.sent.number, i))
        make(self, i)

    monkeypatch.setattr(ClusterShards, "_make_elsewhere", noted)
    return found


@pytest.fixture(scope="module")
def four_workers():
    with cluster(4, processes=False) as client:
        yield client


@pytest.mark.parametrize("after", [False, True])
@pytest.mark.parametrize("victim", [3, 2, 0], ids=["leaf", "head of a half", "head of all"])
def test_a_shard_is_lost_inside_a_call(victim, after, lost, relayed, monkeypatch, four_workers):
    """It does not answer any more, before or after it has made the calls as the others have."""
    ask, dead = ShardActor.ask, []
    start = victim * 6000 // 4  # its first frame

    def deadly(self, number, steps):
        dying = number == 20 and self.stretch.frames.start == start and not dead
        if dying and after:
            ask(self, number, steps)
        if dying:
            dead.append(self)
        if any(one is self for one in dead):
            raise OSError("this worker is gone")
        return ask(self, number, steps)

    monkeypatch.setattr(ShardActor, "ask", deadly)
    with dask.config.set({"phinmf.tree": 2}):
        same(tl_nmf(lazily(), **HOW), expected())
    assert lost == [(20, victim)]
    assert relayed.count("at") > 10


@pytest.mark.parametrize("tree", [2, 100])
def test_ctrl_c_while_a_shard_is_made_again(tree, monkeypatch, four_workers):
    """The last complete iterate is the result, also on the shard that has none of its calls."""
    ask, make, dead, interrupted = ShardActor.ask, ClusterShards._make_elsewhere, [], []

    def deadly(self, number, steps):
        if number == 26 and self.stretch.frames.start == 1500 and not dead:
            dead.append(self)
        if any(one is self for one in dead):
            raise OSError("this worker is gone")
        return ask(self, number, steps)

    def stopped(self, i):
        make(self, i)
        if not interrupted:
            interrupted.append(i)
            raise KeyboardInterrupt

    monkeypatch.setattr(ShardActor, "ask", deadly)
    monkeypatch.setattr(ClusterShards, "_make_elsewhere", stopped)
    with dask.config.set({"phinmf.tree": tree}):
        found = tl_nmf(lazily(), **HOW)
    assert interrupted == [1]
    assert found.status is Status.INTERRUPTED
    same(found, expected(max_iter=len(found.history)))


@pytest.mark.skipif(os.name == "nt", reason="a process cannot be killed by a signal")
def test_the_head_is_killed_inside_a_call(monkeypatch, lost, relayed):
    begin = ClusterShards.__init__

    def die_at(number):
        """Let this process end when its shard has made the calls of a message."""
        from phinmf.engines.remote.actor import ShardActor

        ask = ShardActor.ask

        def deadly(self, n, steps):
            answer = ask(self, n, steps)
            if n == number:
                os.kill(os.getpid(), signal.SIGKILL)
            return answer

        ShardActor.ask = deadly

    def armed(self, *args):
        begin(self, *args)
        self.client.run(die_at, 20, workers=[self.at[0]])

    monkeypatch.setattr(ClusterShards, "__init__", armed)
    with (
        dask.config.set({"phinmf.tree": 2}),
        cluster(0, processes=False, protocol="tcp") as client,
        worker_process(client.scheduler.address),
        worker_process(client.scheduler.address),
    ):
        client.wait_for_workers(2, timeout=60)
        same(tl_nmf(lazily(), **HOW), expected())
    assert lost == [(20, 0)]
    assert relayed.count("at") > 10


def test_the_loop_of_a_worker_is_free_while_its_shard_computes():
    """It sends heartbeats, and forwards what others compute."""
    from phinmf.engines.remote.tree import relayed as relay

    class Worker:
        executors = {"actor": None}  # noqa: RUF012

    async def scene():
        beats, computing = [], asyncio.Event()

        async def beat():
            while not computing.is_set():
                beats.append(1)
                await asyncio.sleep(0.01)

        def slow(number, steps):
            import time

            time.sleep(0.2)
            return [Node(0, 1, [1.0])]

        other = asyncio.ensure_future(beat())
        answers = await relay(slow, Worker(), 0, [("loss", ())], [("here", "key")], 1)
        computing.set()
        await other
        return answers, beats

    answers, beats = asyncio.run(scene())
    assert answers == [[Node(0, 1, [1.0])]]
    assert len(beats) > 5


@pytest.mark.parametrize("given", ["many", 0, None, -3, float("inf")])
def test_a_wrong_setting_is_refused(given):
    with dask.config.set({"phinmf.tree": given}), pytest.raises(ValueError, match=r"phinmf\.tree"):
        pays_from()
