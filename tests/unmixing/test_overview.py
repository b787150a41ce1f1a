"""The outline of a recording that is written beside its components."""

import itertools

import numpy as np
import pytest
from sound_files import tones, write

from phinmf.cli import main
from phinmf.unmixing import overview, ownership
from phinmf.unmixing.overview import FINEST, MOST, Overview


def test_peaks_do_not_depend_on_the_blocks():
    rng = np.random.default_rng(0)
    y = rng.uniform(-1, 1, (5000, 2))
    whole, pieces = Overview(1, 5000), Overview(1, 5000)
    whole.keep(1, 0, y)
    cuts = [0, 1, 255, 256, 300, 1024, 4999, 5000]
    for first, last in itertools.pairwise(cuts):
        pieces.keep(1, first, y[first:last])
    assert np.array_equal(whole.peaks, pieces.peaks)
    stretches = [abs(y[i : i + FINEST]).max() for i in range(0, 5000, FINEST)]
    assert np.array_equal(whole.peaks[1], stretches)


@pytest.mark.parametrize("length", [1, FINEST, FINEST * MOST, FINEST * MOST + 1, 10**9])
def test_long_recordings_have_longer_stretches(length):
    assert -(-length // overview.step_of(length)) <= MOST


def test_it_is_in_the_folder_and_fits_its_components(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "song.wav", tones(9000))
    how = ["-k", "2", "--window", "64", "--max-time", "1", "--no-report", "--quiet"]
    assert main(["unmix", "song.wav", *how]) == 0
    folder = tmp_path / "out/song"
    record = ownership.read(folder)
    assert ownership.OVERVIEW in record.files
    found = overview.load(folder, 2, record.length)
    loudest = max(component.peak_db for component in record.components)
    assert 20 * np.log10((found[1:].max() / 255) ** 2) == pytest.approx(loudest, abs=0.2)
    with pytest.raises(ValueError, match="is damaged"):
        overview.load(folder, 3, record.length)
    huge = {"descr": "|u1", "fortran_order": False, "shape": (3, 2**50)}
    with open(folder / ownership.OVERVIEW, "wb") as file:
        np.lib.format.write_array_header_1_0(file, huge)
    with pytest.raises(ValueError, match="is damaged"):
        overview.load(folder, 2, record.length)
    with open(folder / ownership.OVERVIEW, "wb") as file:
        np.savez(file, found)
    with pytest.raises(ValueError, match="is damaged"):
        overview.load(folder, 2, record.length)
