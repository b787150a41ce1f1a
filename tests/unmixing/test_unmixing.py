"""unmix, and the folders it writes."""

import json
from pathlib import Path

import numpy as np
import pytest
import soundfile
from sound_files import RATE, integers, tones, write

import phinmf
import phinmf.unmix_file
from phinmf.audio import files
from phinmf.cli import main
from phinmf.unmix_file import Request
from phinmf.unmixing import groups
from phinmf.unmixing.mix import Group
from phinmf.unmixing.null_test import adds_up
from phinmf.unmixing.options import Output, UnmixOptions
from phinmf.unmixing.record import FolderRecord

QUICK = {"window": 64, "max_time": 0.3, "seed": 0}


def unmix_file(path, output, options, start=0.0, duration=None, **more):
    recording = files.excerpt(path).stretch(start, duration)
    watched = {name: more.pop(name) for name in ("callback", "progress") if name in more}
    return phinmf.unmix_file.unmix_file(
        Request(recording, output, options, page=False, **more), **watched
    )


@pytest.mark.parametrize("channels", [None, 1, 2, 3])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_components_add_up_and_come_by_energy(channels, dtype):
    y = tones(3000, channels or 1).astype(dtype)
    y = y[:, 0] if channels is None else y
    u = phinmf.unmix(y, RATE, 3, **QUICK)
    assert u.components.shape == (3, *y.shape)
    assert u.components.dtype == dtype
    assert u.null_db < -126
    energies = np.square(u.components).reshape(3, -1).sum(axis=1)
    assert (np.diff(energies) <= 0).all()
    assert (u.Phi.shape, u.W.shape, len(u.H)) == ((64, 64), (64, 3), 3)
    assert len(u.history)
    assert f"{u.null_db:.0f} dB" in repr(u)
    assert not u.exact


def test_stereo_is_not_a_downmix():
    """Channels of opposite sign would cancel in a sum; shared masks treat them alike."""
    y = tones(3000)
    u = phinmf.unmix(np.concatenate([y, -y], axis=1), RATE, 2, **QUICK)
    assert np.allclose(u.components[..., 0], -u.components[..., 1])
    assert np.allclose(u.components[..., 0].sum(axis=0), y[:, 0])


def test_the_same_seed_gives_the_same_and_a_model_can_be_used_again():
    y = tones(3000)[:, 0]
    how = {"window": 64, "seed": 3, "solver": None}
    first, second = (phinmf.unmix(y, RATE, 3, **how) for _ in range(2))
    assert np.array_equal(first.components, second.components)
    again = phinmf.unmix(y, RATE, model=first.model)
    assert np.allclose(again.components, first.components, atol=1e-9)
    with pytest.raises(ValueError, match="learned at 8000 Hz"):
        phinmf.unmix(y, 16_000, model=first.model)


@pytest.mark.parametrize("subtype", ["PCM_16", "PCM_24", "FLOAT"])
def test_a_folder_is_complete_and_exact(tmp_path, subtype):
    path = write(tmp_path / "song.wav", tones(channels=2), subtype=subtype)
    result = unmix_file(path, Output(tmp_path / "out/song"), UnmixOptions(3, **QUICK))
    folder = tmp_path / "out/song"
    names = [c.file for c in result.components]
    assert names == ["component_01.wav", "component_02.wav", "component_03.wav"]
    assert {p.name for p in folder.iterdir()} == {
        *names,
        "model.npz",
        "overview.npy",
        "result.json",
    }
    assert list(folder.parent.iterdir()) == [folder]
    saved = json.loads((folder / "result.json").read_text())
    assert saved == result.to_json()
    assert FolderRecord.from_json(saved) == result
    assert saved["source"]["subtype"] == subtype
    assert saved["options"]["seed"] == 0
    shares = [c["share"] for c in saved["components"]]
    assert sum(shares) == pytest.approx(1)
    assert shares == sorted(shares, reverse=True)
    if subtype == "FLOAT":
        assert saved["null_test"]["db"] < -126
        assert not saved["exact"]
    else:
        assert sum(integers(folder / n) for n in names).tolist() == integers(path).tolist()
        assert saved["exact"]
    assert phinmf.UnmixModel.load(folder / "model.npz").W.shape == (64, 3)


def test_part_of_a_file_gain_and_names(tmp_path):
    path = write(tmp_path / "song.wav", subtype="PCM_16")
    output = Output(tmp_path / "o", filename="{track}-{number}", gain=-6.0, format="flac")
    result = unmix_file(path, output, UnmixOptions(2, **QUICK), start=0.25, duration=0.25)
    assert [c.file for c in result.components] == ["o-01.flac", "o-02.flac"]
    whole = sum(integers(tmp_path / "o" / c.file) for c in result.components)
    part = integers(path)[2000:4000] * 10 ** (-6 / 20)
    assert np.array_equal(whole, np.rint(part))


