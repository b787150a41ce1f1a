"""Divergences of a user's own: computed as their formulas say, or refused."""

import types
from dataclasses import replace

import numpy as np
import pytest
from problems import notes
from tensor_problems import tensor

from phinmf import TLNMF, tl_nmf
from phinmf.arrays import namespace
from phinmf.divergences import FORMULAS, gaussian, is_compiled, itakura_saito
from phinmf.engines import ENGINES
from phinmf.fit.problem import problem_of

#: a floor at which rounding is not amplified
HOW = {"max_iter": 6, "tol": 0, "random_state": 0, "floor": 1e-2, "anneal": False}


class Family:
    """(v+ε)/v̂ + log v̂ - κ (log(v+ε) + 1)."""

    def __init__(self, kappa):
        self.log_share = kappa

    def value(self, v, v_hat, eps):
        xp = namespace(v_hat)
        return (v + eps) / v_hat + xp.log(v_hat) - self.log_share * (xp.log(v + eps) + 1)

    def slope(self, v, v_hat, eps):
        return 2 * (1 / v_hat - self.log_share / (v + eps))

    def curvature(self, v, v_hat, eps):
        return 2 / v_hat + 2 * self.log_share * (v - eps) / (v + eps) ** 2

    def bound(self, v, v_hat, eps):
        return 2 * (1 / v_hat + self.log_share / (v + eps))

    def nmf_split(self, v, v_hat, eps):
        return (v + eps) / v_hat**2, 1 / v_hat


def true_objective(r, Y, divergence, sparsity=10.0):
    mean = (Y**2).mean()
    v, v_hat = (r.Phi @ Y) ** 2, r.W @ r.H + r.floor
    fit = divergence.value(v / mean, v_hat / mean, r.floor / mean).sum()
    return fit + sparsity / mean * r.H.sum()


@pytest.mark.parametrize("kappa", [0.5, 0.0, 1, 2.0, -0.25, np.float32(0.75)])
def test_any_share_gives_the_numbers_of_its_formulas(kappa):
    d, Y = Family(kappa), notes()
    r = tl_nmf(Y, 3, divergence=d, **HOW)
    assert r.objective == pytest.approx(true_objective(r, Y, d), rel=1e-10)
    readable = tl_nmf(Y, 3, divergence=d, engine="array", **HOW)
    assert r.objective == pytest.approx(readable.objective, rel=1e-6)
    model = TLNMF(3, divergence=d, **HOW).fit(Y.T)
    encoded = replace(r, W=model.components_.T, H=model.transform(Y.T).T)
    np.testing.assert_allclose(model.transform_matrix_, r.Phi, atol=1e-6)
    assert model.objective_ == pytest.approx(true_objective(encoded, Y, d), rel=1e-6)


@pytest.mark.parametrize("name", [n for n, kind in ENGINES.items() if n != "array"])
@pytest.mark.parametrize("kappa", [0.5, np.nan, "1", None, [1.0]])
def test_an_engine_that_cannot_says_so(name, kappa):
    assert not ENGINES[name].supports(Family(kappa))
    Y = notes()
    if name == "dask":
        Y = pytest.importorskip("dask.array").from_array(Y, chunks=(-1, 20))
    with pytest.raises(ValueError, match=f"engine '{name}' does not compute this divergence"):
        tl_nmf(Y, 3, divergence=Family(kappa), engine=name, **HOW)


def test_tensors_go_the_readable_way():
    d, Y = Family(0.5), notes()
    r = tl_nmf(tensor(Y), 3, divergence=d, **HOW)
    readable = tl_nmf(Y, 3, divergence=d, engine="array", **HOW)
    assert r.objective == pytest.approx(readable.objective, rel=1e-6)
    how = {"solver": "lbfgs", "sparsity": 1.0, "floor": 1e-8, "nmf_exponent": 1.0, "init": "dct"}
    how |= {"engine": "auto", "n_threads": None}
    for kappa in (0, 1.0):
        assert problem_of(tensor(Y), 3, divergence=Family(kappa), **how).runs_in_lockstep
    assert not problem_of(tensor(Y), 3, divergence=d, **how).runs_in_lockstep


@pytest.mark.parametrize("changed", FORMULAS)
def test_a_share_that_does_not_belong_to_its_formulas_is_not_believed(changed):
    formulas = {f: getattr(itakura_saito, f) for f in FORMULAS}
    same = types.SimpleNamespace(**formulas, log_share=1.0)
    assert is_compiled(same)
    other = (
        getattr(Family(0.5), changed) if changed != "nmf_split" else lambda v, v_hat, _: (v, v_hat)
    )
    assert not is_compiled(types.SimpleNamespace(**formulas | {changed: other}, log_share=1.0))
    assert not is_compiled(types.SimpleNamespace(**formulas, log_share=0.0))
    assert is_compiled(gaussian)


def test_what_lacks_a_formula_is_no_divergence():
    d = types.SimpleNamespace(value=1, slope=1, curvature=1, bound=1, log_share=1.0)
    with pytest.raises(ValueError, match="which is not known"):
        tl_nmf(notes(), 3, divergence=d, **HOW)
