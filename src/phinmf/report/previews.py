"""Sound that is small enough to be put into a page."""

from __future__ import annotations

import io
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from phinmf._types import Array
from phinmf.arrays.threads import parallel_map
from phinmf.report.contents import Report, shortened
from phinmf.unmixing.preview import SECONDS

TRIAL = 4  #: seconds that are encoded to see how large the whole will be
MP3_RATES = (8000, 11025, 12000, 16000, 22050, 24000, 32000, 44100, 48000)
MP3_SECOND = 30_000  #: bytes of a second of MP3, which few sounds need; then no trial is made
BLOCK = 4096  #: samples written at a time: long blocks have crashed the OGG encoder
BASE64 = 4 / 3
FLAC_BITS = (16, 14, 13)  #: of a sample: noise at -98, -86 and -80 dB


class Coding(NamedTuple):
    """How previews are encoded."""

    format: str  #: as libsndfile calls it
    subtype: str
    level: float | None  #: 0 is the best, 1 the smallest
    bits: int | None = None  #: that samples are rounded to; None: as the format does it


class Previews(NamedTuple):
    """The sound of a page."""

    report: Report  #: with a preview as long as there is room for
    sounds: list[bytes]  #: the mixture, then the components
    rate: int  #: samples per second, of the sounds
    words: str  #: what a listener should know


def previews(report: Report, room: int) -> Previews:
    """Encode mixture and components so that in base64 they take at most `room` bytes.

    All are encoded in the same way: an encoder adds the same delay to all, so they stay in sync.
    FLAC is encoded twenty times as fast as MP3, so it is taken if there is room for it. Otherwise
    the best quality is taken at which the whole preview fits; if none does, a shorter preview.
    """
    whole = report.seconds
    report = shortened(report, SECONDS)
    gain = 1 / max(1.0, *(float(np.abs(samples).max()) for samples in report.sounds))
    rate = _rate(report.sample_rate)
    for coding in _lossless():
        if _expected_size(report, gain, coding) <= room:
            sounds = _all_encoded(report, slice(None), gain, coding)
            if sum(map(len, sounds)) * BASE64 <= room:
                return Previews(report, sounds, rate, _words(report, whole, coding, gain))
    for coding in _ladder():
        needed = len(report.sounds) * report.seconds * MP3_SECOND * BASE64
        if coding.format == "MP3" and needed <= room:
            break
        needed = _expected_size(report, gain, coding)
        if needed <= 0.95 * room:
            break
    while True:
        if needed > room:
            report = shortened(report, 0.95 * report.seconds * room / needed)
        sounds = _all_encoded(report, slice(None), gain, coding)
        needed = sum(map(len, sounds)) * BASE64
        if needed <= room or report.seconds < 0.1:
            return Previews(report, sounds, rate, _words(report, whole, coding, gain))


def _expected_size(report: Report, gain: float, coding: Coding) -> float:
    """Estimate the bytes of all sounds in base64 from some seconds in the middle."""
    n = len(report.mixture)
    m = min(n, TRIAL * report.sample_rate)
    middle = slice((n - m) // 2, (n - m) // 2 + m)
    return sum(map(len, _all_encoded(report, middle, gain, coding))) * BASE64 * n / m


def _all_encoded(report: Report, where: slice, gain: float, coding: Coding) -> list[bytes]:
    """Encode mixture and components, several at a time: the encoder lets other threads run."""

    def one(samples: Array) -> bytes:
        exact = (samples[where] * gain).astype(np.float32)  # which the encoder computes with
        return encoded(exact, report.sample_rate, coding)

    return list(parallel_map(one, report.sounds))


def encoded(samples: Array, sample_rate: int, coding: Coding) -> bytes:
    """Return the bytes of a sound file."""
    import soundfile
    import soxr

    if samples.shape[1] > 2:
        samples = samples.mean(axis=1, keepdims=True)
    if (rate := _rate(sample_rate)) != sample_rate:
        samples = soxr.resample(samples, sample_rate, rate)
    if coding.bits is not None:
        samples = _rounded(samples, coding.bits)
    file = io.BytesIO()
    how: dict[str, Any] = {} if coding.level is None else {"compression_level": coding.level}
    if coding.format == "MP3":
        # a constant bit rate is 5 % quieter, and a low one does not record the encoder's delay
        how["bitrate_mode"] = "VARIABLE"
    with soundfile.SoundFile(
        file, "w", rate, samples.shape[1], coding.subtype, format=coding.format, **how
    ) as out:
        for at in range(0, len(samples), BLOCK):
            out.write(samples[at : at + BLOCK])
    return file.getvalue()


def _rounded(samples: Array, bits: int) -> Array:
    """Round samples to fewer bits than the 16 that they are stored in; FLAC leaves out the rest."""
    most = 2 ** (bits - 1)
    rounded = np.rint(samples * most).clip(-most, most - 1).astype(np.int16)
    return rounded * np.int16(2 ** (16 - bits))


def _lossless() -> Iterator[Coding]:
    """Yield the codings of FLAC, the best first, if this libsndfile has them."""
    import soundfile

    for bits in FLAC_BITS if "FLAC" in soundfile.available_formats() else ():
        yield Coding("FLAC", "PCM_16", 0.5, bits)


def _ladder() -> Iterator[Coding]:
    """Yield the codings that this libsndfile has, the best first, the smallest last."""
    import soundfile

    known = soundfile.available_formats()
    if "MP3" in known:
        for level in (0.2, 0.4, 0.6, 0.8):
            yield Coding("MP3", "MPEG_LAYER_III", level)
    elif "OGG" in known:
        for level in (0.4, 0.6, 0.8):
            yield Coding("OGG", "VORBIS", level)
    else:
        yield Coding("WAV", "PCM_16", None)


def _rate(sample_rate: int) -> int:
    """Return the lowest rate that MP3 and browsers have and that keeps the sound."""
    return next((rate for rate in MP3_RATES if rate >= sample_rate), MP3_RATES[-1])


def _words(report: Report, whole: float, coding: Coding, gain: float) -> str:
    """Say what a listener should know about the previews."""
    kind = {"WAV": "16-bit", "FLAC": f"{coding.bits}-bit"}.get(coding.format, coding.format)
    exact = "; the linked files are the exact ones" if report.has_links else ""
    words = [f"You hear {kind} previews{exact}."]
    if report.seconds < whole - 0.05:
        words.append(
            f"They were cut to the first {report.seconds:.1f} of {whole:.1f} seconds,"
            " so that this page stays small."
        )
    if report.mixture.shape[1] > 2:
        words.append(f"Their {report.mixture.shape[1]} channels were mixed to one.")
    if _rate(report.sample_rate) < report.sample_rate:
        words.append(f"They run at {_rate(report.sample_rate)} Hz.")
    if gain < 1:
        words.append(
            f"All are {-20 * np.log10(gain):.1f} dB quieter, so that the loudest does not clip."
        )
    return " ".join(words)
