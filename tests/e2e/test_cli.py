"""The command line as people use it."""

import importlib.metadata
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from sound_files import integers, tones, write

import phinmf
from phinmf.cli import main


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


QUICK = ["-k", "2", "--window", "64", "--max-time", "0.3", "--no-report"]


def test_one_line_takes_a_recording_apart(here, capsys):
    write(here / "song.wav", tones(channels=2), subtype="PCM_16")
    assert main(["unmix", "song.wav", *QUICK[:-1]]) == 0
    assert (here / "out/song/report.html").stat().st_size > 10_000
    parts = [integers(here / "out/song" / f"component_0{k}.wav") for k in (1, 2)]
    assert np.array_equal(sum(parts), integers(here / "song.wav"))
    said = capsys.readouterr()
    assert "bit for bit" in said.err
    assert "components in out/song" in said.err
    assert said.out == ""


def test_a_source_tree_that_was_not_installed_writes_the_same(here, capsys, monkeypatch):
    def nothing_installed(name):
        raise importlib.metadata.PackageNotFoundError(name)

    monkeypatch.setattr(importlib.metadata.Distribution, "from_name", nothing_installed)
    write(here / "song.wav")
    assert main(["unmix", "song.wav", *QUICK[:-1], "--json"]) == 0
    (record,) = json.loads(capsys.readouterr().out)
    assert record["versions"]["phinmf"] == phinmf.__version__
    assert phinmf.__version__ in (here / "out/song/report.html").read_text(encoding="utf-8")
    assert main(["env"]) == 0
    assert f"phinmf {phinmf.__version__}" in capsys.readouterr().out


def test_components_are_counted(here, capsys):
    write(here / "song.wav", tones(channels=2), subtype="PCM_16")
    how = ["-k", "auto", "--window", "64", "--no-report"]
    assert main(["unmix", "song.wav", *how]) == 0
    record = json.loads((here / "out/song/result.json").read_text())
    K = len(record["components"])
    assert 1 <= K <= 8
    assert record["options"]["n_components"] == "auto"
    assert len(list((here / "out/song").glob("component_*.wav"))) == K
    assert f"song.wav: {K} components found" in capsys.readouterr().err


def test_one_bad_file_does_not_stop_the_others(here, capsys):
    (here / "album").mkdir()
    for name in ("a", "b"):
        write(here / f"album/{name}.wav")
    (here / "album/c.m4a").write_bytes(bytes(100))
    assert main(["unmix", "album", *QUICK, "--json", "--quiet"]) == 1
    said = capsys.readouterr()
    assert len(json.loads(said.out)) == 2
    assert said.err.count("\n") == 1
    assert "ffmpeg" in said.err
    assert {p.name for p in (here / "out").iterdir()} == {"a", "b"}


def test_what_is_there_is_kept(here, capsys):
    write(here / "song.wav")
    assert main(["unmix", "song.wav", *QUICK]) == 0
    assert main(["unmix", "song.wav", *QUICK]) == 1
    assert "--overwrite" in capsys.readouterr().err
    assert main(["unmix", "song.wav", *QUICK, "--overwrite", "--groups", "1"]) == 0
    assert (here / "out/song/part_1.wav").exists()
    assert main(["unmix", "out/song", "--group", "both=1,2"]) == 0
    assert np.array_equal(integers(here / "out/song/both.wav"), integers(here / "song.wav"))


@pytest.mark.parametrize("how", [["--quiet"], []])
def test_samples_that_clip(here, capsys, how):
    write(here / "song.flac", subtype="PCM_16")
    assert main(["unmix", "song.flac", *QUICK, "--gain", "40", *how]) == 0
    n = json.loads((here / "out/song/result.json").read_text())["clipped"]
    parts = [integers(here / f"out/song/component_0{k}.flac") for k in (1, 2)]
    assert 0 < n <= sum(np.count_nonzero((y == 2**15 - 1) | (y == -(2**15))) for y in parts)
    said = [line for line in capsys.readouterr().err.splitlines() if line.startswith("phinmf: ")]
    assert said == [
        f"phinmf: song.flac: {n} samples of the components are clipped at full scale: use --format"
        " WAV --subtype FLOAT or a lower --gain"
    ]


