"""Files of parts that add up to the recording: bit for bit where samples are integers."""

from __future__ import annotations

import errno
import os
import tempfile
import zlib
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np
import soundfile
from numpy.typing import NDArray

from phinmf._types import Array
from phinmf.audio.files import BITS, BLOCK, FLOATS, SUFFIXES, Sound, native

LARGEST_WAV = 2**32 - 2**16  #: bytes; above, RF64
LOSSY = {"OGG": "VORBIS", "MP3": "MPEG_LAYER_III", "OPUS": "OPUS"}


@dataclass(frozen=True)
class Encoding:
    """How the parts are written."""

    format: str
    subtype: str

    @property
    def bits(self) -> int | None:
        """Of an integer sample."""
        return BITS.get(self.subtype)

    @property
    def lossless(self) -> bool:
        """Whether samples are kept as they are written."""
        return self.subtype in BITS or self.subtype in FLOATS

    @property
    def dtype(self) -> str:
        """In which samples are written and read."""
        return "int32" if self.bits else "float64" if self.subtype == "DOUBLE" else "float32"

    @property
    def suffix(self) -> str:
        """Of a file name."""
        return ".opus" if self.subtype == "OPUS" else SUFFIXES[self.format]


def encoding_for(
    sound: Sound, length: int, format: str | None = None, subtype: str | None = None
) -> Encoding:
    """The input's own encoding, or 24-bit WAV if that was lossy, unless something else is asked.

    Formats that are not in SUFFIXES keep neither every sampling rate nor every sample.
    """
    own = sound.format if sound.lossless and sound.format in SUFFIXES else "WAV"
    name = (format or own).upper().lstrip(".")
    if subtype is None:
        if name in LOSSY:
            subtype = LOSSY[name]
        else:
            subtype = sound.subtype if sound.lossless else "PCM_24"
            if not soundfile.check_format(name, subtype):
                subtype = "PCM_24"
    subtype = subtype.upper()
    name = "OGG" if name == "OPUS" else name
    if name not in SUFFIXES or not soundfile.check_format(name, subtype):
        known = ", ".join(sorted({*SUFFIXES, "OPUS"}))
        raise ValueError(
            f"format {format or name} with subtype {subtype} is not known: choose one of {known},"
            " and a subtype such as PCM_16, PCM_24 or FLOAT"
        )
    size = length * sound.channels * {"DOUBLE": 8}.get(subtype, -(-BITS.get(subtype, 32) // 8))
    if name in ("WAV", "WAVEX") and size > LARGEST_WAV:
        name = "RF64"
    return Encoding(name, subtype)


def quantised(parts: Array, signal: Array, bits: int) -> NDArray[np.int64]:
    """Integers for each part whose sum is that of the signal, none of them out of range.

    The last part is what the others leave; where that is out of range, the others take the excess.
    """
    full = 2 ** (bits - 1)
    low, high = -full, full - 1
    whole = np.rint(parts * full).clip(low, high).astype(np.int64)
    far = 2.0**52  # beyond what any number of parts can hold, and within what integers can
    wanted = np.rint(np.clip(signal * full, -far, far)).astype(np.int64)
    rest = wanted - whole[:-1].sum(axis=0)
    whole[-1] = rest.clip(low, high)
    excess = rest - whole[-1]
    for part in whole[:-1] if excess.any() else ():
        taken = (part + excess).clip(low, high) - part
        part += taken
        excess -= taken
    return whole


class Stems:
    """Open files, one for each part; `null_test.measure` reads them again when they are closed."""

    def __init__(
        self,
        paths: list[Path],
        encoding: Encoding,
        sound: Sound,
        gain: float = 1.0,
        where: Path | None = None,
    ) -> None:
        self.paths = paths
        self.encoding = encoding
        self.sound = sound
        self.gain = gain
        self.where = where or paths[0].parent  #: the folder that messages speak of
        self.length = 0  #: samples written
        self.checksums = [0] * len(paths)  #: of the samples of each file
        self.files: list[soundfile.SoundFile] = []
        self._stack = ExitStack()

    def __enter__(self) -> Stems:
        how = {"format": self.encoding.format, "subtype": self.encoding.subtype}
        try:
            for path in self.paths:
                file = soundfile.SoundFile(
                    native(path),
                    "w",
                    samplerate=self.sound.sample_rate,
                    channels=self.sound.channels,
                    **how,
                )
                self.files.append(self._stack.enter_context(file))
                for tag, text in self.sound.tags.items():
                    with suppress(soundfile.LibsndfileError, RuntimeError):
                        setattr(file, tag, text)
        except soundfile.LibsndfileError as error:
            refused = self.refused()
            with suppress(soundfile.LibsndfileError):
                self._stack.close()
            raise refused or ValueError(
                f"{self.encoding.format} {self.encoding.subtype} cannot hold"
                f" {self.sound.channels} channels at {self.sound.sample_rate} Hz"
                f" ({error.error_string.strip()}): choose another --format"
            ) from None
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        try:
            self._stack.close()
        except soundfile.LibsndfileError as reason:
            if kind is None:
                raise self.failed(reason) from None

    def write(self, signal: Array, parts: Array) -> None:
        """Write the next samples (n, channels) of a signal, as its parts (K, n, channels)."""
        signal, parts = self.gain * signal, self.gain * parts
        bits = self.encoding.bits
        out: NDArray[Any]
        if bits is not None:
            out = (quantised(parts, signal, bits) << (32 - bits)).astype(np.int32)
        elif self.encoding.lossless:
            out = parts.astype(self.encoding.dtype)
        else:  # whose encoders crash, or read beyond a table, where a sample is beyond full scale
            out = parts.clip(-1, 1).astype(self.encoding.dtype)
        try:
            for k, file in enumerate(self.files):
                self.checksums[k] = zlib.crc32(out[k], self.checksums[k])
                for first in range(0, len(signal), BLOCK):
                    file.write(out[k, first : first + BLOCK])
        except (soundfile.LibsndfileError, AssertionError) as error:
            raise self.failed(error) from None
        self.length += len(signal)

    def failed(self, error: Exception) -> OSError:
        """Why nothing more can be written."""
        said = str(getattr(error, "error_string", error)).strip(" .") or "not all was taken"
        return self.refused() or OSError(errno.EIO, said)

    def refused(self) -> OSError | None:
        """What the system says of one more file, since libsndfile does not hand on its words."""
        try:
            with tempfile.TemporaryFile(dir=self.paths[0].parent) as file:
                file.write(bytes(2**20))
                file.flush()
                os.fsync(file.fileno())
        except OSError as error:
            return error
        return None
