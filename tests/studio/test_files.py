"""Files that come and go: whole or not, whatever they are called; what is taken away adds up."""

import http.client
import io
import time
import zipfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from urllib.parse import quote

import numpy as np
import pytest
import sound_files
import soundfile
from kept import everything
from studios import PATIENCE, QUICK, idle, running, waiting

from phinmf.studio import guard, session, transfers
from phinmf.studio import home as homes
from phinmf.studio.home import LOCK

NAMES = [
    "<img src=x onerror=alert(1)>.wav", "../../x.wav", "..\\..\\x.wav", "/etc/passwd", "CON.wav",
    "nul", "", ".", "..", "...wav", ".wav", "a" * 400 + ".wav", "日本語" * 50 + ".flac",
    "a\x00b.wav", "line\nbreak.wav", "\u202egnp.wav", "song.wav ", "song.", "a:b*c?.wav",
    "studio.json", "Studio.json", "version-3", "result.json", "preview",
    "whole.wav", "😀.ogg", "\ud800.wav", "e\u0301.wav", "-o.wav", "~.wav",
]  # fmt: skip


def harmless(name):
    """Whether a name is one of a file on every disk, and no path."""
    stem = name.casefold().split(".")[0]
    return name.strip(" .") == name and stem not in ("", "con", "nul") and len(name.encode()) < 200


def test_any_name_is_unmixed(studio, home, tmp_path, monkeypatch):
    """Also if the recording is very short: there are as many components as it has frames."""
    monkeypatch.setattr(session, "UnmixOptions", lambda **how: replace(QUICK, n_components=None))
    wav = sound_files.write(tmp_path / "made.wav", sound_files.tones(64) + 0.1).read_bytes()
    queries = [*(f"?name={quote(name, errors='surrogatepass')}" for name in NAMES), "?name=%ff", ""]
    for query in queries:
        assert studio("POST", f"recordings{query}", wav).status == 201
    recordings = studio.until(idle)["recordings"]
    assert len(recordings) == len(queries)
    forbidden = set('/\\<>:"|?*\0\n\u202e\ud800')
    for recording in recordings:
        (version,) = recording["versions"]
        assert len(version["components"]) == 3
        assert recording["name"]
        assert not set(recording["name"]) & set("/\\\0\n\u202e\ud800")
        folder = Path(version["folder"]).parent
        assert folder.parent == home
        (sound,) = {path.name for path in folder.iterdir()} - {"studio.json", "whole"}
        assert (folder / sound).read_bytes() == wav
        assert harmless(folder.name)
        assert harmless(sound)
        assert sound.endswith(Path(recording["name"]).suffix)
        assert not (set(folder.name) | set(sound)) & forbidden
    assert sorted(path.name for path in tmp_path.iterdir()) == ["home", "made.wav"]
    assert len([path for path in home.iterdir() if path.name[0] != "."]) == len(queries)


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
    assert "half.flac" in job["doing"]
    assert recording["versions"] == []
    assert studio("DELETE", f"jobs/{job['id']}").status == 204
    assert idle(studio.state)
    assert sorted(p.name for p in (home / "half").iterdir()) == ["half.flac", "studio.json"]


def without_samples():
    file = io.BytesIO()
    soundfile.write(file, sound_files.tones()[:0], 8000, format="WAV")
    return file.getvalue()


@pytest.mark.parametrize(
    "body", [b"", b"x", b"RIFF", bytes(5000), b"<script>alert(1)</script>", without_samples()]
)
def test_what_is_no_sound_is_refused(studio, home, body):
    got = studio.upload(body)
    assert got.status == 415
    assert "song.wav" in got.json["error"]
    assert str(home) not in got.json["error"]
    assert studio.state["recordings"] == []
    assert [path for path in home.rglob("*") if ".phinmf-studio-" not in str(path)] == []


