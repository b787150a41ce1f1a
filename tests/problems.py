"""Small random problems, as hypothesis strategies and as plain functions."""

import itertools
from dataclasses import dataclass

import hypothesis.strategies as st
import numpy as np
from clusters import engines_here
from tensor_problems import tensor

from phinmf.arrays import namespace
from phinmf.divergences import DIVERGENCES, Beta, Divergence
from phinmf.engines import ENGINES
from phinmf.linalg.manifold import random_orthogonal, skew
from phinmf.solvers import SOLVERS

ON_TENSORS = " on tensors"

#: every registered engine, and each that accepts tensors once more as "name on tensors"
HOLDING = list(engines_here())
HOLDING += [name + ON_TENSORS for name, kind in ENGINES.items() if kind.tensors]


def engine_kind(engine):
    """The class of a name in `HOLDING`."""
    return ENGINES[engine.removesuffix(ON_TENSORS)]


def serves(engine, solver):
    """Whether an engine of `HOLDING` computes what a solver needs."""
    needs = solver is not None and SOLVERS[solver].needs_pair_losses
    return engine_kind(engine).pair_losses or not needs


class LogCosh(Divergence):
    """f(x) = log cosh x: it has no model v̂ of the power, and so no NMF."""

    has_nmf_split = False

    def value(self, v, v_hat, eps):
        return np.log(np.cosh(np.sqrt(v)))

    def slope(self, v, v_hat, eps):
        return np.tanh(np.sqrt(v)) / np.sqrt(v)

    def curvature(self, v, v_hat, eps):
        return 1 / np.cosh(np.sqrt(v)) ** 2

    def bound(self, v, v_hat, eps):
        return np.ones_like(v)


@dataclass(frozen=True)
class LogShare(Divergence):
    """(v+ε)/v̂ + log v̂ - κ (log(v+ε) + 1): unlike κ = 0 and 1, κ = ½ is known to no kernel."""

    kappa: float

    def value(self, v, v_hat, eps):
        xp = namespace(v_hat)
        return (v + eps) / v_hat + xp.log(v_hat) - self.kappa * (xp.log(v + eps) + 1)

    def slope(self, v, v_hat, eps):
        return 2 * (1 / v_hat - self.kappa / (v + eps))

    def curvature(self, v, v_hat, eps):
        return 2 / v_hat + 2 * self.kappa * (v - eps) / (v + eps) ** 2

    def bound(self, v, v_hat, eps):
        return 2 * (1 / v_hat + self.kappa / (v + eps))

    def nmf_split(self, v, v_hat, eps):
        return (v + eps) / v_hat**2, 1 / v_hat


#: every registered divergence, and one of a user's own
OWN = {"half": LogShare(0.5)}
TESTED = [*DIVERGENCES, *OWN]
BETAS = {f"beta {b}": Beta(b) for b in (-1, -0.5, 0, 0.3, 0.5, 1, 1.5, 2, 2.5, 3)}


def divergence_named(name):
    """The divergence of a name in `TESTED` or `BETAS`."""
    return (DIVERGENCES | OWN | BETAS)[name]


