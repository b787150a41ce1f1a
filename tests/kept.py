"""Folders before and after a command: as they were, or whole."""

import json
import os

from fuzz.written import check_folder

from phinmf.cli import main

QUICK = ["-k", "2", "--window", "64", "--no-report"]


def everything(folder):
    """Every file, link and folder below a folder, with contents."""
    return {
        str(path.relative_to(folder)): (
            os.readlink(path)
            if path.is_symlink()
            else path.read_bytes()
            if path.is_file()
            else None
        )
        for path in sorted(folder.rglob("*"))
    }


def unchanged_by(here, capsys, command, *said):
    """Run a command that is refused in one sentence before it learns, and changes nothing."""
    before = everything(here)
    assert main(command) == 1
    assert everything(here) == before
    err = capsys.readouterr().err
    refusal = [line for line in err.splitlines() if line.startswith("phinmf: ")]
    assert len(refusal) == 1
    assert "%" not in err  # no progress: nothing was learned
    for word in said:
        assert word in refusal[0]


def check_whole(folder, recording=None):
    """A folder has the files that it lists, and its sounds add up as it says."""
    names = {path.name for path in folder.iterdir()}
    assert names == {*record_of(folder)["files"], "result.json"}
    assert check_folder(folder, recording, names) == ""


def record_of(folder):
    return json.loads((folder / "result.json").read_text(encoding="utf-8"))
