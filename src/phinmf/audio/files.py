"""Sound files: what their headers say, and their samples in blocks."""

from __future__ import annotations

import os
import stat
import struct
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import soundfile

from phinmf import storage
from phinmf._types import Array
from phinmf.audio import BLOCK, Sound
from phinmf.errors import InvalidValue

RATES = (100, 384_000)  #: Hz, lowest and highest sampling rate that is accepted
MAX_CHANNELS = 32
VORBIS_LEAD = 65_536  #: samples that are decoded before those that are wanted
UNKNOWN = 2**62  #: libsndfile reports at least as many samples where a file does not say
CONVERTIBLE = {".aif", ".opus", ".oga", ".m4a", ".mp4", ".aac", ".wma"}  #: other sound files

STREAMED = 0x7FFF0000  #: bytes that a WAV file announces at least if its length was not known
PROBE = 4096  #: samples that are read at a time to find where a file is damaged


class Reader(soundfile.SoundFile):
    """A sound file that is read in order; soundfile itself seeks after each read.

    That fails where a FLAC file is cut, although all samples before the cut have been read.
    """

    def seekable(self) -> bool:
        """Say that it cannot seek, although `seek` works."""
        return False


@dataclass(frozen=True)
class Excerpt:
    """A stretch of a sound file: a `Source`."""

    sound: Sound
    first: int  #: sample of the file
    length: int  #: samples of each channel
    identity: tuple[int, int]  #: of the file when its header was read

    @property
    def sample_rate(self) -> int:
        """Samples per second."""
        return self.sound.sample_rate

    @property
    def channels(self) -> int:
        """Number of channels."""
        return self.sound.channels

    def read(self, start: int, n: int) -> Array:
        """Return up to n samples (n, channels) from `start` on, in double precision."""
        return read(self.sound, self.first + start, min(n, self.length - start))

    def blocks(self) -> Iterator[Array]:
        """Yield all samples in blocks (n, channels), in double precision."""
        return blocks(self.sound, self.first, self.length)

    def stretch(self, start: float, duration: float | None = None) -> Excerpt:
        """Return the seconds of the file from `start` on, as far as they exist."""
        rate, length = self.sample_rate, self.sound.length
        first = min(round(start * rate), length - 1)
        n = length - first
        if duration is not None and duration * rate < n:
            n = max(1, round(duration * rate))
        return replace(self, first=first, length=n)

    def check_unchanged(self) -> None:
        """Raise ValueError if the file is no longer the one whose header was read."""
        if identity(self.sound.path) != self.identity:
            raise InvalidValue(f"{self.sound.path} was changed while it was read: begin again")


def identity(path: Path) -> tuple[int, int]:
    """Return size and time of change of a file: on all machines that share it the same."""
    status = status_of(path)
    return status.st_size, status.st_mtime_ns


def status_of(path: Path) -> os.stat_result:
    """Return the status of a file, or raise unless it may be read.

    libsndfile does not say why it cannot open a file, and would wait for the writer of a pipe.
    """
    try:
        status = path.stat()
    except FileNotFoundError:
        raise FileNotFoundError(f"{path} does not exist") from None
    if not stat.S_ISREG(status.st_mode):
        raise InvalidValue(f"{path} is a folder, a pipe or a device, but a sound file is needed")
    path.open("rb").close()
    return status


def excerpt(path: str | os.PathLike[str]) -> Excerpt:
    """Look at a file once: the whole of it, to be read or to take a stretch of.

    Raise InvalidValue if its end cannot be read.
    """
    path = storage.named(path)
    before = identity(path)
    sound = probe(path)
    if is_cut_wave(path):
        raise cut_short(sound)
    if sound.format == "FLAC":  # its header says the whole length
        read(sound, sound.length - 1)
    return Excerpt(sound, 0, sound.length, before)


def probe(path: str | os.PathLike[str]) -> Sound:
    """Read the header of a file; raise in one sentence if the file cannot be used."""
    path = storage.named(path)
    with opened(path) as file:
        tags = {name: text for name, text in file.copy_metadata().items() if text}
        sound = Sound(
            path, file.samplerate, file.channels, file.frames, file.format, file.subtype, tags
        )
    if sound.length < 1:
        raise InvalidValue(f"{path} has no samples")
    if sound.length >= UNKNOWN:
        raise InvalidValue(f"{path} does not say how long it is: {how_to_convert(path)}")
    low, high = RATES
    if not low <= sound.sample_rate <= high:
        raise InvalidValue(
            f"{path} has a sampling rate of {sound.sample_rate} Hz, but {low} to {high} Hz is"
            " needed: resample it"
        )
    if sound.channels > MAX_CHANNELS:
        raise InvalidValue(
            f"{path} has {sound.channels} channels, but at most {MAX_CHANNELS} are read"
        )
    return sound