def test_a_broken_connection_leaves_nothing(studio, home):
    connection = http.client.HTTPConnection(studio.host, studio.port, timeout=20)
    connection.putrequest("POST", f"{studio.prefix}recordings?name=a.wav")
    connection.putheader("Content-Length", str(10**7))
    connection.endheaders(b"RIFF" * 10**6)
    connection.close()
    end = time.monotonic() + 20
    while True:
        left = [p for p in home.rglob("*") if p.is_file() and p.name != LOCK]
        if not left:
            break
        assert time.monotonic() < end, left
        time.sleep(0.05)
    assert studio.state["recordings"] == []


def test_others_are_answered_while_a_large_upload_is_removed(studio, monkeypatch):
    with ThreadPoolExecutor() as pool, waiting(monkeypatch, homes, "remove") as removing:
        refused = pool.submit(studio.upload, b"no sound")
        assert removing.wait(PATIENCE)
        assert pool.submit(studio, "GET", "nothing").result(10).status == 404
        assert not refused.done()
    assert refused.result().status == 415


def test_too_large_for_the_limit_or_for_the_disk(studio, home, wav, monkeypatch):
    monkeypatch.setattr(transfers, "SPARE", 2**62)
    got = studio.upload(wav)
    assert got.status == 507
    assert "disk" in got.json["error"]


def test_a_chunked_body_beyond_the_limit(home, monkeypatch):
    monkeypatch.setattr(guard, "LARGE", 10**5)
    with running(home) as studio:
        got = studio.upload(b"x" * 10**4 for _ in range(20))
        assert got.status == 413
        assert studio("POST", "recordings?name=a", b"x" * 200_000).status == 413
        assert [p for p in home.rglob("*") if p.suffix == ".wav"] == []
    assert not home.exists()


# ---- what is taken away --------------------------------------------------------------------------

GROUPS = [
    {"name": "lead guitar", "colour": 0, "components": [2]},
    {"name": "Bässe", "colour": 1, "components": [3]},
    {"name": "empty", "colour": 2, "components": []},
]


def exported(studio, wanted):
    """Return the answer, and the files in the archive."""
    got = studio("POST", "versions/v1/exports", wanted)
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


def test_groups_add_up_bit_for_bit(studio, wav, version):
    studio.save(0, GROUPS)
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


@pytest.mark.parametrize(
    "wanted", [{}, {"kind": "all"}, {"kind": "mix", "levels": [{}]}, {"kind": 1},
               {"kind": "mix", "levels": [{"gain_db": 999.0}] * 3}, {"kind": "groups"}]
)  # fmt: skip
def test_what_cannot_be_exported_is_refused(studio, version, wanted):
    got = studio("POST", "versions/v1/exports", wanted)
    assert got.status == 400
    assert got.json["error"]


def test_sound_is_played_while_any_number_of_exports_is_written(studio, version, monkeypatch):
    n = 50  # more than the threads that answer requests
    monkeypatch.setattr(transfers, "export", lambda *how, **more: int("fails, to be quick"))
    with ThreadPoolExecutor(n + 1) as pool, waiting(monkeypatch, transfers, "export") as begun:
        wanted = ("POST", "versions/v1/exports", {"kind": "mix"})
        others = [pool.submit(studio, *wanted) for _ in range(n)]
        assert begun.wait(PATIENCE)
        time.sleep(0.5)  # until all have been asked for
        heard = pool.submit(studio, "GET", "versions/v1/sound/0/10")
        assert heard.result(10).status == 200
    assert {other.result().status for other in others} == {500}


def test_only_the_last_exports_stay_and_the_version_is_as_before(studio, home, version):
    before, addresses = everything(home / "song"), []
    for _ in range(transfers.MOST + 2):
        answer, _ = exported(studio, {"kind": "mix"})
        addresses.append(answer["address"])
    answers = [studio("GET", address) for address in addresses]
    assert [got.status for got in answers] == [404] * 2 + [200] * transfers.MOST
    assert "no longer" in answers[0].json["error"]
    folders = [path for path in home.glob(".phinmf-studio-*/*") if path.is_dir()]
    assert len(folders) == transfers.MOST
    assert everything(home / "song") == before
