"""Files of phinmf on systems that give every open file a name, such as macOS and Windows."""

import os

import numpy as np
import pytest

from phinmf import storage

ARRAYS = {"Phi": np.eye(3), "count": np.arange(4)}


@pytest.fixture(autouse=True)
def no_files_without_a_name(monkeypatch, tmp_path):
    monkeypatch.setattr(storage, "DESCRIPTORS", str(tmp_path / "missing"))


def test_a_file_is_closed_before_it_gets_its_name(tmp_path, monkeypatch):
    opened, replace = [], os.replace
    nameless = storage.nameless
    monkeypatch.setattr(storage, "nameless", lambda folder: opened.append(nameless(folder)))
    with storage.unfinished(tmp_path / "model.npz") as (file, give_name):

        def on_windows(source, target):
            assert file.closed, "Windows renames no open file"
            replace(source, target)

        monkeypatch.setattr(os, "replace", on_windows)
        give_name()
    assert opened == [None]
    assert os.listdir(tmp_path) == ["model.npz"]


def test_a_file_is_read_as_it_was_written_and_replaced(tmp_path):
    for number in (1, 2):
        storage.write(tmp_path / "a.npz", "model", {"n": number}, ARRAYS, keep_previous=True)
    found = storage.read(tmp_path / "a.npz", "model")
    assert found.header["n"] == 2
    for name, array in ARRAYS.items():
        np.testing.assert_array_equal(found.arrays[name], array)
    assert sorted(os.listdir(tmp_path)) == ["a.npz", "a.npz.previous"]


def test_nothing_is_left_of_a_file_that_cannot_be_written(tmp_path):
    with pytest.raises(ValueError, match="allow_pickle=False"):
        storage.write(tmp_path / "a.npz", "model", {}, {"W": np.array([object()])})
    assert os.listdir(tmp_path) == []