def is_cut_wave(path: Path) -> bool:
    """Whether a WAV or RF64 file is cut short; libsndfile takes it as a shorter file."""
    with path.open("rb") as file:
        head, announced = file.read(12), 0
        if head[:4] not in (b"RIFF", b"RF64") or head[8:] != b"WAVE":
            return False
        while len(chunk := file.read(8)) == 8:
            name, size = struct.unpack("<4sI", chunk)
            if name == b"data":
                streamed = not announced and size >= STREAMED
                return not streamed and (announced or size) > path.stat().st_size - file.tell()
            after = file.tell() + size + size % 2
            if name == b"ds64" and len(content := file.read(16)) == 16:
                announced = struct.unpack_from("<Q", content, 8)[0]
            file.seek(after)
    return False


def cut_short(sound: Sound) -> InvalidValue:
    """Return the error for a file whose end cannot be read, with the seconds that can."""
    length = 0
    with opened(sound.path) as file, suppress(soundfile.LibsndfileError):
        while n := len(file.read(PROBE, dtype="float32")):
            length += n
    return InvalidValue(
        f"{sound.path} is cut short or damaged: only its first {length / sound.sample_rate:.1f} s"
        f" can be read: {how_to_convert(sound.path)}, which takes these"
    )


def opened(path: Path) -> soundfile.SoundFile:
    """Open a file to read it, or say why it cannot be read."""
    status_of(path)
    try:
        return Reader(native(path))
    except (soundfile.LibsndfileError, TypeError) as error:
        reason = str(getattr(error, "error_string", error)).strip().rstrip(".")
        raise InvalidValue(
            f"{path} cannot be read as sound ({reason}): {how_to_convert(path)}"
        ) from None


def native(path: Path) -> str | bytes:
    """Return a path as libsndfile takes it: bytes, since names need not be text, but on Windows."""
    return str(path) if os.name == "nt" else os.fsencode(path)


def how_to_convert(path: Path) -> str:
    """Say what to do with a file that libsndfile does not read."""
    return (
        "convert it to WAV or FLAC first, for example with ffmpeg -i"
        f' "{path.name}" "{path.stem}-again.wav"'
    )


def blocks(sound: Sound, start: int = 0, length: int | None = None) -> Iterator[Array]:
    """Yield samples (n, channels) in double precision, `length` of them or all that exist."""
    left = sound.length - start if length is None else min(length, sound.length - start)
    position = start
    with opened(sound.path) as file:
        while left > 0:
            try:
                if position == start > 0:
                    go_to(file, start)
                block = file.read(min(BLOCK, left), dtype="float64", always_2d=True)
            except soundfile.LibsndfileError:
                block = np.empty((0, sound.channels))
            if len(block) == 0:
                raise cut_short(sound)
            if not np.isfinite(block).all():
                raise InvalidValue(
                    f"{sound.path} has NaN or infinite samples near"
                    f" {position / sound.sample_rate:.1f} s:"
                    " repair it first"
                )
            yield block
            position += len(block)
            left -= len(block)


def go_to(file: soundfile.SoundFile, start: int) -> None:
    """Go to a sample; libsndfile decodes Vorbis wrongly for a while after it has gone somewhere."""
    lead = min(start, VORBIS_LEAD) if file.subtype == "VORBIS" else 0
    file.seek(start - lead)
    if lead:
        file.read(lead, dtype="float32")


def read(sound: Sound, start: int = 0, length: int | None = None) -> Array:
    """Return samples (n, channels) in double precision."""
    return np.concatenate(list(blocks(sound, start, length)))


def sound_files(folder: Path) -> list[Path]:
    """List the sound files in a folder, in the order of their names."""
    endings = {f".{name.lower()}" for name in soundfile.available_formats()} | CONVERTIBLE
    inside = sorted(p for p in folder.iterdir() if p.suffix.lower() in endings and p.is_file())
    if not inside:
        raise FileNotFoundError(f"{folder} has no sound files in it")
    return inside
