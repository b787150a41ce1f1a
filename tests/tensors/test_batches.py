"""Each restart in a batch of tensors makes the same steps as the readable algorithm."""

from dataclasses import replace

import numpy as np
import pytest
from problems import notes
from scipy.linalg import expm
from tensor_problems import tensor

from phinmf import Anneal
from phinmf.algorithm.alternate import alternate
from phinmf.algorithm.group import Restart
from phinmf.algorithm.model import Iterate, Model
from phinmf.algorithm.nmf import Kept, flat_activations
from phinmf.algorithm.options import Options, annealing_for
from phinmf.algorithm.single import Single
from phinmf.divergences import COMPILED, DIVERGENCES
from phinmf.fit.data import data_of
from phinmf.fit.engine import engine_for
from phinmf.fit.given import given_factors
from phinmf.fit.seeds import spawn
from phinmf.inits import Frames, init_of
from phinmf.penalties import Sparse
from phinmf.solvers import LBFGS
from phinmf.solvers.lbfgs import Pair

torch = pytest.importorskip("torch")

from phinmf.tensors import plain, workspace
from phinmf.tensors.exponential import SQUARINGS, exponential, reach
from phinmf.tensors.frames import BatchFrames
from phinmf.tensors.group import BatchGroup
from phinmf.tensors.memory import Memory, aim, remember

pytestmark = pytest.mark.full


def seeded(Y, seeds, K=3, mu=5.0, weights=None, kept=None, divergence="itakura-saito", **how):
    """Return data, frames, restarts and options as `tl_nmf` makes them from these seeds."""
    how = {"max_iter": 60, "tol": 1e-4, "max_time": None, "anneal": None} | how
    callbacks = how.pop("callbacks", [None] * len(seeds))
    init, solver = how.pop("init", "random"), how.pop("solver", LBFGS(retraction="exp"))
    how["anneal"] = annealing_for(how["anneal"], solver)
    options = Options(
        solver, penalty=Sparse(mu), floor=1e-8, n_iter_nmf=3, n_iter_transform=2, **how
    )
    data = data_of(Y, options, sample_weight=weights, may_merge=False)
    given = given_factors(None, None, None, K, data)
    restarts = []
    powers = np.square(data.Y).mean(axis=(0, 1))
    for seed, callback in zip(seeds, callbacks, strict=True):
        rng_Phi, rng_W, rng_frames = spawn(seed, 3)
        Phi = init_of(init).start(Frames(data.Y), rng_Phi, data.Y.dtype)
        W, H = given.start(powers, Sparse(mu), rng_W)
        restarts.append(Restart(Iterate(Phi, W, H), rng_frames, callback))
    Y = tensor(np.ascontiguousarray(data.Y))
    frames = BatchFrames.of(Y, data.weights, DIVERGENCES[divergence].family, kept)
    return data, frames, restarts, options


def as_tensors(restarts):
    found = []
    for restart in restarts:
        start = Iterate(*map(tensor, (restart.start.Phi, restart.start.W, restart.start.H)))
        found.append(replace(restart, start=start))
    return found


def run_batch(data, frames, restarts, options):
    group = BatchGroup(frames, options, restarts[0].start.W.shape[1])
    return alternate(group, as_tensors(restarts), options, data.schedule(options))


def alone(data, restart, options, divergence="itakura-saito", kept=None):
    """Return the outcome of the same run by the readable algorithm, on NumPy."""
    chosen = DIVERGENCES[divergence]
    with engine_for("array", data.Y, chosen, 1, data.weights) as engine:
        model = Model(engine, options.penalty, kept=Kept(columns=kept))
        group = Single(model, options)
        return alternate(group, [restart], options, data.schedule(options))[0]


