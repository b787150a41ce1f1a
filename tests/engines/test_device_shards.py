"""Shards of tensors compute what compiled shards do; here on tensors of the processor."""

import numpy as np
import pytest
from tensor_problems import needs_torch

from phinmf.arrays import with_separate_channels
from phinmf.arrays.threads import Workers
from phinmf.divergences import COMPILED
from phinmf.engines.blocked.compiled_shard import CompiledShard
from phinmf.engines.blocked.shard import ACCESS
from phinmf.engines.blocked.stretch import Stretch, frames_in_blocks
from phinmf.engines.blocked.summation import blocks_of, nodes_within, shared_out, total
from phinmf.linalg.manifold import random_orthogonal

needs_torch()
from phinmf.engines.device.fitting import streamed
from phinmf.engines.device.resident import TensorShard

M, N, K, EPS = 9, 2100, 4, 1e-3  # eight blocks


def resident(Y, stretch):
    return TensorShard(Y, stretch, "cpu", 250 * Y[:, 0].size)


def streaming(share, read=False):
    """Return a way to make a shard that may hold a share of the frames."""

    def make(Y, stretch):
        source = (lambda frames: Y[:, frames]) if read else Y
        allowed = share * Y.nbytes
        return streamed("cpu", source, Y.shape, Y.dtype, stretch, Workers(2), allowed)

    return make


KINDS = {
    "resident": resident,
    "none kept": streaming(0.02),
    "some kept": streaming(0.3),
    "all kept": streaming(3.0),
    "read": streaming(0.1, read=True),
    "read and kept": streaming(3.0, read=True),
}


def two_shards(
    divergence, C, weighted, blocks=slice(0, 8), seed=0, dtype=np.float64, kind="resident"
):
    """The same stretch of frames, compiled and as tensors."""
    rng = np.random.default_rng(seed)
    frames = frames_in_blocks(N, blocks)
    weights = rng.integers(0, 3, N).astype(float) if weighted else np.ones(N)
    links = np.append(rng.random(N) > 0.1, False)
    links[0] = False
    own = links[frames.start : frames.stop + 1]
    equal = not weighted
    stretch = Stretch(N, blocks, divergence, weights[frames], equal, own)
    Y = with_separate_channels(rng.standard_normal((C, N, M)).astype(dtype))[:, frames]
    return CompiledShard(Y, stretch, Workers(1)), KINDS[kind](Y, stretch)


def calls(rng, n, blocks, dtype):
    """Every method, in an order in which a fit might call them."""
    frames = frames_in_blocks(N, blocks)

    def number(*shape):
        return (rng.random(shape) + 0.1).astype(dtype)

    def turned():
        return random_orthogonal(M, rng).astype(dtype)

    W, rates = number(M, K), rng.random(K)
    edges = {frames.start - 1: number(K), frames.stop: number(K)}
    pairs = np.array([0, 2]), np.array([1, 5]), rng.uniform(-1, 1, (2, 3))
    zero = number(n, K)
    zero[::7, 1] = 0  # activations that have ended
    return [
        ("powers", ()), ("energies", ()), ("rotate", (turned(),)), ("powers", ()),
        ("set_activations", (zero,)), ("activations", ()), ("activation_sums", ()),
        ("nmf_pass", (W, rates, EPS, 1.0)), ("nmf_pass", (W, rates, EPS, 0.5)),
        ("nmf_pass", (W, rates, EPS, 0.0)), ("scale_activations", (number(K),)),
        ("edges", ()), ("roughness", (edges,)),
        ("update_every_other", (0, W, rates, 2.0, EPS, 1.0, edges)),
        ("update_every_other", (1, W, rates, 2.0, EPS, 0.5, edges)),
        ("activations", ()), ("keep_activations", ()),
        ("scale_activations", (number(K),)), ("kept_activations", ()), ("restore_activations", ()),
        ("activations", ()), ("at", (W, EPS, None)), ("curvature", (W, EPS, True)),
        ("curvature", (W, EPS, False)), ("at", (W, EPS, turned())), ("move", (None,)),
        ("loss", (W, EPS)), ("energies", ()), ("move", (turned(),)), ("energies", ()),
        ("pair_losses", (W, EPS, *pairs)), ("set_model", (number(n, M),)),
        ("at", (None, EPS, turned())), ("at", (None, EPS, None)), ("loss", (None, EPS)),
        ("curvature", (None, EPS, True)), ("pair_losses", (None, EPS, *pairs)),
        ("set_activations", (number(n, K),)), ("converge_activations", (W, 0.1, EPS, 1e-6, 40)),
        ("activations", ()), ("rest", ()), ("energies", ()),
    ]  # fmt: skip


