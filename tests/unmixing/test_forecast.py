"""The time that is announced, and a bar that never goes back."""

import re

import numpy as np
import pytest
from sound_files import tones, write

from phinmf.audio.sources import ArraySource
from phinmf.cli import main
from phinmf.unmixing import forecast
from phinmf.unmixing.estimates import Forecast, Stages, counted_atoms, words
from phinmf.unmixing.forecast import Size, Speed
from phinmf.unmixing.options import UnmixOptions

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


def test_writing_that_is_slow_is_noticed():
    seconds, left, _ = story((1, 3, 1))[75]  # half written
    assert seconds + left == pytest.approx(30 + 3 * 10 + 8, rel=0.15)


def test_the_page_is_part_of_what_is_announced():
    speed, size = Speed(1e11, 1e9), Size(1764, 3001, 2, 8, atoms=1764)
    page = speed.seconds(forecast.page(size, 44_100))
    assert 5 < page < 30
    longer = speed.seconds(forecast.page(size._replace(N=90_000), 44_100))
    assert longer == pytest.approx(page, rel=0.05)  # half a minute is all that it lets one hear


@pytest.mark.parametrize(
    ("sound", "least", "most"),
    [(tones(40_000), 10, 250), (np.random.default_rng(0).standard_normal((40_000, 1)), 290, 320)],
    ids=["tones", "noise"],
)
def test_atoms_are_counted_before_the_time_is_announced(sound, least, most):
    source = ArraySource(sound, 8000)
    assert least <= counted_atoms(source, UnmixOptions(), 320) <= most
    assert counted_atoms(source, UnmixOptions(n_atoms=7), 320) == 7
    assert counted_atoms(source, UnmixOptions(n_atoms=None), 320) == 320


def test_a_damaged_recording_is_reported_when_it_is_learned_from(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "song.wav", np.full(9000, np.nan), subtype="FLOAT")
    assert main(["unmix", "song.wav", "-k", "2"]) == 1
    said = capsys.readouterr().err
    assert "about" in said
    assert said.count("NaN or infinite samples") == 1


def test_a_page_that_has_room_for_flac_takes_less_time():
    speed, size = Speed(1e11, 1e9), Size(1764, 3001, 2, 8, atoms=441)
    few, many = (forecast.page(size._replace(K=K), 44_100) for K in (8, 24))
    assert speed.seconds(many) > 4 * speed.seconds(few)


def test_lines_of_progress(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "song.wav", tones(40_000))
    assert main(["unmix", "song.wav", "-k", "2", "--window", "64"]) == 0
    said = capsys.readouterr().err
    told = [int(n) for n in re.findall(r"(\d+) %, \w+, \d+ (?:s|min) left", said)]
    assert told == sorted(told)
    assert re.search(r"about \d+ s on \d+ CPU thread", said)
    assert [stage for stage in PLAN._fields if f" %, {stage}" not in said] == []


def test_lengths_of_time_in_words():
    assert [words(s) for s in (0, 0.4, 12.6, 99, 130, 3600)] == [
        "1 s", "1 s", "13 s", "99 s", "2 min", "60 min",
    ]  # fmt: skip
