"""Wrong parameters or frames of TLNMF raise one sentence, and a fit that fails changes nothing."""

import numpy as np
import pytest
from problems import notes

from phinmf import TLNMF

X = notes(M=8, n=100).T
N, M = X.shape
ONE = np.ones((2, M))
QUICK = {"n_components": 2, "max_iter": 2, "tol": 0, "random_state": 0}
PARAMETERS = [
    ({"n_components": 0, "components": ONE}, "n_components is 0"),
    ({"components": np.ones((2, 3))}, r"components has shape \(2, 3\), but \(2, 8\) is needed"),
    ({"components": "x"}, "components is 'x', but an array"),
    ({"n_components": "auto", "components": ONE}, "'auto', but W or components is given"),
    ({"fixed": "H"}, "fixed asks for H to stay, but no H is given: .* activations to fit"),
    ({"n_init": 0}, "n_init is 0"),
    ({"callback": "x"}, "callback is 'x'"),
]
ARGUMENTS = [
    ({"sample_weight": np.ones(3)}, r"sample_weight has shape \(3,\), .* each of the 26 frames"),
    ({"activations": np.ones((3, 2))}, r"activations has shape \(3, 2\), but \(26, 2\) is needed"),
]
FRAMES = [  # the first sentences are scikit-learn's
    (np.where(X[1, 1] == X, np.nan, X), "X contains NaN"),
    (X[0], "Expected 2D array, got 1D array"),
    (np.full_like(X, 1e300), r"up to .*e\+300, .* range of float64: scale them nearer to 1"),
    (np.full((N, M), 1e-41, np.float32), "1e-41, whose powers leave the range of float32"),
]


@pytest.mark.parametrize(
    ("frames", "parameters", "arguments", "message"),
    [(X, parameters, {}, message) for parameters, message in PARAMETERS]
    + [(X, {}, arguments, message) for arguments, message in ARGUMENTS]
    + [(frames, {}, {}, message) for frames, message in FRAMES],
)
def test_what_cannot_be_fitted_is_refused(frames, parameters, arguments, message):
    model = TLNMF(**QUICK | parameters)
    with pytest.raises((ValueError, TypeError), match=message) as caught:
        model.fit(frames, **arguments)
    assert ". " not in str(caught.value) or frames is not X  # a sentence of scikit-learn
    assert not hasattr(model, "components_")


@pytest.mark.parametrize(("dtype", "factor"), [("float32", 1e10), ("float64", 1e100)])
def test_frames_much_louder_than_those_of_the_fit_are_refused(dtype, factor):
    model = TLNMF(**QUICK).fit(X.astype(dtype))
    with pytest.raises(ValueError, match=f"leaves the range of {dtype} at the scale of the fit"):
        model.transform((factor * X).astype(dtype))
    assert np.isfinite(model.transform((factor**0.7 * X).astype(dtype))).all()


def failing(state):
    """A callback that fails during a fit."""
    if state.iteration == 2:
        raise RuntimeError("failed")


REFITS = {
    "other features": (X[:, :5], {"tol": -1}, {}),
    "silence": (np.zeros((20, 3)), {}, {}),
    "weights": (X[:, :6], {}, {"sample_weight": np.ones(3)}),
    "callback": (X[:, :6], {"callback": failing}, {}),
    "restarts": (X[:, :6], {"callback": failing, "n_init": 3, "n_jobs": 2}, {}),
    "warm start": (X[:, :6], {"warm_start": True}, {}),
    "NaN": (np.full((N, 4), np.nan), {}, {}),
}


@pytest.mark.parametrize("name", REFITS)
@pytest.mark.parametrize("kind", ["array", "tensor", "frame"])
def test_a_refit_that_fails_changes_nothing(name, kind):
    frames, parameters, arguments = REFITS[name]
    first = X
    if kind == "tensor":
        frames = pytest.importorskip("torch").from_numpy(frames)
    elif kind == "frame":
        first = pytest.importorskip("pandas").DataFrame(X, columns=[f"s{i}" for i in range(M)])
    model = TLNMF(**QUICK | {"max_iter": 4}).fit(first).set_params(**parameters)
    before, activations = dict(vars(model)), model.transform(first)
    with pytest.raises((ValueError, RuntimeError)):
        model.fit(frames, **arguments)
    assert list(vars(model)) == list(before)
    assert all(vars(model)[attribute] is value for attribute, value in before.items())
    assert np.array_equal(model.transform(first), activations)
