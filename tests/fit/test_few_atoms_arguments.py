"""`n_atoms` that make no sense are refused in a sentence."""

import numpy as np
import pytest
from few_atoms import same_bits, sound
from tensor_problems import tensor

from phinmf import TLNMF, learn_transform, tl_nmf

pytestmark = pytest.mark.usefixtures("always_coarse")

Y = sound()[0]
V_hat = np.ones_like(Y)

BAD = [
    (0, r"n_atoms is 0, but a whole number ≥ 1"),
    (-1, r"n_atoms is -1, but a whole number ≥ 1"),
    (25, r"n_atoms is 25, but frames of 24 samples have 24 atoms"),
    (10**6, r"n_atoms is 1000000, but frames of 24 samples have 24 atoms"),
    (1.5, r"n_atoms is 1.5, but a whole number of atoms, or a share of the energy below 1"),
    (1.0, r"n_atoms is 1.0, but a whole number of atoms"),
    (7.0, r"n_atoms is 7.0, but a whole number of atoms"),
    (0.0, r"n_atoms is 0.0, but a finite number > 0"),
    (-0.5, r"n_atoms is -0.5, but a finite number > 0"),
    (np.nan, r"n_atoms is nan, but a finite number > 0"),
    (np.inf, r"n_atoms is inf, but a finite number > 0"),
    ("many", r"n_atoms is 'many', but"),
    ((3,), r"n_atoms is \(3,\), but"),
    (True, r"n_atoms is True, but"),
    (False, r"n_atoms is False, but"),
    (3j, r"n_atoms is 3j, but"),
]


def by_function(n_atoms):
    tl_nmf(Y, 2, n_atoms=n_atoms)


def by_tensors(n_atoms):
    tl_nmf(tensor(Y), 2, n_atoms=n_atoms)


def by_estimator(n_atoms):
    TLNMF(2, n_atoms=n_atoms).fit(Y.T)


def by_transform_alone(n_atoms):
    learn_transform(Y, V_hat, n_atoms=n_atoms)


@pytest.mark.parametrize("door", [by_function, by_tensors, by_estimator, by_transform_alone])
@pytest.mark.parametrize(("n_atoms", "message"), BAD, ids=lambda case: repr(case)[:12])
def test_numbers_of_atoms_that_are_none(n_atoms, message, door):
    with pytest.raises((TypeError, ValueError), match=message) as error:
        door(n_atoms)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("n_atoms", [np.int64(5), np.uint8(5), 5])
def test_any_whole_number(n_atoms):
    r = tl_nmf(Y, 2, n_atoms=n_atoms, max_iter=2, tol=0, random_state=0)
    assert r.n_atoms == 5
    assert type(r.n_atoms) is int


@pytest.mark.parametrize("share", [np.float32(0.99), np.float64(0.99), np.array(0.99)])
def test_any_share(share):
    r = tl_nmf(Y, 2, n_atoms=share, max_iter=2, tol=0, random_state=0)
    assert same_bits(r, tl_nmf(Y, 2, n_atoms=float(share), max_iter=2, tol=0, random_state=0))
    assert type(r.energy) is float
    assert type(r.n_atoms) is int


def test_what_learns_no_atoms():
    with pytest.raises(ValueError, match="n_atoms is 5, but solver is None, which learns no atoms"):
        tl_nmf(Y, 2, n_atoms=5, solver=None)
    with pytest.raises(ValueError, match="n_atoms is 0.9, but solver is None"):
        TLNMF(2, n_atoms=0.9, solver=None).fit(Y.T)
    with pytest.raises(ValueError, match="n_atoms is set and fixed names Phi"):
        tl_nmf(Y, 2, n_atoms=5, init=np.eye(24), fixed="Phi")
    with pytest.raises(ValueError, match="n_atoms is set and fixed names Phi"):
        TLNMF(2, n_atoms=0.9, fixed="Phi").fit(Y.T)


@pytest.mark.parametrize("fixed", ["W", ["W"], {"W": [0]}])
def test_a_fixed_W_belongs_to_atoms_that_n_atoms_replaces(fixed):
    W = np.ones((24, 2))
    with pytest.raises(ValueError, match="n_atoms is set and fixed names W"):
        tl_nmf(Y, 2, n_atoms=5, W=W, fixed=fixed)
    with pytest.raises(ValueError, match="n_atoms is set and fixed names W"):
        TLNMF(2, n_atoms=5, components=W.T, fixed=fixed).fit(Y.T)


def test_one_sample_in_a_frame_is_one_atom():
    y = np.sin(np.arange(40.0))[None]
    r = tl_nmf(y, 1, n_atoms=1, max_iter=3, tol=0)
    assert (r.n_atoms, r.energy) == (1, 1.0)
    with pytest.raises(ValueError, match="frames of 1 samples have 1 atom"):
        tl_nmf(y, 1, n_atoms=2)
