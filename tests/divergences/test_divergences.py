"""Every registered divergence against finite differences and its own promises."""

import numpy as np
import pytest

from phinmf.divergences import DIVERGENCES

x = np.concatenate([-np.geomspace(1e-2, 3, 9), np.geomspace(1e-2, 3, 9)])
V_HAT = np.geomspace(0.1, 10, 5)[:, None]
EPS = [1e-4, 1e-1]


@pytest.fixture(params=sorted(DIVERGENCES))
def d(request):
    return DIVERGENCES[request.param]


def difference(f, x, step):
    return (f(x - 2 * step) - 8 * f(x - step) + 8 * f(x + step) - f(x + 2 * step)) / (12 * step)


@pytest.mark.parametrize("eps", EPS)
def test_slope_and_curvature_are_derivatives(d, eps):
    step = 1e-4 * np.abs(x)
    numeric = difference(lambda x: d.value(x**2, V_HAT, eps), x, step)
    f_prime = d.slope(x**2, V_HAT, eps) * x
    assert np.allclose(f_prime, numeric, rtol=1e-7, atol=1e-7 * np.abs(numeric).max())
    numeric = difference(lambda x: d.slope(x**2, V_HAT, eps) * x, x, step)
    f_second = d.curvature(x**2, V_HAT, eps)
    assert np.allclose(f_second, numeric, rtol=1e-7, atol=1e-7 * np.abs(numeric).max())


@pytest.mark.parametrize("eps", EPS)
def test_bound_is_one(d, eps):
    bound = d.bound(x**2, V_HAT, eps)
    assert (bound >= d.curvature(x**2, V_HAT, eps)).all()
    assert (bound >= 0).all()


@pytest.mark.parametrize("eps", EPS)
def test_split_is_the_derivative_in_the_model(d, eps):
    P, Q = d.nmf_split(x**2, V_HAT, eps)
    numeric = difference(lambda b: d.value(x**2, b, eps), V_HAT, 1e-4 * V_HAT)
    assert np.allclose(Q - P, numeric, rtol=1e-6, atol=1e-6)
    assert (P >= 0).all()
    assert (Q >= 0).all()


def test_itakura_saito_is_zero_only_at_equality():
    d = DIVERGENCES["itakura-saito"]
    assert d.value(2.0, 2.5, 0.5) == 0
    assert d.value(2.0, 2.4, 0.5) > 0


def test_the_two_differ_by_a_function_of_the_data_alone():
    """IS = likelihood - log(v+ε) - 1."""
    v, eps = x**2, 1e-2
    likelihood = DIVERGENCES["gaussian"].value(v, V_HAT, eps)
    expected = likelihood - np.log(v + eps) - 1
    assert np.allclose(DIVERGENCES["itakura-saito"].value(v, V_HAT, eps), expected)
