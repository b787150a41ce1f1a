"""Options are checked when they are made, and have the same defaults everywhere."""

import inspect
import re
from dataclasses import fields
from pathlib import Path

import numpy as np
import pytest
from sound_files import tones

import phinmf
from phinmf.solvers import QuasiNewton
from phinmf.unmixing.options import Output, UnmixOptions, window_length


@pytest.mark.parametrize(
    ("window", "samples"),
    [("40ms", 320), ("0.04s", 320), (321, 320), ("64", 64), (63.9, 64), ("1 ms", 8)],
)
def test_windows(window, samples):
    assert window_length(window, 8000) == samples


@pytest.mark.parametrize("window", ["", "40", "soon", "-1", "0", "1ms ms", "99s", "1e3"])
def test_windows_that_are_none(window):
    if window == "40":
        assert window_length(window, 8000) == 40
        return
    with pytest.raises(ValueError, match=r"window is .* such as 40ms"):
        window_length(window, 8000)


def test_unmix_has_the_options_and_their_defaults():
    parameters = inspect.signature(phinmf.unmix).parameters
    assert parameters["n_components"].default is None  # that of the options, or of a model
    assert f"by default {UnmixOptions.n_components};" in phinmf.unmix.__doc__
    for field in fields(UnmixOptions):
        if field.name != "n_components":
            assert parameters[field.name].default == field.default, field.name
    assert set(parameters) - {f.name for f in fields(UnmixOptions)} == {
        "y", "sample_rate", "model", "callback", "verbose"
    }  # fmt: skip
    for name in parameters:
        assert re.search(rf"^    {name} : ", phinmf.unmix.__doc__, re.M), name


def test_save_has_the_options_of_an_output():
    parameters = inspect.signature(phinmf.Unmixing.save).parameters
    for field in fields(Output):
        if field.name not in ("folder", "keep"):
            assert parameters[field.name].default == field.default, field.name


BAD = [
    ({"n_components": 0}, ValueError, "n_components is 0"),
    ({"n_components": 2.5}, TypeError, "n_components is 2.5"),
    ({"n_components": "8"}, TypeError, "n_components is '8', but a whole number is needed, or"),
    ({"window": "soon"}, ValueError, "window is 'soon'"),
    ({"sparsity": -1}, ValueError, "sparsity is -1"),
    ({"solver": "guess"}, ValueError, "solver is 'guess'"),
    ({"init": "best"}, ValueError, "init is 'best'"),
    ({"seed": -1}, TypeError, "seed is -1"),
    ({"seed": "x"}, TypeError, "seed is 'x'"),
    ({"max_time": -1}, ValueError, "max_time is -1"),
    ({"learn_on": 0}, ValueError, "learn_on is 0"),
    ({"n_threads": 0}, ValueError, "n_threads is 0"),
]


@pytest.mark.parametrize(("options", "kind", "message"), BAD)
def test_options_that_cannot_be_meant(options, kind, message):
    with pytest.raises(kind, match=message):
        UnmixOptions(**options)
    with pytest.raises(kind, match=message):  # also where they are not used
        phinmf.unmix(tones(2000), 8000, **options)


def test_a_random_state_is_not_used_up_by_checking_it():
    state = np.random.RandomState(0)
    UnmixOptions(seed=state)
    assert state.randint(2**31) == np.random.RandomState(0).randint(2**31)


def test_options_as_plain_values():
    options = UnmixOptions(3, solver=QuasiNewton(), seed=np.random.default_rng(0))
    plain = options.plain()
    assert plain["n_components"] == 3
    assert plain["max_time"] is None
    assert isinstance(plain["solver"], str)
    assert isinstance(plain["seed"], str)


@pytest.mark.parametrize("gain", [61.0, float("nan")])
def test_outputs_that_cannot_be_meant(gain):
    with pytest.raises(ValueError, match="gain is"):
        Output(Path("out"), gain=gain)
