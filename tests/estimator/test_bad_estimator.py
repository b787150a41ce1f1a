"""Wrong parameters or frames of TLNMF raise one sentence: what is given and what is needed."""

import numpy as np
import pytest
from problems import notes

from phinmf import TLNMF

X = notes(M=8, n=100).T
N, M = X.shape
ONE = np.ones((2, M))
PARAMETERS = [
    ({"n_components": 0}, "n_components is 0, but a whole number ≥ 1 is needed"),
    ({"n_components": 1.5}, "n_components is 1.5, but a whole number is needed"),
    ({"n_components": "x"}, "n_components is 'x', but a whole number is needed"),
    ({"n_components": 0, "components": ONE}, "n_components is 0, but a whole number ≥ 1"),
    ({"sparsity": -1}, "sparsity is -1, but a finite number ≥ 0 is needed"),
    ({"solver": "newton"}, "solver is 'newton', which is not known: choose one of 'lbfgs'"),
    ({"components": np.ones((2, 3))}, r"components has shape \(2, 3\), but \(2, 8\) is needed"),
    ({"components": np.ones(M)}, r"components has shape \(8,\), but \(2, 8\) is needed"),
    ({"components": 3.0}, r"components has shape \(\), but \(1, 8\) is needed"),
    ({"components": -ONE}, "components has 16 negative values, the least -1: factors are nonneg"),
    ({"components": "x"}, "components has dtype <U1, but real numbers are needed"),
    ({"fixed": "V"}, "fixed is 'V', which is not known: choose one of 'Phi', 'W', 'H'"),
    ({"fixed": 3}, "fixed is 3, but 'Phi', 'W', 'H', a list of them or a dict such as"),
    ({"fixed": "W"}, "fixed asks for W to stay, but no W is given: .* components of TLNMF"),
    ({"fixed": "H"}, "fixed asks for H to stay, but no H is given: .* activations to fit"),
    ({"fixed": {"W": [5]}, "components": ONE}, r"columns \[5\] of W to stay.* are 0 to 1"),
    ({"n_init": 0}, "n_init is 0, but a whole number ≥ 1 is needed"),
    ({"callback": "x"}, "callback is 'x', but a function or None is needed"),
    ({"checkpoint": 3}, "checkpoint is 3, but the path of a file is needed"),
]
ARGUMENTS = [
    ({"sample_weight": np.ones(3)}, r"sample_weight has shape \(3,\), .* each of the 26 frames"),
    ({"sample_weight": -np.ones(N)}, "sample_weight has a value of -1, but one number ≥ 0"),
    ({"sample_weight": np.full(N, np.nan)}, "sample_weight has 26 NaN or infinite values: remove"),
    ({"sample_weight": np.zeros(N)}, "every frame has a weight of zero: there is nothing"),
    ({"activations": np.ones((3, 2))}, r"activations has shape \(3, 2\), but \(26, 2\) is needed"),
    ({"activations": -np.ones((N, 2))}, "activations has 52 negative values, the least -1"),
]
FRAMES = [  # the first sentences are scikit-learn's
    (np.where(X[1, 1] == X, np.nan, X), "X contains NaN"),
    (X[0], "Expected 2D array, got 1D array"),
    (np.ones((0, 5)), r"0 sample\(s\) \(shape=\(0, 5\)\) while a minimum of 1"),
    (np.ones((5, 0)), r"0 feature\(s\) \(shape=\(5, 0\)\) while a minimum of 1"),
    (np.zeros_like(X), "Y is all zero: there is nothing to learn from silence"),
    (np.full_like(X, 1e300), r"root mean square 1e\+300, .* range of float64: scale Y nearer to 1"),
    (np.full_like(X, 1e-310), "root mean square 1e-310, .* range of float64: scale Y nearer to 1"),
    (np.full((N, M), 1e-41, np.float32), "1e-41, whose square leaves the range of float32: scale"),
]


def one_sentence(error):
    text = str(error)
    return "\n" not in text and ". " not in text and len(text) < 200


