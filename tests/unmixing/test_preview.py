"""The preview for the page is kept while files are checked, and is what is on the disk."""

from dataclasses import fields

import numpy as np
import pytest
from sound_files import tones, write

from phinmf import unmix_file
from phinmf.audio import files
from phinmf.unmix_file import Request
from phinmf.unmixing import folder, preview
from phinmf.unmixing.options import Output, UnmixOptions
from phinmf.unmixing.preview import PreviewKeeper, preview_of

OPTIONS = UnmixOptions(3, window=64, solver=None, seed=0)


LONGEST = round(200 * preview.SECONDS)  #: samples of a preview at 200 Hz


@pytest.mark.parametrize("length", [100, LONGEST, LONGEST + 1, 40_000])
@pytest.mark.parametrize("size", [7, 999, 50_000])
def test_the_keeper_keeps_a_stretch_from_the_middle(rng, length, size):
    y = rng.standard_normal((2, length, 1))
    keeper = PreviewKeeper(2, 1, length, 200)
    for k in range(2):
        for at in range(0, length, size):
            keeper.keep(k, at, y[k, at : at + size])
    start, n = preview_of(length, 200)
    assert n == min(length, LONGEST)
    assert keeper.preview.start == start
    assert np.array_equal(keeper.preview.components, y[:, start : start + n])


@pytest.mark.parametrize(
    ("format", "subtype"),
    [("WAV", "PCM_16"), ("WAV", "FLOAT"), ("WAV", "DOUBLE"), ("FLAC", "PCM_24"), ("OGG", "VORBIS")],
)
def test_the_page_gets_what_is_on_the_disk(tmp_path, monkeypatch, format, subtype):
    monkeypatch.setattr(preview, "SECONDS", 0.5)
    path = write(tmp_path / "song.wav", tones(100_000, 2))
    output = Output(tmp_path / "out", format=format, subtype=subtype, gain=-3.0)
    written, write_report = [], unmix_file.write_report
    monkeypatch.setattr(unmix_file, "write_report", lambda one: written.append(one) or one.record)
    unmix_file.unmix_file(Request(files.excerpt(path), output, OPTIONS))
    (kept,), read = written, folder.read_folder(tmp_path / "out")
    assert kept.preview.start == read.preview.start == 48_000
    assert np.array_equal(kept.preview.components, read.preview.components)
    assert kept.record == read.record
    for field in fields(kept.model):
        if field.name not in ("Phi", "history"):
            assert np.array_equal(getattr(kept.model, field.name), getattr(read.model, field.name))
    assert np.allclose(kept.model.Phi, read.model.Phi, atol=1e-15)
    assert write_report(read).files.keys() == {*read.record.files, "report.html"}


def test_a_page_that_fails_leaves_no_folder(tmp_path, monkeypatch):
    path = write(tmp_path / "a.wav")

    def fails(unmixed):
        assert {p.name for p in unmixed.path.iterdir()} >= {"result.json", "model.npz"}
        raise ZeroDivisionError

    monkeypatch.setattr(unmix_file, "write_report", fails)
    with pytest.raises(ZeroDivisionError):
        unmix_file.unmix_file(Request(files.excerpt(path), Output(tmp_path / "out"), OPTIONS))
    assert [p.name for p in tmp_path.iterdir()] == ["a.wav"]