def mean_power(X, pairs=False):
    """(M, N): the mean over channels of x²; (M/2, N) if rows 2p and 2p + 1 of Φ share a power."""
    v = (X**2).mean(axis=0)
    return v.reshape(len(v) // 2, 2, -1).mean(axis=1) if pairs else v


#: (divergence, engine): every pair of names that works together
SUPPORTED = [
    (divergence, engine)
    for divergence, engine in itertools.product(TESTED, HOLDING)
    if engine_kind(engine).supports(divergence_named(divergence))
]


def frames_for(Y, engine):
    """Frames as an engine holds them, and its name as the public functions know it."""
    on_tensors = engine.endswith(ON_TENSORS)
    return (tensor(Y) if on_tensors else Y), engine.removesuffix(ON_TENSORS)


class Problem:
    """Frames, a model of their power and the engine that holds them."""

    def __init__(
        self,
        seed,
        M=5,
        N=20,
        K=3,
        C=1,
        eps=1e-3,
        divergence="itakura-saito",
        engine="array",
        dtype=np.float64,
        weighted=False,
        pairs=False,
    ):
        self.rng = np.random.default_rng(seed)
        self.M, self.N, self.K, self.C, self.eps = M, N, K, C, eps
        self.divergence = divergence_named(divergence)
        self.Y = self.rng.standard_normal((C, M, N)).astype(dtype)
        self.Phi = random_orthogonal(M, self.rng, dtype)
        self.pairs = pairs
        self.W = self.rng.random((M // 2 if pairs else M, K)).astype(dtype)
        self.W /= self.W.sum(axis=0)
        self.H = (M * self.rng.random((K, N)) / K).astype(dtype)
        self.on_tensors = engine.endswith(ON_TENSORS)
        weights = self.rng.integers(0, 4, N).astype(float) if weighted else None
        self.weights = np.ones(N) if weights is None else weights
        self.engine = engine_kind(engine)(self.give(self.Y), self.divergence, weights=weights)
        self.engine.rotate(self.give(self.Phi))
        self.engine.set_activations(self.give(self.H))

    def give(self, x):
        """An array as the engine wants it."""
        return tensor(x) if self.on_tensors else x

    @property
    def objective(self):
        return self.engine.objective(self.give(self.W), self.eps)

    def antisymmetric(self, norm=1.0):
        E = skew(self.rng.standard_normal((self.M, self.M)))
        return norm * E / max(np.linalg.norm(E), 1e-300)


seeds = st.integers(0, 2**32 - 1)


@st.composite
def problems(draw, **fixed):
    """Problems of random shape, floor and divergence."""
    choices = {
        "seed": seeds,
        "M": st.integers(2, 8),
        "N": st.integers(1, 30),
        "K": st.integers(1, 4),
        "C": st.integers(1, 3),
        "eps": st.sampled_from([1e-1, 1e-2, 1e-4]),
    }
    return Problem(
        **{name: fixed[name] if name in fixed else draw(s) for name, s in choices.items()}
    )


def synthetic(M, N, seed):
    """§4.1 of the paper: Y, V̂ = |Φ*Y|² and a start 1e-3 away from Φ*."""
    from scipy.linalg import expm

    rng = np.random.default_rng(seed)
    Y = rng.standard_normal((M, N))
    Phi_star = random_orthogonal(M, rng)
    start = expm(1e-3 * skew(rng.standard_normal((M, M)))) @ Phi_star
    return Y, (Phi_star @ Y) ** 2, start, Phi_star


def known_components(M, N, K, seed, active=0.5, noise=1e-4):
    """Frames of Gaussian coefficients of K components, in a transform that is random, too."""
    rng = np.random.default_rng(seed)
    W = rng.exponential(size=(M, K)) ** 3
    H = rng.exponential(size=(K, N)) * (rng.random((K, N)) < active)
    X = rng.standard_normal((M, N)) * np.sqrt(W / W.sum(axis=0) @ (M * H) + noise)
    return random_orthogonal(M, rng).T @ X


def notes(M=32, n=1500, seed=0):
    """Two decaying tones in turn, with a little noise: a small recording with structure."""
    from phinmf import to_frames

    rng = np.random.default_rng(seed)
    t = np.arange(n)
    y = 0.01 * rng.standard_normal(n)
    for start, frequency in ((0, 0.31), (n // 3, 0.47), (2 * n // 3, 0.31)):
        y[start:] += np.exp(-(t[start:] - start) / 200) * np.sin(frequency * t[start:])
    return to_frames(y, M)


def sound(M=24, n=1200, C=1, dtype=np.float64):
    """Frames (C, M, N) of a small recording, whose channels differ."""
    return np.stack([notes(M, n, seed) for seed in range(C)]).astype(dtype)
