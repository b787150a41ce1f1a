"""Options are checked before anything is learned, in words that name the file and the option."""

import pytest
from sound_files import tones, write

from phinmf import unmix_file
from phinmf.cli import main


@pytest.fixture
def song(tmp_path, monkeypatch):
    """A recording of 4 s; learning from it fails the test."""
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "song.wav", tones(32_000))

    def learn(*_, **__):
        raise AssertionError("options are to be checked before anything is learned")

    monkeypatch.setattr(unmix_file, "learn", learn)
    return tmp_path


#: Values that only the recording shows to be wrong, and what is named in the message.
AGAINST_THE_RECORDING = [
    ("--group a=1,9", "group 'a' names component 9"),
    ("-k 3 --group a=1-4", "group 'a' names component 4"),
    ("--group a=1 --group A=2", "two groups are called 'A'"),
    ("--group a=1-3;b=3", "component 3 is in two groups"),
    ("--group ../../evil=1", "'../../evil'"),
    ("--group .a=1", "'.a'"),
    ("--group component_01=1", "component_01.wav"),
    ("--groups 99", "--groups is 99"),
    ("-k auto --groups 2", "-k is 'auto'"),
    ("--start 10", "--start is 10 s, but the recording is 4 s long"),
    ("--atoms 100000", "--atoms is 100000"),
    ("--window 5s", "--window 5s"),
    ("--duration 0.02", "--window 40ms"),
    ("-k 400", "-k is 400, but a whole number from 1 to 201"),
    ("--filename ../{number}", "--filename is '../{number}'"),
    ("--filename {number.__class__}", "{number.__class__}"),
    ("--filename {number:02d}", "{number:02d}"),
    (f"--filename {'x' * 300}{{number}}", "too long"),
    ("--format nonsense", "--format is nonsense"),
    ("--format flac --subtype float", "--subtype is FLOAT"),
    ("--model nothing.npz", "nothing.npz"),
]


@pytest.mark.parametrize(("how", "said"), AGAINST_THE_RECORDING)
def test_options_are_checked_against_the_recording(song, capsys, how, said):
    assert main(["unmix", "song.wav", *how.split()]) == 1
    heard = capsys.readouterr()
    assert said in heard.err
    assert "song.wav" in heard.err
    assert "n_components" not in heard.err
    assert heard.err.startswith("phinmf: ")
    assert heard.err.count("\n") == 1
    assert list(song.iterdir()) == [song / "song.wav"]


@pytest.mark.parametrize("how", ["--format xyz", "--device nonsense"])
def test_options_are_checked_before_the_folder(song, capsys, how):
    (song / "out/song").mkdir(parents=True)
    assert main(["unmix", "song.wav", *how.split()]) == 1
    assert f"{how.split()[0]} is " in capsys.readouterr().err
    assert main(["unmix", "song.wav"]) == 1
    assert "exists already" in capsys.readouterr().err


#: Commands that are wrong whatever the recording, and what is named in the message.
IN_THEMSELVES = {
    "": "", "nothing": "nothing", "unmix": "FILE",
    "unmix song.wav --start=-1": "--start", "unmix song.wav --duration nan": "--duration",
    "unmix song.wav --gain 1e5": "--gain", "unmix song.wav --sparsity inf": "--sparsity",
    "unmix song.wav --max-time=-3": "--max-time", "unmix song.wav --seed 1e3": "--seed",
    "unmix song.wav --threads 0": "--threads", "unmix song.wav -k many": "-k/--components",
    "unmix song.wav --groups 0": "--groups", "unmix song.wav --group drums": "--group",
    "unmix song.wav --group a=1 --groups 2": "--group and --groups do not go together",
    "unmix song.wav --window soon": "--window", "unmix song.wav --solver guess": "--solver",
    "unmix song.wav --preview --start 1": "--preview", "unmix song.wav --cluster ": "--cluster",
    "unmix song.wav --cluster tcp://x:1 --device cuda": "do not go together",
}  # fmt: skip


@pytest.mark.parametrize("command", IN_THEMSELVES)
def test_commands_that_cannot_be_meant(song, capsys, command):
    with pytest.raises(SystemExit) as stopped:
        main(command.split(" ") if command else [])
    assert stopped.value.code == 2
    said = capsys.readouterr().err
    assert said.startswith("phinmf unmix: " if command.startswith("unmix") else "phinmf: ")
    assert IN_THEMSELVES[command] in said
    assert said.count("\n") == 1
    assert list(song.iterdir()) == [song / "song.wav"]


def test_a_format_that_does_not_hold_the_channels(song, capsys):
    write(song / "many.wav", tones(channels=8))
    assert main(["unmix", "many.wav", "--format", "mp3"]) == 1
    said = capsys.readouterr().err
    assert "many.wav: --format is MP3 MPEG_LAYER_III, which does not hold 8 channels" in said


def test_every_recording_is_checked_before_the_first_is_begun(song, capsys):
    """Not after hours of learning from the others."""
    write(song / "z.wav", tones(100))
    assert main(["unmix", "song.wav", "z.wav", "--quiet"]) == 1
    first, second = capsys.readouterr().err.splitlines()
    assert "z.wav: --window 40ms is 320 samples" in first
    assert "song.wav: this is a fault of phinmf" in second  # learning has begun
