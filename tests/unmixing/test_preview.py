"""The preview for the page is what is on the disk."""

import numpy as np
import pytest
import soundfile
from sound_files import tones, write

from phinmf import unmix_file
from phinmf.audio import files
from phinmf.unmix_file import Request
from phinmf.unmixing import folder, preview
from phinmf.unmixing.options import Output, UnmixOptions

OPTIONS = UnmixOptions(3, window=64, solver=None, seed=0)


@pytest.mark.parametrize(
    ("format", "subtype"),
    [("WAV", "PCM_16"), ("WAV", "FLOAT"), ("WAV", "DOUBLE"), ("FLAC", "PCM_24"), ("OGG", "VORBIS")],
)
def test_the_page_gets_what_is_on_the_disk(tmp_path, monkeypatch, format, subtype):
    monkeypatch.setattr(preview, "SECONDS", 0.5)
    path = write(tmp_path / "song.wav", tones(100_000, 2))
    output = Output(tmp_path / "out", format=format, subtype=subtype, gain=-3.0)
    unmix_file.unmix_file(Request(files.excerpt(path), output, OPTIONS))
    read = folder.read_folder(tmp_path / "out")
    assert read.preview.start == 48_000
    names = [component.file for component in read.record.components]
    for name, samples in zip(names, read.preview.components, strict=True):
        whole = soundfile.read(tmp_path / "out" / name, always_2d=True)[0]
        assert np.array_equal(samples, whole[48_000:52_000])


def test_a_page_that_fails_leaves_no_folder(tmp_path, monkeypatch):
    path = write(tmp_path / "a.wav")

    def fails(unmixed):
        assert {p.name for p in unmixed.path.iterdir()} >= {"result.json", "model.npz"}
        raise ZeroDivisionError

    monkeypatch.setattr(unmix_file, "write_report", fails)
    with pytest.raises(ZeroDivisionError):
        unmix_file.unmix_file(Request(files.excerpt(path), Output(tmp_path / "out"), OPTIONS))
    assert [p.name for p in tmp_path.iterdir()] == ["a.wav"]
