"""Temporary folders beside the final one, while other processes use the same folders."""

import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from phinmf.unmixing.placing import workshop


def test_folders_that_another_process_makes_and_removes_at_the_same_time(tmp_path, monkeypatch):
    """It makes the folder after this one has looked, and removes it before there is a file."""
    mkdir, mkdtemp, removed = Path.mkdir, tempfile.mkdtemp, []

    def both(folder, *args, **how):
        mkdir(folder, *args, **how)
        if folder.name == "many":
            mkdir(folder, *args, **how)

    def late(*args, **how):
        if not removed:
            removed.append(Path(how["dir"]))
            removed[0].rmdir()
        return mkdtemp(*args, **how)

    monkeypatch.setattr(Path, "mkdir", both)
    monkeypatch.setattr(tempfile, "mkdtemp", late)
    with workshop(tmp_path / "many" / "one") as bench:
        assert removed == [bench.parent] == [tmp_path / "many"]
    assert list(tmp_path.iterdir()) == []


def test_many_at_once_share_the_folders_above_them(tmp_path):
    def work(n):
        for _ in range(20):
            with workshop(tmp_path / "a" / "b" / str(n)) as bench:
                assert bench.is_dir()

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(work, range(4)))
    assert not list(tmp_path.rglob(".phinmf-*"))


def test_a_link_to_nothing_is_not_tried_for_ever(tmp_path):
    (tmp_path / "many").symlink_to(tmp_path / "nowhere")
    with pytest.raises(OSError, match="cannot be written"), workshop(tmp_path / "many" / "one"):
        pass
    assert [path.name for path in tmp_path.iterdir()] == ["many"]
