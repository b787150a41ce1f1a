"""What is said of the files that were written is true of the disk."""

import os
import subprocess
import sys

import numpy as np
import pytest
import soundfile
from kept import QUICK, everything, unchanged_by
from sound_files import tones, write

from phinmf.audio import files, writing
from phinmf.cli import main
from phinmf.unmixing import null_test, ownership


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def adds_up(here, *how):
    assert main(["unmix", "song.wav", *QUICK, "--overwrite", *how]) == 0
    record = ownership.read(here / "out/song")
    return null_test.adds_up(record), record.null_test.db


def test_what_is_said_of_24_bits_is_true(here):
    write(here / "song.wav", subtype="PCM_24")
    assert adds_up(here) == ("the components add up to the recording bit for bit", None)
    said, level = adds_up(here, "--subtype", "PCM_16")
    assert "bit for bit to the recording, rounded to 16 bits" in said
    assert -90 < level < -60
    y, _ = soundfile.read(here / "song.wav", always_2d=True)
    parts = [soundfile.read(here / f"out/song/component_0{k}.wav", always_2d=True) for k in (1, 2)]
    rest = sum(part for part, _ in parts) - y
    assert level == pytest.approx(10 * np.log10(np.sum(rest**2) / np.sum(y**2)))
    assert "the recording at -6 dB, rounded to 24 bits" in adds_up(here, "--gain", "-6")[0]
    said, level = adds_up(here, "--format", "ogg")
    assert "VORBIS is lossy" in said
    assert -60 < level < -3
    assert adds_up(here, "--subtype", "FLOAT")[1] < -126


def test_what_is_said_of_lossy_recordings_is_true(here):
    write(here / "song.wav", format="OGG", subtype="VORBIS")
    said, level = adds_up(here)
    assert "the recording as decoded from VORBIS, rounded to 24 bits" in said
    assert -140 < level < -100


def test_formats_that_do_not_keep_samples_are_not_written(here, capsys):
    write(here / "song.wav", format="SDS", subtype="PCM_16")
    said, _ = adds_up(here)
    assert "rounded to 16 bits" in said  # what libsndfile decodes has more
    assert soundfile.info(here / "out/song/component_01.wav").format == "WAV"
    capsys.readouterr()
    for name in ("SDS", "RAW", "HTK"):
        unchanged_by(here, capsys, ["unmix", "song.wav", *QUICK, "-o", "x", "--format", name], name)


@pytest.mark.parametrize("kind", ["short", "empty", "other samples"])
@pytest.mark.parametrize("format", ["wav", "flac"])
def test_a_file_that_is_not_what_was_written(here, monkeypatch, capsys, kind, format):
    """A last flush that fails, a disk that keeps something else."""
    write(here / "song.wav", subtype="PCM_16")
    close = writing.Stems.__exit__

    def flawed(stems, *how):
        close(stems, *how)
        path = stems.paths[1]
        if kind == "other samples":
            y, rate = soundfile.read(path)
            write(path, 0.5 * y, rate, subtype="PCM_16")
        else:
            os.truncate(path, path.stat().st_size // 2 if kind == "short" else 0)

    monkeypatch.setattr(writing.Stems, "__exit__", flawed)
    before = everything(here)
    assert main(["unmix", "song.wav", *QUICK, "--format", format]) == 1
    assert everything(here) == before
    assert "file 2 of 2 cannot be read back as it was written" in capsys.readouterr().err


LIMITED = """
import resource, sys
resource.setrlimit(resource.{0}, ({1}, {1}))
from phinmf.cli import main
from phinmf.unmixing import null_test, ownership
sys.exit(main({2}))
"""


@pytest.mark.full
@pytest.mark.parametrize(
    ("limit", "value", "said"),
    [("RLIMIT_FSIZE", 30_000, "File too large"), ("RLIMIT_NOFILE", 40, "Too many open files")],
)
def test_a_full_disk_and_too_many_files_are_named(here, limit, value, said):
    write(here / "song.wav", tones(40_000))
    K = "2" if limit == "RLIMIT_FSIZE" else "60"
    how = ["--window", "256", "--fixed-transform", "--no-report", "--max-time", "1", "-k", K]
    code = LIMITED.format(limit, value, ["unmix", "song.wav", *how])
    environment = {**os.environ, "NUMBA_CACHE_DIR": ""}
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=here, capture_output=True, text=True, env=environment
    )
    assert done.returncode == 1
    assert f"out/song cannot be written ({said})" in done.stderr
    assert [p.name for p in here.iterdir()] == ["song.wav"]


def test_a_demo_that_does_not_fit_leaves_nothing(here):
    code = LIMITED.format("RLIMIT_FSIZE", 30_000, ["demo", "-o", "new/demo"])
    done = subprocess.run([sys.executable, "-c", code], cwd=here, capture_output=True, text=True)
    assert done.returncode == 1
    assert "cannot be written (File too large)" in done.stderr
    assert list(here.iterdir()) == []


def test_a_recording_that_changes_while_it_is_read(here, monkeypatch, capsys):
    write(here / "song.wav")
    blocks, calls = files.blocks, []

    def changing(*how):
        calls.append(1)
        if len(calls) == 2:
            write(here / "new.wav", tones(seed=1))
            os.replace(here / "new.wav", here / "song.wav")
        return blocks(*how)

    monkeypatch.setattr(files, "blocks", changing)
    assert main(["unmix", "song.wav", *QUICK]) == 1
    assert "was changed while it was read" in capsys.readouterr().err
    assert not (here / "out").exists()
