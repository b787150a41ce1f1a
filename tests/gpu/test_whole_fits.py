"""Fits at real sizes: fused kernels, plain functions and the readable engine agree."""

import time

import numpy as np
import pytest
from problems import notes

torch = pytest.importorskip("torch")

from phinmf import tl_nmf
from phinmf.divergences import COMPILED, Family
from phinmf.solvers import LBFGS
from phinmf.tensors import operations, trial_run, workspace

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning"),
]
COMPONENTS = pytest.mark.parametrize("K", [5, 17, 24, 32, 64, 128])
DIVERGENCES = pytest.mark.parametrize("divergence", COMPILED.values(), ids=str)
DTYPES = pytest.mark.parametrize("dtype", [torch.float64, torch.float32], ids=str)


@pytest.fixture(scope="module")
def Y():
    """As many frames as the paper's recording has."""
    rng = np.random.default_rng(0)
    Y = notes(440, 220 * 5417)
    assert Y.shape == (440, 5418)
    return Y + 0.01 * rng.standard_normal(Y.shape)


def three_ways(Y, K, dtype, monkeypatch, **how):
    """Return the same fit by fused kernels, by plain functions, and by the readable engine."""
    frames = torch.as_tensor(Y, dtype=dtype, device="cuda")
    how = {"sparsity": 10.0, "random_state": 0, "solver": LBFGS(retraction="exp")} | how
    workspace.clear()
    fused = tl_nmf(frames, K, **how)
    kinds = [kept.ops for kept in workspace.kept()]
    assert kinds
    assert all(ops.nmf_step.func.__module__.endswith("fused_nmf") for ops in kinds)
    workspace.clear()
    with monkeypatch.context() as patched:
        patched.setattr(trial_run, "best", lambda kind: operations.plain())
        plain = tl_nmf(frames, K, **how)
    workspace.clear()
    return fused, plain, tl_nmf(frames, K, engine="array", **how)


@COMPONENTS
@DTYPES
def test_every_iteration_is_the_same_at_a_high_floor(Y, K, dtype, monkeypatch):
    """At a high floor rounding is not amplified."""
    how = {"floor": 1e-2, "anneal": False, "max_iter": 8, "tol": 0}
    fused, plain, readable = three_ways(Y, K, dtype, monkeypatch, **how)
    rtol = 1e-8 if dtype == torch.float64 else 1e-4
    for other in (plain, readable):
        np.testing.assert_allclose(fused.history.objective, other.history.objective, rtol=rtol)
        assert fused.objective == pytest.approx(other.objective, rel=rtol)


@DIVERGENCES
@DTYPES
def test_every_iteration_is_the_same_for_every_divergence(Y, divergence, dtype, monkeypatch):
    """Except on the readable engine, where a first step may be longer than a batch tries.

    The Euclidean loss has fourth powers of samples: in single precision it is compared as in
    `test_gpu.py: test_the_first_iterations_agree_with_the_cpu`.
    """
    how = {"floor": 1e-2, "anneal": False, "max_iter": 5, "tol": 0, "divergence": divergence}
    fused, plain, readable = three_ways(Y, 10, dtype, monkeypatch, **how)
    rtol = 1e-8 if dtype == torch.float64 else 1e-4
    if divergence.family is Family.EUCLIDEAN and dtype == torch.float32:
        rtol = 1e-3
    others = [plain] if divergence.family is Family.EUCLIDEAN else [plain, readable]
    for other in others:
        np.testing.assert_allclose(fused.history.objective, other.history.objective, rtol=rtol)


@DIVERGENCES
@DTYPES
def test_the_final_objectives_of_every_divergence_agree(Y, divergence, dtype, monkeypatch):
    """Rounding leads to other minima: for the Euclidean distance, means of starts are compared."""
    starts = range(6) if divergence.family is Family.EUCLIDEAN else range(1)
    how = {"init": "dct", "divergence": divergence}
    fits = [three_ways(Y, 10, dtype, monkeypatch, random_state=s, **how) for s in starts]
    assert all(fit.objective < fit.history.start for ways in fits for fit in ways)
    fused, plain, readable = np.mean([[fit.objective for fit in ways] for ways in fits], axis=0)
    assert fused == pytest.approx(plain, rel=1e-2)
    assert fused == pytest.approx(readable, rel=1e-2)


