"""Sound small enough to be put into a page."""

from __future__ import annotations

import io
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from phinmf._types import Array
from phinmf.views.report.contents import Report, shortened

LONGEST = 60.0  #: seconds
MP3_RATES = (8000, 11025, 12000, 16000, 22050, 24000, 32000, 44100, 48000)
BLOCK = 4096  #: samples written at a time: long blocks have crashed the OGG encoder
BASE64 = 4 / 3


class Coding(NamedTuple):
    """How previews are encoded."""

    format: str  #: as libsndfile calls it
    subtype: str
    level: float | None  #: 0 is the best, 1 the smallest


class Previews(NamedTuple):
    """The sound of a page."""

    report: Report  #: with a preview as long as there is room for
    sounds: list[bytes]  #: the mixture, then the parts
    rate: int  #: samples per second, of the sounds
    words: str  #: what was done, for the reader


def previews(report: Report, room: int) -> Previews:
    """Encode mixture and parts so that in base64 they take at most `room` bytes.

    All are encoded alike: whatever delay the encoder adds is the same for all, and they stay in
    sync. The best quality with room for the whole preview is taken; failing that, a shorter one.
    """
    whole = report.seconds
    report = shortened(report, LONGEST)
    gain = 1 / max(1.0, *(float(np.abs(part.samples).max()) for part in report.everything))
    rate = _rate(report.sample_rate)
    for coding in _ladder(rate):
        size = len(encoded(report.mixture.samples * gain, report.sample_rate, coding))
        needed = size * len(report.everything) * BASE64
        if needed <= room:
            break
    while True:
        if needed > room:
            report = shortened(report, 0.97 * report.seconds * room / needed)
        sounds = [
            encoded(part.samples * gain, report.sample_rate, coding) for part in report.everything
        ]
        needed = sum(map(len, sounds)) * BASE64
        if needed <= room or len(report.mixture.samples) < rate // 10:
            return Previews(report, sounds, rate, _words(report, whole, coding, gain))


def encoded(samples: Array, sample_rate: int, coding: Coding) -> bytes:
    """A sound file in memory."""
    import soundfile
    import soxr

    if samples.shape[1] > 2:
        samples = samples.mean(axis=1, keepdims=True)
    if (rate := _rate(sample_rate)) != sample_rate:
        samples = soxr.resample(samples, sample_rate, rate)
    file = io.BytesIO()
    how: dict[str, Any] = {} if coding.level is None else {"compression_level": coding.level}
    if coding.format == "MP3":
        how["bitrate_mode"] = "CONSTANT"  # frames of one size: no part can differ in its delay
    with soundfile.SoundFile(
        file, "w", rate, samples.shape[1], coding.subtype, format=coding.format, **how
    ) as out:
        for at in range(0, len(samples), BLOCK):
            out.write(samples[at : at + BLOCK])
    return file.getvalue()


def _ladder(rate: int) -> Iterator[Coding]:
    """Codings that this libsndfile has, from good to small."""
    import soundfile

    known = soundfile.available_formats()
    if "MP3" in known:
        # below these there is no room for the tag in which the encoder notes its delay
        for level in (0.6, 0.7, 0.85) if rate >= 32_000 else (0.6, 0.7):
            yield Coding("MP3", "MPEG_LAYER_III", level)
    elif "OGG" in known:
        for level in (0.5, 0.7, 0.9):
            yield Coding("OGG", "VORBIS", level)
    else:
        yield Coding("WAV", "PCM_16", None)


def _rate(sample_rate: int) -> int:
    """The lowest rate of MP3, and of browsers, that keeps the sound."""
    return next((rate for rate in MP3_RATES if rate >= sample_rate), MP3_RATES[-1])


def _words(report: Report, whole: float, coding: Coding, gain: float) -> str:
    """What a listener should know about the previews."""
    words = [f"You hear {coding.format} previews; the linked files are the exact ones."]
    if coding.format == "WAV":
        words = ["You hear 16-bit previews; the linked files are the exact ones."]
    if report.seconds < whole - 0.05:
        words.append(
            f"They were cut to the first {report.seconds:.1f} of {whole:.1f} seconds,"
            " so that this page stays small."
        )
    if report.mixture.samples.shape[1] > 2:
        words.append(f"Their {report.mixture.samples.shape[1]} channels were mixed to one.")
    if _rate(report.sample_rate) < report.sample_rate:
        words.append(f"They run at {_rate(report.sample_rate)} Hz.")
    if gain < 1:
        words.append(
            f"All are {-20 * np.log10(gain):.1f} dB quieter, lest the loudest should clip."
        )
    return " ".join(words)
