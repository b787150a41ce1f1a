"""Commands that must leave a folder as it is."""

import os

from phinmf.cli import main

QUICK = ["-k", "2", "--window", "64", "--fixed-transform", "--no-report"]


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
