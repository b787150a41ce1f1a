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


@pytest.mark.skipif(os.name == "nt", reason="links and modes of POSIX")
@pytest.mark.parametrize("named", [True, False], ids=["files with a name", "without"])
def test_a_link_and_the_mode_of_a_file_survive_a_save(tmp_path, monkeypatch, named):
    if not named:
        monkeypatch.undo()
    (tmp_path / "elsewhere").mkdir()
    target, link = tmp_path / "elsewhere" / "model.npz", tmp_path / "link.npz"
    storage.write(target, "model", {"n": 0}, ARRAYS)
    target.chmod(0o600)
    link.symlink_to(target)
    for number in (1, 2):
        storage.write(link, "model", {"n": number}, ARRAYS, keep_previous=number == 2)
        assert link.is_symlink()
        assert storage.read(target, "model").header["n"] == number
        assert target.stat().st_mode & 0o777 == 0o600
    assert storage.read(storage.previous(link), "model").header["n"] == 1
    assert sorted(os.listdir(tmp_path)) == ["elsewhere", "link.npz"]
    assert sorted(os.listdir(target.parent)) == ["model.npz", "model.npz.previous"]