def test_a_model_is_used_instead_of_learning(tmp_path):
    path = write(tmp_path / "song.wav")
    unmix_file(path, Output(tmp_path / "a"), UnmixOptions(3, **QUICK))
    model = tmp_path / "a/model.npz"
    result = unmix_file(path, Output(tmp_path / "b"), UnmixOptions(), model=model)
    assert len(result.components) == 3
    a, b = (soundfile.read(tmp_path / x / "component_01.wav")[0] for x in "ab")
    assert np.allclose(a, b, atol=2 / 2**15)
    other = write(tmp_path / "other.wav", rate=11_025)
    with pytest.raises(ValueError, match="learned at 8000 Hz, but the recording has 11025 Hz"):
        unmix_file(other, Output(tmp_path / "c"), UnmixOptions(), model=model)
    model.write_bytes(model.read_bytes()[:5000])
    with pytest.raises(ValueError, match="damaged or not a file of phinmf"):
        unmix_file(path, Output(tmp_path / "c"), UnmixOptions(), model=model)
    assert not (tmp_path / "c").exists()


def test_silence_that_a_model_takes_apart_is_silence(tmp_path):
    model = phinmf.unmix(tones(2000), RATE, 2, **QUICK).model
    u = phinmf.unmix(np.zeros((2000, 2)), RATE, model=model)
    assert not u.components.any()
    assert u.exact
    assert u.null_db == -np.inf
    assert "bit for bit" in repr(u)
    model.save(tmp_path / "model.npz")
    path = write(tmp_path / "silence.wav", np.zeros(2000))
    noisy = Output(tmp_path / "out", format="MP3")
    result = unmix_file(path, noisy, UnmixOptions(), model=tmp_path / "model.npz")
    assert result.null_test.silent
    assert "inf" not in adds_up(result)


def test_what_is_there_stays_unless_asked(tmp_path):
    path = write(tmp_path / "song.wav")
    output = Output(tmp_path / "out")
    unmix_file(path, output, UnmixOptions(2, **QUICK))
    with pytest.raises(FileExistsError, match="exists already"):
        unmix_file(path, output, UnmixOptions(3, **QUICK))
    assert not (tmp_path / "out/component_03.wav").exists()
    unmix_file(path, Output(tmp_path / "out", overwrite=True), UnmixOptions(3, **QUICK))
    assert (tmp_path / "out/component_03.wav").exists()
    assert {p.name for p in tmp_path.iterdir()} == {"song.wav", "out"}


@pytest.mark.parametrize("when", ["learning", "streaming", "full disk"])
def test_nothing_half_written_is_left(tmp_path, when, monkeypatch):
    path = write(tmp_path / "song.wav")
    before = set(tmp_path.iterdir())

    def interrupt(*_):
        raise KeyboardInterrupt

    def full(*_):
        raise OSError(28, "No space left on device")

    if when == "full disk":
        monkeypatch.setattr("phinmf.audio.writing.Stems.write", full)
    how = {"progress": interrupt} if when == "streaming" else {}
    how |= {"callback": lambda state: interrupt()} if when == "learning" else {}
    expected = OSError if when == "full disk" else KeyboardInterrupt
    if when == "learning":  # once: what has been learned is written
        unmix_file(path, Output(tmp_path / "out"), UnmixOptions(2, **QUICK), **how)
        assert (tmp_path / "out/result.json").exists()
        return
    with pytest.raises(expected):
        unmix_file(path, Output(tmp_path / "out"), UnmixOptions(2, **QUICK), **how)
    assert set(tmp_path.iterdir()) == before


def test_groups_add_up_too(tmp_path):
    path = write(tmp_path / "song.wav", subtype="PCM_16")
    folder = tmp_path / "out"
    unmix_file(path, Output(folder), UnmixOptions(4, **QUICK))
    result = groups.regroup(folder, [Group("low", [1, 3]), Group("high", [2])])
    assert {n: g.components for n, g in result.groups.items()} == {
        "low": [1, 3], "high": [2], "rest": [4]}  # fmt: skip
    parts = {n: integers(folder / g.file) for n, g in result.groups.items()}
    assert np.array_equal(sum(parts.values()), integers(path))
    one, three = (integers(folder / f"component_0{k}.wav") for k in (1, 3))
    assert np.array_equal(parts["low"], one + three)
    automatic = groups.regroup(folder, 2)
    assert sorted(k for g in automatic.groups.values() for k in g.components) == [1, 2, 3, 4]
    with pytest.raises(ValueError, match="names component 9"):
        groups.regroup(folder, [Group("x", [9])])
    with pytest.raises(ValueError, match="not a folder that phinmf unmix has written"):
        groups.regroup(tmp_path, 2)


