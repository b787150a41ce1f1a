"""Reference sounds: named groups of what is like them, which add up with the rest."""

import numpy as np
import pytest

import phinmf
from phinmf.unmixing.model import UnmixModel

RATE = 8000
QUICK = {"n_components": 6, "window": 256, "seed": 0, "max_time": 10}


def tone(hertz, seconds, rate=RATE, period=0.5):
    """A tone that comes and goes."""
    t = np.arange(round(seconds * rate)) / rate
    return np.sin(2 * np.pi * hertz * t) * (0.5 + 0.5 * np.sin(2 * np.pi * t / period))


LOW, HIGH = tone(440, 2), tone(1900, 2, period=0.31)


def snr(estimate, truth):
    return 10 * np.log10(np.square(truth).sum() / np.square(estimate - truth).sum())


@pytest.fixture(scope="module")
def unmixing():
    return phinmf.unmix(LOW + HIGH, RATE, like={"low": (tone(440, 1), RATE)}, **QUICK)


def test_what_is_like_a_reference_has_its_name_and_the_rest_adds_up(unmixing):
    assert list(unmixing.groups) == ["low", "rest"]
    assert snr(unmixing.groups["low"], LOW) > 15
    assert np.allclose(sum(unmixing.groups.values()), LOW + HIGH, atol=1e-9)


def test_components_of_a_reference_stay_as_they_are_whatever_the_recording():
    patterns = []
    for y in (LOW + HIGH, LOW + 0.5 * HIGH):
        u = phinmf.unmix(y, RATE, like={"sound": (tone(450, 1), RATE)}, **QUICK)
        (group,) = u.model.groups
        W = u.W[:, np.array(group.components) - 1]
        patterns.append((W / W.sum(axis=0)).sum(axis=1))
    assert np.allclose(*patterns, rtol=1e-4, atol=1e-8)


def test_a_reference_at_another_rate_and_with_more_channels():
    twice = tone(440, 1, 2 * RATE)
    reference = {"low": (np.stack([twice, twice], axis=1).astype(np.float32), 2 * RATE)}
    u = phinmf.unmix(LOW + HIGH, RATE, like=reference, **QUICK)
    assert snr(u.groups["low"], LOW) > 15


def test_a_saved_model_finds_the_same_groups_again(unmixing, tmp_path):
    unmixing.model.save(tmp_path / "model.npz")
    model = UnmixModel.load(tmp_path / "model.npz")
    assert model.groups == unmixing.model.groups
    y = tone(440, 1.5, period=0.7) + tone(1900, 1.5)
    again = phinmf.unmix(y, RATE, model=model)
    assert snr(again.groups["low"], tone(440, 1.5, period=0.7)) > 15


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ({"like": "voice"}, "like is str, but sounds by name"),
        ({"like": {1: (LOW, RATE)}}, "sounds by name"),
        ({"like": {"a": tone(440, 1)}}, "sampling rate"),
        ({"like": {"a/b": (LOW, RATE)}}, "name"),
        ({"like": {"rest": (LOW, RATE)}}, "rest"),
        ({"like": {"a": (LOW, RATE), "A": (LOW, RATE)}}, "two references"),
        ({"like": {"a": (LOW, RATE)}, "n_components": 1}, "n_components is 1"),
        ({"like": {"a": (LOW, RATE)}, "solver": "lbfgs"}, "solver"),
        ({"like": {"a": (np.zeros(RATE), RATE)}}, "silent"),
    ],
)
def test_what_cannot_be_a_reference_is_refused(how, message):
    with pytest.raises((ValueError, TypeError), match=message):
        phinmf.unmix(LOW + HIGH, RATE, **QUICK | how)
