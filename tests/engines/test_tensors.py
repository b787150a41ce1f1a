"""Public functions accept tensors, agree with fits of arrays, and return tensors.

Tensors are computed with by the readable engine; where there is a GPU, these tests use it, too.
"""

import itertools

import numpy as np
import pytest
from problems import notes
from tensor_problems import host, tensor, torch

import phinmf
from phinmf import PAPER, TLNMF, Checkpoint, Method, learn_transform, tl_nmf
from phinmf.audio.example import example
from phinmf.engines.array import ArrayEngine
from phinmf.solvers import SOLVERS

pytestmark = [
    pytest.mark.full,
    pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning"),
]
#: At a high floor: near 1e-8 rounding decides which sign pattern a run ends in.
HOW = {"floor": 1e-2, "method": Method(anneal=False), "tol": 0, "random_state": 0}
DTYPES = [np.float32, np.float64]
DEVICES = ["cpu"] + ["cuda"] * (torch is not None and torch.cuda.is_available())


@pytest.fixture(autouse=True)
def _pytorch():
    tensor(0.0)  # skips without PyTorch, or fails where it must be installed


@pytest.fixture(scope="module")
def sound():
    return phinmf.to_frames(example().mixture[:40_000], 64)


def both(fit, *given, device="cpu"):
    """Return the same fit of arrays and of tensors."""
    return fit(*given), fit(*(tensor(x).to(device) for x in given))


def objectives_agree(a, b, rel=1e-3, device="cpu"):
    assert isinstance(a.Phi, np.ndarray)
    for x in (b.Phi, b.W, b.H):
        assert x is None or (isinstance(x, torch.Tensor) and x.device.type == device)
    assert host(b.Phi.cpu()).dtype == a.Phi.dtype
    assert b.objective == pytest.approx(a.objective, rel=rel)
    assert b.scale == pytest.approx(a.scale, rel=1e-6)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("solver", [*SOLVERS, None])
def test_every_solver_makes_the_same_steps(sound, solver, dtype, device):
    # from a random start rounding chooses between equal turns of Jacobi
    how = HOW | {"max_iter": 12, "init": "dct" if solver == "jacobi" else "random"}
    a, b = both(lambda Y: tl_nmf(Y, 5, solver=solver, **how), sound.astype(dtype), device=device)
    objectives_agree(a, b, device=device)
    if dtype == np.float64 and solver != "jacobi":
        assert np.allclose(b.history.objective, a.history.objective, rtol=1e-9)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("dtype", DTYPES)
def test_the_default_ends_at_the_same_objective(dtype, device):
    """All stages: a sample of frames, single precision, all frames, the target floor."""
    Y = phinmf.to_frames(example().mixture[:80_000], 100).astype(dtype)
    how = {"sparsity": 150, "init": "random"}
    fits = [
        both(lambda Y, s=seed: tl_nmf(Y, 6, random_state=s, **how), Y, device=device)
        for seed in range(4)
    ]
    for a, b in fits:
        objectives_agree(a, b, rel=5e-3, device=device)
        assert b.history.frames[0] < Y.shape[1]
    means = np.mean([[a.objective, b.objective] for a, b in fits], axis=0)
    assert means[1] == pytest.approx(means[0], rel=1e-3)


def test_channels_weights_masks_and_given_factors_agree(sound, rng):
    """At a high floor, where rounding is not amplified, even the factors agree."""
    Y = np.stack([sound, sound[::-1]])
    N = Y.shape[2]
    weights, mask = rng.integers(0, 3, N), rng.random(N) < 0.2
    W, H = rng.random((64, 2)), rng.random((4, N))
    init = np.linalg.qr(rng.standard_normal((64, 64)))[0]
    how = {"floor": 0.1, "method": Method(anneal=False), "max_iter": 6, "tol": 0, "random_state": 2}
    fits = [
        lambda Y, w, m, W, H, P: tl_nmf(Y, 4, sample_weight=w * ~m, **how),
        lambda Y, w, m, W, H, P: tl_nmf(Y, 4, W=W, H=H, init=P, fixed={"W": [1]}, **how),
        lambda Y, w, m, W, H, P: tl_nmf(Y, 4, H=H, sample_weight=~m, fixed=["H", "Phi"], **how),
        lambda Y, w, m, W, H, P: tl_nmf(Y, 2, sample_weight=w, W=W, fixed="W", init=P, **how),
    ]
    for fit in fits:
        a, b = both(fit, Y, weights, mask, W, H, init)
        objectives_agree(a, b, rel=1e-8)
        for x, y in ((a.Phi, b.Phi), (a.W, b.W), (a.H, b.H)):
            atol = 1e-4 * np.abs(x).max()
            assert np.allclose(host(y), x, rtol=0, atol=atol)
    given_as_arrays = tl_nmf(tensor(Y), 4, W=W, H=H, init=init, fixed={"W": [1]}, **how)
    assert np.array_equal(given_as_arrays.Phi, both(fits[1], Y, weights, mask, W, H, init)[1].Phi)
    assert np.array_equal(given_as_arrays.W[:, 1], W[:, 1])


