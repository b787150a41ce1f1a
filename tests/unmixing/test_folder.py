"""The folder of an unmixing: what is written, that it is whole, and what is read of it."""

import errno
import json
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pytest
import soundfile
from sound_files import RATE, integers, tones, write

import phinmf
from phinmf import unmix_file
from phinmf.audio import files
from phinmf.cli import main
from phinmf.report.folder import report_of_folder, write_report
from phinmf.unmixing import listing, overview, placing
from phinmf.unmixing.null_test import adds_up
from phinmf.unmixing.options import Output, Request, UnmixOptions
from phinmf.unmixing.overview import FINEST, MOST
from phinmf.unmixing.placing import new_folder

OPTIONS, SHORT = (UnmixOptions(K, window=64, solver=None, seed=0) for K in (3, None))


def unmixed(path, output, options=OPTIONS, *, page=False, model=None):
    recording = path if isinstance(path, files.Excerpt) else files.excerpt(path)
    return unmix_file.unmix_file(Request(recording, output, options, page=page, model=model))


@pytest.mark.parametrize("subtype", ["PCM_16", "PCM_24", "FLOAT"])
def test_a_folder_is_complete_and_exact(tmp_path, subtype):
    path = write(tmp_path / "song.wav", tones(channels=2), subtype=subtype)
    record = unmixed(path, Output(tmp_path / "out/song"))
    out = tmp_path / "out/song"
    names = [component.file for component in record.components]
    assert names == ["component_01.wav", "component_02.wav", "component_03.wav"]
    assert {p.name for p in out.iterdir()} == {
        *names, "model.npz", "overview.npy", "result.json"
    }  # fmt: skip
    assert list(out.parent.iterdir()) == [out]
    assert json.loads((out / "result.json").read_text()) == record.to_json()
    assert listing.read(out) == record
    assert (record.source.subtype, record.options["seed"]) == (subtype, 0)
    shares = [component.share for component in record.components]
    assert sum(shares) == pytest.approx(1)
    assert shares == sorted(shares, reverse=True)
    if subtype == "FLOAT":
        assert record.null_test.db < -126
        assert not record.exact
    else:
        assert sum(integers(out / name) for name in names).tolist() == integers(path).tolist()
        assert record.exact
    assert phinmf.UnmixModel.load(out / "model.npz").W.shape == (32, 3)


def test_silence_that_a_saved_model_takes_apart(tmp_path):
    unmixed(write(tmp_path / "song.wav"), Output(tmp_path / "a"))
    path = write(tmp_path / "silence.wav", np.zeros(2000))
    output = Output(tmp_path / "out", format="MP3")
    record = unmixed(path, output, UnmixOptions(), model=tmp_path / "a/model.npz")
    assert record.null_test.silent
    assert "inf" not in adds_up(record)


def test_a_page_that_fails_leaves_no_folder(tmp_path, monkeypatch):
    def fails(unmixed):
        assert {p.name for p in unmixed.iterdir()} >= {"result.json", "model.npz"}
        raise ZeroDivisionError

    monkeypatch.setattr(unmix_file, "write_report", fails)
    with pytest.raises(ZeroDivisionError):
        unmixed(write(tmp_path / "a.wav"), Output(tmp_path / "out"), page=True)
    assert [p.name for p in tmp_path.iterdir()] == ["a.wav"]


def test_three_samples_many_channels_and_odd_rates(tmp_path):
    short = np.array([0.1, -0.2, 0.3])
    assert phinmf.unmix(short, RATE, 1, window=64).components.shape == (1, 3)
    with pytest.raises(ValueError, match=r"n_components is 9.*from 1 to"):
        phinmf.unmix(short, RATE, 9, window=64)
    record = unmixed(write(tmp_path / "short.wav", short), Output(tmp_path / "s"), SHORT)
    assert (record.length, record.exact) == (3, True)
    wide = write(tmp_path / "wide.wav", tones(800, 32))
    assert unmixed(wide, Output(tmp_path / "w")).source.channels == 32
    assert files.probe(write(tmp_path / "fast.wav", rate=384_000)).sample_rate == 384_000
    for rate in (1, 50, 768_000):
        odd = write(tmp_path / "odd.wav", rate=rate)
        with pytest.raises(ValueError, match=f"sampling rate of {rate} Hz, but"):
            files.probe(odd)


