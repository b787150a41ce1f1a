"""Every fused function agrees with the plain one, over the whole range of its arguments.

Each test tries many shapes, below and above the size of each tile, and reports those that differ.
"""

import itertools
import random
from dataclasses import fields

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("triton")

from phinmf.divergences import Family
from phinmf.tensors import fused_nmf, operations, trial_run
from phinmf.tensors.operations import Kind, Operations

pytestmark = pytest.mark.gpu

ATOMS = [2, 3, 15, 16, 17, 31, 32, 33, 63, 64, 65, 127, 128, 129, 255, 440, 882, 1024]
FRAMES = [1, 7, 8, 15, 16, 17, 31, 32, 33, 63, 64, 65, 127, 129, 511, 513, 1023, 1024, 1025, 2049,
          5418, 5424, 16_899, 70_000]  # fmt: skip
TOLERANCE = {torch.float64: 1e-11, torch.float32: 5e-5}
OF_NMF = ("update_activations", "nmf_step")
OF_FRAMES = ("loss", "loss_and_slope", "curvatures", *OF_NMF)
OF_MEMORY = ("aim", "remember", "take", "combinations")
FUNCTIONS = tuple(field.name for field in fields(Operations))
assert {*OF_FRAMES, *OF_MEMORY} == set(FUNCTIONS)
DTYPES = pytest.mark.parametrize("dtype", [torch.float64, torch.float32], ids=str)
FAMILIES = pytest.mark.parametrize("family", Family, ids=lambda family: family.name)


def differences(kind, n_frames, restarts, functions=OF_FRAMES):
    """Return the functions that differ for this kind of work, with the largest relative error."""
    questions = trial_run.Questions(kind, n_frames, restarts)
    fused, plain = operations.fused(kind.many), operations.plain()
    found = {}
    for name in functions:
        ask = getattr(questions, name)
        ours, theirs = list(ask(getattr(fused, name))), list(ask(getattr(plain, name)))
        for a, b in zip(ours, theirs, strict=True):
            assert a.dtype == b.dtype
            if not trial_run.close(a, b, TOLERANCE[kind.dtype]):
                found[name] = float((a - b).double().abs().max() / b.double().abs().mean())
    return found


def kind(
    dtype, family=Family.ITAKURA_SAITO, M=100, K=10, C=1, gamma=1.0, equal=True, shared=True,
    many=False, L=5,
):  # fmt: skip
    where = torch.device("cuda")
    return Kind(where, dtype, C, M, K, gamma, family, equal, shared, many, True, L)


def check(cases):
    """Assert that no case differs; a case is (kind, frames, restarts) and optionally functions."""
    tried, wrong = 0, []
    for case in cases:
        tried += 1
        if found := differences(*case):
            wrong.append((*case[:3], found))
    print(f"{tried} cases, {len(wrong)} wrong")
    assert tried
    assert not wrong, wrong[:5]


@FAMILIES
@DTYPES
@pytest.mark.parametrize("many", [False, True])
def test_all_numbers_of_components_agree(dtype, many, family):
    check((kind(dtype, family, K=K, many=many), 1000, 1) for K in range(1, 129))


@FAMILIES
@DTYPES
@pytest.mark.parametrize("many", [False, True])
def test_numbers_of_atoms_around_every_tile_agree(dtype, many, family):
    check(
        (kind(dtype, family, M=M, K=K, many=many), 700, 1)
        for M in ATOMS
        for K in (10, 16, 17, 32, 64)
    )


@FAMILIES
@DTYPES
@pytest.mark.parametrize("many", [False, True])
def test_numbers_of_frames_around_every_tile_agree(dtype, many, family):
    check(
        (kind(dtype, family, M=130, K=K, many=many), N, 1)
        for N in FRAMES
        for K in (1, 10, 16, 24, 32)
    )


