"""What phinmf did not write stays."""

import json
import os
import shutil

import pytest
from kept import QUICK, everything, unchanged_by
from sound_files import RATE, integers, tones, write

import phinmf
from phinmf import unmix_file
from phinmf.cli import main
from phinmf.unmixing import sums


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_folder_that_holds_the_recording(here, capsys):
    (here / "mono").mkdir()
    write(here / "mono/mono.wav")
    (here / "mono/thesis.tex").write_text("years of work")
    command = ["unmix", "mono/mono.wav", *QUICK, "-o", ".", "--overwrite"]
    unchanged_by(here, capsys, command, "mono holds mono.wav, which is being read")


FOREIGN = {
    "a file": lambda out: (out / "thesis.tex").write_text("years of work"),
    "a hidden file": lambda out: (out / ".notes").write_text("years of work"),
    "a folder": lambda out: (out / "takes").mkdir(),
    "a link": lambda out: (out / "link").symlink_to(out.parent),
    "a changed file": lambda out: (out / "component_01.wav").write_bytes(b"edited"),
    "a changed file of the same size": lambda out: (
        later := (out / "component_01.wav").stat().st_mtime + 1,
        (out / "component_01.wav").write_bytes((out / "component_02.wav").read_bytes()),
        os.utime(out / "component_01.wav", (later, later)),
    ),
    "a changed result": lambda out: (out / "result.json").write_text(
        (out / "result.json").read_text().replace("component_01.wav", "../../song.wav")
    ),
    "a forged result": lambda out: (out / "result.json").write_text('{"files": {"x": 1}}'),
    "a link for a file": lambda out: (
        shutil.move(out / "component_01.wav", out.parent.parent / "elsewhere.wav"),
        (out / "component_01.wav").symlink_to(out.parent.parent / "elsewhere.wav"),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", FOREIGN)
def test_a_folder_with_the_work_of_somebody_else(here, capsys, name):
    write(here / "song.wav")
    assert main(["unmix", "song.wav", *QUICK]) == 0
    FOREIGN[name](here / "out/song")
    capsys.readouterr()
    unchanged_by(here, capsys, ["unmix", "song.wav", *QUICK, "--overwrite"], "is not replaced")


@pytest.mark.parametrize("kind", ["link", "broken link", "file", "folder", "current"])
def test_what_is_no_folder_of_phinmf(here, capsys, monkeypatch, kind):
    song = write(here / "song.wav")
    out, other = here / "out/song", here / "other"
    out.parent.mkdir()
    if kind == "file":
        out.write_text("work")
    elif kind == "broken link":
        out.symlink_to(other)
    elif kind == "link":
        main(["unmix", "song.wav", *QUICK, "-o", "other"])
        out.symlink_to(other / "song")
    else:
        out.mkdir()
        if kind == "folder":
            (out / "result.json").write_text("{}")
        else:
            monkeypatch.chdir(out)
    capsys.readouterr()
    command = ["unmix", str(song), *QUICK, "-o", str(here / "out"), "--overwrite"]
    unchanged_by(here, capsys, command, "is not replaced")


def test_an_own_folder_and_an_empty_one_are_replaced(here):
    write(here / "song.wav")
    (here / "out/song").mkdir(parents=True)
    command = ["unmix", "song.wav", *QUICK, "--overwrite"]
    assert main([*command, "-k", "3", "--group", "a=1"]) == 0
    assert main(["report", "out/song"]) == 0
    assert main(command) == 0
    own = {"component_01.wav", "component_02.wav", "model.npz", "overview.npy", "result.json"}
    assert {p.name for p in (here / "out/song").iterdir()} == own
    assert [p.name for p in (here / "out").iterdir()] == ["song"]


def test_what_is_added_while_it_learns_is_kept(here, monkeypatch):
    write(here / "song.wav")
    assert main(["unmix", "song.wav", *QUICK]) == 0
    learn = unmix_file.learn

    def slowly(*how):
        (here / "out/song/thesis.tex").write_text("years of work")
        return learn(*how)

    monkeypatch.setattr(unmix_file, "learn", slowly)
    before = everything(here / "out/song")
    assert main(["unmix", "song.wav", *QUICK, "--overwrite"]) == 1
    assert everything(here / "out") == {
        "song": None, "song/thesis.tex": b"years of work",
        **{f"song/{name}": content for name, content in before.items()}}  # fmt: skip


def test_the_model_in_use_and_other_inputs_are_kept(here, capsys):
    write(here / "song.wav")
    assert main(["unmix", "song.wav", *QUICK]) == 0
    capsys.readouterr()
    again = ["unmix", "song.wav", *QUICK, "--overwrite"]
    unchanged_by(here, capsys, [*again, "--model", "out/song/model.npz"], "holds model.npz")
    os.link(here / "out/song/component_01.wav", here / "part.wav")
    before = everything(here / "out/song")
    assert main(["unmix", "part.wav", *again[1:]]) == 1
    assert "holds component_01.wav" in capsys.readouterr().err
    assert everything(here / "out/song") == before


@pytest.mark.parametrize("gain", [1e5, -1e5, float("nan"), float("inf")])
def test_save_refuses_a_gain_that_cannot_be_meant(here, gain):
    u = phinmf.unmix(tones(2000), RATE, 2, window=64, solver=None, seed=0)
    with pytest.raises(ValueError, match="gain is"):
        u.save("x", gain=gain)
    assert list(here.iterdir()) == []


def test_save_keeps_what_it_did_not_write(here):
    u = phinmf.unmix(tones(2000), RATE, 2, window=64, solver=None, seed=0)
    u.save("x")
    u.save("x", overwrite=True, subtype="PCM_16")
    (here / "x/thesis.tex").write_text("years of work")
    before = everything(here)
    with pytest.raises(FileExistsError, match=r"thesis\.tex"):
        u.save("x", overwrite=True)
    with pytest.raises(FileExistsError, match="is the current folder"):
        u.save(".", overwrite=True)
    assert everything(here) == before
    assert "<title>x" in (here / "x/report.html").read_text(encoding="utf-8")


def test_a_second_rename_that_fails_is_rolled_back(here, monkeypatch, capsys):
    write(here / "song.wav")
    assert main(["unmix", "song.wav", *QUICK]) == 0
    before, rename = everything(here), os.rename

    def fails(source, target):
        if str(target).endswith("out/song") and str(source).endswith("new/song"):
            raise OSError(5, "Input/output error")
        rename(source, target)

    monkeypatch.setattr(os, "rename", fails)
    assert main(["unmix", "song.wav", *QUICK, "--overwrite"]) == 1
    assert "Input/output error" in capsys.readouterr().err
    assert everything(here) == before


@pytest.mark.parametrize("template", ["{number}", "new-{number}", "parts", "{number}.wav"])
def test_every_name_keeps_every_component(here, template):
    write(here / "song.wav", subtype="PCM_16")
    K = 1 if template == "parts" else 4
    how = ["-k", str(K), "--window", "64", "--fixed-transform", "--filename", template]
    assert main(["unmix", "song.wav", *how]) == 0
    result = json.loads((here / "out/song/result.json").read_text(encoding="utf-8"))
    names = [component["file"] for component in result["components"]]
    assert len(set(names)) == K
    assert sum(integers(here / "out/song" / n) for n in names).tolist() == (
        integers(here / "song.wav").tolist()
    )
    assert set(result["files"]) == {*names, "model.npz", "overview.npy", "report.html"}
    assert {p.name for p in (here / "out/song").iterdir()} == {*result["files"], "result.json"}


@pytest.mark.parametrize(
    "how",
    [
        ["--filename", "{number}" + "é" * 120],
        ["--group", "component_01=1"],
        ["--group", "COMPONENT_02=1"],
        ["--group", "Drums=1 drums=2"],
        ["--group", "rest=1"],
        ["--group", "x=3"],
        ["--groups", "3"],
    ],
)
def test_names_that_collide_are_refused_before_learning(here, capsys, how):
    write(here / "song.wav")
    unchanged_by(here, capsys, ["unmix", "song.wav", *QUICK, *how])


@pytest.mark.parametrize("name", ["..wav", "...wav", ". .wav"])
def test_a_recording_without_a_name(here, capsys, name):
    (here / "in").mkdir()
    write(here / "in" / name, format="WAV")
    (here / "out").mkdir()
    (here / "out/thesis.tex").write_text("years of work")
    unchanged_by(here, capsys, ["unmix", f"in/{name}", *QUICK, "--overwrite"], "rename it")


def test_the_demo_does_not_write_where_a_file_is(here, capsys):
    (here / "notes.txt").write_text("mine")
    assert main(["demo", "-k", "2", "--max-time", "0.1", "-o", "notes.txt"]) != 0
    assert "notes.txt is a file: choose another folder" in capsys.readouterr().err
    assert (here / "notes.txt").read_text() == "mine"


def test_the_demo_keeps_what_it_did_not_write(here, capsys):
    (here / "dm/example").mkdir(parents=True)
    (here / "dm/example/thesis.tex").write_text("years of work")
    unchanged_by(here, capsys, ["demo", "-o", "dm"], "thesis.tex", "is not replaced")


def test_a_new_grouping_takes_the_place_of_the_one_before(here, capsys):
    write(here / "song.wav", subtype="PCM_16")
    assert main(["unmix", "song.wav", *QUICK, "-k", "4", "--group", "low=1,2 high=3"]) == 0
    out = here / "out/song"
    own = {
        "model.npz",
        "overview.npy",
        "result.json",
        *(f"component_0{k}.wav" for k in (1, 2, 3, 4)),
    }
    (out / "mine.wav").write_bytes(b"my own")
    for text, names in (("low=3 Rest=1,2,4", "low Rest"), ("a=1", "a rest"), ("b=1", "b rest")):
        assert main(["unmix", "out/song", "--group", text]) == 0
        groups = {f"{name}.wav" for name in names.split()}
        assert {p.name for p in out.iterdir()} == own | groups | {"mine.wav"}
        assert sum(integers(out / g) for g in groups).tolist() == (
            integers(here / "song.wav").tolist()
        )
    result = json.loads((out / "result.json").read_text(encoding="utf-8"))
    assert result["groups_null_test"]["exact"]
    assert set(result["files"]) == own - {"result.json"} | groups
    assert [p.name for p in (here / "out").iterdir()] == ["song"]
    capsys.readouterr()
    unchanged_by(here, capsys, ["unmix", "out/song", "--group", "mine=1"], "mine.wav")
    unchanged_by(here, capsys, ["unmix", "out/song", "--group", "rest=1"], "rest")
    (out / "b.wav").write_bytes(b"edited")
    unchanged_by(here, capsys, ["unmix", "out/song", "--group", "c=1"], "b.wav was changed")


def test_a_grouping_that_fails_leaves_the_one_before(here, monkeypatch, capsys):
    write(here / "song.wav")
    assert main(["unmix", "song.wav", *QUICK, "--group", "low=1"]) == 0
    rename = os.rename

    def fails(source, target):
        if str(target).endswith("out/song/rest.wav") and "new" in str(source):
            raise OSError(5, "Input/output error")
        rename(source, target)

    monkeypatch.setattr(os, "rename", fails)
    capsys.readouterr()
    unchanged_by(here, capsys, ["unmix", "out/song", "--group", "a=2"], "Input/output error")


def test_two_groupings_at_the_same_time(here, monkeypatch, capsys):
    write(here / "song.wav")
    assert main(["unmix", "song.wav", *QUICK]) == 0
    measure, first = sums.measure, [True]

    def meanwhile(*how):
        if first and first.pop():
            assert main(["unmix", "out/song", "--group", "b=1"]) == 0
        return measure(*how)

    monkeypatch.setattr(sums, "measure", meanwhile)
    assert main(["unmix", "out/song", "--group", "a=1"]) == 1
    assert "was changed meanwhile" in capsys.readouterr().err
    assert {p.name for p in (here / "out/song").glob("[!c]*.wav")} == {"b.wav", "rest.wav"}


@pytest.mark.parametrize("kind", ["path", "link", "fifo", "page"])
def test_a_report_stays_in_its_folder(here, capsys, kind):
    write(here / "song.wav")
    write(here / "secret.wav")
    assert main(["unmix", "song.wav", *QUICK]) == 0
    out = here / "out/song"
    if kind == "path":
        content = json.loads((out / "result.json").read_bytes())
        content["components"][0]["file"] = "../../secret.wav"
        (out / "result.json").write_text(json.dumps(content))
    elif kind == "page":
        (out / "report.html").symlink_to(here / "secret.wav")
    else:
        (out / "component_01.wav").unlink()
        if kind == "link":
            (out / "component_01.wav").symlink_to(here / "secret.wav")
        else:
            os.mkfifo(out / "component_01.wav")
    capsys.readouterr()
    said = "move it away" if kind == "page" else "not a file of its folder"
    secret = (here / "secret.wav").read_bytes()
    assert main(["report", "out/song"]) == 1
    assert said in capsys.readouterr().err
    assert (here / "secret.wav").read_bytes() == secret
    if kind != "page":
        assert main(["unmix", "out/song", "--groups", "1"]) == 1
        assert said in capsys.readouterr().err
