"""The time that is announced, and a bar that never goes back."""

import re

import numpy as np
import pytest
from sound_files import tones, write

from phinmf.cli import main
from phinmf.unmixing.estimates import Forecast, Stages

PLAN = Stages(learning=30.0, writing=10.0, page=8.0)


class Watch:
    """A clock that is set by hand."""

    now = 100.0

    def __call__(self):
        return self.now


def story(slowness, steps=50):
    """What a forecast says while each stage takes so many times what was planned."""
    watch = Watch()
    bar = Forecast(PLAN, watch)
    told = []
    for stage, planned, slow in zip(PLAN._fields, PLAN, slowness, strict=True):
        for i in range(1, steps + 1):
            watch.now += planned * slow / steps
            bar.at(stage, i / steps if stage == "writing" else None)
            told.append((watch.now - 100, bar.left(), bar.share()))
    return np.array(told)


@pytest.mark.parametrize("slowness", [(1, 1, 1), (0.1, 1, 3), (5, 0.2, 1), (3, 3, 3), (0.01, 4, 0)])
def test_the_bar_never_goes_back(slowness):
    told = story(slowness)
    assert (np.diff(told[:, 2]) >= 0).all()
    assert 0 <= told[0, 2] <= told[-1, 2] < 1
    assert (told[:, 1] >= 0).all()


def test_the_time_that_is_left_when_all_goes_as_planned():
    told = story((1, 1, 1))
    seconds, left, share = told[told[:, 0] < 0.9 * sum(PLAN)].T
    assert np.allclose(seconds + left, sum(PLAN), rtol=0.1)
    assert np.allclose(share, seconds / sum(PLAN), atol=0.1)


def test_a_damaged_recording_is_reported_when_it_is_learned_from(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "song.wav", np.full(9000, np.nan), subtype="FLOAT")
    assert main(["unmix", "song.wav", "-k", "2"]) == 1
    said = capsys.readouterr().err
    assert "about" in said
    assert said.count("NaN or infinite samples") == 1


def test_lines_of_progress(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "song.wav", tones(40_000))
    assert main(["unmix", "song.wav", "-k", "2", "--window", "64"]) == 0
    said = capsys.readouterr().err
    told = [int(n) for n in re.findall(r"(\d+) %, \w+, \d+ (?:s|min) left", said)]
    assert told == sorted(told)
    assert re.search(r"about \d+ s on \d+ CPU thread", said)
    assert [stage for stage in PLAN._fields if f" %, {stage}" not in said] == []
