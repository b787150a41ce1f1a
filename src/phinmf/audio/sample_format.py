"""How the samples of a sound file are stored, and the format chosen for new files."""

from __future__ import annotations

import io
from dataclasses import dataclass

import soundfile

#: bits of an integer sample; a subtype that is neither here nor in FLOATS is lossy
BITS = {"PCM_S8": 8, "PCM_U8": 8, "PCM_16": 16, "PCM_24": 24, "PCM_32": 32}
FLOATS = ("FLOAT", "DOUBLE")
#: endings of the formats that keep every sampling rate and every sample
SUFFIXES = {
    "WAV": ".wav", "WAVEX": ".wav", "RF64": ".wav", "W64": ".w64", "AIFF": ".aiff", "CAF": ".caf",
    "AU": ".au", "FLAC": ".flac", "OGG": ".ogg", "MP3": ".mp3",
}  # fmt: skip
LOSSY = {"OGG": "VORBIS", "MP3": "MPEG_LAYER_III", "OPUS": "OPUS"}  #: default subtypes
LARGEST_WAV = 2**32 - 2**16  #: bytes; larger files are RF64


@dataclass(frozen=True)
class SampleFormat:
    """Format of a file and type of its samples, in the words of libsndfile."""

    format: str
    subtype: str

    @property
    def bits(self) -> int | None:
        """Bits of an integer sample; None for floating point and for lossy formats."""
        return BITS.get(self.subtype)

    @property
    def lossless(self) -> bool:
        """Whether samples are read back as they were written."""
        return self.subtype in BITS or self.subtype in FLOATS

    @property
    def full_scale(self) -> bool:
        """Whether samples beyond full scale are clipped, as all but floating-point ones are."""
        return self.subtype not in FLOATS

    @property
    def dtype(self) -> str:
        """Type in which samples are written and read back."""
        return "int32" if self.bits else "float64" if self.subtype == "DOUBLE" else "float32"

    @property
    def suffix(self) -> str:
        """Ending of a file name."""
        return ".opus" if self.subtype == "OPUS" else SUFFIXES[self.format]

    def __str__(self) -> str:
        return f"{self.format} {self.subtype}"


def sample_format_for(
    own: SampleFormat, samples: int, format: str | None = None, subtype: str | None = None
) -> SampleFormat:
    """Return the format asked for; by default the recording's own, or 24-bit WAV if that is lossy.

    `samples` is how many there are in all channels. Formats that are not in SUFFIXES are never
    written.
    """
    default = own.format if own.lossless and own.format in SUFFIXES else "WAV"
    name = (format or default).upper().lstrip(".")
    formats = {*SUFFIXES, "OPUS"}
    if name not in formats:
        raise ValueError(
            f"format is {format}, which is not known: choose one of {', '.join(sorted(formats))}"
        )
    if subtype is None:
        if name in LOSSY:
            subtype = LOSSY[name]
        else:
            subtype = own.subtype if own.lossless else "PCM_24"
            if not soundfile.check_format(name, subtype):
                subtype = "PCM_24"
    subtype = subtype.upper()
    name = "OGG" if name == "OPUS" else name
    if not soundfile.check_format(name, subtype):
        subtypes = ", ".join(sorted(soundfile.available_subtypes(name)))
        raise ValueError(
            f"subtype is {subtype}, which {name} files do not have: choose one of {subtypes}, or"
            " another format"
        )
    size = samples * {"DOUBLE": 8}.get(subtype, -(-BITS.get(subtype, 32) // 8))
    if name in ("WAV", "WAVEX") and size > LARGEST_WAV:
        name = "RF64"
    return SampleFormat(name, subtype)


def check_holds(sample_format: SampleFormat, channels: int, sample_rate: int) -> None:
    """Raise ValueError if a file of this format cannot have so many channels at such a rate."""
    try:
        soundfile.SoundFile(
            io.BytesIO(), "w", sample_rate, channels, sample_format.subtype,
            format=sample_format.format,
        ).close()  # fmt: skip
    except soundfile.LibsndfileError:
        raise ValueError(
            f"format is {sample_format}, which does not hold {channels}"
            f" channel{'s' if channels > 1 else ''} at {sample_rate} Hz: choose another"
        ) from None
