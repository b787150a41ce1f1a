"""The stretch of each component that can be heard on the page: half a minute from the middle."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from phinmf._types import Array, Indices

SECONDS = 30.0  #: longest preview, so that its sound has room in a page


@dataclass(frozen=True, eq=False)
class Preview:
    """Samples of all components from one stretch of the recording."""

    start: int  #: first sample
    components: list[Array]  #: K arrays (n, channels)

    def in_order(self, order: Indices) -> Preview:
        """Return the same preview with its components in another order."""
        return Preview(self.start, [self.components[k] for k in order])


def preview_of(length: int, sample_rate: int) -> tuple[int, int]:
    """Return first sample and length of a stretch from the middle, or of all there is."""
    n = min(length, round(SECONDS * sample_rate))
    return (length - n) // 2, n


class PreviewKeeper:
    """Collects the preview from the blocks of a recording of any length."""

    def __init__(self, K: int, channels: int, length: int, sample_rate: int) -> None:
        start, n = preview_of(length, sample_rate)
        self.preview = Preview(start, [np.zeros((n, channels)) for _ in range(K)])

    def keep(self, k: int, at: int, block: Array) -> None:
        """Take a block (n, channels) of component k that begins at sample `at`."""
        kept = self.preview.components[k]
        first = max(at, self.preview.start)
        last = min(at + len(block), self.preview.start + len(kept))
        if first < last:
            begin = first - self.preview.start
            kept[begin : begin + last - first] = block[first - at : last - at]