def check_same(outcome, expected, rtol=1e-9, iterations=8, final=1e-3):
    history, status = expected.history, expected.status
    n = min(iterations, len(history))
    np.testing.assert_allclose(outcome.history.start, history.start, rtol=1e-12)
    for column in ("objective", "penalty", "target_objective", "gradient"):
        ours, theirs = (getattr(h, column)[:n] for h in (outcome.history, history))
        np.testing.assert_allclose(ours, theirs, rtol=rtol * (1e4 if column == "gradient" else 1))
    for ours, theirs in zip(outcome.history.steps[:n], history.steps[:n], strict=True):
        assert ours == pytest.approx(theirs, rel=1e4 * rtol)
    more = (
        outcome.history.evaluations[:n] - history.evaluations[:n]
    )  # a trial is repeated if it needs more squarings
    assert ((more >= 0) & (more <= n)).all()
    np.testing.assert_allclose(outcome.history.objective[-1], history.objective[-1], rtol=final)
    assert outcome.status == status


@pytest.mark.parametrize("divergence", DIVERGENCES)
def test_a_restart_makes_the_steps_of_the_readable_algorithm(divergence):
    data, frames, restarts, options = seeded(notes(), [0, 1, 2], divergence=divergence, tol=0)
    outcomes = run_batch(data, frames, restarts, options)
    _, _, again, options = seeded(notes(), [0, 1, 2], tol=0)
    for outcome, restart in zip(outcomes, again, strict=True):
        check_same(outcome, alone(data, restart, options, divergence=divergence))
        Phi = outcome.last.Phi.numpy()
        np.testing.assert_allclose(Phi @ Phi.T, np.eye(len(Phi)), atol=1e-13)


def test_every_stage_agrees_with_the_readable_algorithm():
    """A sample in float32, all frames in float32, then float64; with two channels.

    Single precision gives an error of 1e-7 in the first iteration, which grows by a factor of ten
    or more in each one, to 1e-5 to 3e-3 in the fifth, depending on the seed. So only four
    iterations are compared closely. (These errors are those of this schedule, not of the default.)
    """
    anneal = Anneal(start=0.05, length=4, shape=2.0)
    how = {"anneal": anneal, "max_iter": 6, "tol": 0.0}
    Y = np.stack([notes(32, 40_000), notes(32, 40_000, seed=1)])
    data, frames, restarts, options = seeded(Y, [0, 1], **how)
    assert data.schedule(options).single
    outcomes = run_batch(data, frames, restarts, options)
    _, _, again, options = seeded(Y, [0, 1], **how)
    for outcome, restart in zip(outcomes, again, strict=True):
        check_same(outcome, alone(data, restart, options), rtol=1e-5, iterations=4, final=1e-2)
        assert list(outcome.history.frames) == [96] * 3 + [Y.shape[2]] * 3


def test_weights_and_fixed_columns_agree_with_the_readable_algorithm():
    weights = np.random.default_rng(0).integers(1, 4, notes().shape[1]).astype(float)
    kept = np.array([1])
    data, frames, restarts, options = seeded(notes(), [3], weights=weights, kept=kept)
    (outcome,) = run_batch(data, frames, restarts, options)
    _, _, again, options = seeded(notes(), [3], weights=weights)
    check_same(outcome, alone(data, again[0], options, kept=kept))
    np.testing.assert_array_equal(outcome.last.W.numpy()[:, 1], restarts[0].start.W[:, 1])


def test_a_restart_in_a_batch_equals_a_batch_of_one():
    seeds = [4, 5, 6, 7]
    data, frames, restarts, options = seeded(notes(), seeds)
    outcomes = run_batch(data, frames, restarts, options)
    for number, seed in enumerate(seeds):
        data, frames, restarts, options = seeded(notes(), [seed])
        (single,) = run_batch(data, frames, restarts, options)
        batched = outcomes[number]
        np.testing.assert_allclose(
            batched.history.objective[:8], single.history.objective[:8], rtol=1e-10
        )
        np.testing.assert_allclose(
            batched.divergence + batched.penalty, single.divergence + single.penalty, rtol=1e-3
        )
        assert batched.history.start == pytest.approx(single.history.start, rel=1e-12)


