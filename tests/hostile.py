"""Fits that are hard: hypothesis cases made of hostile sounds, and what must hold for all."""

import dataclasses
import itertools
import warnings
from contextlib import contextmanager
from typing import Any

import hypothesis.strategies as st
import numpy as np
import threadpoolctl
from clusters import engines_here
from hypothesis import assume
from problems import seeds
from sounds import KINDS

from phinmf import Method
from phinmf.divergences import DIVERGENCES
from phinmf.solvers import SOLVERS

QUIETEST = 1e-18  #: root mean square of frames in float32; docs/reliability.md says why


@dataclasses.dataclass
class Case:
    """A fit of hostile frames: what it is made of, so that a failure can be read."""

    kind: str
    shape: tuple[int, int, int]  #: C, M, N
    dtype: str
    scale: float
    seed: int
    silence: bool  #: every other frame is silent
    repeats: bool  #: the first half is one frame again and again
    weighted: str  #: "no", "whole" or "fractions", some of them 0
    dead: str  #: which factors are given, with a dead component: "", "W", "H" or "WH"
    many: str  #: components: "one", "some" or "all" that are allowed
    how: dict[str, Any]

    def __post_init__(self):
        rng = np.random.default_rng(self.seed)
        C, M, N = self.shape
        Y = np.stack([KINDS[self.kind](M, N, rng) for _ in range(C)])
        loudest = int(np.square(Y[0]).sum(axis=0).argmax())
        if self.repeats:
            Y[:, :, : N // 2] = Y[:, :, [loudest]]
        if self.silence:
            Y[:, :, (loudest + 1) % 2 :: 2] = 0
        self.Y = (self.scale * Y).astype(self.dtype)
        weights = None
        if self.weighted != "no":
            weights = rng.integers(0, 4, N) * (1.0 if self.weighted == "whole" else 0.37)
            weights[loudest] = 1
        n = N if weights is None else np.count_nonzero(weights)
        K = {"one": 1, "some": (1 + min(M, n)) // 2, "all": min(M, n)}[self.many]
        self.arguments = {"n_components": K, "sample_weight": weights, "tol": 0, **self.how}
        self.W = self.H = None
        if "W" in self.dead:
            self.W = rng.random((M, K))
            self.W[:, 0] = 0
        if "H" in self.dead:
            self.H = rng.random((K, N)) * self.scale**2
            self.H[-1] = 0

    @property
    def slack(self):
        return 1e-12 if self.dtype == "float64" else 1e-5


@st.composite
def cases(draw):
    """Cases of every kind, in both precisions, with every setting."""
    dtype = draw(st.sampled_from(["float32", "float64"]))
    floors = [1e-2, 1e-5, 1e-8, 1e-10] + [1e-12, 1e-16] * (dtype == "float64")
    settings = {
        "solver": [*SOLVERS, None],
        "divergence": sorted(DIVERGENCES),
        "engine": ["auto", *engines_here()],
        "init": ["dct", "random"],
        "sparsity": [0.0, 0.3, 10.0, 1e3, 1e6],
        "floor": floors,
        "max_iter": [0, 1, 2, 4, 8],
    }
    method = {
        "anneal": [None, True, False],
        "nmf_exponent": [0.5, 1.0],
        "n_iter_nmf": [0, 1, 3],
        "n_iter_transform": [1, 3],
    }
    how = {name: draw(st.sampled_from(values)) for name, values in settings.items()}
    if how["solver"] == "jacobi" and how["engine"] == "compiled":
        how["engine"] = "array"
    how["method"] = Method(**{name: draw(st.sampled_from(v)) for name, v in method.items()})
    exponent = draw(st.integers(-12, 12))
    case = Case(
        kind=draw(st.sampled_from(sorted(KINDS))),
        shape=(draw(st.integers(1, 2)), draw(st.integers(1, 12)), draw(st.integers(1, 30))),
        dtype=dtype,
        scale=10.0**exponent,
        seed=draw(seeds),
        silence=draw(st.booleans()),
        repeats=draw(st.booleans()),
        weighted=draw(st.sampled_from(["no", "no", "whole", "fractions"])),
        dead=draw(st.sampled_from(["", "", "W", "H", "WH"])),
        many=draw(st.sampled_from(["one", "some", "all"])),
        how=how,
    )
    assume(np.sqrt(np.mean(np.square(case.Y, dtype=np.float64))) > QUIETEST)
    return case


def surroundings():
    """What a fit must leave as it is."""
    state = np.random.get_state()  # noqa: NPY002
    return {
        "warnings": list(warnings.filters),
        "floating-point errors": np.geterr(),
        "threads": [
            (lib["filepath"], lib["num_threads"]) for lib in threadpoolctl.threadpool_info()
        ],
        "random state": (state[1].tobytes(), state[2:]),
    }


def blas_threads():
    """How many threads each BLAS library uses."""
    return [p["num_threads"] for p in threadpoolctl.threadpool_info() if p["user_api"] == "blas"]


@contextmanager
def nothing_changes(*arrays):
    """The caller's arrays, warnings, thread settings and random state are as before."""
    arrays = [a for a in arrays if a is not None]
    before, copies = surroundings(), [a.copy() for a in arrays]
    yield
    assert surroundings() == before
    for array, copy in zip(arrays, copies, strict=True):
        assert np.array_equal(array, copy)


def assert_finite(*values):
    for value in values:
        assert np.isfinite(value).all()


def assert_never_rises(history, slack, size):
    """At one floor and on one set of frames, no outer iteration is above the one before."""
    for before, after in itertools.pairwise(history):
        if (before.floor, before.frames) == (after.floor, after.frames):
            room = slack * max(abs(before.objective), size)
            assert after.objective <= before.objective + room
