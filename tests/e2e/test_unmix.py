"""`phinmf unmix` and what belongs to it, as people use it: what is written is as it is said."""

import importlib.metadata
import json
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
import soundfile
from kept import QUICK, check_whole, record_of
from sound_files import RATE, integers, tones, write

import phinmf
from phinmf.cli import main

LEARNED = ["-k", "2", "--window", "64", "--max-time", "0.3"]


@pytest.mark.parametrize("installed", [True, False])
def test_one_line_takes_a_recording_apart(here, capsys, monkeypatch, installed):
    """Also from a source tree, which has no metadata of an installation."""
    if not installed:

        def nothing_installed(name):
            raise importlib.metadata.PackageNotFoundError(name)

        monkeypatch.setattr(importlib.metadata.Distribution, "from_name", nothing_installed)
    write(here / "song.wav", tones(channels=2), subtype="PCM_16")
    assert main(["unmix", "song.wav", *LEARNED, "--json"]) == 0
    said = capsys.readouterr()
    (record,) = json.loads(said.out)
    assert "bit for bit" in said.err
    assert "out/song" in said.err
    assert record["versions"]["phinmf"] == phinmf.__version__
    assert record["null_test"]["exact"]
    assert phinmf.__version__ in (here / "out/song/report.html").read_text(encoding="utf-8")
    check_whole(here / "out/song", here / "song.wav")
    assert main(["env"]) == 0
    assert f"phinmf {phinmf.__version__}" in capsys.readouterr().out


def test_what_is_like_a_reference_is_a_file_of_its_name(here, capsys):
    """From another file, at another rate, and from a stretch of the recording itself."""
    song = tones(channels=2)
    write(here / "song.wav", song, subtype="PCM_16")
    write(here / "solo.flac", np.repeat(song[:2000], 2, axis=0), rate=2 * RATE)
    how = ["-k", "6", "--window", "64", "--max-time", "2", "--no-report"]
    sounds = ["--like", "voice=@0.25s-0.5s", "--like", "low=solo.flac:0s-0.2s"]
    assert main(["unmix", "song.wav", *how, *sounds]) == 0
    said = capsys.readouterr().err
    record = record_of(here / "out/song")
    assert [group["name"] for group in record["mix"]["groups"]] == ["voice", "low"]
    files = [here / "out/song" / f"{name}.wav" for name in ("voice", "low", "rest")]
    assert np.array_equal(sum(map(integers, files)), integers(here / "song.wav"))
    assert "voice.wav" in said
    assert main(["unmix", "song.wav", "-o", "x", "--like", "voice=@0s-99s"]) == 1
    assert "99 s" in capsys.readouterr().err
    assert not (here / "x").exists()


def test_components_are_counted(here, capsys):
    write(here / "song.wav", tones(channels=2), subtype="PCM_16")
    assert main(["unmix", "song.wav", "-k", "auto", "--window", "64", "--no-report"]) == 0
    record = record_of(here / "out/song")
    K = len(record["components"])
    assert 1 <= K <= 8
    assert record["options"]["n_components"] == "auto"
    assert f"song.wav: {K} components" in capsys.readouterr().err
    check_whole(here / "out/song", here / "song.wav")


#: Format of the recording, options, what is said of the sum, and the range of its level.
ADDS_UP = [
    ({"subtype": "PCM_24"}, "", "bit for bit", None),
    ({"subtype": "PCM_24"}, "--subtype PCM_16", "rounded to 16 bits", (-90, -60)),
    ({"subtype": "PCM_24"}, "--format ogg", "VORBIS is lossy", (-60, -3)),
    ({"subtype": "PCM_24"}, "--subtype FLOAT", "", (-400, -126)),
    ({"format": "OGG", "subtype": "VORBIS"}, "", "as decoded from VORBIS", (-140, -100)),
    ({"subtype": "ULAW"}, "", "as decoded from ULAW bit for bit", None),
    ({"format": "SDS", "subtype": "PCM_16"}, "", "rounded to 16 bits", (-100, -60)),
]


