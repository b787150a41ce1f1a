"""Options are checked before anything is learned, in words that name the file and the option."""

import pytest
from sound_files import tones, write

from phinmf import unmix_file
from phinmf.cli import main, unmix
from phinmf.solvers import SOLVERS


@pytest.fixture
def song(tmp_path, monkeypatch):
    """A recording of 4 s; learning from it fails the test."""
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "song.wav", tones(32_000))

    def learn(*_, **__):
        raise AssertionError("options are to be checked before anything is learned")

    monkeypatch.setattr(unmix_file, "learn", learn)
    return tmp_path


AGAINST_THE_RECORDING = [
    ("--group a=1,9", "group 'a' names component 9, but there are 1 to 8"),
    ("--group a=0,8", "group 'a' names component 0, but there are 1 to 8"),
    ("--group a=7-9", "group 'a' names component 9, but there are 1 to 8"),
    ("-k 3 --group a=1-4", "group 'a' names component 4, but there are 1 to 3"),
    ("--group a=1;a=2", "two groups are called 'a': choose another name"),
    ("--group a=1 --group A=2", "two groups are called 'A': choose another name"),
    ("--group a=1,1", "component 1 is in two groups"),
    ("--group a=1-3;b=3", "component 3 is in two groups"),
    ("--group a/b=1", "which has / in it: choose another name"),
    ("--group ../../evil=1", "is '../../evil', which has / in it: choose another name"),
    ("--group .a=1", "is '.a', which begins with a dot: choose another name"),
    ("--group a.=1", "is 'a.', which ends with a dot: choose another name"),
    ("--groups saved", "--groups is 'saved', which is for a folder of components"),
    ("--groups 99", "--groups is 99, but 8 components make 1 to 8 groups"),
    ("-k 3 --groups 4", "--groups is 4, but 3 components make 1 to 3 groups"),
    ("-k auto --groups 2", "-k is 'auto', so that the components to group are not known yet"),
    ("-k auto --group a=1", "-k is 'auto', so that the components to group are not known yet"),
    ("--group component_01=1", "two files would have the same name, component_01.wav"),
    (f"--group {'x' * 300}=1", "is longer than 80 characters, or 240 bytes: choose another name"),
    (f"--filename {'x' * 300}{{number}}", "is too long: choose a shorter one"),
    ("--start 10", "--start is 10 s, but the recording is 4 s long"),
    ("--start 4", "--start is 4 s, but the recording is 4 s long"),
    ("--atoms 100000", "--atoms is 100000, but frames of 320 samples have 320 atoms: take at most"),
    ("--window 5s", "--window 5s is 40000 samples, but the recording"),
    ("--duration 0.02", "--window 40ms is 320 samples, but the recording"),
    ("--window 100s", "--window is '100s', which is 800000 samples"),
    ("-k 400", "-k is 400, but a whole number from 1 to 201 for this recording and window"),
    ("-k 30000000", "-k is 30000000, but a whole number from 1 to 201"),
    ("--format MP3 --filename {nothing}", "--filename is '{nothing}', which has {nothing} in it,"),
    ("--filename {}", "which has {} in it, but only {number} and {track} are known: write a name"),
    ("--filename {number.__class__}", "which has {number.__class__} in it, but only {number}"),
    ("--filename {track[0]}{number}", "which has {track[0]} in it, but only {number} and {track}"),
    ("--filename report{number", "--filename is 'report{number', in which a { or a } has no"),
    ("--filename {number:99999}", "in which {number:99999} asks for a name that is too long"),
    ("--filename {number:{number}}", "in which a field is inside another one: write a name"),
    ("--filename {number:soon}", "in which the text after a : does not describe how a number"),
    ("--filename ../{number}", "--filename is '../{number}', but a name without folders is"),
    ("--format nonsense", "--format is nonsense, which is not known: choose one of AIFF, AU,"),
    ("--format flac --subtype float", "--subtype is FLOAT, which FLAC files do not have: choose"),
    ("--format flac --subtype float", "choose one of PCM_16, PCM_24, PCM_S8, or another format"),
    ("--subtype nonsense", "--subtype is NONSENSE, which WAV files do not have: choose one of"),
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


@pytest.mark.parametrize("how", ["--format xyz", "--filename {foo}", "--device nonsense"])
def test_options_are_checked_before_the_folder(song, capsys, how):
    (song / "out/song").mkdir(parents=True)
    assert main(["unmix", "song.wav", *how.split()]) == 1
    said = capsys.readouterr().err
    assert f"{how.split()[0]} is " in said
    assert "exists already" not in said
    assert main(["unmix", "song.wav"]) == 1
    assert "exists already" in capsys.readouterr().err


def test_a_format_that_does_not_hold_the_channels(song, capsys):
    write(song / "many.wav", tones(channels=8))
    assert main(["unmix", "many.wav", "--format", "mp3"]) == 1
    said = capsys.readouterr().err
    assert "many.wav: --format is MP3 MPEG_LAYER_III, which does not hold 8 channels" in said


IN_THEMSELVES = [
    ("--start inf", "--start: 'inf' is given, but a number of seconds of at least 0 is needed"),
    ("--start=-1", "--start"),
    ("--duration=-5", "--duration: '-5' is given"),
    ("--duration 0", "--duration: '0' is given, but more than 0 seconds are needed"),
    ("--duration nan", "--duration"),
    ("--gain nan", "--gain: 'nan' is given, but a number of decibels from -60 to 60 is needed"),
    ("--gain 1e5", "--gain: '1e5' is given"),
    ("--sparsity=-1", "--sparsity"),
    ("--sparsity inf", "--sparsity"),
    ("--sparsity 1e300", "--sparsity: '1e300' is given, but a number from 0 to 1e+09 is needed"),
    ("--max-time nan", "--max-time"),
    ("--max-time=-3", "--max-time"),
    ("--seed=-1", "--seed: '-1' is given, but a whole number of at least 0 is needed"),
    ("--seed 1e3", "--seed"),
    ("--threads 0", "--threads"),
    ("-k 0", "-k/--components: '0' is given"),
    ("-k many", "-k/--components: 'many' is given, but a whole number of at least 1, or 'auto',"),
    ("-k 99999999999999999999", "-k/--components"),
    ("--groups 0", "--groups: '0' is given"),
    ("--groups some", "--groups: 'some' is given, but a whole number of at least 1, or 'saved',"),
    ("--group ", "--group is '', but"),
    ("--group a=1 --groups 2", "--group and --groups do not go together"),
    ("--window soon", "--window is 'soon', but a length such as 40ms"),
    ("--window 1.2.3", "--window is '1.2.3'"),
    ("--solver guess", "--solver"),
]


@pytest.mark.parametrize(("how", "said"), IN_THEMSELVES)
def test_values_that_cannot_be_meant(song, capsys, how, said):
    with pytest.raises(SystemExit) as stopped:
        main(["unmix", "song.wav", *how.split(" ")])
    assert stopped.value.code == 2
    assert said in capsys.readouterr().err
    assert list(song.iterdir()) == [song / "song.wav"]


def test_every_solver_can_be_named():
    assert set(unmix.SOLVERS) == set(SOLVERS)


def test_every_recording_is_checked_before_the_first_is_begun(song, capsys):
    """Not after hours of learning from the others."""
    write(song / "z.wav", tones(100))
    with pytest.raises(AssertionError):
        main(["unmix", "song.wav", "z.wav", "--quiet"])
    assert "z.wav: --window 40ms is 320 samples" in capsys.readouterr().err
