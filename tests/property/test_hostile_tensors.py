"""Hostile frames as tensors: nothing is NaN, nothing rises, and nothing of the caller's changes."""

import numpy as np
import pytest
from hostile import assert_finite, assert_never_rises, cases
from hypothesis import HealthCheck, given, settings
from sounds import KINDS
from tensor_problems import host, tensor, torch

from phinmf import TLNMF, tl_nmf
from phinmf.linalg.manifold import orthogonality_error

pytestmark = pytest.mark.full


def unchanged(*given):
    """Tensors, and a function that looks whether they are as they were."""
    made = [None if x is None else tensor(np.ascontiguousarray(x)) for x in given]

    def look():
        for x, y in zip(given, made, strict=True):
            assert x is None or np.array_equal(x, y)

    return made, look


def check(Y, W, H, slack, **how):
    how |= {"engine": "array" if how.get("engine") == "array" else "auto"}
    weights = how.pop("sample_weight", None)
    (frames, w, w_H, w_n), look = unchanged(Y, W, H, weights)
    r = tl_nmf(frames, W=w, H=w_H, sample_weight=w_n, **how)
    look()
    assert r.Phi.dtype == r.W.dtype == r.H.dtype == frames.dtype
    assert (r.W >= 0).all()
    assert (r.H >= 0).all()
    h = r.history
    assert_finite(host(r.Phi), host(r.W), host(r.H), r.objective, h.start, h.objective)
    assert orthogonality_error(r.Phi) < (1e-5 if frames.dtype == torch.float32 else 1e-12)
    M, N = Y.shape[-2:]
    assert_never_rises(h, slack, M * (N if weights is None else max(N, weights.sum())))

    (X, w_n), look = unchanged(Y[0].T, weights)
    model = TLNMF(**how)
    found = model.fit_transform(X, sample_weight=w_n)
    look()
    assert np.array_equal(found, model.transform(X))
    learned = (model.components_, model.transform_matrix_, model.atom_energies_, found)
    assert_finite(*map(host, learned), model.objective_, model.scale_, model.score(X))


@settings(max_examples=50)
@given(case=cases())
def test_fifty_random_inputs(case):
    check(case.Y, case.W, case.H, case.slack, random_state=case.seed, **case.arguments)


@pytest.mark.full
@settings(max_examples=1000, suppress_health_check=list(HealthCheck))
@given(case=cases())
def test_a_thousand_random_inputs(case):
    check(case.Y, case.W, case.H, case.slack, random_state=case.seed, **case.arguments)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("kind", sorted(KINDS))
def test_every_kind_of_sound_is_fitted(kind, dtype, rng):
    Y = KINDS[kind](16, 120, rng).astype(dtype)[None]
    slack = 1e-5 if dtype == "float32" else 1e-12
    check(Y, None, None, slack, n_components=3, max_iter=15, tol=0, random_state=0)
