"""The same stretch of frames as a compiled shard and as shards of tensors, and their comparison."""

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from phinmf.arrays import room_for_frames, with_separate_channels
from phinmf.arrays.threads import Workers
from phinmf.divergences import COMPILED, Divergence, Family
from phinmf.engines.blocked.compiled_shard import CompiledShard
from phinmf.engines.blocked.shard import SmoothStep
from phinmf.engines.blocked.stretch import Stretch, frames_in_blocks
from phinmf.engines.blocked.summation import blocks_of
from phinmf.engines.device.fitting import streamed
from phinmf.engines.device.resident import TensorShard
from phinmf.linalg.manifold import random_orthogonal

EPS = 1e-3

#: Shares of the frames that a device may hold, and whether a function reads them; None: resident.
KINDS = {
    "resident": None,
    "none kept": (0.02, False),
    "some kept": (0.5, False),
    "all kept": (8.0, False),
    "read": (0.1, True),
    "read and kept": (8.0, True),
}


@dataclass(frozen=True)
class Case:
    """Frames and what is done with them, the same every time."""

    M: int = 9
    N: int = 2100  # eight blocks
    C: int = 1
    K: int = 4
    divergence: Divergence = COMPILED[Family.ITAKURA_SAITO]
    weighted: bool = False
    dtype: np.dtype = field(default=np.dtype(np.float64))
    blocks: slice | None = None
    device: str = "cpu"
    threads: int = 1
    entries: int | None = None  #: of a piece of a resident shard

    @cached_property
    def stretch(self):
        rng = np.random.default_rng(0)
        blocks = self.blocks or slice(0, len(blocks_of(self.N)))
        frames = frames_in_blocks(self.N, blocks)
        weights = np.ones(self.N)
        if self.weighted:
            weights = rng.integers(0, 3, self.N).astype(float)
        links = np.append(rng.random(self.N) > 0.1, False)
        links[0] = False
        around = links[frames.start : frames.stop + 1]
        return Stretch(
            self.N, blocks, self.divergence, weights[frames], not self.weighted, around
        )  # fmt: skip

    @cached_property
    def Y(self):
        rng = np.random.default_rng(1)
        tile = rng.standard_normal((self.C, min(self.N, 3001), self.M), dtype=np.float32)
        Y = room_for_frames((self.C, self.N, self.M), self.dtype)
        for first in range(0, self.N, tile.shape[1]):
            some = Y[:, first : first + tile.shape[1]]
            some[...] = tile[:, : some.shape[1]]
        Y *= np.linspace(0.5, 1.5, self.N, dtype=np.float32)[:, None]  # no frame is another one
        return with_separate_channels(Y[:, self.stretch.frames].copy())

    def compiled(self):
        return CompiledShard(self.Y, self.stretch, Workers(self.threads))

    def tensors(self, kind="resident"):
        Y, how = self.Y, KINDS[kind]
        if how is None:
            entries = self.entries or 250 * self.C * self.M
            return TensorShard(Y, self.stretch, self.device, entries)
        source = (lambda frames: Y[:, frames]) if how[1] else Y
        rest = Y.shape, Y.dtype, self.stretch, Workers(2), how[0] * Y.nbytes
        return streamed(self.device, source, *rest)

    def calls(self, converge=True):
        """Every method, in an order in which a fit might call them."""
        rng, frames = np.random.default_rng(2), self.stretch.frames
        M, K, n = self.M, self.K, frames.stop - frames.start

        def number(*shape):
            return (rng.random(shape) + 0.1).astype(self.dtype)

        def turned():
            return random_orthogonal(M, rng).astype(self.dtype)

        W, rates = number(M, K), rng.random(K)
        edges = {frames.start - 1: number(K), frames.stop: number(K)}
        pairs = np.array([0, 2]), np.array([1, 5]), rng.uniform(-1, 1, (2, 3))
        H = number(n, K)
        H[::7, -1] = 0  # activations that have ended
        end = [("converge_activations", (W, 0.1, EPS, 1e-6, 40)), ("activations", ())]
        return [
            ("powers", ()), ("energies", ()), ("rotate", (turned(),)), ("powers", ()),
            ("set_activations", (H,)), ("activations", ()), ("activation_sums", ()),
            ("nmf_pass", (W, rates, EPS, 1.0)), ("nmf_pass", (W, rates, EPS, 0.5)),
            ("nmf_pass", (W, rates, EPS, 0.0)), ("scale_activations", (number(K),)),
            ("powers", ()), ("edges", ()), ("roughness", (edges,)),
            ("update_every_other", (0, SmoothStep(W, rates, 2.0, EPS, 1.0), edges)),
            ("update_every_other", (1, SmoothStep(W, rates, 2.0, EPS, 0.5), edges)),
            ("activations", ()), ("keep_activations", ()),
        ("scale_activations", (number(K),)), ("kept_activations", ()), ("restore_activations", ()),
        ("activations", ()), ("at", (W, EPS, None)), ("curvature", (W, EPS, True)),
            ("curvature", (W, EPS, False)), ("at", (W, EPS, turned())), ("move", (None,)),
            ("at", (W, EPS, turned())), ("loss", (W, EPS)), ("move", (None,)),
            ("loss", (W, EPS)), ("energies", ()), ("move", (turned(),)), ("energies", ()),
            ("pair_losses", (W, EPS, *pairs)), ("set_model", (number(n, M),)),
            ("at", (None, EPS, turned())), ("at", (None, EPS, None)), ("loss", (None, EPS)),
            ("curvature", (None, EPS, True)), ("pair_losses", (None, EPS, *pairs)),
            ("set_activations", (number(n, K),)), *(end if converge else ()), ("rest", ()),
            ("energies", ()),
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


def answers(shard, calls):
    """Make the calls on a shard, and return the parts of all answers."""
    return [parts_of(getattr(shard, name)(*args)) for name, args in calls]


def compare(expected, found, calls, rtol):
    """Compare the answers of two shards, or those that one has given, and return their names.

    Numbers differ by at most `rtol` times the largest one of an answer.
    """
    known = expected if isinstance(expected, list) else answers(expected, calls)
    for (name, args), (here, places) in zip(calls, known, strict=True):
        there, same_places = parts_of(getattr(found, name)(*args))
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
    return {name for name, _ in calls}
