"""Sound files of components that add up to a signal: bit for bit where samples are integers."""

from __future__ import annotations

import errno
import os
import tempfile
import zlib
from contextlib import ExitStack, suppress
from pathlib import Path
from types import TracebackType

import numpy as np
import soundfile
from numpy.typing import NDArray

from phinmf._types import Array
from phinmf.audio.files import native
from phinmf.audio.sample_format import SampleFormat
from phinmf.audio.sources import BLOCK


def quantised(components: Array, signal: Array, bits: int) -> NDArray[np.int32]:
    """Return integers for each component whose sum is the signal's, none of them out of range.

    The last component is what the others leave; where that is out of range, the others take the
    excess.
    """
    full = 2 ** (bits - 1)
    low, high = -full, full - 1
    if bits > 24:  # more than single precision holds
        components = components.astype(np.float64, copy=False)
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


def beyond_full_scale(components: Array) -> int:
    """Count the samples that clip; less than a step of 16 bits beyond full scale is rounding."""
    limit = 1 + 2.0**-16
    if not components.size or (components.max() <= limit and components.min() >= -limit):
        return 0  # almost always, without an array of the absolute values
    return int(np.count_nonzero(abs(components) > limit))


class Stems:
    """Open sound files, one for each component, written block by block.

    `unmixing.null_test.measure` reads them again when they are closed.
    """

    def __init__(
        self,
        paths: list[Path],
        sample_format: SampleFormat,
        sample_rate: int,
        channels: int,
        *,
        tags: dict[str, str] | None = None,
        gain: float = 1.0,
        where: Path | None = None,
    ) -> None:
        self.paths = paths
        self.sample_format = sample_format
        self.sample_rate = sample_rate
        self.channels = channels
        self.tags = tags or {}
        self.gain = gain
        self.where = where or paths[0].parent  #: the folder that messages name
        self.length = 0  #: samples written to each file
        self.clipped = 0  #: samples of components beyond full scale, which the files cannot hold
        self.checksums = [0] * len(paths)  #: of the samples of each file
        self.files: list[soundfile.SoundFile] = []
        self._stack = ExitStack()

    def __enter__(self) -> Stems:
        try:
            for path in self.paths:
                file = soundfile.SoundFile(
                    native(path),
                    "w",
                    samplerate=self.sample_rate,
                    channels=self.channels,
                    format=self.sample_format.format,
                    subtype=self.sample_format.subtype,
                )
                self.files.append(self._stack.enter_context(file))
                for tag, text in self.tags.items():
                    with suppress(soundfile.LibsndfileError, RuntimeError):  # not in every format
                        setattr(file, tag, text)
        except soundfile.LibsndfileError as error:
            refused = self.refused()
            with suppress(soundfile.LibsndfileError):
                self._stack.close()
            raise refused or ValueError(
                f"{self.sample_format} cannot hold {self.channels} channels at"
                f" {self.sample_rate} Hz ({error.error_string.strip()}): choose another format"
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

    def write(self, signal: Array, components: Array) -> None:
        """Write the next samples: a signal (n, channels) and its components (K, n, channels)."""
        if self.gain != 1:
            signal, components = self.gain * signal, self.gain * components
        if self.sample_format.full_scale:
            self.clipped += beyond_full_scale(components)
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
            raise self.failed(error) from None
        self.length += len(signal)

    def failed(self, error: Exception) -> OSError:
        """Return the reason why nothing more can be written."""
        reason = str(getattr(error, "error_string", error)).strip(" .") or "not all was written"
        return self.refused() or OSError(errno.EIO, reason)

    def refused(self) -> OSError | None:
        """Return the system's error for one more file: libsndfile does not pass it on."""
        try:
            with tempfile.TemporaryFile(dir=self.paths[0].parent) as file:
                file.write(bytes(2**20))
                file.flush()
                os.fsync(file.fileno())
        except OSError as error:
            return error
        return None
