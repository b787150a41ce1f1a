"""Divergences of phinmf and of a user: computed as their formulas say, or refused."""

import copy
import pickle
from dataclasses import dataclass

import numpy as np
import pytest
from problems import BETAS, TESTED, LogCosh, LogShare, divergence_named, notes

from phinmf import Method, divergences, learn_transform, tl_nmf
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


@pytest.mark.parametrize("name", [*TESTED, *BETAS])
def test_differences_grow_with_the_power_by_the_degree(name):
    d, v = divergence_named(name), np.array([0.0, 0.3, 2.0])

    def gain(s):
        return d.value(s * v, 0.7 * s + 0 * v, 0.1 * s) - d.value(s * v, 3 * s + 0 * v, 0.1 * s)

    assert gain(8.0) == pytest.approx(8**d.degree * gain(1.0), rel=1e-9)


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