@pytest.mark.parametrize("dtype", DTYPES)
def test_learn_transform_agrees(sound, dtype, rng):
    V_hat = np.repeat(rng.random((64, 1)), sound.shape[1], axis=1) * (sound**2).mean()
    how = HOW | {"max_iter": 10, "init": "random", "random_state": 1}
    a, b = both(lambda Y, V: learn_transform(Y, V, **how), sound.astype(dtype), V_hat)
    objectives_agree(a, b)
    assert b.W is None
    V_hat[0, 0] = 0
    heard = tensor(sound + 1e-3 * rng.standard_normal(sound.shape))
    with pytest.raises(ValueError, match="not finite at the start.* V_hat"):
        learn_transform(heard, tensor(V_hat), floor=0)


@pytest.mark.parametrize(
    ("dtype", "n_jobs", "smoothness"),
    [(np.float32, 1, 0.0), (np.float32, 2, 0.0), (np.float64, 2, 0.0), (np.float64, 1, 5.0)],
)
def test_restarts_of_the_estimator_agree(sound, dtype, n_jobs, smoothness, tmp_path):
    X = np.ascontiguousarray(sound.T, dtype=dtype)
    how = HOW | {"n_components": 3, "max_iter": 8, "n_init": 2, "init": "random", "n_jobs": n_jobs}
    how["smoothness"] = smoothness
    a, b = TLNMF(**how).fit(X), TLNMF(**how)
    found = b.fit_transform(tensor(X))
    learned = (b.components_, b.transform_matrix_, b.atom_energies_, found)
    assert all(isinstance(x, torch.Tensor) for x in learned)
    assert host(found).dtype == dtype
    assert b.objective_ == pytest.approx(a.objective_, rel=1e-3)
    assert np.allclose(b.objectives_, a.objectives_, rtol=1e-3)
    assert np.array_equal(b.transform(tensor(X)), found)
    assert isinstance(b.transform(X), np.ndarray)
    rtol = 1e-9 if smoothness else 1e-3
    assert np.allclose(b.transform(X), found, rtol=rtol, atol=rtol * float(found.max()))
    power = b.inverse_transform(found)
    assert np.allclose(host(power), b.inverse_transform(host(found)), rtol=1e-5)
    if not smoothness:  # smooth activations of a score may stop at another update
        assert b.score(tensor(X)) == pytest.approx(b.score(X), rel=1e-4)
    b.save(tmp_path / "model.npz")
    loaded = TLNMF.load(tmp_path / "model.npz")
    assert isinstance(loaded.components_, np.ndarray)
    assert np.array_equal(loaded.transform(tensor(X)), found)


@pytest.mark.parametrize("solver", SOLVERS)
def test_a_run_on_tensors_is_resumed_on_arrays(tmp_path, solver):
    Y, path = notes(n=6000), tmp_path / "run.npz"
    how = {"n_components": 3, "max_iter": 14, "tol": 0, "random_state": 5, "solver": solver}
    how |= {"floor": 1e-2, "engine": "array"}
    straight = tl_nmf(tensor(Y), **how)
    begin = Checkpoint(path, every=0)
    tl_nmf(tensor(Y), checkpoint=begin, callback=lambda state: state.iteration == 12, **how)
    elsewhere = tl_nmf(Y, checkpoint=Checkpoint(path, resume=True), **how)
    assert isinstance(elsewhere.Phi, np.ndarray)
    assert elsewhere.n_iter == 14
    assert elsewhere.objective == pytest.approx(straight.objective, rel=1e-6)


