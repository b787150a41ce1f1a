"""What is taken away: read back from the archive, added up, compared."""

import io
import time
import zipfile
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import soundfile
from studios import PATIENCE, idle, running, waiting

from phinmf.studio import exports

GROUPS = [
    {"name": "lead guitar", "colour": 0, "components": [2]},
    {"name": "Bässe", "colour": 1, "components": [3]},
    {"name": "empty", "colour": 2, "components": []},
]


def saved(studio, groups=GROUPS, levels=()):
    mix = {"revision": 0, "groups": groups, "levels": list(levels)}
    assert studio("PUT", "takes/t1/mix", mix).status == 200


def exported(studio, wanted):
    """Return the answer, and the files in the archive."""
    got = studio("POST", "takes/t1/exports", wanted)
    assert got.status == 201, got.body
    down = studio("GET", got.json["address"])
    assert down.status == 200
    assert down.headers["content-disposition"].startswith("attachment")
    if not got.json["name"].endswith(".zip"):
        return got.json, {got.json["name"]: down.body}
    with zipfile.ZipFile(io.BytesIO(down.body)) as bundle:
        assert bundle.testzip() is None
        assert {info.compress_type for info in bundle.infolist()} == {zipfile.ZIP_STORED}
        return got.json, {name: bundle.read(name) for name in bundle.namelist()}


def samples(content):
    return soundfile.read(io.BytesIO(content), dtype="int32", always_2d=True)[0].astype(np.int64)


def test_groups_add_up_bit_for_bit(studio, wav, take):
    saved(studio)
    answer, files = exported(studio, {"kind": "groups"})
    assert answer["message"] == "3 files that add up to the recording bit for bit"
    assert answer["name"] == "song groups.zip"
    assert list(files) == [
        "song groups/01 lead guitar.wav", "song groups/02 Bässe.wav", "song groups/03 rest.wav",
    ]  # fmt: skip
    parts = [samples(content) for content in files.values()]
    assert np.array_equal(sum(parts), samples(wav))
    assert all(np.abs(part).max() > 0 for part in parts)
    info = soundfile.info(io.BytesIO(files["song groups/03 rest.wav"]))
    assert (info.format, info.subtype, info.frames) == ("WAV", "PCM_16", 6000)


def test_a_mix_follows_the_levels_that_are_sent(studio, home, take):
    saved(studio, [], [{"muted": True}] * 3)
    levels = [{"gain_db": -6.0, "pan": 0.5}, {"muted": True}, {"gain_db": -60.0}]
    _, files = exported(studio, {"kind": "mix", "levels": levels})
    first, _ = soundfile.read(home / "song/whole/component_01.wav")
    angle = 1.5 * np.pi / 4
    sides = np.sqrt(2) * np.array([np.cos(angle), np.sin(angle)])
    wanted = 10 ** (-6 / 20) * sides * first
    heard, _ = soundfile.read(io.BytesIO(files["song mix.wav"]))
    assert np.abs(heard - wanted).max() <= 0.5 / 2**15


def test_a_mix_that_would_clip_is_turned_down_as_a_whole(studio, wav, take):
    answer, files = exported(studio, {"kind": "mix", "levels": [{"gain_db": 12.0}] * 3})
    original, _ = soundfile.read(io.BytesIO(wav))
    heard, _ = soundfile.read(io.BytesIO(files["song mix.wav"]))
    loudest = np.abs(original).max() * 10 ** (12 / 20)
    assert f"turned down by {20 * np.log10(loudest):.1f} dB" in answer["message"]
    assert np.abs(heard - original / np.abs(original).max()).max() < 2 / 2**15


@pytest.mark.parametrize(
    "wanted", [{}, {"kind": "all"}, {"kind": "mix", "levels": [{}]}, {"kind": 1},
               {"kind": "mix", "levels": [{"gain_db": 999.0}] * 3}, {"kind": "groups"}]
)  # fmt: skip
def test_what_cannot_be_exported_is_refused(studio, take, wanted):
    got = studio("POST", "takes/t1/exports", wanted)
    assert got.status == 400
    assert got.json["error"]


def test_exports_are_removed_at_the_end(home, wav):
    with running(home) as studio:
        studio.upload(wav)
        studio.until(idle)
        exported(studio, {"kind": "components"})
        assert list(home.rglob("*.zip"))
    assert sorted(path.name for path in home.iterdir()) == ["song"]


def test_sound_is_played_while_any_number_of_exports_is_written(studio, take, monkeypatch):
    n = 50  # more than the threads that answer requests
    monkeypatch.setattr(exports, "export", lambda *how, **more: int("fails, to be quick"))
    with ThreadPoolExecutor(n + 1) as pool, waiting(monkeypatch, exports, "export") as begun:
        wanted = ("POST", "takes/t1/exports", {"kind": "mix"})
        others = [pool.submit(studio, *wanted) for _ in range(n)]
        assert begun.wait(PATIENCE)
        time.sleep(0.5)  # until all have been asked for
        heard = pool.submit(studio, "GET", "takes/t1/sound?start=0&count=10")
        assert heard.result(10).status == 200
    assert {other.result().status for other in others} == {500}


def test_the_take_is_not_changed(studio, home, take):
    before = {path.name: path.stat().st_mtime_ns for path in (home / "song/whole").iterdir()}
    exported(studio, {"kind": "components"})
    exported(studio, {"kind": "mix"})
    after = {path.name: path.stat().st_mtime_ns for path in (home / "song/whole").iterdir()}
    assert before == after


def test_only_the_last_exports_stay(studio, home, take):
    addresses = []
    for _ in range(exports.MOST + 2):
        answer, _ = exported(studio, {"kind": "mix"})
        addresses.append(answer["address"])
    answers = [studio("GET", address) for address in addresses]
    assert [got.status for got in answers] == [404] * 2 + [200] * exports.MOST
    assert "no longer" in answers[0].json["error"]
    folders = [path for path in home.glob(".phinmf-studio-*/*") if path.is_dir()]
    assert len(folders) == exports.MOST
