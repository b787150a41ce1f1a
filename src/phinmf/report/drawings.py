"""Small drawings without axes, in the colour and size that the page gives them."""

from __future__ import annotations

import numpy as np

from phinmf._types import Array

HEIGHT = 100  #: in units of the drawing; the page stretches it
COLUMNS = 480  #: maximum number


def waveform(samples: Array, peak: float) -> str:
    """Draw the outline of a sound; `peak` reaches the edge, quiet sounds are drawn larger."""
    columns = np.array_split(samples.reshape(len(samples), -1), min(COLUMNS, len(samples)))
    extremes = np.array([[column.max(), column.min()] for column in columns]).T
    drawn = np.sign(extremes) * np.sqrt(np.abs(extremes) / (peak or 1.0))
    upper, lower = (HEIGHT / 2 * (1 - np.clip(side, -1, 1)) for side in drawn)
    return _shape(np.minimum(upper, 49.5), np.maximum(lower, 50.5))  # silence is a thin line


def area(values: Array) -> str:
    """Draw nonnegative values as a filled outline; the largest reaches the top."""
    columns = np.array_split(values, min(COLUMNS, len(values)))
    heights = np.array([column.max() for column in columns])
    drawn = np.sqrt(heights / (heights.max() or 1.0))
    return _shape(HEIGHT * (1 - 0.98 * drawn), np.full(len(drawn), float(HEIGHT)))


def _shape(upper: Array, lower: Array) -> str:
    """Return the SVG of the area between two lines of points."""
    x = np.arange(len(upper)) + 0.5
    x[0], x[-1] = 0, len(x)  # from edge to edge
    if len(x) == 1:
        x, upper, lower = np.array([0.0, 1.0]), np.repeat(upper, 2), np.repeat(lower, 2)
    there = [f"{a:g} {b:.1f}" for a, b in zip(x, upper, strict=True)]
    back = [f"{a:g} {b:.1f}" for a, b in zip(x[::-1], lower[::-1], strict=True)]
    return (
        f'<svg class="shape" viewBox="0 0 {x[-1]:g} {HEIGHT}" preserveAspectRatio="none"'
        f' aria-hidden="true"><path d="M{"L".join(there + back)}Z"/></svg>'
    )