@pytest.mark.parametrize("kind", ["int64", "int16", "float16", "bfloat16", "bool"])
def test_other_numbers_become_double_precision(kind):
    Y = (10 * tensor(notes())).to(getattr(torch, kind))
    how = {"n_components": 2, "max_iter": 2, "tol": 0, "random_state": 0}
    r = tl_nmf(Y, **how)
    assert r.Phi.dtype == torch.float64
    assert r.objective == tl_nmf(Y.to(torch.float64), **how).objective


def test_autograd_neither_records_a_fit_nor_is_changed(sound):
    Y = tensor(sound).requires_grad_()
    W = tensor(np.ones((64, 3))).requires_grad_()
    r = tl_nmf(2 * Y, 3, W=W, max_iter=2, tol=0)
    assert not any(x.requires_grad for x in (r.Phi, r.W, r.H))
    assert torch.is_grad_enabled()
    with torch.inference_mode():
        assert tl_nmf(tensor(sound), 3, max_iter=2, tol=0).objective > 0


@pytest.mark.parametrize("fit", [lambda Y: tl_nmf(Y, 3, max_iter=2), lambda Y: TLNMF(3).fit(Y.T)])
def test_float32_is_multiplied_in_full_precision(sound, monkeypatch, fit):
    """TF32 of a GPU has only ten bits; a caller who has allowed it elsewhere keeps it."""
    seen, rotate = set(), ArrayEngine.rotate

    def watched(self, Phi):
        seen.add(torch.get_float32_matmul_precision())
        rotate(self, Phi)

    monkeypatch.setattr(ArrayEngine, "rotate", watched)
    torch.set_float32_matmul_precision("medium")
    try:
        fit(tensor(sound.astype(np.float32)))
        assert torch.get_float32_matmul_precision() == "medium"
    finally:
        torch.set_float32_matmul_precision("highest")
    assert seen == {"highest"}


def test_defaults_of_torch_do_not_matter_and_do_not_change(sound):
    """On the default device "meta", tensors that are made without a device have no numbers."""
    plain = tl_nmf(tensor(sound), 3, max_iter=6, tol=0, random_state=0)
    Y, before = tensor(sound), torch.random.get_rng_state()
    threads, default = torch.get_num_threads(), torch.get_default_dtype()
    try:
        torch.set_default_dtype(torch.float16)
        with torch.device("meta"):
            model = TLNMF(3, max_iter=6, tol=0, random_state=0).fit(Y.T)
            r = tl_nmf(Y, 3, max_iter=6, tol=0, random_state=0)
        assert torch.get_default_dtype() == torch.float16
    finally:
        torch.set_default_dtype(default)
    assert np.array_equal(r.Phi, plain.Phi)
    assert model.components_.device.type == "cpu"
    assert torch.get_num_threads() == threads
    assert torch.equal(torch.random.get_rng_state(), before)
    assert np.array_equal(Y, sound)


def counted_waits():
    """A mode of PyTorch in which it is counted how often the host waits for a number."""
    from torch.utils._python_dispatch import TorchDispatchMode

    class Mode(TorchDispatchMode):
        waits = 0

        def __torch_dispatch__(self, function, types, args=(), kwargs=None):
            name = function.overloadpacket.__name__
            masks = name == "index" and any(
                i is not None and i.dtype == torch.bool for i in args[1]
            )
            if masks or name in ("_local_scalar_dense", "nonzero", "masked_select"):
                self.waits += 1
            return function(*args, **(kwargs or {}))

    return Mode()


@pytest.mark.parametrize("how", [{}, {"method": Method(anneal=False)}, {**PAPER}], ids=str)
def test_the_host_waits_only_for_a_loss_and_a_slope_per_trial(sound, how):
    mode, seen, compared = counted_waits(), [], 0

    def watch(state):
        seen.append((mode.waits, state.history[-1]))

    with mode:
        tl_nmf(tensor(sound), 4, max_iter=12, tol=0, random_state=0, callback=watch, **how)
    for (waits, before), (waits_now, row) in itertools.pairwise(seen):
        if (before.frames, before.floor > 2e-3) != (row.frames, row.floor > 2e-3):
            continue  # another stage
        evaluations = row.evaluations - before.evaluations
        searches = len(row.steps) + row.search_failed + 1  # and one that was repeated without pairs
        assert waits_now - waits <= 2 * evaluations + 2 * searches + 4
        compared += 1
    assert compared >= 8
