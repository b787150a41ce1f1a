"""Files that are dropped: sound or not, whole or not, whatever they are called."""

import http.client
import os
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import sound_files
import soundfile
from kept import everything
from studios import PATIENCE, idle, waiting

from phinmf.studio import guard, scratch, uploads
from phinmf.studio.home import file_name, safe_stem, shown_name

NAMES = [
    "<img src=x onerror=alert(1)>.wav", "../../x.wav", "..\\..\\x.wav", "/etc/passwd", "CON.wav",
    "nul", "", ".", "..", "...wav", ".wav", "a" * 400 + ".wav", "日本語" * 50 + ".flac",
    "a\x00b.wav", "line\nbreak.wav", "\u202egnp.wav", "song.wav ", "song.", "a:b*c?.wav",
    "studio.json", "Studio.json", "take-3", "result.json", "preview",
    "whole.wav", "😀.ogg", "\ud800.wav", "e\u0301.wav", "-o.wav", "~.wav",
]  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
def test_names_become_harmless(name):
    for made in (file_name(name), safe_stem(name)):
        assert made.strip(" .") == made
        assert made
        assert not set(made) & set('/\\<>:"|?*\0\n\u202e\ud800')
        assert len(os.fsencode(made)) < 200
        assert made.casefold().split(".")[0] not in ("con", "nul")
    assert shown_name(name)
    assert not set(shown_name(name)) & set("/\\\0\n\u202e\ud800")


def test_a_long_name_keeps_its_ending():
    assert shown_name("a" * 400 + ".wav").endswith("a.wav")
    assert file_name("日本語" * 90 + ".flac").endswith(".flac")


@pytest.mark.full
def test_any_name_is_unmixed(studio, home, tmp_path):
    wav = sound_files.write(tmp_path / "made.wav", sound_files.tones(900)).read_bytes()
    names = [name for name in NAMES if "\ud800" not in name]
    for name in names:
        assert studio.upload(wav, name).status == 201
    recordings = studio.until(idle)["recordings"]
    for name, recording in zip(names, recordings, strict=True):
        (take,) = recording["takes"]
        assert recording["name"] == shown_name(name)
        folder = Path(take["folder"]).parent
        assert folder.parent == home
        there = sorted(path.name for path in folder.iterdir())
        assert there == sorted([file_name(name), "studio.json", "whole"])
        assert (folder / file_name(name)).read_bytes() == wav
    assert sorted(path.name for path in tmp_path.iterdir()) == ["home", "made.wav"]
    assert len([path for path in home.iterdir() if path.name[0] != "."]) == len(names)


def test_a_very_short_recording_has_fewer_components(studio, tmp_path):
    short = sound_files.write(tmp_path / "hit.wav", sound_files.tones(30) + 0.1)
    assert studio.upload(short.read_bytes()).status == 201
    (recording,) = studio.until(idle)["recordings"]
    assert [len(take["components"]) for take in recording["takes"]] == [2]


def test_a_name_that_is_not_text(studio, wav):
    assert studio("POST", "recordings?name=%ff%fe.wav", wav).status == 201
    assert studio.until(idle)["recordings"][0]["takes"]
    assert studio("POST", "recordings", wav).status == 201  # no name at all


def test_the_same_name_again_gets_its_own_folder(studio, home, wav):
    (home).mkdir(exist_ok=True)
    (home / "song").mkdir()
    (home / "song/mine.txt").write_text("mine")
    for name in ("song.wav", "Song.wav", "song.wav"):
        studio.upload(wav, name)
    studio.until(idle)
    names = sorted(path.name for path in home.iterdir() if not path.name.startswith("."))
    assert names == ["Song 3", "song", "song 2", "song 4"]
    assert everything(home / "song") == {"mine.txt": b"mine"}


@pytest.mark.parametrize("body", [b"", b"x", b"RIFF", b"\0" * 5000, b"<script>alert(1)</script>"])
def test_what_is_no_sound_is_refused(studio, home, body):
    got = studio.upload(body, "song.wav")
    assert got.status == 415
    assert "song.wav" in got.json["error"]
    assert str(home) not in got.json["error"]
    assert studio.state["recordings"] == []
    assert [p for p in home.rglob("*") if ".phinmf-studio-" not in str(p)] == []


