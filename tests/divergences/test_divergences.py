"""What the registered divergences are; that their formulas fit together is in test_contracts."""

import copy
import pickle

import numpy as np
import pytest

from phinmf import divergences
from phinmf.divergences import (
    COMPILED,
    DIVERGENCES,
    Beta,
    Family,
    Gaussian,
    ItakuraSaito,
    compiled_family,
)

V = np.geomspace(1e-2, 3, 9) ** 2
V_HAT = np.geomspace(0.1, 10, 5)[:, None]


def test_itakura_saito_is_zero_only_at_equality():
    d = DIVERGENCES["itakura-saito"]
    assert d.value(2.0, 2.5, 0.5) == 0
    assert d.value(2.0, 2.4, 0.5) > 0


def test_the_two_differ_by_a_function_of_the_data_alone():
    """IS = likelihood - log(v+ε) - 1."""
    eps = 1e-2
    likelihood = DIVERGENCES["gaussian"].value(V, V_HAT, eps)
    expected = likelihood - np.log(V + eps) - 1
    assert np.allclose(DIVERGENCES["itakura-saito"].value(V, V_HAT, eps), expected)


@pytest.mark.parametrize("name", DIVERGENCES)
def test_instances_are_equal_and_print_alike(name):
    d = DIVERGENCES[name]
    assert eval(repr(d), vars(divergences)) == d
    for other in (copy.copy(d), copy.deepcopy(d), pickle.loads(pickle.dumps(d))):
        assert other == d
        assert hash(other) == hash(d)
    assert d not in [other for n, other in DIVERGENCES.items() if n != name]


def test_each_family_is_that_of_its_divergence():
    assert compiled_family(ItakuraSaito()) is Family.ITAKURA_SAITO
    assert compiled_family(Gaussian()) is Family.GAUSSIAN
    for family, divergence in COMPILED.items():
        assert compiled_family(divergence) is family
    assert set(COMPILED) == set(Family)
    assert compiled_family(Beta(1.5)) is None
