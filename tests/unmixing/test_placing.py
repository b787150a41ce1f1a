"""Temporary folders of new ones, while other processes use the same folders above them."""

from concurrent.futures import ThreadPoolExecutor

import pytest

from phinmf.unmixing.placing import new_folder


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
