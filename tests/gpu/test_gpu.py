"""Fits on a GPU give the same results as on the CPU."""

import threading

import numpy as np
import pytest
from problems import notes

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.gpu

import phinmf
from phinmf import TLNMF, learn_transform, tl_nmf
from phinmf.divergences import DIVERGENCES
from phinmf.fit.seeds import spawn
from phinmf.solvers import LBFGS
from phinmf.tensors import graphs, workspace

HOW = {"sparsity": 5.0, "init": "random", "random_state": 0}


@pytest.fixture(scope="module")
def Y():
    return notes(64, 60_000) + 0.01 * np.random.default_rng(0).standard_normal((64, 1876))


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
@pytest.mark.parametrize("divergence", DIVERGENCES)
def test_the_first_iterations_agree_with_the_cpu(Y, dtype, divergence):
    how = HOW | {"floor": 1e-2, "anneal": False, "max_iter": 5, "tol": 0, "divergence": divergence}
    frames = torch.as_tensor(Y, dtype=dtype)
    here, there = tl_nmf(frames, 4, **how), tl_nmf(frames.cuda(), 4, **how)
    rtol = 1e-8 if dtype == torch.float64 else 1e-3
    np.testing.assert_allclose(there.history.objective, here.history.objective, rtol=rtol)
    assert there.Phi.device.type == there.H.device.type == "cuda"
    assert there.Phi.dtype == dtype


def test_the_default_reaches_the_objective_of_other_engines(Y):
    """On average: runs from the same start end up to 3 % apart, as rounding is amplified."""
    objectives = [
        [tl_nmf(f, 4, **HOW | {"random_state": seed}).objective for seed in range(24)]
        for f in (Y, torch.as_tensor(Y).cuda())
    ]
    here, there = np.mean(objectives, axis=1)
    assert there == pytest.approx(here, rel=5e-3)


@pytest.mark.parametrize("engine", ["auto", "array"])
def test_arrays_of_numpy_give_arrays_of_numpy(Y, engine):
    result = tl_nmf(Y, 4, device="cuda", engine=engine, max_iter=8, tol=0, **HOW)
    assert all(isinstance(x, np.ndarray) for x in (result.Phi, result.W, result.H))
    alone = learn_transform(Y, Y**2 + 1, device="cuda", max_iter=3, tol=0)
    assert isinstance(alone.Phi, np.ndarray)


def test_unmix_learns_on_the_gpu():
    from phinmf.audio.example import example

    sound = example()
    how = {"n_components": 3, "seed": 0}
    here, there = (
        phinmf.unmix(sound.mixture, sound.sample_rate, device=device, **how)
        for device in (None, "cuda")
    )
    np.testing.assert_allclose(there.components.sum(axis=0), sound.mixture, atol=1e-6)
    assert there.model.history.objective[-1] == pytest.approx(
        here.model.history.objective[-1], rel=2e-2
    )


def test_a_replayed_graph_gives_the_same_bits(Y, monkeypatch):
    frames = torch.as_tensor(Y).cuda()
    workspace.clear()
    first, again = (tl_nmf(frames, 4, **HOW) for _ in range(2))  # the second one replays all graphs
    assert workspace.kept()
    workspace.clear()
    monkeypatch.setattr(graphs.Replay, "__call__", lambda self, name, work: work())
    plain = tl_nmf(frames, 4, **HOW)
    for result in (again, plain):
        assert torch.equal(result.Phi, first.Phi)
        assert list(result.history.objective) == list(first.history.objective)


def test_restarts_in_a_batch_end_like_single_fits(Y):
    X = torch.as_tensor(Y.T.copy()).cuda()
    # each iteration amplifies rounding, which differs between products of five and of one
    how = HOW | {"floor": 1e-2, "anneal": False, "max_iter": 5, "tol": 0}
    batched = TLNMF(4, n_init=5, **how).fit(X)
    for objective, generator in zip(batched.objectives_, spawn(0, 5), strict=True):
        single = tl_nmf(X.T, 4, **how | {"random_state": generator})
        assert objective == pytest.approx(single.objective, rel=1e-8)