@pytest.mark.parametrize(
    ("format", "subtype"),
    [("WAV", "PCM_24"), ("WAV", "IMA_ADPCM"), ("RF64", "FLOAT"), ("FLAC", "PCM_16")],
)
def test_a_file_that_is_cut_is_refused_with_the_seconds_that_can_be_read(tmp_path, format, subtype):
    path = write(tmp_path / "song.sound", tones(30_000, 2), format=format, subtype=subtype)
    assert files.excerpt(path).length >= 30_000
    path.write_bytes(path.read_bytes()[: path.stat().st_size * 6 // 10 + 1])
    seconds = {"FLAC": "2.0", "WAV": "2.[23]"}.get(format, "2.2")  # whole blocks of 3.75 s
    with pytest.raises(ValueError, match=rf"first {seconds} s can be read.*ffmpeg -i"):
        files.excerpt(path)


def test_many_at_once_share_the_folders_above_them(tmp_path):
    def write(name):
        with new_folder(tmp_path / "a" / "b" / str(name)) as folder:
            (folder / "file").write_text("")
            if name % 2:
                raise ZeroDivisionError

    with ThreadPoolExecutor(8) as pool:
        outcomes = [pool.submit(write, name).exception() for name in range(40)]
    assert sum(outcome is None for outcome in outcomes) == 20
    assert [path.name for path in tmp_path.iterdir()] == ["a"]
    assert {path.name for path in (tmp_path / "a/b").iterdir()} == {str(n) for n in range(0, 40, 2)}


def test_a_link_to_nothing_is_refused_at_once(tmp_path):
    (tmp_path / "many").symlink_to(tmp_path / "nowhere")
    with pytest.raises(OSError, match="cannot be written"), new_folder(tmp_path / "many" / "one"):
        raise AssertionError
    assert [path.name for path in tmp_path.iterdir()] == ["many"]


# ---- result.json ---------------------------------------------------------------------------------


@pytest.fixture
def from_memory(tmp_path):
    u = phinmf.unmix(tones(2000), RATE, 2, window=64, solver=None, seed=0)
    return u.save(tmp_path / "x")


COMPONENT = {"file": 1, "share": 0.5, "rms_db": None, "peak_db": None}
#: What is changed in result.json, or the name of what is missing.
NONSENSE = {
    "a key is missing": "length",
    "another type": {"start": "0"},
    "before the beginning": {"start": -1},
    "a component that is none": {"components": [COMPONENT, COMPONENT]},
    "a number beyond the range": {"energy": 10**400},
    "a number without end": {"energy": float("inf")},
    "similarity of others": {"similarity": [[1.0]]},
    "a group of nobody": {"groups": {"a": {"file": "a.wav", "components": [3]}}},
    "seconds in words": {"seconds": {"learning": "long"}},
    "another version": {"layout": 1},
}


@pytest.mark.parametrize("name", NONSENSE)
def test_nonsense_is_damaged(from_memory, capsys, name):
    """Whatever reads the folder says the same sentence."""
    path = from_memory / "result.json"
    content, change = json.loads(path.read_text()), NONSENSE[name]
    if isinstance(change, str):
        del content[change]
    else:
        content |= change
    path.write_text(json.dumps(content))
    for command in (["report", str(from_memory)], ["unmix", str(from_memory), "--groups", "1"]):
        assert main(command) == 1
        said = capsys.readouterr().err
        assert ("another version wrote it" if "layout" in change else f"{path} is damaged") in said


def test_a_folder_from_memory(from_memory):
    """It has no source and no options; a length beyond its files is damaged."""
    record = listing.read(from_memory)
    assert record.source is record.options is None
    assert record.groups == {}
    assert set(record.seconds) == {"streaming", "checking"}
    names = [*record.files, "nothing.wav"]
    assert listing.foreign(from_memory, names) == ["nothing.wav"]
    listing.write(from_memory, replace(record, length=record.length + 1), add=[])
    with pytest.raises(ValueError, match="is damaged: unmix again"):
        write_report(from_memory)


# ---- overview and preview ------------------------------------------------------------------------


def test_the_overview_fits_its_components(tmp_path):
    record = unmixed(write(tmp_path / "song.wav", tones(9000)), Output(tmp_path / "out"))
    out = tmp_path / "out"
    for length in (1, FINEST * MOST, FINEST * MOST + 1, 10**9):  # longer ones, longer stretches
        assert -(-length // overview.step_of(length)) <= MOST
    one = overview.Overview(1, FINEST)
    for start, peak in ((0, 0.9), (100, 0.5)):  # two blocks of one stretch
        one.add(1, start, np.full((100, 1), peak))
    assert one.peaks[1] == [0.9]
    peaks = overview.load(out, 3, record.length)
    loudest = max(component.peak_db for component in record.components)
    assert 20 * np.log10((peaks[1:].max() / 255) ** 2) == pytest.approx(loudest, abs=0.2)
    with pytest.raises(ValueError, match="is damaged"):
        overview.load(out, 4, record.length)
    huge = {"descr": "|u1", "fortran_order": False, "shape": (3, 2**50)}
    for damage in (
        lambda file: np.lib.format.write_array_header_1_0(file, huge),
        lambda file: np.savez(file, peaks),
    ):
        with open(out / listing.OVERVIEW, "wb") as file:
            damage(file)
        with pytest.raises(ValueError, match="is damaged"):
            overview.load(out, 3, record.length)


@pytest.mark.parametrize(
    ("format", "subtype"),
    [("WAV", "PCM_16"), ("WAV", "FLOAT"), ("WAV", "DOUBLE"), ("FLAC", "PCM_24"), ("OGG", "VORBIS")],
)
def test_the_page_gets_what_is_on_the_disk(tmp_path, monkeypatch, format, subtype):
    monkeypatch.setattr(overview, "SECONDS", 0.5)
    path = write(tmp_path / "song.wav", tones(100_000, 2))
    unmixed(path, Output(tmp_path / "out", format=format, subtype=subtype))
    page = report_of_folder(tmp_path / "out", listing.read(tmp_path / "out"))
    assert page.start == 6.0
    for component in page.components:
        whole = soundfile.read(tmp_path / "out" / component.file, always_2d=True)[0]
        assert np.array_equal(component.samples, whole[48_000:52_000])


def test_a_full_disk_names_the_folder_that_was_asked_for(tmp_path):
    """Not the temporary one in which a page or groups were being made."""
    folder, full = tmp_path / "song", OSError(errno.ENOSPC, "No space left on device")
    with (
        pytest.raises(OSError, match="No space left") as caught,
        placing.workshop(folder) as bench,
        placing.workshop(bench / placing.NEW / "song"),
    ):
        raise full
    assert str(caught.value).startswith(f"{folder} cannot be written")
    assert [*tmp_path.iterdir()] == []
