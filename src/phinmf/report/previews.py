"""Sound that is small enough to be put into a page.

All sounds of a page are encoded in the same way: an encoder adds the same delay to all of them, so
they stay in sync.
"""

from __future__ import annotations

import io
from typing import NamedTuple

import numpy as np

from phinmf._types import Array
from phinmf.arrays.threads import parallel_map
from phinmf.report.contents import Report, shortened
from phinmf.unmixing.preview import SECONDS

TRIAL = 4  #: seconds that are encoded to see how large the whole will be
MP3_RATES = (8000, 11025, 12000, 16000, 22050, 24000, 32000, 44100, 48000)
BLOCK = 4096  #: samples written at a time
BASE64 = 4 / 3


class Coding(NamedTuple):
    """How previews are encoded."""

    format: str  #: as libsndfile calls it
    subtype: str
    level: float  #: of compression: 0 is the best, 1 the smallest
    bits: int = 16  #: that samples are rounded to, for FLAC: noise at -98, -86 and -80 dB


#: the best first; FLAC is encoded twenty times as fast as MP3
CODINGS = (
    *(Coding("FLAC", "PCM_16", 0.5, bits) for bits in (16, 14, 13)),
    *(Coding("MP3", "MPEG_LAYER_III", level) for level in (0.2, 0.5, 0.8)),
)


class Previews(NamedTuple):
    """The sound of a page."""

    report: Report  #: with a preview as long as there is room for
    sounds: list[bytes]  #: the mixture, then the components
    rate: int  #: samples per second, of the sounds
    words: str  #: what a listener should know


def previews(report: Report, room: int) -> Previews:
    """Encode mixture and components so that in base64 they take at most `room` bytes.

    The best coding is taken in which the whole preview fits; if there is none, the preview is cut.
    """
    whole = report.seconds
    report = shortened(report, SECONDS)
    gain = 1 / max(1.0, *(float(np.abs(samples).max()) for samples in report.sounds))
    for coding in available():
        needed = expected_size(report, gain, coding)
        if needed <= room:
            sounds = all_encoded(report, slice(None), gain, coding)
            needed = size(sounds)
            if needed <= room:
                break
    while needed > room and report.seconds >= 0.1:
        report = shortened(report, 0.95 * report.seconds * room / needed)
        sounds = all_encoded(report, slice(None), gain, coding)
        needed = size(sounds)
    words = description(report, whole, coding, gain)
    return Previews(report, sounds, supported_rate(report.sample_rate), words)


def available() -> list[Coding]:
    """Return the codings that this libsndfile has, the best first."""
    import soundfile

    formats = soundfile.available_formats()
    return [coding for coding in CODINGS if coding.format in formats]


def expected_size(report: Report, gain: float, coding: Coding) -> float:
    """Estimate the bytes of all sounds in base64 from some seconds in the middle."""
    n = len(report.mixture)
    m = min(n, TRIAL * report.sample_rate)
    middle = slice((n - m) // 2, (n - m) // 2 + m)
    return size(all_encoded(report, middle, gain, coding)) * n / m


def size(sounds: list[bytes]) -> float:
    """Return the bytes that sounds have in base64."""
    return sum(map(len, sounds)) * BASE64


def all_encoded(report: Report, stretch: slice, gain: float, coding: Coding) -> list[bytes]:
    """Encode mixture and components, several at a time: the encoder lets other threads run."""

    def encode(samples: Array) -> bytes:
        exact = (samples[stretch] * gain).astype(np.float32)  # which the encoder computes with
        return encoded(exact, report.sample_rate, coding)

    return list(parallel_map(encode, report.sounds))


def encoded(samples: Array, sample_rate: int, coding: Coding) -> bytes:
    """Return the bytes of a sound file with samples (n, channels); more than two become one."""
    import soundfile
    import soxr

    if samples.shape[1] > 2:
        samples = samples.mean(axis=1, keepdims=True)
    if (rate := supported_rate(sample_rate)) != sample_rate:
        samples = soxr.resample(samples, sample_rate, rate)
    if coding.format == "FLAC":
        samples = rounded(samples, coding.bits)
    # a constant bit rate of MP3 is 5 % quieter, and a low one does not record the encoder's delay
    mode = "VARIABLE" if coding.format == "MP3" else None
    file = io.BytesIO()
    with soundfile.SoundFile(
        file, "w", rate, samples.shape[1], coding.subtype, format=coding.format,
        compression_level=coding.level, bitrate_mode=mode,
    ) as out:  # fmt: skip
        for first in range(0, len(samples), BLOCK):
            out.write(samples[first : first + BLOCK])
    return file.getvalue()


def rounded(samples: Array, bits: int) -> Array:
    """Round samples to fewer bits than the 16 that they are stored in; FLAC leaves out the rest."""
    most = 2 ** (bits - 1)
    integers = np.rint(samples * most).clip(-most, most - 1).astype(np.int16)
    return integers * np.int16(2 ** (16 - bits))


def supported_rate(sample_rate: int) -> int:
    """Return the lowest rate that MP3 and browsers have and that keeps the sound."""
    return next((rate for rate in MP3_RATES if rate >= sample_rate), MP3_RATES[-1])


def description(report: Report, whole: float, coding: Coding, gain: float) -> str:
    """Say what a listener should know about the previews; `whole` is their length in seconds."""
    kind = f"{coding.bits}-bit" if coding.format == "FLAC" else coding.format
    exact = "; the linked files are the exact ones" if report.has_links else ""
    words = [f"You hear {kind} previews{exact}."]
    if report.seconds < whole - 0.05:
        words.append(
            f"They were cut to the first {report.seconds:.1f} of {whole:.1f} seconds,"
            " so that this page stays small."
        )
    if report.mixture.shape[1] > 2:
        words.append(f"Their {report.mixture.shape[1]} channels were mixed to one.")
    if (rate := supported_rate(report.sample_rate)) < report.sample_rate:
        words.append(f"They run at {rate} Hz.")
    if gain < 1:
        words.append(
            f"All are {-20 * np.log10(gain):.1f} dB quieter, so that the loudest does not clip."
        )
    return " ".join(words)
