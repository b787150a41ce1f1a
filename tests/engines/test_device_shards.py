"""Shards of tensors compute what compiled shards do; here on tensors of the processor."""

import numpy as np
import pytest
from tensor_problems import needs_torch, torch

from phinmf.divergences import COMPILED
from phinmf.engines.blocked.shard import ACCESS
from phinmf.engines.blocked.summation import blocks_of, nodes_within, shared_out, total
from phinmf.linalg.manifold import random_orthogonal

needs_torch()
from device_shards import KINDS, Case, compare

from phinmf.engines.device import memory

pytestmark = pytest.mark.full


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("C", [1, 2])
@pytest.mark.parametrize("divergence", COMPILED.values(), ids=repr)
def test_every_method_agrees_with_the_compiled_shard(divergence, C, weighted):
    case = Case(C=C, divergence=divergence, weighted=weighted)
    assert compare(case.compiled(), case.tensors(), case.calls(), 1e-10) == set(ACCESS)


@pytest.mark.parametrize("kind", KINDS)
def test_shards_agree_wherever_their_frames_are(kind):
    case = Case(C=2, weighted=True)
    tensors = case.tensors(kind)
    assert compare(case.compiled(), tensors, case.calls(), 1e-10) == set(ACCESS)
    if kind != "resident":
        number, kept = len(tensors.flow.shapes), len(tensors.flow.keeps)
        assert (kept == 0) == (kind == "none kept")
        assert (kept == number) == (kind in ("all kept", "read and kept"))
        assert (tensors.flow.store is None) == ("read" in kind)


@pytest.mark.parametrize("kind", ["resident", "some kept", "read"])
@pytest.mark.parametrize("blocks", [slice(1, 8), slice(3, 4), slice(2, 7)], ids=str)
def test_a_part_of_the_frames_gives_the_same_nodes(kind, blocks):
    case = Case(C=2, weighted=True, blocks=blocks)
    compare(case.compiled(), case.tensors(kind), case.calls(), 1e-10)


@pytest.mark.parametrize("kind", ["resident", "some kept"])
def test_single_precision_stays_single(kind):
    case = Case(C=2, weighted=True, dtype=np.dtype(np.float32))
    compare(case.compiled(), case.tensors(kind), case.calls(), 2e-4)


def test_stretches_that_are_shared_out_unequally_add_up():
    """A tensor shard and a compiled one side by side, as in a cluster with one GPU."""
    whole, (few, many) = Case(C=2, weighted=True), shared_out(8, [1, 4])
    first = Case(C=2, weighted=True, blocks=few).compiled()
    second = Case(C=2, weighted=True, blocks=many).tensors()
    assert len(blocks_of(whole.N)) == 8
    assert len(nodes_within(8, many)) > 1
    (expected,) = total(8, whole.compiled().energies())
    (found,) = total(8, [*first.energies(), *second.energies()])
    np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_products_are_in_full_precision_and_the_setting_of_the_caller_is_kept(monkeypatch):
    seen, product = [], torch.mm

    def spied(*args, **how):
        seen.append(torch.get_float32_matmul_precision())
        return product(*args, **how)

    monkeypatch.setattr(torch, "mm", spied)
    tensors = Case(dtype=np.dtype(np.float32)).tensors()
    torch.set_float32_matmul_precision("high")
    try:
        tensors.rotate(np.eye(9, dtype=np.float32))
        assert torch.get_float32_matmul_precision() == "high"
    finally:
        torch.set_float32_matmul_precision("highest")
    assert seen == ["highest"]


def interrupted(shard):
    """Interrupt a pass over the frames after its second piece."""
    pieces = shard.pieces_of_X()
    next(pieces)
    next(pieces)
    pieces.close()


@pytest.mark.parametrize("kind", ["none kept", "some kept", "all kept"])
def test_an_interrupt_while_x_is_stored_leaves_y_as_it_was(kind):
    case = Case(C=2)
    shard, expected = case.tensors(kind), case.tensors()
    rng = np.random.default_rng(0)
    Phi, T = (random_orthogonal(9, rng) for _ in range(2))
    for each in (shard, expected):
        each.rotate(Phi)
    interrupted(shard)
    compare(expected, shard, [("energies", ())], 1e-12)
    for each in (shard, expected):
        each.move(T)
    interrupted(shard)  # now X was the base, and is lost in part
    with pytest.raises(AssertionError, match="rotate first"):
        shard.energies()
    shard.rotate(Phi)
    expected.rotate(Phi)
    compare(expected, shard, [("energies", ()), ("powers", ())], 1e-12)


@pytest.mark.parametrize(
    ("text", "size"),
    [("20GB", 2e10), ("1.5 GiB", 1.5 * 2**30), ("300MB", 3e8), ("64k", 64e3), ("5000", 5000)],
)
def test_the_limit_is_a_variable_of_the_environment(monkeypatch, text, size):
    monkeypatch.setenv(memory.VARIABLE, text)
    assert memory.limit("cpu") == size
    assert memory.limit("cpu", users=2) == size / 2


@pytest.mark.parametrize("text", ["", "much", "0", "-3GB", "3 apples", "3GBs"])
def test_a_limit_that_is_no_amount_of_memory_is_refused(monkeypatch, text):
    monkeypatch.setenv(memory.VARIABLE, text)
    with pytest.raises(ValueError, match="PHINMF_GPU_MEMORY is .* such as 20GB"):
        memory.limit("cpu")


def test_without_a_limit_a_processor_has_memory_for_all_frames(monkeypatch):
    monkeypatch.delenv(memory.VARIABLE, raising=False)
    assert memory.limit("cpu") == float("inf")