def parts_of(answer):
    """The arrays and numbers of an answer, and the blocks of the nodes that they belong to."""
    if answer is None:
        return [], []
    if isinstance(answer, dict):
        return [answer[number] for number in sorted(answer)], sorted(answer)
    if isinstance(answer, np.ndarray):
        return [answer], []
    return [s for node in answer for s in node.sums], [node[:2] for node in answer]


def compare(compiled, tensors, listed, rtol):
    names = set()
    for name, args in listed:
        names.add(name)
        here, there = (getattr(shard, name)(*args) for shard in (compiled, tensors))
        (here, places), (there, same_places) = parts_of(here), parts_of(there)
        assert places == same_places
        assert len(here) == len(there)
        for a, b in zip(here, there, strict=True):
            assert type(a) is type(b)
            assert np.shape(a) == np.shape(b)
            if isinstance(a, np.ndarray):
                assert a.dtype == b.dtype
                assert b.flags.c_contiguous
            largest = float(np.abs(a).max(initial=0))
            np.testing.assert_allclose(b, a, rtol=rtol, atol=rtol * largest, err_msg=name)
    return names


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("C", [1, 2])
@pytest.mark.parametrize("divergence", COMPILED.values(), ids=repr)
def test_every_method_agrees_with_the_compiled_shard(divergence, C, weighted):
    compiled, tensors = two_shards(divergence, C, weighted)
    listed = calls(np.random.default_rng(1), N, slice(0, 8), np.float64)
    assert compare(compiled, tensors, listed, 1e-10) == set(ACCESS)


@pytest.mark.parametrize("C", [1, 2])
@pytest.mark.parametrize("kind", KINDS)
def test_shards_agree_wherever_their_frames_are(kind, C):
    compiled, tensors = two_shards(COMPILED[1], C, True, kind=kind)
    listed = calls(np.random.default_rng(1), N, slice(0, 8), np.float64)
    assert compare(compiled, tensors, listed, 1e-10) == set(ACCESS)
    pieces = 1 if kind == "resident" else len(tensors.flow.shapes) - len(tensors.flow.keeps)
    assert (pieces == 0) == ("all kept" in kind or kind == "read and kept")


@pytest.mark.parametrize("blocks", [slice(1, 8), slice(3, 4), slice(2, 7)], ids=str)
def test_a_part_of_the_frames_gives_the_same_nodes(blocks):
    compiled, tensors = two_shards(COMPILED[1], 2, True, blocks)
    frames = frames_in_blocks(N, blocks)
    n = frames.stop - frames.start
    compare(compiled, tensors, calls(np.random.default_rng(1), n, blocks, np.float64), 1e-10)


def test_single_precision_stays_single():
    compiled, tensors = two_shards(COMPILED[1], 2, True, dtype=np.float32)
    listed = calls(np.random.default_rng(1), N, slice(0, 8), np.float32)
    compare(compiled, tensors, listed, 2e-4)


def test_stretches_that_are_shared_out_unequally_add_up():
    """A tensor shard and a compiled one side by side, as in a cluster with one GPU."""
    whole, _ = two_shards(COMPILED[1], 2, True)
    few, many = shared_out(8, [1, 4])
    parts = two_shards(COMPILED[1], 2, True, few)[0], two_shards(COMPILED[1], 2, True, many)[1]
    (expected,) = total(8, whole.energies())
    (found,) = total(8, [node for part in parts for node in part.energies()])
    np.testing.assert_allclose(found, expected, rtol=1e-12)
    assert len(blocks_of(N)) == 8
    assert len(nodes_within(8, many)) > 1


def test_products_stay_in_full_precision_and_the_setting_of_the_caller_is_kept(monkeypatch):
    import torch

    seen = []
    product = torch.mm
    monkeypatch.setattr(
        torch, "mm",
        lambda *a, **k: (seen.append(torch.get_float32_matmul_precision()), product(*a, **k))[1],
    )  # fmt: skip
    _, tensors = two_shards(COMPILED[1], 1, False, dtype=np.float32)
    torch.set_float32_matmul_precision("high")
    try:
        tensors.rotate(np.eye(M, dtype=np.float32))
        assert torch.get_float32_matmul_precision() == "high"
    finally:
        torch.set_float32_matmul_precision("highest")
    assert seen == ["highest"]