def test_a_header_without_samples_is_refused(studio, tmp_path):
    path = tmp_path / "none.wav"
    soundfile.write(path, sound_files.tones()[:0], 8000)
    got = studio.upload(path.read_bytes(), "none.wav")
    assert (got.status, got.json) == (415, {"error": "none.wav has no samples"})


def test_a_damaged_file_fails_with_a_sentence_that_stays_until_dismissed(studio, home, tmp_path):
    flac = bytearray(sound_files.write(tmp_path / "a.flac", sound_files.tones(60_000)).read_bytes())
    cut = studio.upload(flac[: len(flac) // 2], "cut.flac")
    assert cut.status == 415
    assert "cut.flac is cut short" in cut.json["error"]
    flac[len(flac) // 2 : len(flac) // 2 + 5000] = bytes(5000)
    studio.upload(flac, "half.flac")
    failed = lambda state: any(  # noqa: E731
        job["state"] == "failed" for one in state["recordings"] for job in one["jobs"]
    )
    (recording,) = studio.until(failed)["recordings"]
    (job,) = recording["jobs"]
    assert "half.flac" in job["message"]
    assert recording["takes"] == []
    assert studio("DELETE", f"jobs/{job['id']}").status == 204
    assert idle(studio.state)
    assert sorted(p.name for p in (home / "half").iterdir()) == ["half.flac", "studio.json"]


@pytest.mark.parametrize("ending", ["flac", "ogg", "mp3", "aiff", "w64", "caf", "au", "xyz"])
def test_every_format_that_is_read(studio, tmp_path, ending):
    path = tmp_path / f"song.{'wav' if ending == 'xyz' else ending}"
    sound_files.write(path, sound_files.tones(16_000), rate=16_000)
    assert studio.upload(path.read_bytes(), f"song.{ending}").status == 201
    (take,) = studio.until(idle)["recordings"][0]["takes"]
    assert studio("GET", f"takes/{take['id']}/sound?start=0&count=99").headers["x-count"] == "99"


def test_a_broken_connection_leaves_nothing(studio, home):
    connection = http.client.HTTPConnection(studio.host, studio.port, timeout=20)
    connection.putrequest("POST", f"{studio.prefix}recordings?name=a.wav")
    connection.putheader("Content-Length", str(10**7))
    connection.endheaders(b"RIFF" * 10**6)
    connection.close()
    end = time.monotonic() + 20
    while True:
        left = [p for p in home.rglob("*") if p.is_file() and p.name != scratch.LOCK]
        if not left:
            break
        assert time.monotonic() < end, left
        time.sleep(0.05)
    assert studio.state["recordings"] == []


def test_others_are_answered_while_a_large_upload_is_removed(studio, monkeypatch):
    with ThreadPoolExecutor() as pool, waiting(monkeypatch, scratch, "remove") as removing:
        refused = pool.submit(studio.upload, b"no sound")
        assert removing.wait(PATIENCE)
        assert pool.submit(studio, "GET", "nothing").result(10).status == 404
        assert not refused.done()
    assert refused.result().status == 415


def test_too_large_for_the_limit_or_for_the_disk(studio, home, wav, monkeypatch):
    monkeypatch.setattr(uploads, "free_bytes", lambda folder: 100)
    got = studio.upload(wav)
    assert got.status == 507
    assert "disk" in got.json["error"]
    monkeypatch.undo()


def test_a_chunked_body_beyond_the_limit(home, monkeypatch):
    from studios import running

    monkeypatch.setattr(guard, "LARGE", 10**5)
    with running(home) as studio:
        got = studio.upload(b"x" * 10**4 for _ in range(20))
        assert got.status == 413
        assert studio("POST", "recordings?name=a", b"x" * 200_000).status == 413
        assert [p for p in home.rglob("*") if p.suffix == ".wav"] == []
    assert not home.exists()
