"""Each message names what was given, what is needed and what to do."""

import numpy as np
import pytest
from problems import notes
from tensor_problems import tensor

import phinmf

Y = notes(M=8, n=100)
M, N = Y.shape
BAD_FRAMES = [
    (np.ones(5), "Y has 1 dimensions.*to_frames"),
    (np.ones((1, 1, 1, 1)), "Y has 4 dimensions"),
    (np.ones((3, 0)), r"Y has shape \(3, 0\), but at least one sample"),
    (np.where(Y[0, 1] == Y, np.nan, Y), "Y has 1 NaN or infinite values: remove or replace"),
    (np.where(Y[0, 1] == Y, np.inf, Y), "Y has 1 NaN or infinite values"),
    (Y + 0j, r"Y is complex, as an STFT is, but frames of samples.*phinmf\.to_frames"),
    ((Y + 0j).tolist(), "Y is complex, as an STFT is, but frames"),
    (np.zeros((4, 6)), "Y is all zero: there is nothing to learn"),
    (np.full((4, 6), 1e300), r"root mean square 1e\+300.*scale Y nearer to 1"),
    ([np.ones((8, 5)), np.ones((8, 6))], r"Y holds arrays of different shapes"),
]
BAD_PARAMETERS = [
    ({"n_components": 0}, r"n_components is 0.*from 1 to 8 = min\(M=8, N="),
    ({"n_components": 9}, "n_components is 9.*from 1 to 8"),
    ({"sparsity": -1}, "sparsity is -1, but a finite number ≥ 0"),
    ({"sparsity": np.nan}, "sparsity is nan"),
    ({"floor": -1e-8}, "floor is -1e-08, but a finite number ≥ 0"),
    ({"sparsity": "much"}, "sparsity is 'much', but a finite number"),
    ({"tol": -1}, "tol is -1"),
    ({"init": None}, "init is None, which is not known: choose one of 'dct', 'random'"),
    ({"max_time": -1}, "max_time is -1"),
    ({"max_iter": -1}, "max_iter is -1"),
    ({"solver": "newton"}, "solver is 'newton'.*choose one of .*'quasi-newton'.*None"),
    ({"solver": 3}, "solver is 3, which is not known"),
    ({"init": "fourier"}, "init is 'fourier'.*choose one of 'dct', 'random'"),
    ({"divergence": "hellinger"}, "divergence is 'hellinger'.*'itakura-saito', 'gaussian'"),
    ({"engine": "abacus"}, "engine is 'abacus'.*'auto', 'compiled', 'array'"),
    ({"init": np.eye(3)}, r"init has shape \(3, 3\).*length 8 has shape \(8, 8\)"),
    ({"init": np.tile([1e300, -1e300], (8, 4))}, "init is not orthogonal"),
    ({"init": 2 * np.eye(8)}, r"init is not orthogonal: \|ΦΦᵀ - I\| reaches 3, but at most"),
    ({"init": np.full((8, 8), np.nan)}, "init has 64 NaN"),
    ({"W": np.ones((8, 3))}, r"W has shape \(8, 3\), but \(8, 2\) is needed"),
    ({"H": np.ones((2, 3))}, rf"H has shape \(2, 3\), but \(2, {N}\) is needed"),
    ({"W": -np.ones((8, 2))}, "W has 16 negative values, the least -1"),
    ({"H": np.full((2, N), np.nan)}, f"H has {2 * N} NaN"),
    ({"sample_weight": np.ones(3)}, r"sample_weight has shape \(3,\)"),
    ({"sample_weight": -np.ones(N)}, "sample_weight has a value of -1"),
    ({"sample_weight": np.zeros(N)}, "every frame has a weight of zero"),
]


def as_kind(give, value):
    """Arrays of NumPy as they are, or as tensors."""
    return give(value) if isinstance(value, np.ndarray) else value


@pytest.mark.parametrize("give", [np.asarray, tensor])
@pytest.mark.parametrize(("frames", "message"), BAD_FRAMES)
def test_bad_frames(frames, message, give):
    with pytest.raises(ValueError, match=message):
        phinmf.tl_nmf(as_kind(give, frames), 2)


@pytest.mark.parametrize("give", [np.asarray, tensor])
@pytest.mark.parametrize(("parameters", "message"), BAD_PARAMETERS)
def test_bad_parameters(parameters, message, give):
    arrays = {name: as_kind(give, value) for name, value in parameters.items()}
    with pytest.raises(ValueError, match=message):
        phinmf.tl_nmf(give(Y), **{"n_components": 2, **arrays})


def test_bad_types():
    with pytest.raises(TypeError, match="Y has dtype <U1, but real numbers"):
        phinmf.tl_nmf(np.array([["a"]]), 1)
    with pytest.raises(TypeError, match="n_components is nan, but a whole number"):
        phinmf.tl_nmf(Y, np.nan)
    with pytest.raises(TypeError, match="divergence is None, but .*subclass phinmf.Divergence"):
        phinmf.tl_nmf(Y, 2, divergence=None)
    with pytest.raises(TypeError, match="max_iter is None, but a whole number"):
        phinmf.tl_nmf(Y, 2, max_iter=None)
    with pytest.raises(TypeError, match="random_state is 'seed'"):
        phinmf.tl_nmf(Y, 2, random_state="seed")


