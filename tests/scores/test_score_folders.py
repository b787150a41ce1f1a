"""Folders that unmix has written, and previews, beside folders of true sources."""

import json

import numpy as np
import pytest
import soundfile
from sound_files import RATE, tones, write

from phinmf.cli import main
from phinmf.scores.files import score_files
from phinmf.scores.table import DCT, ESTIMATE, GROUPS, MASK, MIXTURE

QUICK = ["-k", "3", "--window", "64", "--max-time", "0.3", "--no-report", "--quiet"]
LENGTH = 20_000


@pytest.fixture
def here(tmp_path, monkeypatch):
    """A recording, its stems, and a folder of its components."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "stems").mkdir()
    stems = {"low": tones(LENGTH), "high": 0.5 * tones(LENGTH, seed=1)[::-1]}
    for name, y in stems.items():
        write(tmp_path / f"stems/{name}.wav", y, subtype="FLOAT")
    write(tmp_path / "song.wav", sum(stems.values()), subtype="FLOAT")
    return tmp_path


def unmixed(*how):
    assert main(["unmix", "song.wav", *QUICK, *how]) == 0


def test_a_folder_stands_for_its_components(here):
    unmixed()
    (here / "stems/notes.txt").write_text("not a sound")
    table = score_files(["out/song"], ["stems"], baseline=False)
    files = [f"out/song/component_0{k}.wav" for k in (1, 2, 3)]
    assert table.options.estimates == files
    assert {row.source for row in table.rows} == {"low", "high"}
    assert table.methods == [MIXTURE, ESTIMATE, MASK]
    same = score_files(files, ["stems/high.wav", "stems/low.wav"], baseline=False)
    assert table.mean(ESTIMATE) == same.mean(ESTIMATE)


def test_groups_are_scored_as_wholes(here, capsys):
    unmixed("--group", "one=1,2")
    assert main(["score", "out/song", "--reference", "stems/", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert list(told["mean"]) == [MIXTURE, ESTIMATE, GROUPS, DCT, MASK]
    groups = [set(row["components"]) for row in told["scores"] if row["method"] == GROUPS]
    assert set.union(*groups) == {1, 2, 3}
    assert any({1, 2} <= group for group in groups)  # never apart
    assert told["mean"][GROUPS]["sdr"] <= told["mean"][ESTIMATE]["sdr"] + 1e-9


@pytest.mark.parametrize("mixture", [False, True])
def test_references_of_a_preview_are_cut(here, capsys, mixture):
    unmixed("--start", "0.5", "--duration", "1")
    command = ["score", "out/song", "--reference", "stems", *["--mixture", "song.wav"] * mixture]
    assert main([*command, "--json"]) == 0
    said = capsys.readouterr()
    assert said.err == (
        "out/song holds 0.5 s to 1.5 s of song.wav: the references and the mixture are cut to that"
        "\n"
    )
    told = json.loads(said.out)
    assert told["settings"]["stretch"] == said.err.strip()
    (here / "cut").mkdir()
    for path in (here / "stems").glob("*.wav"):
        y, _ = soundfile.read(path)
        write(here / "cut" / path.name, y[RATE // 2 : RATE // 2 + RATE], subtype="FLOAT")
    again = score_files(["out/song"], ["cut"])  # cut before: taken as they are
    assert again.mean(ESTIMATE).sdr == pytest.approx(told["mean"][ESTIMATE]["sdr"])


def test_what_cannot_be_scored_is_one_sentence(here, capsys):
    unmixed("--start", "0.5", "--duration", "1")
    (here / "empty").mkdir()
    write(here / "short.wav", np.zeros(5000))
    listing = here / "broken/result.json"
    listing.parent.mkdir()
    listing.write_text("{}")
    for words, said in (
        ("out/song song.wav --reference stems", "out/song has been written by phinmf unmix, and"),
        ("empty --reference stems", "empty has no sound files in it"),
        ("out/song --reference empty", "empty has no sound files in it"),
        ("out/song --reference gone", "gone does not exist"),
        ("out/song --reference short.wav", "short.wav has 5000 samples, but out/song holds the"),
        ("broken --reference stems", "broken is not a folder that phinmf unmix has written"),
    ):
        assert main(["score", *words.split()]) == 1
        heard = capsys.readouterr().err
        assert said in heard
        assert heard.count("\n") == 1
    (here / "out/song/component_01.wav").unlink()
    assert main(["score", "out/song", "--reference", "stems"]) == 1
    assert "names 'component_01.wav', which is not a file of its folder" in capsys.readouterr().err


@pytest.mark.parametrize("mixture", [[], ["--mixture", "song.wav"]])
def test_references_of_another_recording_are_noticed(here, capsys, rng, mixture):
    unmixed()
    (here / "odd").mkdir()
    for name in ("x", "y"):
        write(here / f"odd/{name}.wav", 0.1 * rng.standard_normal((LENGTH, 1)), subtype="FLOAT")
    assert main(["score", "out/song", "--reference", "odd/", *mixture]) == 0
    said = capsys.readouterr().err
    assert "they seem to be those of another recording" in said
    assert said.count("\n") == 1


@pytest.mark.full
def test_sources_that_are_missing_are_noticed(here, capsys):
    unmixed()
    one = ["score", "out/song", "--reference", "stems/low.wav", "--json"]
    assert main(one) == 0
    said = capsys.readouterr()
    assert said.err.startswith("the references do not add up to the estimates (the difference has ")
    assert json.loads(said.out)["settings"]["missing"] == said.err.strip()
    for complete in ([*one, "--mixture", "song.wav"], [*one[:3], "stems", "--json"]):
        assert main(complete) == 0
        assert capsys.readouterr().err == ""
