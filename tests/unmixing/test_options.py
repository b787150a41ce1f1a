"""Options are checked when they are made, and have the same defaults everywhere."""

import inspect
from dataclasses import fields

import numpy as np
import pytest
from sound_files import tones

import phinmf
from phinmf.solvers import QuasiNewton
from phinmf.unmixing.options import Output, UnmixOptions, window_length


@pytest.mark.parametrize(
    ("window", "samples"),
    [("40ms", 320), ("0.04s", 320), (321, 320), ("40", 40), (63.9, 64), ("1 ms", 8)],
)
def test_windows(window, samples):
    assert window_length(window, 8000) == samples


@pytest.mark.parametrize("window", ["", "soon", "-1", "0", "1ms ms", "99s", "1e3"])
def test_windows_that_are_none(window):
    with pytest.raises(ValueError, match=r"window is .* such as 40ms"):
        window_length(window, 8000)


@pytest.mark.parametrize(
    ("call", "options", "others"),
    [(phinmf.unmix, UnmixOptions, {"n_components"}),  # without one, that of a model
     (phinmf.Unmixing.save, Output, {"folder", "keep"})],
)  # fmt: skip
def test_functions_have_the_defaults_of_their_options(call, options, others):
    parameters = inspect.signature(call).parameters
    for field in fields(options):
        if field.name not in others:
            assert parameters[field.name].default == field.default, field.name


BAD = [
    ({"n_components": 0}, ValueError, "n_components is 0"),
    ({"n_components": 2.5}, TypeError, "n_components is 2.5"),
    ({"n_components": "8"}, TypeError, "n_components is '8', but a whole number is needed, or"),
    ({"window": "soon"}, ValueError, "window is 'soon'"),
    ({"solver": "guess"}, ValueError, "solver is 'guess'"),
    ({"seed": "x"}, TypeError, "seed is 'x'"),
    ({"max_time": -1}, ValueError, "max_time is -1"),
    ({"learn_on": 0}, ValueError, "learn_on is 0"),
]


@pytest.mark.parametrize(("options", "kind", "message"), BAD)
def test_options_that_cannot_be_meant(options, kind, message):
    with pytest.raises(kind, match=message):
        UnmixOptions(**options)
    with pytest.raises(kind, match=message):  # also where they are not used
        phinmf.unmix(tones(2000), 8000, **options)


def test_random_numbers_and_solvers_are_named_and_not_used_up():
    state = np.random.RandomState(0)
    plain = UnmixOptions(solver=QuasiNewton(), seed=state).plain()
    assert isinstance(plain["solver"], str)
    assert isinstance(plain["seed"], str)
    assert state.randint(2**31) == np.random.RandomState(0).randint(2**31)
