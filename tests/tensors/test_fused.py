"""The Triton kernels agree with the plain functions, on a GPU or in Triton's interpreter."""

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("triton")

from phinmf.divergences import Family
from phinmf.tensors import operations
from phinmf.tensors.exponential import exponential
from phinmf.tensors.memory import Memory

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
FAMILIES = pytest.mark.parametrize("family", Family, ids=lambda family: family.name)
PLAIN, FUSED = operations.plain(), operations.fused()
CASES = [
    # dtype, channels, components, γ, rows of weights, equal weights
    (torch.float64, 1, 10, 1.0, 1, True),
    (torch.float64, 2, 20, 0.5, 3, False),
    (torch.float32, 3, 3, 0.5, 3, False),
    (torch.float32, 1, 17, 1.0, 1, True),
]
pytestmark = [
    pytest.mark.full,
    pytest.mark.filterwarnings("ignore:divide by zero:RuntimeWarning"),  # masked places
]


@pytest.fixture(params=CASES, ids=str)
def case(request):
    dtype, C, K, gamma, rows, equal = request.param
    generator = torch.Generator().manual_seed(0)

    def normal(*shape, dtype=dtype):
        return torch.randn(shape, dtype=dtype, generator=generator).to(DEVICE)

    B, M, N = 3, 37, 75
    X = normal(B, C, M, N)
    weights = normal(rows, N, dtype=torch.float64).abs() + 0.5
    if equal:  # except for the padding
        weights[:] = 1.5
        weights[:, 70:], X[..., 70:] = 0, 0
    W, H = normal(B, M, K).abs(), normal(B, K, N).abs()
    if equal:
        H[..., 70:] = 0
    number = {"dtype": torch.float64, "device": DEVICE}
    return {
        "X": X, "W": W, "H": H, "weights": weights, "equal": equal, "gamma": gamma,
        "eps": torch.tensor(1e-3, **number), "mu": torch.tensor(0.3, **number), "normal": normal,
        "rtol": 1e-12 if dtype == torch.float64 else 2e-5,
    }  # fmt: skip


def close(ours, theirs, rtol):
    assert ours.dtype == theirs.dtype
    scale = float(theirs.abs().max())
    torch.testing.assert_close(ours, theirs, rtol=rtol, atol=rtol * scale)


@FAMILIES
def test_loss_and_slope_agree(case, family):
    X, WH = case["X"], case["W"] @ case["H"]
    common = case["weights"], case["equal"], case["eps"], family
    F, F_plain = torch.full_like(X, torch.nan), torch.empty_like(X)
    loss = FUSED.loss_and_slope(X, WH, *common, F)
    close(loss, PLAIN.loss_and_slope(X, WH, *common, F_plain), case["rtol"])
    close(F, F_plain, case["rtol"])
    close(FUSED.loss(X, WH, *common), loss, 1e-14)


@FAMILIES
def test_curvatures_agree(case, family):
    how = case["X"], case["W"] @ case["H"], case["weights"], case["eps"], family
    for ours, theirs in zip(FUSED.curvatures(*how), PLAIN.curvatures(*how), strict=True):
        close(ours, theirs, case["rtol"])


@FAMILIES
def test_an_nmf_step_agrees(case, family):
    free = torch.ones(case["W"].shape[2], dtype=torch.bool, device=DEVICE)
    free[1] = False
    results = []
    for operations_ in (FUSED, PLAIN):
        W, H = case["W"].clone(), case["H"].clone()
        W[:, :, 0] = 0  # a component of zeros
        rest = case["weights"], case["mu"], case["eps"], case["gamma"], family
        operations_.update_activations(case["X"], W, H, *rest[1:])
        operations_.nmf_step(case["X"], W, H, *rest, free)
        results.append((W, H))
    for ours, theirs in zip(*results, strict=True):
        close(ours, theirs, case["rtol"])


@pytest.mark.parametrize("size", [1, 5, 9])
def test_the_memory_agrees(case, size):
    B, M, dtype = 3, 11, case["X"].dtype
    memories = [Memory(B, size, M, dtype, torch.device(DEVICE)) for _ in range(2)]
    inverse = case["normal"](B, M * M).abs() + 0.1
    G = case["normal"](B, M, M)
    states = []
    for memory in memories:
        memory.inverse.copy_(inverse)
        states.append((G.clone(), (G - G.mT).clone(), torch.empty_like(G)))
    for step in range(8):
        aims = []
        for ops, memory, (_, g, E) in zip((FUSED, PLAIN), memories, states, strict=True):
            aims.append(ops.aim(memory, g, 2.0, E))
        close(states[0][2], states[1][2], 100 * case["rtol"])
        close(aims[0][0], aims[1][0], 100 * case["rtol"])
        assert torch.equal(aims[0][1], aims[1][1])
        E = states[1][2]
        G_trial = states[1][0] + 0.3 * E + 0.02 * case["normal"](B, M, M)
        eta = case["normal"](B, 1, 1).abs() + 0.5
        accepted = torch.tensor([True, step % 3 != 1, True], device=DEVICE)
        curved = torch.tensor([True, True, step != 2], device=DEVICE)
        for ops, memory, (G_here, g, _) in zip((FUSED, PLAIN), memories, states, strict=True):
            ops.remember(memory, g, G_here, G_trial, E, eta, accepted, curved)
        assert torch.equal(states[0][0], states[1][0])
        assert torch.equal(memories[0].oldest, memories[1].oldest)
        close(memories[0].S, memories[1].S, case["rtol"])
        close(memories[0].Y, memories[1].Y, case["rtol"])


def test_take_and_combinations_agree(case):
    X, other = case["X"], case["normal"](*case["X"].shape)
    accepted = torch.tensor([True, False, True], device=DEVICE)
    ours, theirs = X.clone(), X.clone()
    FUSED.take(ours, other, accepted)
    PLAIN.take(theirs, other, accepted)
    assert torch.equal(ours, theirs)
    E = 0.1 * case["normal"](2, 13, 13)
    E = E - E.mT
    close(exponential(E, 1, FUSED.combinations)[0], exponential(E, 1)[0], 10 * case["rtol"])
