"""A result as a few lines of HTML, for notebooks: without scripts, in the colours of the page."""

from __future__ import annotations

from html import escape

import numpy as np

from phinmf import arrays
from phinmf._types import Array
from phinmf.result.plots import entries, pitch, strongest
from phinmf.result.record import Record

ATOMS = 5  #: maximum number that are named
POINTS = 120  #: maximum number of points of the curve
WIDTH, HEIGHT = 240, 48  #: of the curve, in pixels


def html(result: Record) -> str:
    """Return a table; every text in it is escaped."""
    n, history = entries(result), result.history
    seconds = history[-1].seconds if len(history) else 0.0
    rows = {
        "size": sizes(result),
        "objective per entry": "unknown" if n is None else f"{result.objective / n:.6g}",
        "status": result.status.value,
        "iterations": f"{result.n_iter} in {seconds:.3g} s",
        "strongest atoms": ", ".join(atom_words(result)),
    }
    if result.terms is not None:
        rows["terms"] = f"{result.terms.divergence!r}, {result.terms.penalty!r}"
    cells = "".join(row(name, escape(text)) for name, text in rows.items())
    label = "best cost so far"
    return (
        '<table style="border-collapse:collapse;color:inherit;background:none">'
        f'<caption style="text-align:left;color:inherit"><b>phinmf Result</b></caption>{cells}'
        f"{row(label, sparkline(history.best_so_far, label))}</table>"
    )


def row(name: str, content: str) -> str:
    """Return a row of the table, whose content is HTML already."""
    style = "text-align:left;vertical-align:top;padding:1px 12px 1px 0;background:none"
    return (
        f'<tr style="background:none"><th scope="row" style="{style};font-weight:normal;'
        f'opacity:.75">{escape(name)}</th><td style="{style}">{content}</td></tr>'
    )


def sizes(result: Record) -> str:
    """Return the lengths of the axes in words."""
    words = [f"M = {len(result.Phi)} samples in a frame"]
    if result.n_atoms < len(result.Phi):
        words.append(f"{result.n_atoms} atoms learned")
    if result.W is not None:
        words.append(f"K = {result.W.shape[1]} components")
    if result.H is not None:
        words.append(f"N = {result.H.shape[1]} frames")
    return ", ".join(words)


def atom_words(result: Record) -> list[str]:
    """Return the number, the frequency and the share of the strongest atoms."""
    words = []
    for number, share in strongest(result, ATOMS):
        text = f"{number} ({pitch(arrays.to_numpy(result.Phi[number]), None)}"
        words.append(f"{text})" if share is None else f"{text}, {100 * share:.0f} %)")
    return words


def sparkline(values: Array, name: str) -> str:
    """Return a curve as SVG, in the colour of the text; a dash if no value is finite."""
    points = np.linspace(0, len(values) - 1, min(POINTS, len(values))).astype(int)
    heights = values[points]
    heights = heights[np.isfinite(heights)]
    if not len(heights):
        return "–"
    x = np.linspace(2, WIDTH - 2, len(heights))
    y = 2 + (HEIGHT - 4) * (heights.max() - heights) / (np.ptp(heights) or 1.0)
    line = " ".join(f"{a:.1f},{b:.1f}" for a, b in zip(x, y, strict=True))
    label = escape(f"{name}: from {heights[0]:.6g} to {heights[-1]:.6g}")
    return (
        f'<svg role="img" aria-label="{label}" width="{WIDTH}" height="{HEIGHT}"'
        f' viewBox="0 0 {WIDTH} {HEIGHT}"><polyline points="{line}" fill="none"'
        ' stroke="currentColor" stroke-width="1.5"/></svg>'
    )
