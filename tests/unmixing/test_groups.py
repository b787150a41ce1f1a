"""Groups and levels: typed, saved, added up to files, and taken away."""

import os
import shlex
from dataclasses import replace

import numpy as np
import pytest
import soundfile
from kept import check_whole, everything
from sound_files import RATE, integers, tones
from studios import unmixed

from phinmf.cli import main
from phinmf.cli.options import as_text, parsed, ranges
from phinmf.cli.unmix import named
from phinmf.unmixing import listing, placing
from phinmf.unmixing.export import export
from phinmf.unmixing.groups import MixChanged, regroup, save_mix
from phinmf.unmixing.mix import Group, Level, Mix, check_mix
from phinmf.unmixing.placing import exchange

TYPED = {
    "lead guitar=3,7-9 bass=2": {"lead guitar": [3, 7, 8, 9], "bass": [2]},
    "a=1; b=2;c=3": {"a": [1], "b": [2], "c": [3]},
    " a = 1, 6 - 4\tb2=3 ": {"a": [1, 4, 5, 6], "b2": [3]},
    "a=1; 2 guitars=3": {"a": [1], "2 guitars": [3]},
}
NOT_TYPED = [
    "", " ", "drums", "a=", "a=x", "a=1 b", "=1", "a=1,,2", "a=1-", "a=-1", "a==1", "a=1=2",
    "a=100000", "a=1b=2", ";", "a=1 2 b=3",
]  # fmt: skip
GOOD = ["drums", "Lead guitar (left)", "Bass & co", "ваще", "1", "rest of it"]
BAD = ["", " ", "a/b", "a\\b", ".hidden", "end.", " x", "x ", "a\nb", "a\0", "CON", "com1.wav",
       "x" * 81, "a:b", "\u202eabc", "🥁" * 61]  # fmt: skip
NOT_MEANT = [
    (Mix([Group("a", [1]), Group("b", [1])]), "component 1 is in two groups"),
    (Mix([Group("a", [1, 1])]), "component 1 is in two groups"),
    (Mix([Group("a", [4])]), "names component 4, but there are 1 to 3"),
    (Mix([Group("a", [1]), Group("A", [2])]), "two groups are called 'A'"),
    (Mix([Group("Rest", [1])]), "components 2, 3"),
    (Mix([Group("a", [1], 12)]), "colour 12"),
    (Mix(levels=[Level()]), "1 levels, but 3 components"),
    (Mix(levels=[Level(), Level(gain_db=100), Level()]), "gain of 100 dB"),
    (Mix(levels=[Level(), Level(pan=float("nan")), Level()]), "pan of nan"),
]


@pytest.mark.parametrize("text", TYPED)
def test_what_may_be_typed(text):
    assert {group.name: group.components for group in parsed(text)} == TYPED[text]
    assert named(parsed(as_text(TYPED[text]))) == TYPED[text]
    assert ranges([3, 1, 2, 5, 8, 7]) == "1-3,5,7,8"


@pytest.mark.parametrize("text", NOT_TYPED)
def test_what_may_not(text):
    with pytest.raises(ValueError, match="group is"):
        parsed(text)


@pytest.fixture
def folder(tmp_path):
    """A folder of three components."""
    return unmixed(tmp_path / "song", tones(channels=2), n_components=3)


# ---- saved ---------------------------------------------------------------------------------------


def test_mixes_that_cannot_be_meant_are_not_saved(folder):
    """Names are those of files on every disk."""
    before = everything(folder)
    bad_names = [(Mix([Group(name, [1])]), "choose another name") for name in BAD]
    for mix, words in [*NOT_MEANT, *bad_names]:
        with pytest.raises(ValueError, match=words):
            save_mix(folder, mix)
    assert everything(folder) == before
    check_mix(Mix([Group(name, [k]) for k, name in enumerate(GOOD, 1)]), len(GOOD))


