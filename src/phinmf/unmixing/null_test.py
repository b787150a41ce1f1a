"""What is on the disk, read again: whether it is what was written, and what it adds up to."""

from __future__ import annotations

import math
import zlib
from collections.abc import Callable, Iterable
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

import numpy as np
import soundfile

from phinmf._types import Array
from phinmf.audio.files import BLOCK, Sound, native
from phinmf.audio.writing import Encoding, Stems
from phinmf.unmixing.streaming import in_blocks_of


@dataclass
class Measured:
    """Levels of files, and how their sum compares with the recording at the gain asked for."""

    encoding: Encoding
    energies: Array
    peaks: Array
    samples: int = 0  #: of each file, all channels
    energy: float = 0.0  #: of the recording
    residual: float = 0.0  #: of the sum minus the recording
    exact: bool = True  #: every sample of the sum is that of the recording
    rounded: bool = True  #: … or that of the recording rounded to the bits of the files

    @property
    def null_db(self) -> float:
        """Level of what remains if all files are taken away, relative to the recording."""
        if self.residual == 0:
            return -math.inf
        return 10 * math.log10(self.residual / self.energy) if self.energy else math.inf


def measure(
    stems: Stems,
    recording: Iterable[Array],
    progress: Callable[[float], Any] = lambda share: None,
) -> Measured:
    """Read closed files again, block by block, beside the recording they are parts of.

    Raise OSError if a file is not what was written. Integers of up to 32 bits and sums of them are
    exact in double precision, so that no rounding hides or makes a difference.
    """
    encoding, K = stems.encoding, len(stems.paths)
    result = Measured(encoding, np.zeros(K), np.zeros(K))
    full = 2.0 ** ((encoding.bits or 1) - 1)
    checksums, done = [0] * K, 0
    with ExitStack() as stack:
        files = [stack.enter_context(reopened(stems, k)) for k in range(K)]
        for block in in_blocks_of(BLOCK, recording):
            wanted, total = stems.gain * block, np.zeros_like(block)
            for k, file in enumerate(files):
                part = read(stems, k, file, len(block))
                checksums[k] = zlib.crc32(part, checksums[k])
                heard = part / 2.0**31 if encoding.bits else part.astype(np.float64)
                total += heard
                result.energies[k] += np.vdot(heard, heard)
                result.peaks[k] = max(result.peaks[k], heard.max(), -heard.min())
            rest = total - wanted
            result.energy += float(np.vdot(wanted, wanted))
            result.residual += float(np.vdot(rest, rest))
            result.exact &= not rest.any()
            if encoding.bits:
                result.rounded &= np.array_equal(total * full, np.rint(wanted * full))
            result.samples += block.size
            done += len(block)
            progress(done / max(stems.length, 1))
    if done != stems.length:
        raise OSError(f"{stems.where}: {stems.length} samples were written of {done}: try again")
    for k in range(K):
        if encoding.lossless and checksums[k] != stems.checksums[k]:
            raise damaged(stems, k, "its samples are not those that were written")
    result.rounded &= encoding.bits is not None
    return result


def reopened(stems: Stems, k: int) -> soundfile.SoundFile:
    """Open a file that was written, and look at what it says of itself."""
    try:
        file = soundfile.SoundFile(native(stems.paths[k]))
    except soundfile.LibsndfileError as error:
        raise damaged(stems, k, error.error_string.strip()) from None
    sound, encoding = stems.sound, stems.encoding
    said = file.format, file.subtype, file.samplerate, file.channels
    if said != (encoding.format, encoding.subtype, sound.sample_rate, sound.channels):
        file.close()
        raise damaged(stems, k, f"it is {' '.join(map(str, said))}")
    if file.frames < stems.length:  # some formats are padded to whole blocks
        file.close()
        raise damaged(stems, k, f"it has {file.frames} samples of {stems.length}")
    return file


def read(stems: Stems, k: int, file: soundfile.SoundFile, n: int) -> Any:
    """The next samples, in the type they were written in."""
    try:
        part = file.read(n, dtype=stems.encoding.dtype, always_2d=True)
    except soundfile.LibsndfileError as error:
        raise damaged(stems, k, error.error_string.strip()) from None
    if len(part) < n:
        raise damaged(stems, k, "it is cut short")
    return part


def damaged(stems: Stems, k: int, reason: str) -> OSError:
    """What is said of a file that is not what was written."""
    return OSError(
        f"{stems.where}: file {k + 1} of {len(stems.paths)} cannot be read back as it was written"
        f" ({reason.rstrip('.')}): is the disk full or damaged? Nothing was kept"
    )


def adds_up(measured: Measured, sound: Sound, gain_db: float = 0.0) -> str:
    """Say of components what they add up to, as it was found on the disk."""
    recording = (
        "the recording" if sound.lossless else f"the recording as decoded from {sound.subtype}"
    )
    if gain_db:
        recording += f" at {gain_db:+g} dB"
    return sentence(measured, "components", recording)


def sentence(measured: Measured, parts: str, whole: str) -> str:
    """The null test in words."""
    if measured.exact:
        return f"the {parts} add up to {whole} bit for bit"
    level = f"{measured.null_db:.0f} dB"
    if measured.rounded:
        return (
            f"the {parts} add up bit for bit to {whole}, rounded to {measured.encoding.bits} bits"
            f" ({level} without the rounding)"
        )
    lossy = "" if measured.encoding.lossless else f", since {measured.encoding.subtype} is lossy"
    return f"the {parts} add up to {whole} to {level}{lossy}"
