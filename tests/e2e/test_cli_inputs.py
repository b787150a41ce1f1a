"""What is named on the command line: one input that cannot be used never stops the others."""

import json
import os
import threading

import numpy as np
import pytest
import soundfile
from sound_files import tones, write

import phinmf
from phinmf.cli import main

QUICK = ["-k", "2", "--window", "64", "--max-time", "0.2", "--no-report", "--quiet"]


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def folders(here):
    return {p.name for p in here.glob("out/*")}


def unknown_length(path):
    """A FLAC file whose header does not say how long it is, as encoders of streams write it."""
    soundfile.write(path, tones(), 8000, subtype="PCM_16")
    content = bytearray(path.read_bytes())
    content[21] &= 0xF0
    content[22:26] = bytes(4)
    path.write_bytes(content)
    return path


def test_namesakes_do_not_stop_a_folder(here, capsys):
    (here / "album").mkdir()
    for name in ("a.wav", "song.flac", "song.wav", "z.wav"):
        write(here / "album" / name)
    assert main(["unmix", "album", "album/a.wav", *QUICK]) == 1
    said = capsys.readouterr().err
    assert "album/song.wav would be written to out/song, as album/song.flac is" in said
    assert said.count("\n") == 1  # a.wav was named twice, and is one file
    assert folders(here) == {"a", "song", "z"}


def test_a_namesake_that_does_not_exist_does_not_stop_the_others(here, capsys):
    write(here / "song.wav", tones(2000))
    assert main(["unmix", "nowhere/song.wav", "song.wav", *QUICK, "--json"]) == 1
    said = capsys.readouterr()
    assert "nowhere/song.wav does not exist" in said.err
    assert [result["track"] for result in json.loads(said.out)] == ["song"]


def test_a_finished_folder_is_not_taken_apart_again(here, capsys):
    write(here / "song.wav")
    write(here / "new.wav")
    assert main(["unmix", "song.wav", *QUICK]) == 0
    assert main(["unmix", "out/song", "-o", "again", *QUICK]) == 1
    said = capsys.readouterr().err
    assert "out/song has been written by phinmf unmix" in said
    assert "--group" in said
    assert not (here / "again").exists()


def test_finished_folders_and_new_files_are_both_grouped(here, capsys):
    write(here / "song.wav")
    write(here / "new.wav")
    assert main(["unmix", "song.wav", *QUICK]) == 0
    assert main(["unmix", "out/song", "new.wav", "--group", "a=1", *QUICK, "--json"]) == 0
    assert len(json.loads(capsys.readouterr().out)) == 2
    assert (here / "out/song/a.wav").exists()
    assert (here / "out/new/a.wav").exists()


@pytest.mark.parametrize("bad", ["", "empty", "nothing.wav", "pipe", "/dev/null", "a" * 5000])
def test_an_input_that_cannot_be_used_does_not_stop_the_others(here, capsys, bad):
    write(here / "song.wav")
    (here / "empty").mkdir()
    os.mkfifo(here / "pipe")
    assert main(["unmix", bad, "song.wav", *QUICK]) == 1
    said = capsys.readouterr().err
    assert said.startswith("phinmf: ")
    assert said.count("\n") == 1
    assert folders(here) == {"song"}


def test_an_empty_name_is_not_the_current_folder(here, capsys):
    write(here / "song.wav")
    assert main(["unmix", "", *QUICK]) == 1
    assert "the name of an input is empty" in capsys.readouterr().err
    assert folders(here) == set()
    with pytest.raises(SystemExit):
        main(["unmix", "song.wav", "-o", "", *QUICK])


@pytest.mark.parametrize("command", ["report missing", "export missing -o x"])
def test_a_folder_that_does_not_exist(here, capsys, command):
    assert main(command.split()) == 1
    assert capsys.readouterr().err == "phinmf: missing does not exist\n"


def test_a_pipe_is_refused_without_being_opened(here):
    os.mkfifo(here / "pipe.wav")
    (here / "link.wav").symlink_to("pipe.wav")
    said = []

    def look():
        for name in ("pipe.wav", "link.wav"):
            try:
                phinmf.frames_from_files(here / name, 32)
            except ValueError as error:
                said.append(str(error))

    looking = threading.Thread(target=look, daemon=True)
    looking.start()
    looking.join(timeout=20)
    assert [text.split(" is a ")[1] for text in said] == [
        "pipe or a device, but a sound file is needed: copy the sound to a file"
    ] * 2


def test_a_recording_that_does_not_say_how_long_it_is(here, capsys):
    path = unknown_length(here / "stream.flac")
    assert soundfile.info(path).frames > 2**62
    write(here / "song.wav")
    assert main(["unmix", "stream.flac", "song.wav", *QUICK]) == 1
    assert "stream.flac does not say how long it is: convert it" in capsys.readouterr().err
    assert folders(here) == {"song"}
    with pytest.raises(ValueError, match="does not say how long"):
        phinmf.frames_from_files(path, 32)


def test_a_format_that_libsndfile_does_not_read_completely_is_refused(
    tmp_path, monkeypatch, capsys
):
    """Read in pieces, the last samples of such a file are missing."""
    monkeypatch.chdir(tmp_path)
    soundfile.write("song.paf", np.zeros(2999) + 0.1, 8000, format="PAF", subtype="PCM_24")
    assert main(["unmix", "song.paf"]) != 0
    assert "song.paf is a PAF file of 24 bits, of which libsndfile may" in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["song.paf"]


def test_files_and_folders_that_may_not_be_read(here, capsys, monkeypatch):
    """The mode of a file does not keep root from reading, so the refusal is made here."""
    write(here / "locked.wav")
    write(here / "song.wav")
    (here / "closed").mkdir()
    kinds = type(here)
    opens, lists = kinds.open, kinds.iterdir

    def refuse(path, *_, **__):
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(
        kinds, "open", lambda p, *a, **k: (refuse if p.name == "locked.wav" else opens)(p, *a, **k)
    )
    monkeypatch.setattr(kinds, "iterdir", lambda p: (refuse if p.name == "closed" else lists)(p))
    assert main(["unmix", "locked.wav", "closed", "song.wav", *QUICK]) == 1
    said = capsys.readouterr().err
    assert "locked.wav may not be read by you" in said
    assert "convert" not in said
    assert "closed: Permission denied" in said
    assert folders(here) == {"song"}


@pytest.mark.parametrize("name", ["-kick.wav", "--start.wav"])
def test_names_that_begin_with_a_dash(here, name):
    write(here / name)
    assert main(["unmix", f"./{name}", *QUICK]) == 0
    assert main(["unmix", *QUICK, "--overwrite", "--", name]) == 0


def test_a_part_that_is_drawn_silent_is_not_the_whole(here):
    y = np.zeros(400_000)
    y[300_000:302_000] = tones(2000)[:, 0]
    parts = phinmf.unmix(y, 8000, 2, window=64, seed=0, learn_on=64, max_time=0.2)
    assert parts.null_db < -100