def test_saving_changes_the_listing_alone(folder):
    before, unsaved = everything(folder), listing.read(folder)
    chosen = Mix([Group("drums", [1, 2], 4)], [Level(-3.0)] * 3)
    record = save_mix(folder, chosen)
    after = everything(folder)
    assert record == listing.read(folder)
    assert record.mix == replace(chosen, revision=1)
    assert {name for name in after if after[name] != before.get(name)} == {"result.json"}
    assert after.keys() == before.keys()
    placing.check_replaceable(folder)  # it is still a folder of this program
    with pytest.raises(FileExistsError, match="meanwhile"), exchange(folder, unsaved) as new:
        listing.write(new, unsaved, add=[])
    assert listing.read(folder) == record
    with pytest.raises(MixChanged) as caught:
        save_mix(folder, Mix([Group("bass", [1])]))
    assert caught.value.mix == record.mix


# ---- added up in the folder ----------------------------------------------------------------------


def test_groups_add_up_and_keep_the_levels_of_before(folder):
    levels = [Level(-3.0), Level(), Level(muted=True)]
    save_mix(folder, Mix([Group("hum", [2], 0)], levels))
    record = regroup(folder, [Group("low", [1, 3])])
    assert {n: g.components for n, g in record.groups.items()} == {"low": [1, 3], "rest": [2]}
    assert (record.mix.levels, record.mix.revision) == (levels, 2)
    assert [group.colour for group in record.mix.coloured()] == [0]
    parts = {name: integers(folder / group.file) for name, group in record.groups.items()}
    one, three = (integers(folder / f"component_0{k}.wav") for k in (1, 3))
    assert np.array_equal(parts["low"], one + three)
    assert np.array_equal(sum(parts.values()), integers(folder.parent / "song source.wav"))
    automatic = regroup(folder, 2)
    assert sorted(k for g in automatic.groups.values() for k in g.components) == [1, 2, 3]
    with pytest.raises(ValueError, match="names component 9"):
        regroup(folder, [Group("x", [9])])
    with pytest.raises(ValueError, match="not a folder that phinmf unmix has written"):
        regroup(folder.parent, 2)


def test_groups_that_are_replaced_can_be_typed_again(folder, capsys):
    chosen = [Group("2 guitars", [2, 3], 4), Group("bass", [1], 0), Group("empty", [], 1)]
    save_mix(folder, Mix(chosen))
    assert main(["unmix", str(folder), "--groups", "2"]) == 0
    typed = "2 guitars=2,3; bass=1"
    assert f'to get them back: --group "{typed}"' in capsys.readouterr().err
    assert main(["unmix", str(folder), "--group", typed]) == 0
    assert named(listing.read(folder).mix.groups) == {"2 guitars": [2, 3], "bass": [1]}


def test_the_page_shows_the_groups_of_now(folder, capsys):
    page = folder / "report.html"
    group = ["unmix", str(folder), "--group"]
    assert main([*group, "low=1"]) == 0
    assert not page.exists()  # none was there
    capsys.readouterr()
    assert main(["report", str(folder)]) == 0
    assert capsys.readouterr().out.strip() == str(page)
    check_whole(folder)
    assert main([*group, "some other=2"]) == 0
    assert "listen to" in capsys.readouterr().err
    assert "some other" in page.read_text()
    assert listing.foreign(folder, [page.name]) == []
    page.write_text("my notes")
    assert main([*group, "third=2"]) == 0
    assert "or was changed: move it away" in capsys.readouterr().err
    assert page.read_text() == "my notes"
    page.unlink()
    assert main([*group, "fourth=2"]) == 0
    assert not page.exists()


def test_groups_are_complete_even_if_their_page_cannot_be_written(folder, capsys):
    assert main(["report", str(folder)]) == 0
    before = (folder / "report.html").read_bytes()
    (folder / "model.npz").write_bytes(b"damaged")
    assert main(["unmix", str(folder), "--group", "low=1"]) == 0
    *_, last = capsys.readouterr().err.splitlines()
    assert "report.html does not show these groups" in last
    assert "model.npz is damaged" in last
    assert (folder / "report.html").read_bytes() == before
    assert list(listing.read(folder).groups) == ["low", "rest"]


