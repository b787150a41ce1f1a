"""Divergences of a user's own: computed as their formulas say, or refused."""

from dataclasses import dataclass, replace
from types import SimpleNamespace

import numpy as np
import pytest
from problems import LogCosh, LogShare, notes
from tensor_problems import host, tensor

from phinmf import TLNMF, Divergence, Method, learn_transform, tl_nmf
from phinmf.divergences import Family, Gaussian, ItakuraSaito, Penalty, is_compiled
from phinmf.engines import ENGINES
from phinmf.fit.encode import encode

#: a floor at which rounding is not amplified
HOW = {"max_iter": 6, "tol": 0, "random_state": 0, "floor": 1e-2, "method": Method(anneal=False)}
HALF = LogShare(0.5)


@dataclass(frozen=True)
class Declared(LogShare):
    """The same formulas with a declaration."""

    family: object = None


class Tilted(ItakuraSaito):
    """A formula of its own under an inherited declaration."""

    def slope(self, v, v_hat, eps):
        return 0.5 * super().slope(v, v_hat, eps)


def true_objective(r, Y, divergence, sparsity=10.0):
    mean = (Y**2).mean()
    v, v_hat = (r.Phi @ Y) ** 2, r.W @ r.H + r.floor
    fit = divergence.value(v / mean, v_hat / mean, r.floor / mean).sum()
    return fit + sparsity / mean * r.H.sum()


def test_a_known_value():
    assert HALF.value(0.3, 0.7, 0.0) == pytest.approx(0.173883, abs=1e-6)
    assert HALF.value(0.2, 0.7, 0.1) == pytest.approx(0.173883, abs=1e-6)


@pytest.mark.parametrize(
    "d",
    [
        *(LogShare(kappa) for kappa in (0.5, 0.0, 1, 2.0, -0.25, np.float32(0.75))),
        Declared(0, Family.GAUSSIAN),
        Declared(1, Family.ITAKURA_SAITO),
        Declared(0.5, Family.ITAKURA_SAITO),
    ],
)
def test_any_share_gives_the_numbers_of_its_formulas(d):
    Y = notes()
    r = tl_nmf(Y, 3, divergence=d, **HOW)
    assert r.objective == pytest.approx(true_objective(r, Y, d), rel=1e-10)
    readable = tl_nmf(Y, 3, divergence=d, engine="array", **HOW)
    assert r.objective == pytest.approx(readable.objective, rel=1e-6)
    model = TLNMF(3, divergence=d, **HOW).fit(Y.T)
    encoded = replace(r, W=model.components_.T, H=model.transform(Y.T).T)
    np.testing.assert_allclose(model.transform_matrix_, r.Phi, atol=1e-6)
    assert model.objective_ == pytest.approx(true_objective(encoded, Y, d), rel=1e-6)


@pytest.mark.full
@pytest.mark.parametrize("d", [HALF, Declared(0.5, Family.GAUSSIAN)])
def test_the_transform_alone_and_activations_alone_follow_the_formulas(d):
    Y = notes()
    Y /= np.sqrt((Y**2).mean())
    V_hat = np.random.default_rng(0).random(Y.shape) + 0.1
    how = HOW | {"max_iter": 3}
    for given in (Y, tensor(Y)):
        r = learn_transform(given, V_hat, divergence=d, **how)
        v = (host(r.Phi) @ Y) ** 2
        assert r.objective == pytest.approx(d.value(v, V_hat + 1e-2, 1e-2).sum(), rel=1e-10)
        assert (
            r.objective
            < learn_transform(given, V_hat, divergence=d, **how | {"max_iter": 0}).objective
        )
        W = np.random.default_rng(1).random((len(Y), 3))
        known = {"scale": 1.0, "penalty": Penalty(0), "floor": 1e-2, "divergence": d}
        found = encode(given[None], r.Phi, W, **known)
        v_hat = W @ host(found.H) + 1e-2
        assert found.divergence == pytest.approx(d.value(v, v_hat, 1e-2).sum(), rel=1e-10)


@pytest.mark.parametrize("name", [n for n, kind in ENGINES.items() if kind.compiled_only])
@pytest.mark.parametrize(
    "d",
    [
        HALF,
        Tilted(),
        *(Declared(1.0, family) for family in (None, 1.0, np.nan, "ITAKURA_SAITO", [1.0])),
    ],
)
def test_an_engine_that_cannot_says_so(name, d):
    assert not ENGINES[name].supports(d)
    Y = notes()
    if name == "dask":
        Y = pytest.importorskip("dask.array").from_array(Y, chunks=(-1, 20))
    with pytest.raises(ValueError, match=f"engine '{name}' does not compute this divergence"):
        tl_nmf(Y, 3, divergence=d, engine=name, **HOW)


@pytest.mark.full
def test_tensors_go_the_readable_way():
    Y = notes()
    r = tl_nmf(tensor(Y), 3, divergence=HALF, **HOW)
    readable = tl_nmf(Y, 3, divergence=HALF, engine="array", **HOW)
    assert r.objective == pytest.approx(readable.objective, rel=1e-6)


def half(self, v, v_hat, eps):
    return v, v_hat


@pytest.mark.parametrize("changed", ["value", "slope", "curvature", "bound", "nmf_split"])
@pytest.mark.parametrize("kind", [ItakuraSaito, Gaussian])
def test_a_declaration_that_does_not_belong_to_its_formulas_is_not_believed(kind, changed):
    same = type("Same", (kind,), {"__doc__": "Nothing new."})
    assert is_compiled(same())
    other = half if changed == "nmf_split" else getattr(LogShare, changed)
    assert not is_compiled(type("Other", (kind,), {changed: other, "kappa": 0.5})())
    wrong = Family.GAUSSIAN if kind is ItakuraSaito else Family.ITAKURA_SAITO
    assert not is_compiled(type("Wrong", (kind,), {"family": wrong})())
    assert not is_compiled(type("Undeclared", (kind,), {"family": None})())


def test_without_an_nmf_split_only_the_transform_is_learned():
    Y = notes()
    assert learn_transform(Y, Y**2, divergence=LogCosh(), **HOW).n_iter == 6
    with pytest.raises(ValueError, match="has no nmf_split and serves learn_transform only"):
        tl_nmf(Y, 3, divergence=LogCosh(), **HOW)
    undeclared = type("Forgetful", (LogCosh,), {"has_nmf_split": True})()
    with pytest.raises(TypeError, match="Forgetful has no nmf_split: write it, or declare"):
        tl_nmf(Y, 3, divergence=undeclared, **HOW)


@pytest.mark.parametrize("given", [None, 3, ItakuraSaito, SimpleNamespace(value=1, slope=1)])
def test_what_is_no_divergence_is_refused(given):
    for function in (tl_nmf, learn_transform):
        with pytest.raises(TypeError, match="divergence is .*subclass phinmf.Divergence and pass"):
            function(notes(), 3 if function is tl_nmf else notes() ** 2, divergence=given, **HOW)


def test_a_missing_formula_is_named():
    class Forgetful(Divergence):
        def value(self, v, v_hat, eps):
            return v / v_hat

    with pytest.raises(TypeError, match="abstract methods '?bound'?, '?curvature'?, '?slope'?"):
        Forgetful()
