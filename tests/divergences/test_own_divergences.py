"""Divergences of phinmf and of a user: computed as their formulas say, or refused."""

import copy
import pickle
from dataclasses import dataclass, replace
from types import SimpleNamespace

import numpy as np
import pytest
from problems import LogCosh, LogShare, notes
from tensor_problems import host, tensor

from phinmf import TLNMF, Divergence, Method, divergences, learn_transform, tl_nmf
from phinmf.divergences import (
    COMPILED,
    DIVERGENCES,
    Beta,
    Family,
    ItakuraSaito,
    compiled_family,
)
from phinmf.engines import ENGINES

#: a floor at which rounding is not amplified
HOW = {"max_iter": 6, "tol": 0, "random_state": 0, "floor": 1e-2, "method": Method(anneal=False)}
HALF = LogShare(0.5)


@dataclass(frozen=True)
class Tilted(ItakuraSaito):
    """A subclass of a compiled divergence, with a formula of its own."""

    def slope(self, v, v_hat, eps):
        return 0.5 * super().slope(v, v_hat, eps)


def test_known_values():
    assert HALF.value(0.3, 0.7, 0.0) == pytest.approx(0.173883, abs=1e-6)
    assert HALF.value(0.2, 0.7, 0.1) == pytest.approx(0.173883, abs=1e-6)
    assert ItakuraSaito().value(2.0, 2.5, 0.5) == 0
    assert ItakuraSaito().value(2.0, 2.4, 0.5) > 0
    likelihood = DIVERGENCES["gaussian"].value(2.0, 0.7, 0.5)
    assert ItakuraSaito().value(2.0, 0.7, 0.5) == pytest.approx(likelihood - np.log(2.5) - 1)


@pytest.mark.parametrize("d", [*DIVERGENCES.values(), *(Beta(b) for b in (-1, 0, 0.5, 2.5))])
def test_instances_are_equal_and_print_alike(d):
    assert eval(repr(d), vars(divergences)) == d
    for twin in (copy.copy(d), copy.deepcopy(d), pickle.loads(pickle.dumps(d))):
        assert twin == d
        assert hash(twin) == hash(d)
    assert sum(d == registered for registered in DIVERGENCES.values()) <= 1


def test_the_families_are_compiled_and_no_subclass_is():
    assert set(COMPILED) == set(Family)
    for family, divergence in COMPILED.items():
        assert compiled_family(divergence) is family
        assert compiled_family(type("Twin", (type(divergence),), {})(*fields(divergence))) is None
    assert compiled_family(Beta(0)) is Family.ITAKURA_SAITO
    for d in (Beta(1.5), HALF, Tilted()):
        assert compiled_family(d) is None


def fields(divergence):
    return vars(divergence).values()


def true_objective(r, Y, divergence, sparsity=10.0):
    mean = (Y**2).mean()
    v, v_hat = (r.Phi @ Y) ** 2, r.W @ r.H + r.floor
    fit = divergence.value(v / mean, v_hat / mean, r.floor / mean).sum()
    return fit + sparsity / mean * r.H.sum()


@pytest.mark.parametrize(
    "d", [*(LogShare(kappa) for kappa in (0.5, 0.0, 1, 2.0, -0.25, np.float32(0.75))), Tilted()]
)
def test_fits_have_the_numbers_of_the_formulas(d):
    Y = notes()
    r = tl_nmf(Y, 3, divergence=d, **HOW)
    assert r.objective == pytest.approx(true_objective(r, Y, d), rel=1e-10)
    model = TLNMF(3, divergence=d, **HOW).fit(Y.T)
    encoded = replace(r, W=model.components_.T, H=model.transform(Y.T).T)
    np.testing.assert_allclose(model.transform_matrix_, r.Phi, atol=1e-6)
    assert model.objective_ == pytest.approx(true_objective(encoded, Y, d), rel=1e-6)


@pytest.mark.full
def test_the_transform_alone_and_tensors_follow_the_formulas():
    Y = notes()
    Y /= np.sqrt((Y**2).mean())
    V_hat = np.random.default_rng(0).random(Y.shape) + 0.1
    for frames in (Y, tensor(Y)):
        start, r = (
            learn_transform(frames, V_hat, divergence=HALF, **HOW | {"max_iter": n}) for n in (0, 3)
        )
        v = (host(r.Phi) @ Y) ** 2
        assert r.objective == pytest.approx(HALF.value(v, V_hat + 1e-2, 1e-2).sum(), rel=1e-10)
        assert r.objective < start.objective
    r, readable = (tl_nmf(frames, 3, divergence=HALF, **HOW) for frames in (tensor(Y), Y))
    assert r.objective == pytest.approx(readable.objective, rel=1e-6)


@pytest.mark.parametrize("name", [n for n, kind in ENGINES.items() if kind.compiled_only])
@pytest.mark.parametrize("d", [HALF, Tilted()])
def test_an_engine_that_cannot_says_so(name, d):
    assert not ENGINES[name].supports(d)
    Y = notes()
    if name == "dask":
        Y = pytest.importorskip("dask.array").from_array(Y, chunks=(-1, 20))
    with pytest.raises(ValueError, match=f"engine '{name}' does not compute this divergence"):
        tl_nmf(Y, 3, divergence=d, engine=name, **HOW)


def test_without_an_nmf_split_only_the_transform_is_learned():
    Y = notes()
    assert learn_transform(Y, Y**2, divergence=LogCosh(), **HOW).n_iter == 6
    with pytest.raises(ValueError, match="has no nmf_split and serves learn_transform only"):
        tl_nmf(Y, 3, divergence=LogCosh(), **HOW)
    undeclared = type("Forgetful", (LogCosh,), {"has_nmf_split": True})()
    with pytest.raises(TypeError, match="Forgetful has no nmf_split: write it, or declare"):
        tl_nmf(Y, 3, divergence=undeclared, **HOW)


@pytest.mark.parametrize("value", [None, 3, ItakuraSaito, SimpleNamespace(value=1, slope=1)])
def test_what_is_no_divergence_is_refused(value):
    for function in (tl_nmf, learn_transform):
        with pytest.raises(TypeError, match="divergence is .*subclass phinmf.Divergence and pass"):
            function(notes(), 3 if function is tl_nmf else notes() ** 2, divergence=value, **HOW)


def test_a_missing_formula_is_named():
    class Forgetful(Divergence):
        def value(self, v, v_hat, eps):
            return v / v_hat

    with pytest.raises(TypeError, match="abstract methods '?bound'?, '?curvature'?, '?slope'?"):
        Forgetful()