@FAMILIES
@DTYPES
def test_channels_exponents_weights_and_restarts_agree(dtype, family):
    """All combinations of them, in shapes drawn at random."""
    draw = random.Random(0)
    combinations = itertools.product(
        (1, 2, 3), (1.0, 0.5, 0.7), (True, False), (True, False), (False, True), (1, 32)
    )
    check(
        (
            kind(dtype, family, draw.choice([33, 64, 100]),
                 draw.choice([3, 10, 16, 20, 24, 32, 64, 128]), C, gamma, equal, shared, many),
            draw.choice([75, 128, 1030, 2501]), B,
        )
        for C, gamma, equal, shared, many, B in combinations
    )  # fmt: skip


@FAMILIES
@DTYPES
def test_random_shapes_agree(dtype, family):
    draw = random.Random(1)
    check(
        (
            kind(dtype, family, draw.choice(ATOMS), draw.randint(1, 128), 1,
                 draw.choice([0.5, 1.0]), many=draw.random() < 0.5),
            draw.choice(FRAMES[:-1]), draw.choice([1, 2, 5]),
        )
        for _ in range(100)
    )  # fmt: skip


@DTYPES
@pytest.mark.parametrize("B", [1, 3, 32])
def test_memories_of_all_sizes_agree(dtype, B):
    check(
        (kind(dtype, M=M, L=L), 8, B, OF_MEMORY)
        for M in (2, 3, 8, 31, 33, 100, 257)
        for L in range(1, trial_run.MAX_PAIRS + 1)
    )
    check((kind(dtype, M=M, L=5), 8, min(B, 3), OF_MEMORY) for M in (440, 1024))


@FAMILIES
@DTYPES
@pytest.mark.parametrize(("M", "N", "B", "K"), [
    (440, 5424, 1, 10), (440, 5424, 32, 10), (440, 5424, 1, 24), (440, 5424, 32, 24),
    (882, 20_008, 1, 16), (1764, 6000, 1, 64), (2048, 70_000, 1, 10), (4096, 4000, 1, 128),
])  # fmt: skip
def test_real_sizes_agree(dtype, M, N, B, K, family):
    how = {"family": family, "M": M, "K": K, "many": B * N >= operations.MANY}
    check([(kind(dtype, **how), N, B, OF_FRAMES if B > 1 or M > 2048 else FUNCTIONS)])


@FAMILIES
def test_the_lowest_floor_of_a_batch_gives_finite_numbers(family):
    """One division gives two reciprocals, and four ratios are multiplied before the logarithm."""
    from phinmf.fit.problem import LEAST_FLOOR_OF_BATCH

    of = kind(torch.float64, family)
    questions = trial_run.Questions(of, 100)
    questions.eps.fill_(LEAST_FLOOR_OF_BATCH)
    questions.X[..., :30] = 0
    questions.WH[..., 20:50] = 0
    questions.WH *= 1e6
    fused, plain = operations.fused(), operations.plain()
    for name in ("loss", "loss_and_slope"):
        ask = getattr(questions, name)
        for a, b in zip(ask(getattr(fused, name)), ask(getattr(plain, name)), strict=True):
            assert torch.isfinite(a).all()
            torch.testing.assert_close(a, b, rtol=1e-10, atol=0)


@pytest.mark.filterwarnings("ignore:.*wrong results:RuntimeWarning")
def test_wrong_kernels_are_detected(monkeypatch):
    """Products of float64 inside the kernels, which some versions of Triton compile wrongly."""
    monkeypatch.setattr(fused_nmf, "most_inside", lambda dtype, many: 128)
    right, wrong = 0, 0
    for M, K, C, gamma in itertools.product((64, 200, 440), (10, 24, 64), (1, 3), (1.0, 0.5)):
        of = kind(torch.float64, M=M, K=K, C=C, gamma=gamma)
        different = differences(of, None, 2)
        used = trial_run.compared(of)
        for name in OF_NMF:
            replaced = getattr(used, name) is getattr(operations.plain(), name)
            if different.get(name, 0) > 1e-6:
                assert replaced, (of, different)
                wrong += 1
            elif name not in different:
                assert not replaced, of
                right += 1
    print(f"{wrong} wrong functions were replaced, {right} right ones kept")
    assert right + wrong