@pytest.mark.parametrize("how", ["--gain -6", "--gain 40 --format WAV --subtype FLOAT", ""])
def test_samples_that_do_not_clip(here, capsys, how):
    write(here / "song.flac", subtype="PCM_16")
    assert main(["unmix", "song.flac", *QUICK, "--quiet", *how.split()]) == 0
    assert capsys.readouterr().err == ""
    assert json.loads((here / "out/song/result.json").read_text())["clipped"] is None


def test_a_model_has_its_own_number_of_components(here, capsys):
    write(here / "song.wav")
    assert main(["unmix", "song.wav", *QUICK, "--quiet"]) == 0
    again = ["unmix", "song.wav", "--model", "out/song/model.npz", "-o", "again", "--no-report"]
    for number in ("5", "auto"):
        assert main([*again, "-k", number]) == 1
        assert "but out/song/model.npz has 2 components: leave -k" in capsys.readouterr().err
        assert not (here / "again").exists()
    assert main([*again, "-k", "2"]) == 0
    assert main([*again, "--overwrite"]) == 0


def test_models_previews_and_the_fixed_transform(here):
    write(here / "song.wav", tones(400_000))
    assert main(["unmix", "song.wav", *QUICK, "--preview", "--fixed-transform"]) == 0
    result = json.loads((here / "out/song/result.json").read_text())
    assert result["length"] == 30 * 8000
    assert result["options"]["solver"] is None
    model = ["--model", "out/song/model.npz", "--format", "flac", "--duration", "1"]
    assert main(["unmix", "song.wav", "-o", "again", *model]) == 0
    assert (here / "again/song/component_02.flac").exists()


def test_the_page_can_be_written_again(here, capsys):
    write(here / "song.wav")
    assert main(["unmix", "song.wav", *QUICK]) == 0
    page = here / "out/song/report.html"
    assert not page.exists()
    assert main(["report", "out/song"]) == 0
    assert page.exists()
    assert capsys.readouterr().out.strip() == "out/song/report.html"
    assert main(["report", "."]) == 1


def test_a_folder_that_cannot_be_written(here, capsys):
    write(here / "song.wav")
    locked = Path("/sys") if os.geteuid() == 0 else here / "locked"  # root writes anywhere else
    locked.mkdir(mode=0o500, exist_ok=True)
    assert main(["unmix", "song.wav", *QUICK, "-o", str(locked)]) == 1
    assert "cannot be written" in capsys.readouterr().err


def test_env_and_version(capsys):
    assert main(["env"]) == 0
    assert "libsndfile" in capsys.readouterr().out
    with pytest.raises(SystemExit) as stopped:
        main(["--version"])
    assert stopped.value.code == 0


def test_help_imports_nothing_slow():
    code = (
        "import sys, contextlib, io\n"
        "from phinmf.cli import main\n"
        "with contextlib.suppress(SystemExit), contextlib.redirect_stdout(io.StringIO()):\n"
        "    main(['unmix', '--help'])\n"
        "print([m for m in ('numba', 'matplotlib', 'soundfile', 'torch') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize("times", [1, 2])
def test_control_c(here, times):
    """Once: what has been learned is written. Twice: nothing is."""
    rng = np.random.default_rng(0)
    write(here / "song.wav", 0.1 * rng.standard_normal(200_000))
    command = [sys.executable, "-m", "phinmf", "unmix", "song.wav", "--window", "512", "-k", "4"]
    process = subprocess.Popen(command, cwd=here, stderr=subprocess.PIPE, text=True)
    with process.stderr as lines:
        for line in lines:
            if "learning" in line:
                break
        process.send_signal(signal.SIGINT)
        if times == 2:
            time.sleep(0.1)
            process.send_signal(signal.SIGINT)
        rest = lines.read()
    code = process.wait(timeout=60)
    if times == 1:
        assert "Finishing with what has been learned so far" in rest
        assert code == 0
        result = json.loads((here / "out/song/result.json").read_text())
        assert "callback" in result["stop_reason"]
    else:
        assert code == 1
        assert "no incomplete files remain" in rest
        assert not list(here.glob("out/*"))
