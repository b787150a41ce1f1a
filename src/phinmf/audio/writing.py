"""Sound files of components that add up to a signal: bit for bit where samples are integers."""

from __future__ import annotations

import errno
import io
import os
import tempfile
import zlib
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType

import numpy as np
import soundfile
from numpy.typing import NDArray

from phinmf._types import Array
from phinmf.audio import BITS, BLOCK, SUFFIXES, SampleFormat
from phinmf.audio.files import native
from phinmf.errors import InvalidValue

LOSSY = {"OGG": "VORBIS", "MP3": "MPEG_LAYER_III", "OPUS": "OPUS"}  #: default subtypes
LARGEST_WAV = 2**32 - 2**16  #: bytes; larger files are RF64


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
        raise InvalidValue(
            f"format is {format}, which is not known: choose one of {', '.join(sorted(formats))}"
        )
    if subtype is None:
        subtype = LOSSY.get(name, own.subtype if own.lossless else "PCM_24")
        if name not in LOSSY and not soundfile.check_format(name, subtype):
            subtype = "PCM_24"
    subtype = subtype.upper()
    name = "OGG" if name == "OPUS" else name
    if not soundfile.check_format(name, subtype):
        subtypes = ", ".join(sorted(soundfile.available_subtypes(name)))
        raise InvalidValue(
            f"subtype is {subtype}, which {name} files do not have: choose one of {subtypes}, or"
            " another format"
        )
    size = samples * {"DOUBLE": 8}.get(subtype, -(-BITS.get(subtype, 32) // 8))
    if name in ("WAV", "WAVEX") and size > LARGEST_WAV:
        name = "RF64"
    return SampleFormat(name, subtype)


def check_holds(sample_format: SampleFormat, channels: int, sample_rate: int) -> None:
    """Raise unless a file of this format can have this number of channels and this rate (Hz)."""
    name, subtype = sample_format.format, sample_format.subtype
    try:
        soundfile.SoundFile(io.BytesIO(), "w", sample_rate, channels, subtype, format=name).close()
    except soundfile.LibsndfileError:
        raise InvalidValue(
            f"format is {sample_format}, which does not hold {channels}"
            f" channel{'s' if channels > 1 else ''} at {sample_rate} Hz: choose another"
        ) from None


def quantised(components: Array, signal: Array, bits: int) -> NDArray[np.int32]:
    """Return integers for each component whose sum is the signal's, none of them out of range.

    Single precision holds up to 24 bits; for 32 bits components are in double precision.
    The last component is what the others leave; where that is out of range, the others take the
    excess.
    """
    full = 2 ** (bits - 1)
    low, high = -full, full - 1
    scaled = components * components.dtype.type(full)
    whole = np.clip(np.rint(scaled, out=scaled), low, high, out=scaled).astype(np.int32)
    far = 2.0**52  # beyond what any number of components can hold, and within what integers can
    target = np.rint(np.clip(signal * full, -far, far)).astype(np.int64)
    rest = target - whole[:-1].sum(axis=0, dtype=np.int64)
    whole[-1] = rest.clip(low, high)
    excess = rest - whole[-1]
    for component in whole[:-1] if excess.any() else ():
        changed = (component + excess).clip(low, high)
        excess -= changed - component
        component[:] = changed
    return whole


@dataclass(eq=False)
class Stems:
    """Open sound files, one for each component, written block by block.

    `unmixing.null_test.measure` reads them again when they are closed.
    """

    paths: list[Path]
    sample_format: SampleFormat
    sample_rate: int
    channels: int
    tags: dict[str, str]
    where: Path  #: the folder that messages name

    def __post_init__(self) -> None:
        self.checksums = [0] * len(self.paths)  #: of the samples of each file
        self.files: list[soundfile.SoundFile] = []
        self._stack = ExitStack()

    def __enter__(self) -> Stems:
        name, subtype = self.sample_format.format, self.sample_format.subtype
        try:
            for path in self.paths:
                file = soundfile.SoundFile(
                    native(path), "w", self.sample_rate, self.channels, subtype, format=name
                )
                self.files.append(self._stack.enter_context(file))
                for tag, text in self.tags.items():
                    with suppress(soundfile.LibsndfileError, RuntimeError):  # not in every format
                        setattr(file, tag, text)
        except soundfile.LibsndfileError as error:
            failure = self.failure(error)
            with suppress(soundfile.LibsndfileError):
                self._stack.close()
            raise failure from None
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
                raise self.failure(reason) from None

    def write(self, signal: Array, components: Array) -> None:
        """Write the next samples: a signal (n, channels) and its components (K, n, channels)."""
        bits = self.sample_format.bits
        out: NDArray[np.generic]
        if bits is not None:
            out = quantised(components, signal, bits) << (32 - bits)
        elif self.sample_format.lossless:
            out = components.astype(self.sample_format.dtype)
        else:  # beyond full scale, lossy encoders crash or read beyond a table
            out = components.clip(-1, 1).astype(self.sample_format.dtype)
        try:
            for k, file in enumerate(self.files):
                self.checksums[k] = zlib.crc32(out[k], self.checksums[k])
                for first in range(0, len(signal), BLOCK):
                    file.write(out[k, first : first + BLOCK])
        except (soundfile.LibsndfileError, AssertionError) as error:
            raise self.failure(error) from None

    def failure(self, error: Exception) -> OSError:
        """Return why nothing more can be written; libsndfile does not pass on the system's error.

        The system gives it again if one more file is written.
        """
        try:
            with tempfile.TemporaryFile(dir=self.paths[0].parent) as file:
                file.write(bytes(2**20))
                file.flush()
                os.fsync(file.fileno())
        except OSError as refusal:
            return refusal
        reason = str(getattr(error, "error_string", error)).strip(" .") or "not all was written"
        return OSError(errno.EIO, reason)
