"""Pictures without axes, which the page stretches and labels.

Spectra and activations are SVG in the colour that the page gives them; power over time
is PNG on white, which the page turns over if it is dark.
"""

from __future__ import annotations

import base64
import io

import numpy as np

from phinmf._types import Array

COLUMNS, ROWS = 900, 240  #: maximum number of pixels
POINTS, HEIGHT = 480, 100  #: maximum number of points of an outline; its height in units of the SVG
RANGE = 65.0  #: dB between silence and the loudest
SHADES = ("#f1efe9", "#c3d5e8", "#6fa0cf", "#1d5f9e", "#06182c")  #: from silence to the loudest
TICKS = (100, 200, 500, 1000, 2000, 5000, 10_000, 20_000)


def image(content: bytes, kind: str, words: str) -> str:
    """Return an element with a picture (kind "png" or "svg+xml"), and words for who cannot see."""
    data = base64.b64encode(content).decode()
    return f'<img src="data:image/{kind};base64,{data}" alt="{words}" draggable="false">'


def height(hertz: Array, sample_rate: float) -> Array:
    """Return where frequencies are on a scale like that of the ear, 1 at half the sample rate.

    It is even below about 700 Hz, and in octaves above.
    """
    return np.log1p(hertz / 700) / np.log1p(sample_rate / 2 / 700)


def ticks(sample_rate: float) -> list[tuple[str, float]]:
    """Return labels of that scale and their heights, not too close to each other."""
    labels: list[tuple[str, float]] = []
    for hertz, place in zip(TICKS, height(np.array(TICKS), sample_rate).tolist(), strict=True):
        if place < 0.96 and (not labels or place - labels[-1][1] > 0.09):
            labels.append((f"{hertz // 1000} kHz" if hertz >= 1000 else f"{hertz} Hz", place))
    return labels


def spectrogram(power: Array, hertz: Array, times: Array, sample_rate: float) -> bytes:
    """Draw power (rows, frames) as PNG, rows on the scale of the ear.

    Rows have ascending frequencies `hertz`; `times` are the places of the frames, 0 to 1.
    """
    from matplotlib.colors import LinearSegmentedColormap
    from PIL import Image

    even = resampled(power.T, times, min(COLUMNS, len(times))).T
    even = resampled(even, height(hertz, sample_rate), ROWS)[::-1]
    level = 10 * np.log10(np.maximum(even / (even.max() or 1.0), 1e-30))
    picture = Image.fromarray(np.clip(255 * (1 + level / RANGE), 0, 255).astype(np.uint8))
    palette = LinearSegmentedColormap.from_list("page", SHADES)(np.arange(256))[:, :3]
    picture.putpalette((255 * palette).astype(np.uint8).tobytes())
    file = io.BytesIO()
    picture.save(file, "PNG", optimize=True)
    return file.getvalue()


def resampled(values: Array, places: Array, n: int) -> Array:
    """Resample rows at ascending places in [0, 1] to n even rows.

    A new row is the mean of the rows inside it; without any it is the nearest new row that has
    some. Rows past the edge belong to the last new row: the frame after the end goes there.
    """
    inside = np.minimum((places * n).astype(int), n - 1)
    filled, first, count = np.unique(inside, return_index=True, return_counts=True)
    means = np.add.reduceat(values, first, axis=0) / count[:, None]
    nearest = np.abs(np.arange(n)[:, None] - filled).argmin(axis=1)
    return means[nearest]


def area(values: Array) -> str:
    """Draw nonnegative values as a filled outline; the largest reaches the top."""
    columns = np.array_split(values, min(POINTS, len(values)))
    heights = np.array([column.max() for column in columns])
    tops = HEIGHT * (1 - 0.98 * np.sqrt(heights / (heights.max() or 1.0)))
    line = "".join(f"V{top:.1f}H{right}" for right, top in enumerate(tops, 1))
    return (
        f'<svg class="shape" viewBox="0 0 {len(tops)} {HEIGHT}" preserveAspectRatio="none"'
        f' aria-hidden="true"><path d="M0 {HEIGHT}{line}V{HEIGHT}Z"/></svg>'
    )
