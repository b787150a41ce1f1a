"""The stretch of each component that can be heard on the page: half a minute from the middle."""

from __future__ import annotations

from dataclasses import dataclass

from phinmf._types import Array

SECONDS = 30.0  #: longest preview, so that its sound has room in a page


@dataclass(frozen=True, eq=False)
class Preview:
    """Samples of all components from one stretch of the recording."""

    start: int  #: first sample
    components: list[Array]  #: K arrays (n, channels)


def preview_of(length: int, sample_rate: int) -> tuple[int, int]:
    """Return first sample and length of a stretch from the middle, or of all there is."""
    n = min(length, round(SECONDS * sample_rate))
    return (length - n) // 2, n