def test_restarts_of_a_batch_end_at_different_iterations():
    seen = {0: [], 1: [], 2: []}

    def watch(number, last):
        def callback(state):
            seen[number].append(state.objective)
            return state.iteration == last

        return callback

    callbacks = [watch(0, 3), watch(1, 9), watch(2, 10**9)]
    data, frames, restarts, options = seeded(
        notes(), [0, 1, 2], callbacks=callbacks, max_iter=12, tol=0.0
    )
    outcomes = run_batch(data, frames, restarts, options)
    assert [o.status.name for o in outcomes] == ["CALLBACK", "CALLBACK", "MAX_ITER"]
    assert [len(o.history) for o in outcomes] == [3, 9, 12]
    for number, outcome in enumerate(outcomes):
        assert seen[number] == list(outcome.history.objective)
        assert outcome.divergence + outcome.penalty <= outcome.history.start


def test_an_interrupt_ends_all_restarts_with_their_current_iterates():
    def interrupt(state):
        if state.iteration == 4:
            raise KeyboardInterrupt

    data, frames, restarts, options = seeded(notes(), [0, 1], callbacks=[None, interrupt])
    outcomes = run_batch(data, frames, restarts, options)
    assert [o.status.name for o in outcomes] == ["INTERRUPTED"] * 2
    assert [len(o.history) for o in outcomes] == [4, 4]
    assert all(o.divergence + o.penalty <= o.history.start for o in outcomes)


def test_a_result_is_not_worse_than_a_good_start():
    """One annealed iteration from the result of a long run."""
    data, frames, restarts, options = seeded(notes(), [0], max_iter=80)
    (good,) = run_batch(data, frames, restarts, options)
    data, frames, restarts, options = seeded(notes(), [0], max_iter=1)
    group = BatchGroup(frames, options, 3)
    again = [replace(restarts[0], start=good.last)]
    (outcome,) = alternate(group, again, options, data.schedule(options))
    assert outcome.divergence + outcome.penalty <= outcome.history.start * (1 + 1e-12)


def test_long_steps_are_shortened_and_failed_searches_try_the_gradient(monkeypatch):
    """The loss never rises if directions are 40 times too long or point uphill."""
    from phinmf.tensors import operations, trial_run

    plain_aim = operations.plain().aim

    def too_far(memory, g, farthest, E):
        slope, pairs = plain_aim(memory, g, farthest, E)
        factor = torch.tensor([1.0, 40.0, -1.0])[: len(E)].to(E.dtype)  # the last goes uphill
        if int(pairs[-1]) == 0:
            factor[-1] = 1.0
        E.mul_(factor[:, None, None])
        return slope * factor, pairs

    functions = replace(operations.plain(), aim=too_far)
    monkeypatch.setattr(trial_run, "best", lambda kind: functions)
    data, frames, restarts, options = seeded(notes(), [0, 1, 2], anneal=False, max_iter=6, tol=0.0)
    outcomes = run_batch(data, frames, restarts, options)
    for outcome in outcomes:
        objective = np.array([outcome.history.start, *outcome.history.objective])
        assert (np.diff(objective) <= 1e-9 * objective[0]).all()
        assert not outcome.history.search_failed.any()
    assert max(map(max, outcomes[1].history.steps)) < 1
    assert outcomes[1].history.evaluations[-1] > outcomes[0].history.evaluations[-1]


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("norm", [1e-3, 0.5, 2.0, 15.0, 100.0])
def test_the_exponential_equals_scipy_s(rng, norm, dtype):
    E = rng.standard_normal((2, 24, 24))
    E = E - E.transpose(0, 2, 1)
    E *= norm / np.linalg.norm(E, 2, axis=(1, 2))[:, None, None]
    wanted = getattr(torch, np.dtype(dtype).name)
    _, bound = exponential(tensor(E.astype(dtype)), SQUARINGS[0])
    bound = bound.numpy()
    assert (bound >= norm * 0.999).all()
    assert (bound <= 2 * norm).all()
    needed = next(s for s in SQUARINGS if bound.max() <= reach(wanted, s))
    T, _ = exponential(tensor(E.astype(dtype)), needed)
    np.testing.assert_allclose(
        T.numpy(), [expm(e) for e in E], atol=300 * np.finfo(dtype).eps * max(1, norm)
    )