@pytest.mark.parametrize("how", [{"K": 130}, {"solver": LBFGS(memory_size=20)}], ids=str)
def test_sizes_beyond_the_kernels_agree_with_the_cpu(how):
    """Plain PyTorch computes them, and is recorded as a graph too."""
    Y = np.random.default_rng(0).standard_normal((140, 400))
    how = {"solver": "lbfgs", "K": 4} | how | HOW | {"max_iter": 6, "tol": 0}
    K = how.pop("K")
    here, there = (tl_nmf(torch.as_tensor(Y, device=d), K, **how) for d in ("cpu", "cuda"))
    np.testing.assert_allclose(there.history.objective, here.history.objective, rtol=1e-6)


@pytest.mark.parametrize("divergence", DIVERGENCES)
def test_transform_agrees_with_the_cpu(Y, divergence):
    X = torch.as_tensor(Y.T.copy())
    model = TLNMF(4, max_iter=10, tol=0, divergence=divergence, **HOW).fit(X.cuda())
    there, here = model.transform(X.cuda()), model.transform(X.numpy())
    np.testing.assert_allclose(there.cpu(), here, rtol=1e-6, atol=1e-6 * here.max())
    assert model.score(X.cuda()) == pytest.approx(model.score(X.numpy()), rel=1e-8)


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
def test_smooth_activations_agree_with_the_cpu(Y, dtype):
    how = HOW | {"smoothness": 5.0, "floor": 1e-2, "anneal": False, "max_iter": 5, "tol": 0}
    frames = torch.as_tensor(Y, dtype=dtype)
    here, there = tl_nmf(frames, 4, **how), tl_nmf(frames.cuda(), 4, **how)
    rtol = 1e-8 if dtype == torch.float64 else 1e-3
    np.testing.assert_allclose(there.history.objective, here.history.objective, rtol=rtol)
    model = TLNMF(4, **how).fit(frames.T.contiguous())
    expected = model.transform(frames.T.contiguous())
    found = model.transform(frames.T.contiguous().cuda()).cpu()
    np.testing.assert_allclose(found, expected, rtol=rtol, atol=rtol * float(expected.max()))


def test_fits_in_two_threads_agree_with_one_alone(Y):
    frames = torch.as_tensor(Y).cuda()
    alone = tl_nmf(frames, 4, **HOW)
    found = {}

    def fit(number):
        found[number] = tl_nmf(frames, 4, **HOW)

    threads = [threading.Thread(target=fit, args=(i,)) for i in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for result in found.values():
        assert result.objective == pytest.approx(alone.objective, rel=5e-3)


def test_too_little_memory_is_reported_in_one_sentence():
    frames = torch.randn(64, 2**17, device="cuda")
    workspace.clear()
    torch.cuda.empty_cache()
    free, total = torch.cuda.mem_get_info()
    hog = torch.empty(free - 2**24, dtype=torch.uint8, device="cuda")
    torch.cuda.set_per_process_memory_fraction((total - free + len(hog) + 2**24) / total)
    try:
        with pytest.raises(MemoryError, match="cuda:0 has too little memory: Y of shape"):
            tl_nmf(frames, 4, max_iter=2, tol=0)
    finally:
        del hog
        torch.cuda.set_per_process_memory_fraction(1.0)
        torch.cuda.empty_cache()
    assert tl_nmf(frames, 4, max_iter=2, tol=0).objective > 0


def test_a_fit_with_a_solver_object_goes_through_all_stages(Y):
    frames = torch.as_tensor(Y).cuda()
    solver = LBFGS(memory_size=3, metric="bound", retraction="exp")
    result = tl_nmf(frames, 4, solver=solver, **HOW)
    assert len(set(result.history.frames)) == 2
    assert result.status is phinmf.Status.SMALL_DECREASE
    error = result.Phi @ result.Phi.T - torch.eye(64, device="cuda", dtype=torch.float64)
    assert float(error.abs().max()) < 1e-12
