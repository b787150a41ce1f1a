"""Pictures without axes, which the page stretches and labels.

Waveforms and activations are SVG in the colour that the page gives them; the power over time, in
the learned transform and as an ordinary spectrogram, is PNG, once for a light page and once for a
dark one.
"""

from __future__ import annotations

import io
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from phinmf._types import Array
from phinmf.report.contents import Report, Transformed

COLUMNS, ROWS = 900, 240  #: maximum number of pixels
POINTS, HEIGHT = 480, 100  #: maximum number of points of an outline; its height in units of the SVG
RANGE = 65.0  #: dB between silence and the loudest
#: colours from silence, which is the colour of the page, to the loudest
LIGHT = ("#f1efe9", "#c3d5e8", "#6fa0cf", "#1d5f9e", "#06182c")
DARK = ("#1d2024", "#1f3c5c", "#3a78b4", "#86bbee", "#f7fbff")
TICKS = (100, 200, 500, 1000, 2000, 5000, 10_000, 20_000)


class Picture(NamedTuple):
    """PNG files of the same picture for a light and for a dark page."""

    light: bytes
    dark: bytes


class Scale:
    """A scale of frequency like that of the ear: even below about 700 Hz, in octaves above."""

    def __init__(self, sample_rate: float) -> None:
        self.top = np.log1p(sample_rate / 2 / 700)

    def place(self, hertz: Array) -> Array:
        """Return where a frequency is, from 0 at the bottom to 1 at half the sample rate."""
        return np.log1p(hertz / 700) / self.top

    def ticks(self) -> list[tuple[str, float]]:
        """Return labels and their places, not too close to each other."""
        labels: list[tuple[str, float]] = []
        for hertz in TICKS:
            height = float(self.place(np.array(float(hertz))))
            if height < 0.96 and (not labels or height - labels[-1][1] > 0.09):
                name = f"{hertz // 1000} kHz" if hertz >= 1000 else f"{hertz} Hz"
                labels.append((name, height))
        return labels


def learned(report: Report, preview: Transformed) -> Picture:
    """Draw |ΦY|², the atoms ordered by the frequency of their peak."""
    order = preview.frequencies.argsort(kind="stable")
    return _picture(report, preview.power[order], preview.frequencies[order])


def spectrogram(report: Report, preview: Transformed) -> Picture:
    """Draw the power of the Fourier transform of the same frames."""
    power = np.square(np.abs(np.fft.rfft(preview.frames, axis=1))).mean(axis=0)
    return _picture(report, power, np.fft.rfftfreq(len(report.Phi), 1 / report.sample_rate))


def _picture(report: Report, power: Array, hertz: Array) -> Picture:
    """Draw power (rows, frames) with rows of ascending frequency, on the scale of the ear."""
    N = power.shape[1]
    hop = len(report.Phi) // 2
    columns = min(COLUMNS, N)
    times = np.arange(N) * hop / len(report.mixture)  # of the middles of the frames
    power = resampled(power.T, times, columns).T
    power = resampled(power, Scale(report.sample_rate).place(hertz), ROWS)[::-1]
    level = 10 * np.log10(np.maximum(power / (power.max() or 1.0), 1e-30))
    shades = np.clip(255 * (1 + level / RANGE), 0, 255).astype(np.uint8)
    return Picture(_png(shades, LIGHT), _png(shades, DARK))


def resampled(values: Array, places: Array, n: int) -> Array:
    """Resample rows at ascending places in [0, 1] to n even rows.

    A new row is the mean of the rows inside it, or the nearest row if there are none. Rows past
    the edge belong to the last new row: the frame after the end goes there.
    """
    edges = np.searchsorted(places, np.arange(n + 1) / n)
    edges[-1] = len(places)
    total = np.concatenate([np.zeros((1, *values.shape[1:])), np.cumsum(values, axis=0)])
    count = np.diff(edges)
    mean = (total[edges[1:]] - total[edges[:-1]]) / np.maximum(count, 1)[:, None]
    middles = (np.arange(n) + 0.5) / n
    after = np.clip(np.searchsorted(places, middles), 1, max(1, len(places) - 1))
    closer = middles - places[after - 1] < places[np.minimum(after, len(places) - 1)] - middles
    nearest = np.minimum(after - closer, len(places) - 1)
    return np.where((count > 0)[:, None], np.maximum(mean, 0), values[nearest])


def _png(shades: NDArray[np.uint8], colours: tuple[str, ...]) -> bytes:
    """Return a PNG of 256 colours."""
    from matplotlib.colors import LinearSegmentedColormap
    from PIL import Image

    palette = LinearSegmentedColormap.from_list("page", colours)(np.arange(256))[:, :3]
    image = Image.fromarray(shades)
    image.putpalette((255 * palette).astype(np.uint8).tobytes())
    file = io.BytesIO()
    image.save(file, "PNG", optimize=True)
    return file.getvalue()


def waveform(samples: Array, peak: float) -> str:
    """Draw the outline of a sound; `peak` reaches the edge, quiet sounds are drawn larger."""
    columns = np.array_split(samples.reshape(len(samples), -1), min(POINTS, len(samples)))
    extremes = np.array([[column.max(), column.min()] for column in columns]).T
    drawn = np.sign(extremes) * np.sqrt(np.abs(extremes) / (peak or 1.0))
    upper, lower = (HEIGHT / 2 * (1 - np.clip(side, -1, 1)) for side in drawn)
    return shape(np.minimum(upper, 49.5), np.maximum(lower, 50.5))  # silence is a thin line


def area(values: Array) -> str:
    """Draw nonnegative values as a filled outline; the largest reaches the top."""
    columns = np.array_split(values, min(POINTS, len(values)))
    heights = np.array([column.max() for column in columns])
    drawn = np.sqrt(heights / (heights.max() or 1.0))
    return shape(HEIGHT * (1 - 0.98 * drawn), np.full(len(drawn), float(HEIGHT)))


def shape(upper: Array, lower: Array) -> str:
    """Return the SVG of the area between two lines of points."""
    x = np.arange(len(upper)) + 0.5
    x[0], x[-1] = 0, len(x)  # from edge to edge
    if len(x) == 1:
        x, upper, lower = np.array([0.0, 1.0]), np.repeat(upper, 2), np.repeat(lower, 2)
    forth = [f"{a:g} {b:.1f}" for a, b in zip(x, upper, strict=True)]
    back = [f"{a:g} {b:.1f}" for a, b in zip(x[::-1], lower[::-1], strict=True)]
    return (
        f'<svg class="shape" viewBox="0 0 {x[-1]:g} {HEIGHT}" preserveAspectRatio="none"'
        f' aria-hidden="true"><path d="M{"L".join(forth + back)}Z"/></svg>'
    )