def test_the_compact_form_gives_the_direction_of_the_two_loops(rng):
    M, B = 6, 2
    solver = LBFGS()
    upper = np.triu_indices(M, 1)
    loops = [solver.empty(np.eye(M)) for _ in range(B)]
    memory = Memory(B, solver.memory_size, M, torch.float64, torch.device("cpu"))
    metric = rng.uniform(0.5, 2, (B, M, M))
    metric = metric + metric.transpose(0, 2, 1)
    memory.inverse.copy_(tensor(1 / metric).flatten(1))
    for loop, c in zip(loops, metric, strict=True):
        loop.curvature = c[upper]
    G = rng.standard_normal((B, M, M))
    G_here, g = tensor(G.copy()), tensor(G - G.transpose(0, 2, 1))
    for step in range(8):  # more than the memory can hold
        E = torch.empty_like(g)
        slope, pairs = aim(memory, g, 100.0, E)
        for b, loop in enumerate(loops):
            expected = -np.asarray(loop.two_loop(g[b].numpy()[upper]))
            np.testing.assert_allclose(E[b].numpy()[upper], expected, rtol=1e-9)
            np.testing.assert_allclose(E[b].numpy(), -E[b].numpy().T, atol=1e-12)
            assert float(slope[b]) == pytest.approx(expected @ g[b].numpy()[upper])
            assert int(pairs[b]) == len(loop.pairs)
        change = tensor(0.3 * metric) * E + 0.01 * tensor(rng.standard_normal((B, M, M)))
        accepted = torch.tensor([True, step % 3 != 1])
        before = g.clone()
        eta = torch.tensor([0.5, 1.5], dtype=torch.float64)[:, None, None]
        change_g = change - change.mT
        curved = ((eta * E) * change_g).sum(dim=(1, 2)) > 0
        remember(memory, g, G_here, G_here + change, E, eta, accepted, curved)
        for b, loop in enumerate(loops):
            if accepted[b] and curved[b]:
                s, y = (eta[b] * E[b]).numpy()[upper], (g[b] - before[b]).numpy()[upper]
                loop.pairs.append(Pair(s, y, 1 / (s @ y)))


@pytest.mark.parametrize(("family", "d"), COMPILED.items())
def test_plain_functions_use_the_formulas_of_the_divergence(rng, family, d):
    X = rng.standard_normal((2, 3, 5, 7))
    WH = rng.uniform(0.1, 2, (2, 5, 7))
    weights, eps = rng.uniform(0.5, 2, (2, 7)), 1e-3
    V, w = (X**2).mean(axis=1), weights[:, None]
    F = torch.empty(2, 3, 5, 7, dtype=torch.float64)
    common = tensor(weights), False, torch.tensor(eps, dtype=torch.float64), family
    loss = plain.loss_and_slope(tensor(X), tensor(WH), *common, F)
    np.testing.assert_allclose(loss, (d.value(V, WH + eps, eps) * w).sum(axis=(1, 2)))
    np.testing.assert_allclose(F, (d.slope(V, WH + eps, eps) * w)[:, None] * X)
    exact, bound, v = plain.curvatures(tensor(X), tensor(WH), common[0], *common[2:])
    np.testing.assert_allclose(exact, d.curvature(V, WH + eps, eps) * w)
    np.testing.assert_allclose(bound, d.bound(V, WH + eps, eps) * w)
    np.testing.assert_allclose(v, V)


def test_activations_start_flat(rng):
    _, frames, restarts, options = seeded(notes(), [0])
    group = BatchGroup(frames, options, 3)
    group.begin(as_tensors(restarts))
    batch = group.batch
    batch.activate(n_iter=0)
    (N,) = batch.lengths
    powers = np.square(frames.Y.numpy()).mean(axis=(0, 1))
    np.testing.assert_allclose(batch.H[0, :, :N], flat_activations(powers, 32, 3, Sparse(5.0)))
    assert not batch.H[0, :, N:].any()


def test_no_batch_is_kept_on_the_cpu():
    workspace.clear()
    data, frames, restarts, options = seeded(notes(), [0], max_iter=3)
    run_batch(data, frames, restarts, options)
    assert not workspace.kept()  # because no work is recorded there


