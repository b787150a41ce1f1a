from dataclasses import replace

import numpy as np
import pytest
import sound_files
import soundfile
from kept import everything
from studios import unmixed

from phinmf.cli import main
from phinmf.unmixing import ownership
from phinmf.unmixing.export import export
from phinmf.unmixing.mix import Group, Level, Mix
from phinmf.unmixing.saved_mix import save_mix
from phinmf.unmixing.sums import factors, sides

GROUPS = [Group("drums", [3, 1])]


def made(tmp_path, ending="wav", channels=2, **how):
    """A folder of components of a small recording, and the recording."""
    path = tmp_path / "song source.wav"
    y = sound_files.tones(channels=channels)
    if ending == "flac":
        how = {"format": "FLAC", **how}
    soundfile.write(path, y, sound_files.RATE, **how)
    return unmixed(tmp_path / "song"), path


@pytest.mark.parametrize("subtype", ["PCM_16", "PCM_24", "PCM_32", "PCM_U8", "FLOAT", "DOUBLE"])
@pytest.mark.parametrize("kind", ["groups", "components"])
def test_files_add_up(tmp_path, subtype, kind):
    folder, recording = made(tmp_path, subtype=subtype)
    done = export(folder, tmp_path / "new", kind, mix=Mix(GROUPS))
    parts = [soundfile.read(path)[0] for path in done.files]
    wanted, _ = soundfile.read(recording)
    exact = subtype.startswith("PCM")
    assert np.abs(sum(parts) - wanted).max() <= (0 if exact else 1e-6)
    assert ("bit for bit" in done.message) >= exact
    assert {soundfile.info(path).subtype for path in done.files} == {subtype}
    names = [path.name for path in done.files]
    assert names == sorted(names)
    if kind == "groups":
        assert names == ["01 drums.wav", "02 rest.wav"]


def test_flac_stays_flac(tmp_path):
    folder, recording = made(tmp_path, "flac")
    done = export(folder, tmp_path / "new", "components")
    total = sum(sound_files.integers(path) for path in done.files)
    assert np.array_equal(total, sound_files.integers(recording))
    assert {path.suffix for path in done.files} == {".flac"}


def test_everything_in_groups_leaves_no_rest(tmp_path):
    folder, _ = made(tmp_path)
    done = export(folder, tmp_path / "new", mix=Mix([Group("a", [1, 2]), Group("b", [3])]))
    assert [path.name for path in done.files] == ["01 a.wav", "02 b.wav"]
    one = export(folder, tmp_path / "one", mix=Mix([Group("all", [1, 2, 3])]))
    assert one.message == "1 file that holds the recording bit for bit"


def test_bit_for_bit_is_a_fact_of_the_record(tmp_path):
    folder, _ = made(tmp_path)
    record = ownership.read(folder)
    assert record.exact
    assert "recording bit for bit" in export(folder, tmp_path / "yes", "components").message
    nearly = replace(record.null_test, exact=False, db=-100.0)
    ownership.write(folder, replace(record, exact=False, null_test=nearly), add=[])
    assert "recording bit for bit" not in export(folder, tmp_path / "no", "components").message


def test_an_export_is_complete_or_nothing(tmp_path):
    folder, _ = made(tmp_path)
    before = everything(tmp_path)

    class Stop(Exception):
        pass

    def stop_at(share):
        def progress(done):
            assert 0 <= done <= 1
            if done >= share:
                raise Stop

        return progress

    for kind in ("groups", "components", "mix"):
        for share in (0.0, 0.5, 0.9):
            with pytest.raises(Stop):
                export(folder, tmp_path / "new", kind, mix=Mix(GROUPS), progress=stop_at(share))
            assert everything(tmp_path) == before


def test_nothing_is_overwritten(tmp_path):
    folder, _ = made(tmp_path)
    (tmp_path / "new").mkdir()
    (tmp_path / "dangling").symlink_to("nowhere")
    for name in ("new", "dangling", "song"):
        before = everything(tmp_path)
        with pytest.raises(FileExistsError, match="exists already: choose another folder"):
            export(folder, tmp_path / name, "components")
        assert everything(tmp_path) == before


@pytest.mark.parametrize("channels", [1, 2, 3])
def test_a_mix_is_what_the_formula_says(tmp_path, channels):
    folder, _ = made(tmp_path, channels=channels, subtype="DOUBLE")
    levels = [Level(-6.0, -0.5), Level(3.0, 1.0), Level(0.0, 0.2, muted=True)]
    done = export(folder, tmp_path / "new", "mix", mix=Mix([], levels))
    heard, _ = soundfile.read(done.files[0], always_2d=True)
    wanted = np.zeros((6000, max(2, channels)))
    for k, level in enumerate(levels[:2], 1):
        y, _ = soundfile.read(folder / f"component_{k:02d}.wav", always_2d=True)
        gain, angle = 10 ** (level.gain_db / 20), (1 + level.pan) * np.pi / 4
        left, right = np.sqrt(2) * np.cos(angle), np.sqrt(2) * np.sin(angle)
        wanted[:, 0] += gain * left * y[:, 0]
        wanted[:, 1] += gain * right * y[:, min(1, channels - 1)]
        if channels == 3:
            wanted[:, 2] += gain * y[:, 2]
    assert np.abs(heard - wanted).max() < 1e-12


def test_mono_stays_mono_in_the_centre(tmp_path):
    folder, recording = made(tmp_path, channels=1)
    done = export(folder, tmp_path / "new", "mix")
    assert np.array_equal(sound_files.integers(done.files[0]), sound_files.integers(recording))


def test_float_files_may_exceed_full_scale(tmp_path):
    folder, recording = made(tmp_path, subtype="FLOAT")
    done = export(folder, tmp_path / "new", "mix", mix=Mix([], [Level(12.0)] * 3))
    heard, _ = soundfile.read(done.files[0])
    wanted = 10 ** (12 / 20) * soundfile.read(recording)[0]
    assert np.abs(heard).max() > 1
    assert np.abs(heard - wanted).max() < 1e-5


def test_levels():
    assert sides(Level()) == (1.0, 1.0)
    assert sides(Level(-60.0)) == sides(Level(0.0, muted=True)) == (0.0, 0.0)
    assert sides(Level(pan=-1.0)) == pytest.approx((np.sqrt(2), 0.0))
    for pan in np.linspace(-1, 1, 9):
        assert np.square(sides(Level(pan=pan))).sum() == pytest.approx(2.0)
    assert factors([Level(), Level(6.0)], 1).shape == (2, 1)
    assert factors([Level(), Level(pan=0.1)], 1).shape == (2, 2)
    assert factors([Level(pan=1.0)], 4).tolist()[0][2:] == [1.0, 1.0]


def test_the_command(tmp_path, capsys):
    folder, _ = made(tmp_path)
    assert main(["export", str(folder), "-o", str(tmp_path / "a")]) == 1
    assert "there are no groups yet" in capsys.readouterr().err
    save_mix(folder, Mix(GROUPS, [Level(-3.0)] * 3))
    for option, names in (
        ([], ["01 drums.wav", "02 rest.wav"]),
        (["--mix"], ["mix.wav"]),
        (["--components"], [f"0{k} component.wav" for k in (1, 2, 3)]),
    ):
        target = tmp_path / f"new{''.join(option)}"
        assert main(["export", str(folder), "-o", str(target), *option]) == 0
        assert sorted(path.name for path in target.iterdir()) == names
        assert str(target) in capsys.readouterr().out
    assert main(["export", str(tmp_path), "-o", str(tmp_path / "b")]) == 1
    assert "is not a folder that phinmf unmix has written" in capsys.readouterr().err