@pytest.mark.parametrize("grouping", [[Group("b", [3])], 2])
def test_files_of_groups_that_were_edited_stay_and_those_moved_away_are_no_matter(folder, grouping):
    regroup(folder, [Group("a", [1]), Group("b", [2])])
    os.rename(folder / "a.wav", folder.parent / "a.wav")
    regroup(folder, [Group("a", [2]), Group("b", [1])])
    assert {path.name for path in folder.glob("[!c]*.wav")} == {"a.wav", "b.wav", "rest.wav"}
    assert (folder.parent / "a.wav").exists()
    (folder / "b.wav").write_bytes(b"edited")
    before = everything(folder)
    with pytest.raises(FileExistsError, match=r"b\.wav .* was changed: move it"):
        regroup(folder, grouping)
    assert everything(folder) == before


# ---- taken away ----------------------------------------------------------------------------------


GROUPS = [Group("drums", [3, 1])]


def made(tmp_path, channels=2, **how):
    """A folder of three components of a small recording, and the recording."""
    path = tmp_path / "song source.wav"
    soundfile.write(path, -tones(channels=channels), RATE, **how)  # its peak is below 0
    return unmixed(tmp_path / "song"), path


@pytest.mark.parametrize("how", [{"subtype": "PCM_32"}, {"subtype": "FLOAT"}, {"format": "FLAC"}])
def test_files_add_up(tmp_path, capsys, how):
    folder, recording = made(tmp_path, **how)
    save_mix(folder, Mix(GROUPS, [Level(-3.0)] * 3))  # levels are those of a mix
    assert main(["export", str(folder), "-o", str(tmp_path / "new")]) == 0
    exported = sorted((tmp_path / "new").iterdir())
    assert [path.stem for path in exported] == ["01 drums", "02 rest"]
    total = sum(soundfile.read(path)[0] for path in exported)
    exact = how.get("subtype") != "FLOAT"
    assert np.abs(total - soundfile.read(recording)[0]).max() <= (0 if exact else 1e-6)
    said = capsys.readouterr().out
    assert ("the recording bit for bit" in said) == exact
    assert all(str(path) in said for path in exported)
    before, *after = (soundfile.info(path) for path in (recording, *exported))
    assert {(x.format, x.subtype) for x in after} == {(before.format, before.subtype)}


def test_all_but_a_group_and_that_group_are_the_recording(tmp_path):
    folder, recording = made(tmp_path)
    save_mix(folder, Mix(GROUPS))
    for names, target in ((["rest"], "first"), (["drums"], "second")):
        how = [word for name in names for word in ("--without", name)]
        assert main(["export", str(folder), "-o", str(tmp_path / target), *how]) == 0
    first, second = tmp_path / "first/01 without rest.wav", tmp_path / "second/01 without drums.wav"
    assert np.array_equal(integers(first) + integers(second), integers(recording))
    for names in (["nothing"], ["drums", "rest"]):
        with pytest.raises(ValueError, match="without"):
            export(folder, tmp_path / "third", without=names)
    assert not (tmp_path / "third").exists()


