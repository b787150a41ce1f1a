"""Groups: what may be typed, what is saved with them, and what is replaced."""

import dataclasses

import pytest
from kept import everything
from sound_files import tones, write

from phinmf.cli import main
from phinmf.cli.grouping import as_text, named, parsed, ranges
from phinmf.unmixing import ownership
from phinmf.unmixing.mix import Group, Level, Mix

QUICK = ["-k", "4", "--window", "64", "--max-time", "0.3", "--quiet"]

TYPED = {
    "drums=1,4-6 bass=2": {"drums": [1, 4, 5, 6], "bass": [2]},
    "lead guitar=3,7-9": {"lead guitar": [3, 7, 8, 9]},
    "lead guitar=3,7 bass=2": {"lead guitar": [3, 7], "bass": [2]},
    "a=1; b=2;c=3": {"a": [1], "b": [2], "c": [3]},
    "a=1,4, b=2": {"a": [1, 4], "b": [2]},
    " a = 1, 4 - 6\t2nd=3 ": {"a": [1, 4, 5, 6], "2nd": [3]},
    "a=1; 2 guitars=3": {"a": [1], "2 guitars": [3]},
    "2 guitars=3-3": {"2 guitars": [3]},
}


@pytest.mark.parametrize("text", TYPED)
def test_what_may_be_typed(text):
    assert {group.name: group.components for group in parsed(text)} == TYPED[text]
    assert named(parsed(as_text(TYPED[text]))) == TYPED[text]


@pytest.mark.parametrize(
    "text",
    ["", " ", "drums", "a=", "a=x", "a=1 b", "=1", "a=1,,2", "a=1-", "a=-1", "a==1", "a=1=2",
     "a=100000", "a=1b=2", ";", "a=6-4", "a=1 2 b=3", "a=1 2=3"],
)  # fmt: skip
def test_what_may_not(text):
    with pytest.raises(ValueError, match="group is"):
        parsed(text)


def test_numbers_are_shown_as_they_are_typed():
    assert ranges([3, 1, 2, 5, 8, 7]) == "1-3,5,7,8"
    assert parsed(f"a={ranges([9, 4, 5, 6])}")[0].components == [4, 5, 6, 9]


@pytest.fixture
def out(tmp_path, monkeypatch):
    """A folder of four components."""
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "song.wav", tones(4000), subtype="PCM_16")
    assert main(["unmix", "song.wav", *QUICK, "--no-report"]) == 0
    return tmp_path / "out/song"


def test_groups_are_saved_with_the_levels_and_colours_of_before(out):
    before = ownership.read(out)
    levels = [Level(-3.0), Level(), Level(muted=True), Level()]
    mix = Mix([Group("hum", [2], 0), Group("Bass", [1], 5)], levels, revision=7)
    ownership.write(out, dataclasses.replace(before, mix=mix), add=[])
    assert main(["unmix", "out/song", "--quiet", "--group", "new=1 bass=2,3 other=4"]) == 0
    saved = ownership.read(out).mix
    assert saved.levels == levels
    assert saved.revision == 8
    assert saved.groups == [Group("new", [1], 0), Group("bass", [2, 3], 5), Group("other", [4], 1)]
    assert main(["unmix", "out/song", "--quiet", "--groups", "2"]) == 0
    saved = ownership.read(out).mix
    assert [group.name for group in saved.groups] == ["part_1", "part_2"]
    assert saved.revision == 9


def test_groups_that_are_replaced_can_be_typed_again(out, capsys):
    told = 'out/song: the earlier groups were replaced; to get them back: --group "{}"'
    before = ownership.read(out)
    chosen = [Group("2 guitars", [2, 3], 4), Group("bass", [1], 0), Group("empty", [], 1)]
    ownership.write(out, dataclasses.replace(before, mix=Mix(chosen, revision=2)), add=[])
    assert main(["unmix", "out/song", "--groups", "2"]) == 0
    typed = "2 guitars=2,3; bass=1"
    assert told.format(typed) in capsys.readouterr().err.splitlines()
    assert main(["unmix", "out/song", "--group", typed]) == 0
    assert named(ownership.read(out).mix.groups) == {"2 guitars": [2, 3], "bass": [1]}


def test_groups_are_complete_even_if_their_page_cannot_be_written(out, capsys):
    assert main(["report", "out/song"]) == 0
    before = (out / "report.html").read_bytes()
    (out / "model.npz").write_bytes(b"damaged")
    capsys.readouterr()
    assert main(["unmix", "out/song", "--group", "low=1"]) == 0
    *_, last = capsys.readouterr().err.splitlines()
    assert last.startswith("out/song/report.html does not show these groups, since it was not")
    assert "model.npz is damaged" in last
    assert (out / "report.html").read_bytes() == before
    assert list(ownership.read(out).groups) == ["low", "rest"]


def test_the_page_shows_the_groups_of_now(out, capsys):
    page = out / "report.html"
    assert main(["unmix", "out/song", "--quiet", "--group", "low=1"]) == 0
    assert not page.exists()  # none was there
    assert main(["report", "out/song"]) == 0
    assert main(["unmix", "out/song", "--group", "some other=2"]) == 0
    assert "out/song: listen to out/song/report.html" in capsys.readouterr().err
    assert "some other" in page.read_text()
    assert ownership.ours(out, page.name)
    page.write_text("my notes")
    assert main(["unmix", "out/song", "--group", "third=2"]) == 0
    assert "out/song/report.html was changed" in capsys.readouterr().err
    assert page.read_text() == "my notes"
    page.unlink()
    assert main(["unmix", "out/song", "--quiet", "--group", "fourth=2"]) == 0
    assert not page.exists()


def test_files_of_groups_that_were_moved_away(out):
    assert main(["unmix", "out/song", "--quiet", "--group", "a=1 b=2"]) == 0
    (out / "a.wav").rename(out.parent / "a.wav")
    assert main(["unmix", "out/song", "--quiet", "--group", "a=2"]) == 0
    assert {p.name for p in out.glob("[!c]*.wav")} == {"a.wav", "rest.wav"}
    assert (out.parent / "a.wav").exists()


@pytest.mark.parametrize("again", ["--group", "--groups"])
def test_a_group_that_was_edited_stays(out, capsys, again):
    assert main(["unmix", "out/song", "--quiet", "--group", "a=1 b=2"]) == 0
    (out / "b.wav").write_bytes(b"edited")
    before = everything(out)
    assert main(["unmix", "out/song", again, {"--group": "b=3", "--groups": "2"}[again]]) == 1
    said = capsys.readouterr().err
    assert "b.wav was changed since it was written: move it away" in said
    assert said.count("\n") == 1
    assert everything(out) == before