@pytest.mark.parametrize(("parameters", "message"), PARAMETERS)
def test_bad_parameters_are_refused(parameters, message):
    model = TLNMF(**{"n_components": 2, "max_iter": 2, "tol": 0, **parameters})
    with pytest.raises((ValueError, TypeError), match=message) as caught:
        model.fit(X)
    assert one_sentence(caught.value)
    assert not hasattr(model, "components_")


@pytest.mark.parametrize(("arguments", "message"), ARGUMENTS)
def test_bad_arguments_of_fit_are_refused(arguments, message):
    with pytest.raises(ValueError, match=message) as caught:
        TLNMF(2).fit(X, **arguments)
    assert one_sentence(caught.value)


@pytest.mark.parametrize(("frames", "message"), FRAMES)
def test_bad_frames_are_refused(frames, message):
    with pytest.raises(ValueError, match=message):
        TLNMF(2).fit(frames)


@pytest.mark.parametrize(("dtype", "factor"), [("float32", 1e10), ("float64", 1e100)])
def test_frames_much_louder_than_those_of_the_fit_are_refused(dtype, factor):
    model = TLNMF(2, max_iter=2, tol=0).fit(X.astype(dtype))
    with pytest.raises(ValueError, match=f"leaves the range of {dtype} at the scale of the fit"):
        model.transform((factor * X).astype(dtype))
    assert np.isfinite(model.transform((factor**0.7 * X).astype(dtype))).all()


def test_activations_beyond_single_precision_are_refused():
    """The activations of a frame add up to its energy, which is more than its mean power."""
    loud = (1e19 * np.random.default_rng(0).standard_normal((300, 64))).astype(np.float32)
    with pytest.raises(ValueError, match="leaves the range of float32: scale Y nearer to 1"):
        TLNMF(2).fit(loud)
    assert np.isfinite(TLNMF(2, max_iter=2, tol=0).fit_transform(loud / 100)).all()


def failing(state):
    """A callback that fails during a fit."""
    if state.iteration == 2:
        raise RuntimeError("failed")


REFITS = {
    "other features": (X[:, :5], {"tol": -1}, {}),
    "silence": (np.zeros((20, 3)), {}, {}),
    "a list": ([[1.0, 2.0], [3.0]], {}, {}),
    "weights": (X[:, :6], {}, {"sample_weight": np.ones(3)}),
    "activations": (X[:, :6], {}, {"activations": -np.ones((N, 2))}),
    "callback": (X[:, :6], {"callback": failing}, {}),
    "restarts": (X[:, :6], {"callback": failing, "n_init": 3, "n_jobs": 2}, {}),
    "warm start": (X[:, :6], {"warm_start": True}, {}),
    "NaN": (np.full((N, 4), np.nan), {}, {}),
}


@pytest.mark.parametrize("name", REFITS)
@pytest.mark.parametrize("kind", ["array", "tensor", "frame"])
def test_a_refit_that_fails_changes_nothing(name, kind):
    frames, parameters, arguments = REFITS[name]
    given = X
    if kind == "tensor" and name != "a list":
        frames = pytest.importorskip("torch").from_numpy(frames)
    elif kind == "frame":
        given = pytest.importorskip("pandas").DataFrame(X, columns=[f"s{i}" for i in range(M)])
    model = TLNMF(2, max_iter=4, tol=0, random_state=0).fit(given)
    model.set_params(**parameters)
    before, activations = dict(vars(model)), model.transform(given)
    with pytest.raises((ValueError, RuntimeError)):
        model.fit(frames, **arguments)
    assert list(vars(model)) == list(before)
    assert all(vars(model)[attribute] is value for attribute, value in before.items())
    assert np.array_equal(model.transform(given), activations)
    fresh = TLNMF(2, **parameters)
    if name != "warm start":
        before = dict(vars(fresh))
        with pytest.raises((ValueError, RuntimeError)):
            fresh.fit(frames, **arguments)
        assert vars(fresh).keys() == before.keys()