@pytest.mark.parametrize(("recording", "how", "sentence", "range_"), ADDS_UP)
def test_what_is_said_of_the_sum_is_true(here, capsys, recording, how, sentence, range_):
    write(here / "song.wav", **recording)
    assert main(["unmix", "song.wav", *QUICK, *how.split()]) == 0
    assert sentence in capsys.readouterr().err
    check_whole(here / "out/song", here / "song.wav")
    record = record_of(here / "out/song")
    level = record["null_test"]["db"]
    assert level is None if range_ is None else range_[0] < level < range_[1]
    assert record["exact"] == (sentence == "bit for bit")  # the recording itself
    if recording.get("format") == "SDS":  # a format that does not keep samples is not written
        assert soundfile.info(here / "out/song/component_01.wav").format == "WAV"


def test_a_model_is_used_again(here, capsys):
    """With its own number of components; in a part of the recording, and in another format."""
    write(here / "song.wav", tones(400_000))
    how = [*LEARNED, "--no-report", "--preview", "--quiet"]
    assert main(["unmix", "song.wav", *how]) == 0
    record = record_of(here / "out/song")
    assert record["length"] == 30 * 8000
    assert record["options"]["solver"] is None
    again = ["unmix", "song.wav", "--model", "out/song/model.npz", "-o", "again", "--no-report"]
    assert main([*again, "-k", "5"]) == 1
    assert "-k is 5, but out/song/model.npz has 2 components" in capsys.readouterr().err
    assert not (here / "again").exists()
    assert main([*again, "-k", "2", "--format", "flac", "--duration", "1"]) == 0
    assert (here / "again/song/component_02.flac").exists()
    assert main([*again, "--overwrite", "--duration", "1"]) == 0
    assert (here / "again/song/component_02.wav").exists()


def test_a_part_that_is_drawn_silent_is_not_the_whole():
    y = np.zeros(400_000)
    y[300_000:302_000] = tones(2000)[:, 0]
    parts = phinmf.unmix(y, 8000, 2, window=64, seed=0, learn_on=64, max_time=0.2)
    assert parts.null_db < -100


def test_the_demo_ends_with_what_to_listen_to_and_the_null_test(here, capsys):
    assert main(["demo", "-k", "3", "--max-time", "0.3", "-o", "new"]) == 0
    printed = capsys.readouterr().out
    assert "bit for bit" in printed
    assert "report.html" in printed
    check_whole(here / "new/example")


def test_a_terminal_shows_a_bar_that_is_gone_at_the_end(here, capsys, monkeypatch):
    monkeypatch.setenv("FORCE_COLOR", "1")  # which makes rich take any stream for a terminal
    write(here / "song.wav")
    assert main(["unmix", "song.wav", *QUICK]) == 0
    printed = capsys.readouterr().err
    assert "song.wav: separating" in printed
    assert " %" in printed
    assert "%" not in printed.rpartition("\x1b[2K")[2]


@pytest.mark.parametrize("times", [1, 2])
def test_control_c(here, times):
    """Once: what has been learned is written. Twice: nothing is."""
    rng = np.random.default_rng(0)
    write(here / "song.wav", 0.1 * rng.standard_normal(200_000))
    command = [sys.executable, "-m", "phinmf", "unmix", "song.wav", "--window", "512", "-k", "4"]
    command.append("--no-report")
    process = subprocess.Popen(command, cwd=here, stderr=subprocess.PIPE, text=True)
    with process.stderr as lines:
        for line in lines:
            if "learning" in line:
                break
        process.send_signal(signal.SIGINT)
        if times == 2:
            time.sleep(0.1)
            process.send_signal(signal.SIGINT)
        lines.read()
    code = process.wait(timeout=60)
    if times == 1:
        assert code == 0
        assert "callback" in record_of(here / "out/song")["stop_reason"]
        check_whole(here / "out/song", here / "song.wav")
    else:
        assert code == 1
        assert not list(here.glob("out/*"))