def test_pictures_and_the_player_of_a_notebook():
    u = phinmf.unmix(tones(3000, 2), RATE, 3, **QUICK)
    for figure in (u.plot_atoms(5), u.plot_activations(), u.plot_energy(), u.plot_cost()):
        figure.canvas.draw()
        assert figure.axes
    assert len(u.plot_activations().axes) == 3
    assert u._repr_html_().startswith("<iframe")


def test_save_writes_the_same_folder(tmp_path):
    u = phinmf.unmix(tones(2000, 2), RATE, 2, **QUICK)
    folder = u.save(tmp_path / "x")
    read = sum(soundfile.read(folder / f"component_0{k}.wav")[0] for k in (1, 2))
    assert np.allclose(read, u.mixture, atol=1e-6)
    with pytest.raises(FileExistsError):
        u.save(tmp_path / "x")
    u.save(tmp_path / "y", format="flac", subtype="PCM_16", filename="part{number}")
    assert (tmp_path / "y/part02.flac").exists()


BAD = {
    "missing": (None, FileNotFoundError, "does not exist"),
    "a folder": ("folder", IsADirectoryError, "is a folder"),
    "empty": (b"", ValueError, "cannot be read as sound"),
    "text": (b"hello " * 100, ValueError, "ffmpeg"),
    "video": (b"\0\0\0\x18ftypmp42" + bytes(2000), ValueError, "cannot be read as sound"),
    "no samples": (np.zeros((0, 1)), ValueError, "has no samples"),
    "silence": (np.zeros((4000, 1)), ValueError, "silent"),
    "NaN": (np.full((4000, 1), np.nan), ValueError, "NaN or infinite samples near 0.0 s"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_files_are_one_sentence(tmp_path, name):
    content, kind, message = BAD[name]
    path = tmp_path / "in.wav"
    if content is not None and isinstance(content, str):
        path.mkdir()
    elif isinstance(content, bytes):
        path.write_bytes(content)
    elif content is not None:
        soundfile.write(path, content, RATE, subtype="FLOAT")
    with pytest.raises(kind, match=message) as error:
        unmix_file(path, Output(tmp_path / "out"), UnmixOptions(2, **QUICK))
    assert "\n" not in str(error.value)
    assert not (tmp_path / "out").exists()


def test_three_samples_many_channels_and_odd_rates(tmp_path):
    short = write(tmp_path / "short.wav", np.array([0.1, -0.2, 0.3]))
    assert unmix_file(short, Output(tmp_path / "s"), UnmixOptions(1, **QUICK)).length == 3
    with pytest.raises(ValueError, match=r"n_components is 9.*from 1 to"):
        unmix_file(short, Output(tmp_path / "t"), UnmixOptions(9, **QUICK))
    wide = write(tmp_path / "wide.wav", tones(800, 32))
    assert unmix_file(wide, Output(tmp_path / "w"), UnmixOptions(2, **QUICK)).source.channels == 32
    for rate in (1, 50, 768_000):
        odd = write(tmp_path / "odd.wav", rate=rate)
        with pytest.raises(ValueError, match=f"sampling rate of {rate} Hz, but"):
            files.probe(odd)
    fast = write(tmp_path / "fast.wav", rate=384_000)
    assert files.probe(fast).sample_rate == 384_000


@pytest.mark.parametrize(
    ("format", "subtype", "length"),
    [("WAV", "PCM_24", 17_997), ("WAV", "IMA_ADPCM", 17_675), ("RF64", "FLOAT", 17_994),
     ("FLAC", "PCM_16", 16_384)],
)  # fmt: skip
def test_what_can_be_read_of_a_cut_file_is_salvaged(
    tmp_path, monkeypatch, capsys, format, subtype, length
):
    """Whole blocks: of 6 or 8 bytes, of 505 samples in ADPCM, of 4096 in FLAC."""
    monkeypatch.chdir(tmp_path)
    path = write(Path("song.sound"), tones(30_000, 2), format=format, subtype=subtype)
    whole = soundfile.read(path, always_2d=True)[0]
    path.write_bytes(path.read_bytes()[: path.stat().st_size * 6 // 10 + 1])
    with pytest.raises(files.CutShort) as error:
        files.excerpt(path)
    assert error.value.length == length
    command = ["unmix", str(path), "-k", "2", "--window", "64", "--fixed-transform", "--json"]
    assert main(command) == 1
    refused = capsys.readouterr()
    assert f"{length / RATE:.3f} s" in refused.err
    assert "--salvage" in refused.err
    assert not Path("out").exists()
    assert main([*command, "--salvage", "--subtype", "DOUBLE", "--format", "WAV"]) == 0
    (result,) = json.loads(capsys.readouterr().out)
    assert result["length"] == result["source"]["length"] == length
    parts = [soundfile.read(Path("out/song", one["file"]))[0] for one in result["components"]]
    assert sum(parts) == pytest.approx(whole[:length], abs=1e-9)
