"""Sound files: stretches of them, and components that add up."""

import numpy as np
import pytest
import soundfile
from hypothesis import given
from hypothesis import strategies as st
from sound_files import RATE, tones, write

from phinmf.audio import SampleFormat, files
from phinmf.audio.files import probe
from phinmf.audio.writing import Stems, check_holds, quantised, sample_format_for
from phinmf.unmixing.null_test import measure


def format_for(sound, length=None, *asked):
    return sample_format_for(sound.sample_format, (length or sound.length) * sound.channels, *asked)


def stems_of(paths, sample_format, sound):
    return Stems(
        paths, sample_format, sound.sample_rate, sound.channels, sound.tags, paths[0].parent
    )


@given(st.integers(0, 2**32 - 1), st.sampled_from([8, 16, 24, 32]), st.integers(1, 5))
def test_integers_add_up_and_stay_in_range(seed, bits, K):
    rng = np.random.default_rng(seed)
    full = 2 ** (bits - 1)
    signal = rng.integers(-full, full, (20, 2)) / full
    parts = rng.standard_normal((K, 20, 2)) * rng.choice([0.1, 1, 10])  # far from adding up
    if K > 1:
        parts[-1] = signal - parts[:-1].sum(axis=0)
    whole = quantised(parts, signal, bits)
    assert np.array_equal(whole.sum(axis=0), np.rint(signal * full))
    assert whole.min() >= -full
    assert whole.max() < full


@pytest.mark.parametrize(
    ("format", "subtype"),
    [("WAV", "PCM_U8"), ("WAV", "PCM_16"), ("WAV", "PCM_24"), ("WAV", "PCM_32"), ("WAV", "FLOAT"),
     ("WAV", "DOUBLE"), ("RF64", "PCM_16"), ("FLAC", "PCM_16"), ("FLAC", "PCM_24"),
     ("AIFF", "PCM_16"), ("CAF", "FLOAT")],
)  # fmt: skip
@pytest.mark.parametrize("channels", [1, 2, 5])
def test_every_lossless_format_adds_up(tmp_path, format, subtype, channels):
    sound = probe(write(tmp_path / "in", tones(3000, channels), format=format, subtype=subtype))
    signal = soundfile.read(sound.path, always_2d=True)[0]
    parts = np.stack([0.3 * signal, 1.9 * signal, -1.2 * signal])
    sample_format = format_for(sound)
    assert (sample_format.format, sample_format.subtype) == (format, subtype)
    paths = [tmp_path / f"{k}" for k in range(3)]
    with stems_of(paths, sample_format, sound) as stems:
        for i in range(0, 3000, 700):
            stems.write(signal[i : i + 700], parts[:, i : i + 700])
    read = [soundfile.read(path, always_2d=True)[0] for path in paths]
    infos = [soundfile.info(path) for path in paths]
    assert all((i.format, i.subtype, i.frames) == (format, subtype, 3000) for i in infos)
    rest = np.abs(np.sum(read, axis=0) - signal).max()
    measured = measure(stems, [signal])
    if sample_format.bits:
        assert rest == 0
        assert measured.exact
        assert measured.null_test.db is None
        signal[0, -1] += 2.0**-40
        assert not measure(stems, [signal]).exact
    else:
        assert rest < 1e-6
        assert measured.null_test.db < -126
    assert np.allclose(measured.energies, np.square(read).sum(axis=(1, 2)))
    assert np.allclose(measured.peaks, np.abs(read).max(axis=(1, 2)))


def test_formats_that_are_chosen_and_refused(tmp_path):
    lossy = probe(write(tmp_path / "in.ogg"))
    assert format_for(lossy) == SampleFormat("WAV", "PCM_24")
    assert format_for(lossy, None, "flac").subtype == "PCM_24"
    own = SampleFormat("WAV", "PCM_16")
    assert sample_format_for(own, 2 * 10**9).format == "WAV"
    assert sample_format_for(own, 4 * 10**9).format == "RF64"  # above four gigabytes
    with pytest.raises(ValueError, match="format is m4a, which is not known"):
        sample_format_for(own, 10, "m4a")
    with pytest.raises(ValueError, match="subtype is FLOAT, which FLAC files do not have"):
        sample_format_for(own, 10, "FLAC", "float")
    opus = sample_format_for(own, 10, "opus")
    assert not opus.lossless
    with pytest.raises(ValueError, match="OGG OPUS, which does not hold 1 channel at 11000 Hz"):
        check_holds(opus, 1, 11_000)
    check_holds(opus, 1, 48_000)


def test_tags_are_kept(tmp_path):
    path = tmp_path / "in.flac"
    with soundfile.SoundFile(path, "w", RATE, 1) as file:
        file.title, file.artist = "Étude", "Nobody"
        file.write(tones(100))
    sound = probe(path)
    with stems_of([tmp_path / "out.flac"], format_for(sound, 100), sound) as stems:
        stems.write(tones(100), tones(100)[None])
    with soundfile.SoundFile(tmp_path / "out.flac") as file:
        assert (file.title, file.artist) == ("Étude", "Nobody")


@pytest.mark.parametrize("subtype", ["ULAW", "ALAW"])
def test_samples_beyond_full_scale_do_not_reach_a_lossy_encoder(tmp_path, subtype):
    """It reads beyond its table there, which ended the process."""
    sound = probe(write(tmp_path / "in.wav"))
    loud = 1e6 * tones(100)
    path = tmp_path / "out.wav"
    with stems_of([path], format_for(sound, 100, "WAV", subtype), sound) as stems:
        stems.write(loud, loud[None])
    heard = soundfile.read(path, always_2d=True)[0]
    assert np.allclose(heard, loud.clip(-1, 1), atol=0.05)


@pytest.mark.parametrize("ending", ["ogg", "mp3", "flac", "wav"])
@pytest.mark.parametrize("rate", [8000, 44_100])
def test_a_stretch_is_the_same_samples_as_in_the_whole_file(tmp_path, ending, rate):
    path = tmp_path / f"noise.{ending}"
    soundfile.write(path, 0.1 * np.random.default_rng(0).standard_normal((200_000, 2)), rate)
    sound = files.probe(path)
    whole = files.read(sound)
    for start in (1, 13_337, 17_000, 140_540, 199_000):
        assert files.read(sound, start, 900) == pytest.approx(whole[start:][:900], abs=1e-6)


@pytest.mark.parametrize("seconds", [1.0, 1e308])
def test_a_stretch_beyond_the_end_ends_there(tmp_path, seconds):
    whole = files.excerpt(write(tmp_path / "short.wav", np.zeros(1000)))
    stretch = whole.stretch(0.1, seconds)
    assert (stretch.first, stretch.length) == (800, 200)
    assert len(whole.stretch(0.05, 0.01).read(30, 1000)) == 50  # nor is more read of one inside
