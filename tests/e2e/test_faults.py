"""Errors of the user are one sentence; faults of phinmf an apology, and a traceback in a log."""

import pytest
from kept import QUICK
from sound_files import write

from phinmf import unmix_file
from phinmf.cli import main
from phinmf.errors import is_for_user
from phinmf.unmixing.options import UnmixOptions


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("LOCALAPPDATA", raising=False)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    write(tmp_path / "song.wav")
    return tmp_path


def faulty(*_, **__):
    return {}["nothing"]


FAULTS = [faulty, lambda *_: int("soon"), lambda *_: None + 1, lambda *_: 1 / 0]


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_is_an_apology_that_names_the_log(here, monkeypatch, capsys, fault):
    monkeypatch.setattr(unmix_file, "learn", fault)
    assert main(["unmix", "song.wav", "gone.wav", *QUICK]) == 1
    printed = capsys.readouterr().err
    about_song, about_gone = sorted(
        (line for line in printed.splitlines() if line.startswith("phinmf: ")), reverse=True
    )
    log = here / "state/phinmf/errors.log"
    assert f"fault of phinmf, sorry ({'KeyError' if fault is faulty else ''}" in about_song
    assert str(log) in about_song
    assert about_gone == "phinmf: gone.wav does not exist"
    assert "Traceback" in log.read_text()
    assert "Traceback" not in printed
    assert not (here / "out").exists()
    assert main(["unmix", "song.wav", *QUICK, "--debug"]) == 1
    assert "Traceback" in capsys.readouterr().err


def test_a_log_that_cannot_be_written_is_no_second_error(here, monkeypatch, capsys):
    (here / "state").write_text("a file")
    monkeypatch.setattr(unmix_file, "learn", faulty)
    assert main(["unmix", "song.wav", *QUICK]) == 1
    assert "please report it with what --debug prints" in capsys.readouterr().err


@pytest.mark.parametrize("wrong", [{"sparsity": -1}, {"seed": "x"}, {"window": "soon"}])
def test_what_phinmf_checks_is_for_the_user(wrong):
    with pytest.raises((ValueError, TypeError)) as error:
        UnmixOptions(**wrong)
    assert is_for_user(error.value)


def test_errors_of_other_code_are_not():
    assert is_for_user(FileNotFoundError(2, "No such file"))
    for fault in FAULTS:
        with pytest.raises(Exception) as error:
            fault()
        assert not is_for_user(error.value)
