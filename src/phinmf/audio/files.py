"""Sound files: what they say of themselves, and their samples in blocks."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import soundfile

from phinmf._types import Array

#: bits of what holds integers; what is neither these nor float is lossy
BITS = {"PCM_S8": 8, "PCM_U8": 8, "PCM_16": 16, "PCM_24": 24, "PCM_32": 32}
FLOATS = ("FLOAT", "DOUBLE")
SUFFIXES = {
    "WAV": ".wav", "WAVEX": ".wav", "RF64": ".wav", "W64": ".w64", "AIFF": ".aiff", "CAF": ".caf",
    "AU": ".au", "FLAC": ".flac", "OGG": ".ogg", "MP3": ".mp3",
}  # fmt: skip
BLOCK = 65_536  #: samples that are read or written at a time
RATES = (100, 384_000)  #: Hz, between which a sampling rate can be meant seriously
MOST_CHANNELS = 32
UNKNOWN = 2**62  #: libsndfile announces at least as many samples where a file does not say


@dataclass(frozen=True)
class Sound:
    """What a file says of itself."""

    path: Path
    sample_rate: int
    channels: int
    length: int  #: samples
    format: str
    subtype: str
    tags: dict[str, str]

    @property
    def seconds(self) -> float:
        """How long it is."""
        return self.length / self.sample_rate

    @property
    def bits(self) -> int | None:
        """Of an integer sample, None for float and for lossy formats."""
        return BITS.get(self.subtype)

    @property
    def lossless(self) -> bool:
        """Whether its samples are kept as they are."""
        return self.subtype in BITS or self.subtype in FLOATS

    def __str__(self) -> str:
        minutes, seconds = divmod(self.seconds, 60)
        channels = {1: "mono", 2: "stereo"}.get(self.channels, f"{self.channels} channels")
        return (
            f"{int(minutes)}:{seconds:04.1f} min, {self.sample_rate} Hz, {channels},"
            f" {self.format} {self.subtype}"
        )


def probe(path: str | os.PathLike[str]) -> Sound:
    """Look at a file; whatever keeps it from being unmixed is said in one sentence."""
    path = Path(path)
    with opened(path) as file:
        tags = {name: text for name, text in file.copy_metadata().items() if text}
        sound = Sound(
            path, file.samplerate, file.channels, file.frames, file.format, file.subtype, tags
        )
    if sound.length < 1:
        raise ValueError(f"{path} has no samples")
    if sound.length >= UNKNOWN:
        raise ValueError(f"{path} does not say how long it is: {written_again(path)}")
    low, high = RATES
    if not low <= sound.sample_rate <= high:
        raise ValueError(
            f"{path} has a sampling rate of {sound.sample_rate} Hz, but {low} to {high} Hz is"
            " needed: resample it"
        )
    if sound.channels > MOST_CHANNELS:
        raise ValueError(
            f"{path} has {sound.channels} channels, but at most {MOST_CHANNELS} are read"
        )
    return sound


def opened(path: Path, **how: Any) -> soundfile.SoundFile:
    """Open a file to read, or say why not."""
    check_readable(path)
    try:
        return soundfile.SoundFile(native(path), **how)
    except (soundfile.LibsndfileError, TypeError) as error:
        reason = str(getattr(error, "error_string", error)).strip().rstrip(".")
        raise ValueError(
            f"{path} cannot be read as sound ({reason}): {written_again(path)}"
        ) from None


def check_readable(path: Path) -> None:
    """Refuse what is no file, which might wait for ever to be read, and what may not be read."""
    try:
        mode = path.stat().st_mode
    except FileNotFoundError:
        raise FileNotFoundError(f"{path} does not exist") from None
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(f"{path} is a folder, but a sound file is needed")
    if not stat.S_ISREG(mode):
        raise ValueError(
            f"{path} is a pipe or a device, but a sound file is needed: copy the sound to a file"
        )
    try:
        path.open("rb").close()
    except PermissionError:
        raise PermissionError(
            f"{path} may not be read by you: ask its owner, or change its permissions"
        ) from None


def native(path: Path) -> str | bytes:
    """A path as libsndfile takes it: names need not be text but on Windows."""
    return str(path) if os.name == "nt" else os.fsencode(path)


def written_again(path: Path) -> str:
    """What to do with a file that libsndfile does not read."""
    return (
        "convert it to WAV or FLAC first, for example with ffmpeg -i"
        f' "{path.name}" "{path.stem}-again.wav"'
    )


def blocks(sound: Sound, start: int = 0, length: int | None = None) -> Iterator[Array]:
    """Yield samples (n, channels) in double precision, as many as asked for or as there are."""
    left = sound.length - start if length is None else min(length, sound.length - start)
    at = start
    with opened(sound.path) as file:
        while left > 0:
            try:
                if at == start > 0:
                    file.seek(start)
                block = file.read(min(BLOCK, left), dtype="float64", always_2d=True)
            except soundfile.LibsndfileError as error:
                raise ValueError(
                    f"{sound.path} is damaged at {at / sound.sample_rate:.1f} s ({error})"
                ) from None
            if len(block) == 0:
                raise ValueError(
                    f"{sound.path} is cut short: it announces {sound.length} samples and has {at}"
                )
            if not np.isfinite(block).all():
                raise ValueError(
                    f"{sound.path} has NaN or infinite samples near {at / sound.sample_rate:.1f} s:"
                    " repair it first"
                )
            yield block
            at += len(block)
            left -= len(block)


def read(sound: Sound, start: int = 0, length: int | None = None) -> Array:
    """Samples (n, channels) in double precision."""
    return np.concatenate(list(blocks(sound, start, length)))


def found_in(folder: Path) -> list[Path]:
    """The sound files in a folder, in the order of their names."""
    endings = {f".{name.lower()}" for name in soundfile.available_formats()}
    endings |= {".aif", ".opus", ".oga", ".m4a", ".mp4", ".aac", ".wma"}
    inside = sorted(p for p in folder.iterdir() if p.suffix.lower() in endings and p.is_file())
    if not inside:
        raise FileNotFoundError(f"{folder} has no sound files in it")
    return inside