def test_a_floor_of_zero_needs_frames_that_are_not():
    silent = np.concatenate([Y, np.zeros((M, 2))], axis=1)
    with pytest.raises(ValueError, match="floor is 0 but 2 frames are exactly zero.*such as 1e-8"):
        phinmf.tl_nmf(silent, 2, floor=0)
    with pytest.raises(ValueError, match="floor is 0 but the given W and H model some"):
        phinmf.tl_nmf(Y + 1, 2, floor=0, W=np.eye(M)[:, :2])
    loud = Y + np.random.default_rng(0).standard_normal(Y.shape)
    assert np.isfinite(phinmf.tl_nmf(loud, 2, floor=0, max_iter=2, tol=0).objective)


DOORS = [
    lambda Y, **how: phinmf.tl_nmf(Y, 2, **how),
    lambda Y, **how: phinmf.learn_transform(Y, np.ones_like(Y), **how),
]


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize(
    ("dtype", "floor"), [("float32", 0), ("float32", 1e-13), ("float64", 1e-31)]
)
def test_a_floor_below_rounding_is_refused(door, dtype, floor):
    """There 1/v̂² overflows, and the objective is noise."""
    with pytest.raises(ValueError, match=f"floor is {floor:g}, but in {dtype} at least .* is"):
        door((Y + 1).astype(dtype), floor=floor)


@pytest.mark.parametrize("door", DOORS)
def test_a_floor_of_zero_needs_power_in_every_entry(door):
    with pytest.raises(ValueError, match="floor is 0 but 8 entries of ΦY are zero at the start"):
        door(np.kron(np.eye(2), np.ones((2, 2))), init=np.eye(4), floor=0)


@pytest.mark.parametrize("door", DOORS)
def test_a_floor_of_zero_needs_frames_that_a_transform_cannot_make_zero(door, rng):
    one = np.outer(rng.standard_normal(6), rng.standard_normal(40))
    two = one + np.outer(rng.standard_normal(6), rng.standard_normal(40))
    for frames, rank in ((one, 1), (two, 2), (rng.standard_normal((6, 4)), 4)):
        with pytest.raises(ValueError, match=f"frames have rank {rank}, and the transform of 6"):
            door(frames, floor=0)
    quiet = rng.standard_normal((6, 40)) * np.where(np.arange(40) == 3, 1e-20, 1)
    with pytest.raises(ValueError, match="a frame has .* of the mean power, zero but for rounding"):
        door(quiet, floor=0)
    faint = rng.standard_normal((6, 40)) * np.where(np.arange(40) == 3, 1e-10, 1)
    result = door(faint, floor=0, max_iter=30, tol=0)
    assert np.isfinite(result.history.objective).all()
    assert np.isfinite(result.history.target_objective).all()
    assert np.isfinite(result.objective)
    fixed = phinmf.tl_nmf(one, 1, floor=0, solver=None, max_iter=30, tol=0)
    assert np.isfinite(fixed.history.objective).all()


def test_bad_models_for_learn_transform():
    with pytest.raises(ValueError, match=rf"V_hat has shape \(2, 2\), but \(8, {N}\)"):
        phinmf.learn_transform(Y, np.ones((2, 2)))
    with pytest.raises(ValueError, match="V_hat has .* negative values"):
        phinmf.learn_transform(Y, -np.ones_like(Y))
    with pytest.raises(ValueError, match="solver is None.*name a solver"):
        phinmf.learn_transform(Y, np.ones_like(Y), solver=None)
    zeros = np.ones_like(Y)
    zeros[0, 0] = 0
    with pytest.raises(ValueError, match="floor is 0 but V_hat has 1 zeros"):
        phinmf.learn_transform(Y + 1, zeros, floor=0)


@pytest.mark.parametrize("dtype", [np.int16, np.uint8, np.float16, bool])
def test_other_numbers_are_converted(dtype):
    frames = (100 * np.random.default_rng(0).random((4, 30)) * 2).astype(dtype)
    before = frames.copy()
    r = phinmf.tl_nmf(frames, 2, max_iter=2, tol=0)
    assert r.Phi.dtype == np.float64
    assert np.array_equal(frames, before)


def test_the_caller_s_arrays_are_never_modified(rng):
    given = {
        "init": phinmf.linalg.manifold.random_orthogonal(M, rng),
        "W": rng.random((M, 2)),
        "H": rng.random((2, N)),
    }
    before = {name: array.copy() for name, array in given.items()}
    frames = Y.copy()
    phinmf.tl_nmf(frames, 2, max_iter=3, tol=0, **given)
    phinmf.learn_transform(frames, given["W"] @ given["H"], init=given["init"], max_iter=2, tol=0)
    assert np.array_equal(frames, Y)
    assert all(np.array_equal(given[name], before[name]) for name in given)
