"""Groups and levels that a listener chose: what is refused, and how they are saved."""

import dataclasses

import pytest
from sound_files import tones, write

from phinmf.cli import main
from phinmf.unmixing import ownership
from phinmf.unmixing.mix import Group, Level, Mix, check_mix, check_name
from phinmf.unmixing.placing import replace_listing

GOOD = ["drums", "Lead guitar (left)", "Bass & co", "ваще", "1", "rest of it"]
BAD = ["", " ", "a/b", "a\\b", ".hidden", "end.", " x", "x ", "a\nb", "a\0", "CON", "com1.wav",
       "x" * 81, "a:b", "\u202eabc", "🥁" * 61]  # fmt: skip


@pytest.mark.parametrize("name", GOOD)
def test_names_that_files_can_have(name):
    check_name(name)


@pytest.mark.parametrize("name", BAD)
def test_names_that_some_disk_refuses(name):
    with pytest.raises(ValueError, match="choose another name"):
        check_name(name)


@pytest.mark.parametrize(
    ("mix", "words"),
    [
        (Mix([Group("a", [1]), Group("b", [1])]), "component 1 is in two groups"),
        (Mix([Group("a", [1, 1])]), "component 1 is in two groups"),
        (Mix([Group("a", [4])]), "names component 4, but there are 1 to 3"),
        (Mix([Group("a", [1]), Group("A", [2])]), "two groups are called 'A'"),
        (Mix([Group("Rest", [1])]), "which are components 2, 3: choose"),
        (Mix([Group("Rest", [1, 2])]), "which is component 3: choose"),
        (Mix(levels=[Level()]), "1 levels, but 3 components"),
        (Mix(levels=[Level(), Level(gain_db=100), Level()]), "gain of 100 dB"),
        (Mix(levels=[Level(), Level(pan=float("nan")), Level()]), "pan of nan"),
    ],
)
def test_mixes_that_cannot_be_meant(mix, words):
    with pytest.raises(ValueError, match=words):
        check_mix(mix, 3)


def test_saved_in_result_json_and_read_again(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "song.wav", tones(9000))
    how = ["-k", "2", "--window", "64", "--max-time", "1", "--no-report", "--quiet"]
    assert main(["unmix", "song.wav", *how]) == 0
    folder = tmp_path / "out/song"
    before = ownership.read(folder)
    mix = Mix([Group("hum", [2], 3)], [Level(-3.0, 0.5), Level(muted=True)], 1)
    saved = replace_listing(folder, before, dataclasses.replace(before, mix=mix))
    assert ownership.read(folder) == saved
    assert saved.mix == mix
    assert sorted(p.name for p in folder.parent.iterdir()) == ["song"]  # nothing else is left
    with pytest.raises(FileExistsError, match="changed meanwhile"):
        replace_listing(folder, before, before)
    assert ownership.read(folder) == saved
    ownership.replaceable(folder)  # it is still a folder of this program