@COMPONENTS
@DTYPES
def test_the_final_objectives_agree(Y, K, dtype, monkeypatch):
    fits = three_ways(Y, K, dtype, monkeypatch, init="dct")
    assert all(fit.objective < fit.history.start for fit in fits)
    fused, plain, readable = (fit.objective for fit in fits)
    assert fused == pytest.approx(plain, rel=1e-2)
    assert fused == pytest.approx(readable, rel=1e-2)


@pytest.mark.parametrize("n_atoms", [0.95, 0.999, 100])
@DTYPES
def test_few_atoms_agree(Y, n_atoms, dtype, monkeypatch):
    """Sizes that are no multiple of anything, and the same at a high floor."""
    how = {"n_atoms": n_atoms, "max_iter": 8, "tol": 0, "init": "dct"}
    high = three_ways(Y, 10, dtype, monkeypatch, floor=1e-2, anneal=False, **how)
    rtol = 1e-8 if dtype == torch.float64 else 1e-4
    for other in high[1:]:
        np.testing.assert_allclose(high[0].history.objective, other.history.objective, rtol=rtol)
    fits = three_ways(Y, 10, dtype, monkeypatch, **how | {"max_iter": 40})
    P = fits[0].n_atoms
    assert 1 < P < 440
    for fit in (*high, *fits):
        assert fit.n_atoms == P
        assert fit.objective < fit.history.start
        assert (np.diff(fit.history.atoms) >= 0).all()
        assert fit.history.atoms[-1] == P
        Phi = fit.Phi.double()
        error = (Phi @ Phi.mT - torch.eye(440, device="cuda", dtype=torch.float64)).abs().max()
        assert float(error) < 50 * torch.finfo(dtype).eps
        if isinstance(n_atoms, float):
            assert fit.energy >= n_atoms * (1 - 1e-9)
    for fit in fits[1:]:
        assert fits[0].objective == pytest.approx(fit.objective, rel=1e-2)


@DTYPES
def test_the_host_and_the_device_find_the_same_atoms(Y, dtype):
    """At a high floor every iteration agrees."""
    how = {"n_atoms": 0.999, "max_iter": 6, "tol": 0, "anneal": False, "floor": 1e-2}
    how |= {"random_state": 0, "solver": LBFGS(retraction="exp")}
    there = tl_nmf(torch.as_tensor(Y, dtype=dtype, device="cuda"), 10, **how)
    here = tl_nmf(torch.as_tensor(Y, dtype=dtype).numpy(), 10, engine="array", **how)
    assert there.n_atoms == here.n_atoms
    assert there.energy == pytest.approx(here.energy, rel=1e-6)
    rtol = 1e-7 if dtype == torch.float64 else 1e-3
    np.testing.assert_allclose(there.history.objective, here.history.objective, rtol=rtol)


@DTYPES
def test_restarts_of_few_atoms_are_one_batch(Y, dtype):
    """A batch ends like its restarts alone, and the default begins with few atoms in it."""
    from phinmf import TLNMF, Anneal

    X = torch.as_tensor(Y.T, dtype=dtype, device="cuda").contiguous()
    for n_atoms in (0.99, None):
        how = {"n_init": 4, "init": "random", "random_state": 0, "anneal": Anneal(coarse=1000.0)}
        model = TLNMF(10, n_atoms=n_atoms, **how).fit(X)
        assert len(model.objectives_) == 4
        assert np.ptp(model.objectives_) < 0.05 * min(model.objectives_)
        assert model.history_.atoms[0] < model.history_.atoms[-1] == model.n_atoms_


def test_the_trial_run_takes_less_than_200_ms(Y):
    """A process compares the compiled kernels once for each kind of work."""
    frames = torch.as_tensor(Y, device="cuda")
    tl_nmf(frames, 10, max_iter=3)
    kinds = list(trial_run._trusted)
    assert kinds
    torch.cuda.synchronize()
    clock = time.perf_counter()
    for kind in kinds:
        trial_run.compared(kind)
    torch.cuda.synchronize()
    seconds = (time.perf_counter() - clock) / len(kinds)
    print(f"{1000 * seconds:.1f} ms for each of {len(kinds)} kinds of work")
    assert seconds < 0.2