@pytest.mark.parametrize("divergence", COMPILED.values(), ids=str)
@pytest.mark.parametrize("entries", [2**24, 700])
def test_activations_converge_as_in_the_engine(rng, monkeypatch, entries, divergence):
    from phinmf.engines.array import ArrayEngine
    from phinmf.tensors import converging

    monkeypatch.setattr(converging, "ENTRIES", entries)
    converge = converging.converge
    W = rng.random((32, 3))
    W /= W.sum(axis=0)
    found = []
    for way in (converge, ArrayEngine.converge_activations):
        engine = ArrayEngine(tensor(notes()[None]), divergence)
        engine.set_activations(tensor(np.ones((3, notes().shape[1]))))
        way(engine, tensor(W), Sparse(2.0), 1e-3, 3e-6, 200)
        found.append(engine.activations().numpy())
    np.testing.assert_allclose(found[0], found[1], rtol=1e-9)
    some = ArrayEngine(tensor(notes()[None, :, 7:9].copy()), divergence)
    some.set_activations(tensor(np.ones((3, 2))))
    converge(some, tensor(W), Sparse(2.0), 1e-3, 3e-6, 200)
    np.testing.assert_allclose(some.activations().numpy(), found[0][:, 7:9], rtol=1e-9)


@pytest.mark.parametrize("where", ["go_to", "take_over", "begin", "nmf_step"])
@pytest.mark.parametrize("after", [1, 2, 3])
def test_an_interrupt_at_any_moment_leaves_a_usable_result(monkeypatch, where, after):
    """Also while one batch replaces another."""
    from phinmf.tensors import batch, memory

    owner = memory.Memory if where == "take_over" else batch.Batch
    plain, calls = getattr(owner, where), []
    how = {"anneal": Anneal(length=4), "max_iter": 6, "tol": 0.0}
    Y = np.stack([notes(32, 40_000)])
    callbacks = [lambda state: state.iteration == 2, None, None]
    data, frames, restarts, options = seeded(Y, [0, 1, 2], callbacks=callbacks, **how)

    def interrupted(self, *args):
        calls.append(0)
        if len(calls) == after + (where != "take_over"):  # the first call makes the start
            raise KeyboardInterrupt
        return plain(self, *args)

    monkeypatch.setattr(owner, where, interrupted)
    outcomes = run_batch(data, frames, restarts, options)
    assert {o.status.name for o in outcomes} >= {"INTERRUPTED"}
    for outcome in outcomes:
        Phi, W = outcome.last.Phi.numpy(), outcome.last.W.numpy()
        np.testing.assert_allclose(Phi @ Phi.T, np.eye(len(Phi)), atol=1e-12)
        np.testing.assert_allclose(W.sum(axis=0), 1, rtol=1e-12)
        assert 0 < outcome.divergence + outcome.penalty <= outcome.history.start * (1 + 1e-12)


def test_samples_of_different_lengths_agree_with_the_readable_algorithm():
    """A frame of weight > 1 may be drawn twice, and is then in the sample once."""
    Y = notes(16, 6000)
    weights = np.random.default_rng(0).integers(5, 30, Y.shape[1]).astype(float)
    how = {"weights": weights, "anneal": Anneal(length=4), "max_iter": 5, "tol": 0.0}
    data, frames, restarts, options = seeded(Y, [0, 1, 2], **how)
    outcomes = run_batch(data, frames, restarts, options)
    assert len({o.history.frames[0] for o in outcomes}) > 1
    _, _, again, options = seeded(Y, [0, 1, 2], **how)
    for outcome, restart in zip(outcomes, again, strict=True):
        check_same(outcome, alone(data, restart, options), rtol=2e-4, iterations=3, final=1e-2)


def test_clear_removes_nan_from_the_memory():
    memory = Memory(2, 3, 4, torch.float64, torch.device("cpu"))
    memory.S.fill_(torch.nan)
    memory.Y.fill_(torch.inf)
    memory.clear(torch.tensor([True, False]))
    assert not memory.S[0].any()
    assert not memory.Y[0].any()
    assert memory.S[1].isnan().all()