def test_a_project_has_a_track_for_each_file(tmp_path):
    folder, _ = made(tmp_path, format="FLAC")
    levels = [Level(-3.0, 0.5), Level(-60.0, muted=True), Level(-9.0, 0.0)]
    save_mix(folder, Mix([Group("drums", [3, 1], 2)], levels))
    assert main(["export", str(folder), "-o", str(tmp_path / "new"), "--reaper"]) == 0
    text = (tmp_path / "new/project.rpp").read_text("utf-8")
    blocks = [line.split()[0] for line in text.splitlines() if line.strip()[0] in "<>"]
    track = ["<TRACK", "<ITEM", "<SOURCE", ">", ">", ">"]
    assert blocks == ["<REAPER_PROJECT", *track, *track, ">"]
    fields = [shlex.split(line) for line in text.splitlines()]
    values = {key: [words[1:] for words in fields if words[0] == key] for key, *_ in fields}
    assert values["FILE"] == [["01 drums.flac"], ["02 rest.flac"]]
    assert all((tmp_path / "new" / file).exists() for (file,) in values["FILE"])
    assert values["LENGTH"] == [[repr(6000 / RATE)]] * 2
    assert values["<SOURCE"] == [["FLAC"]] * 2
    volume, pan = zip(*(map(float, words[:2]) for words in values["VOLPAN"]), strict=True)
    np.testing.assert_allclose(volume, [10 ** (-6 / 20), 0], rtol=1e-5)
    assert pan == (0.25, 0.0)
    assert values["MUTESOLO"] == [["0", "0", "0"], ["1", "0", "0"]]
    colours = [int(words[0]) for words in values["PEAKCOL"]]
    assert colours[0] >> 24 == 1
    assert colours[1] == 0


def test_an_export_is_complete_or_nothing_and_overwrites_nothing(tmp_path):
    folder, _ = made(tmp_path)
    (tmp_path / "folder").mkdir()
    (tmp_path / "dangling").symlink_to("nowhere")
    before = everything(tmp_path)
    with pytest.raises(ValueError, match="there are no groups yet"):
        export(folder, tmp_path / "new")
    for name in ("folder", "dangling", "song"):
        with pytest.raises(FileExistsError, match="exists already: choose another folder"):
            export(folder, tmp_path / name, "components")
        assert everything(tmp_path) == before
    for kind in ("groups", "components", "mix"):
        for blocks in (0, 1):  # of the one block that is written, and read again
            checks = iter([None] * blocks)
            with pytest.raises(RuntimeError, match="StopIteration"):
                export(folder, tmp_path / "new", kind, mix=Mix(GROUPS), check=checks.__next__)
            assert everything(tmp_path) == before


@pytest.mark.parametrize(
    ("channels", "subtype", "first_gain"),
    [(1, "DOUBLE", -6.0), (2, "DOUBLE", 24.0), (3, "DOUBLE", -6.0), (2, "PCM_16", 24.0)],
)
def test_a_mix_is_what_the_formula_says(tmp_path, capsys, channels, subtype, first_gain):
    """Floating-point files may exceed full scale; others are turned down as a whole."""
    folder, _ = made(tmp_path, channels=channels, subtype=subtype)
    levels = [Level(first_gain, -0.5), Level(3.0, 1.0), Level(muted=True)]
    save_mix(folder, Mix([], levels))
    assert main(["export", str(folder), "-o", str(tmp_path / "new"), "--mix"]) == 0
    heard, _ = soundfile.read(tmp_path / "new/mix.wav", always_2d=True)
    expected = np.zeros((6000, max(2, channels)))
    for k, level in enumerate(levels[:2], 1):
        y, _ = soundfile.read(folder / f"component_{k:02d}.wav", always_2d=True)
        gain, angle = 10 ** (level.gain_db / 20), (1 + level.pan) * np.pi / 4
        expected[:, 0] += gain * np.sqrt(2) * np.cos(angle) * y[:, 0]
        expected[:, 1] += gain * np.sqrt(2) * np.sin(angle) * y[:, min(1, channels - 1)]
        if channels == 3:
            expected[:, 2] += gain * y[:, 2]
    loudest, limit = np.abs(expected).max(), 1 - 2**-15
    assert (loudest > 1) == (first_gain > 0)
    turned_down = loudest > 1 and subtype == "PCM_16"
    assert ("turned down" in capsys.readouterr().out) == turned_down
    if turned_down:
        expected *= limit / loudest
    assert np.abs(heard - expected).max() < (1e-12 if subtype == "DOUBLE" else 2**-15)
    plain = export(folder, tmp_path / "plain", "mix", mix=Mix())
    assert soundfile.info(plain.files[0]).channels == channels  # in the centre, mono stays mono
