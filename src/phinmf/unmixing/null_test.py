"""Read the written files again: compare them with what was written, and add them up.

What is measured is data (`NullTest`); sentences are made of it where they are shown.
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Iterable
from contextlib import ExitStack
from dataclasses import dataclass

import numpy as np
import soundfile

from phinmf._types import Array
from phinmf.arrays.threads import Workers
from phinmf.audio import BLOCK, SampleFormat, in_blocks_of
from phinmf.audio.files import native
from phinmf.audio.writing import Stems
from phinmf.unmixing.listing import FolderRecord, NullTest
from phinmf.unmixing.overview import Overview


@dataclass
class Measured:
    """Levels of files, and how their sum compares with the recording."""

    channels: Array  #: (K, channels, channels): inner products of the channels of each file
    peaks: Array
    samples: int = 0  #: of each file, all channels
    energy: float = 0.0  #: of the recording
    residual: float = 0.0  #: energy of the sum minus the recording
    exact: bool = True  #: every sample of the sum is that of the recording
    rounded: bool = True  #: … or that of the recording rounded to the bits of the files

    @property
    def energies(self) -> Array:
        """Energy of each file."""
        return np.trace(self.channels, axis1=1, axis2=2)

    @property
    def null_test(self) -> NullTest:
        """How the sum of the files compares with the recording."""
        silent = self.energy == 0
        db = level(self.residual, self.samples if silent else self.energy)
        return NullTest(self.exact, self.rounded, silent, db if math.isfinite(db) else None)


def level(residual: float, energy: float) -> float:
    """Return an energy in dB relative to another one, which may be 0."""
    if residual == 0:
        return -math.inf
    return 10 * math.log10(residual / energy) if energy else math.inf


def measure(
    stems: Stems,
    recording: Iterable[Array],
    n_threads: int | None = None,
    overview: Overview | None = None,
) -> Measured:
    """Read closed files again, block by block, beside the recording they are components of.

    Threads read the files side by side; they are added up in their order. Raise OSError if a file
    is not what was written. Integers of up to 32 bits and sums of them are exact in double
    precision, so rounding neither hides nor causes a difference. The overview gets the peaks of
    what is read.
    """
    bits, K, C = stems.sample_format.bits, len(stems.paths), stems.channels
    result = Measured(np.zeros((K, C, C)), np.zeros(K), rounded=bits is not None)
    full = 2.0 ** ((bits or 1) - 1)
    checksums, done = [0] * K, 0
    with ExitStack() as stack:
        files = [stack.enter_context(reopened(stems, k)) for k in range(K)]
        workers = stack.enter_context(Workers(n_threads))
        for whole in in_blocks_of(BLOCK, recording):
            total = np.zeros_like(whole)

            def read_block(k: int, n: int = len(whole), start: int = done) -> Array:
                """Read the block of file k and measure it."""
                try:
                    written = files[k].read(n, dtype=stems.sample_format.dtype, always_2d=True)
                except soundfile.LibsndfileError as error:
                    raise damaged(stems, k, error.error_string) from None
                if written.shape != (n, C):
                    raise damaged(stems, k, "it is cut short")
                checksums[k] = zlib.crc32(written.data, checksums[k])
                heard = written / 2.0**31 if bits else written.astype(np.float64)
                result.channels[k] += heard.T @ heard
                result.peaks[k] = max(result.peaks[k], heard.max(), -heard.min())
                if overview is not None:
                    overview.add(k + 1, start, heard)
                return heard

            for heard in workers.map(read_block, range(K)):
                total += heard
            if overview is not None:
                overview.add(0, done, total)
            rest = total - whole
            result.energy += float(np.vdot(whole, whole))
            result.residual += float(np.vdot(rest, rest))
            result.exact &= not rest.any()
            if bits is not None:
                result.rounded &= np.array_equal(total * full, np.rint(whole * full))
            result.samples += whole.size
            done += len(whole)
    for k in range(K):
        if stems.sample_format.lossless and checksums[k] != stems.checksums[k]:
            raise damaged(stems, k, "its samples are not those that were written")
    return result


def reopened(stems: Stems, k: int) -> soundfile.SoundFile:
    """Open a file that was written."""
    try:
        return soundfile.SoundFile(native(stems.paths[k]))
    except soundfile.LibsndfileError as error:
        raise damaged(stems, k, error.error_string) from None


def damaged(stems: Stems, k: int, reason: str) -> OSError:
    """Return the error for a file that is not what was written."""
    return OSError(
        f"{stems.where}: file {k + 1} of {len(stems.paths)} cannot be read back as it was written"
        f" ({reason.strip(' .')}): is the disk full or damaged? Nothing was kept"
    )


def adds_up(record: FolderRecord) -> str:
    """Say what the components of a folder add up to, as was measured on the disk."""
    recording, sound = "the recording", record.source
    if sound is not None and not sound.sample_format.lossless:
        recording += f" as decoded from {sound.subtype}"
    return sentence(record.null_test, record.sample_format, "components", recording)


def sentence(test: NullTest, sample_format: SampleFormat, names: str, whole: str) -> str:
    """Say the result of a null test of files in one sentence."""
    if test.exact:
        return f"the {names} add up to {whole} bit for bit"
    if test.silent:
        return f"{whole} is silent, and the {names} add up to {test.db:.0f} dB of full scale"
    if test.rounded:
        return (
            f"the {names} add up bit for bit to {whole}, rounded to {sample_format.bits} bits"
            f" ({test.db:.0f} dB without the rounding)"
        )
    because = "" if sample_format.lossless else f", since {sample_format.subtype} is lossy"
    return f"the {names} add up to {whole} to {test.db:.0f} dB{because}"
