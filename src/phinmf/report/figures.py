"""Figures with axes, as SVG in the colours of the page."""

from __future__ import annotations

import io
import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.fft import dct

from phinmf._types import Array
from phinmf.report import plots
from phinmf.report.contents import Report, Transformed

if TYPE_CHECKING:
    from matplotlib.figure import Figure

WIDTH = 4.8  #: inches: narrow, so that letters stay large on a phone
ATOMS = 6
#: colours that Matplotlib draws with, and what the page replaces them by
INK, SOFT, ACCENT, OTHER = "#010101", "#020202", "#030303", "#040404"
COLOURS = {
    INK: "currentColor",
    SOFT: "var(--rule)",
    ACCENT: "var(--accent)",
    OTHER: "var(--muted)",
}


def cost(report: Report) -> str:
    """Draw how the best cost so far fell to that of the end, which is 100 %."""
    history = report.history

    def draw(figure: Figure) -> None:
        ax = figure.subplots()
        last = abs(min(history.start, *history.target_objective)) or 1.0
        plots.plot_best(ax, history, last / 100, color=ACCENT, lw=1.8)
        ax.set(ylabel="% of the last", ylim=(0, None))

    return _svg("cost", draw, 2.5)


def energy(report: Report, preview: Transformed) -> str:
    """Draw the share of the energy in few atoms: learned and DCT."""

    def draw(figure: Figure) -> None:
        ax = figure.subplots()
        M = len(report.Phi)
        fixed = _curve(np.square(dct(preview.frames, axis=1, norm="ortho")).mean(axis=0))
        learned = _curve(preview.power)
        width = min(M, max(4, int(1.3 * np.searchsorted(fixed, 0.95))))
        for label, curve, colour, style, share, height in (
            ("DCT", fixed, OTHER, "--", 0.78, 35),
            ("learned", learned, ACCENT, "-", 0.93, 55),
        ):
            plots.plot_energy(ax, curve, color=colour, lw=1.7, ls=style)
            n = min(M - 1, int(np.searchsorted(curve, share)))
            ax.annotate(
                label, (n + 1, 100 * curve[n]), xytext=(width / 2, height), color=colour,
                arrowprops={"arrowstyle": "-", "color": colour, "lw": 0.7},
            )  # fmt: skip
        ax.set_xlim(0, width)

    return _svg("energy", draw, 2.5)


def _curve(power: Array) -> Array:
    """Return the share of the energy in the strongest rows of power (M, N)."""
    energies = np.sort(power.sum(axis=1))[::-1]
    return np.cumsum(energies) / energies.sum()


def atoms(report: Report, preview: Transformed) -> str:
    """Draw the strongest atoms beside their spectra."""
    order = preview.power.sum(axis=1).argsort(kind="stable")[::-1][:ATOMS]
    chosen = report.Phi[order]
    peaks = preview.frequencies[order]
    M = chosen.shape[1]
    n = 4 * M
    spectra = np.abs(np.fft.rfft(chosen, n))
    f = np.fft.rfftfreq(n, 1 / report.sample_rate)
    top = min(f[-1], 1.6 * peaks.max() + 100)  # room for the label
    f = f[f <= top]

    def draw(figure: Figure) -> None:
        axes = figure.subplots(len(chosen), 2, sharex="col", squeeze=False)
        for row, atom, spectrum, peak in zip(axes, chosen, spectra, peaks, strict=True):
            row[0].plot(1000 * np.arange(M) / report.sample_rate, atom, color=ACCENT, lw=1)
            row[1].fill_between(f, spectrum[: len(f)], color=ACCENT, lw=0)
            row[1].set_xlim(0, top)
            row[1].text(1, 0.6, f"{peak:.0f} Hz", ha="right", transform=row[1].transAxes)
            for ax in row:
                ax.set_yticks([])
                ax.spines["left"].set_visible(False)
        axes[-1, 0].set_xlabel("milliseconds")
        axes[-1, 1].set_xlabel("Hz")

    return _svg("atoms", draw, 0.75 * len(chosen) + 0.7)


def _svg(name: str, draw: Callable[[Figure], None], height: float) -> str:
    """Draw, and fit the SVG into a page: no addresses, unique names, colours of the page."""
    import matplotlib as mpl
    from matplotlib.backends.backend_svg import FigureCanvasSVG
    from matplotlib.figure import Figure

    style: dict[Any, Any] = {
        "svg.fonttype": "none", "svg.hashsalt": name, "font.size": 11, "axes.labelsize": 11,
        "xtick.labelsize": 10, "ytick.labelsize": 10, "text.color": INK, "axes.labelcolor": INK,
        "xtick.labelcolor": INK, "ytick.labelcolor": INK, "xtick.color": SOFT, "ytick.color": SOFT,
        "axes.edgecolor": SOFT, "axes.spines.top": False, "axes.spines.right": False,
        "font.family": "sans-serif", "figure.constrained_layout.wspace": 0.09,
    }  # fmt: skip
    with mpl.rc_context(style):
        figure = Figure(figsize=(WIDTH, height), layout="constrained")
        FigureCanvasSVG(figure)
        draw(figure)
        file = io.BytesIO()
        nothing = dict.fromkeys(("Creator", "Date", "Format", "Type"))
        figure.savefig(file, format="svg", transparent=True, metadata=nothing)
    svg = file.getvalue().decode()
    svg = svg[svg.index("<svg") :]
    svg = re.sub(r"<metadata>.*?</metadata>", "", svg, flags=re.DOTALL)
    svg = re.sub(r' (xmlns(:\w+)?|width|height|version)="[^"]*"', "", svg, count=5)
    svg = re.sub(r'(id="|url\(#|href="#)', rf"\g<1>{name}-", svg)
    svg = re.sub(r"font: ([\d.]+)px [^;\"]*", r"font-size: \1px", svg)  # the family of the page
    for stand_in, colour in COLOURS.items():
        svg = svg.replace(stand_in, colour)
    return svg.replace("<svg", '<svg aria-hidden="true"', 1)
