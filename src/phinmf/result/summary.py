"""A result as a few lines of HTML, for notebooks: without scripts, in the colours of the page."""

from __future__ import annotations

from html import escape

import numpy as np

from phinmf import arrays
from phinmf._types import Array
from phinmf.result.atoms import strongest
from phinmf.result.plots import pitch
from phinmf.result.record import Record

ATOMS = 5  #: maximum number that are named
POINTS = 120  #: maximum number of points of the curve
WIDTH, HEIGHT = 240, 48  #: of the curve, in pixels


def html(result: Record) -> str:
    """Return a table; every text in it is escaped."""
    rows = {
        "size": sizes(result),
        "objective per entry": per_entry(result),
        "status": result.status.value,
        "iterations": iterations(result),
        "strongest atoms": ", ".join(atom_words(result)),
    }
    if result.terms is not None:
        rows["terms"] = f"{result.terms.divergence!r}, {result.terms.penalty!r}"
    cells = "".join(row(name, escape(text)) for name, text in rows.items())
    named = "best cost so far"
    return (
        '<table style="border-collapse:collapse;color:inherit;background:none">'
        f'<caption style="text-align:left;color:inherit"><b>phinmf Result</b></caption>{cells}'
        f"{row(named, sparkline(result.history.best_so_far, named))}</table>"
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


def per_entry(result: Record) -> str:
    """Return the objective divided by the number of entries of ΦY, if that is known."""
    n = entries(result)
    return "unknown" if n is None else f"{result.objective / n:.6g}"


def entries(result: Record) -> int | None:
    """Return the number of entries of ΦY; None if it is not known."""
    M, history = len(result.Phi), result.history
    if result.H is not None:
        return M * int(result.H.shape[1])
    if not len(history):
        return None
    if history[-1].floor * result.scale**2 > 1.001 * result.floor:
        return None  # the run ended while the floor was high: its last step may be of a sample
    return M * history[-1].frames


def iterations(result: Record) -> str:
    """Return how many iterations were made, and how long they took."""
    seconds = result.history[-1].seconds if len(result.history) else 0.0
    return f"{result.n_iter} in {seconds:.3g} s"


def atom_words(result: Record) -> list[str]:
    """Return the number, the frequency and the share of the strongest atoms."""
    words = []
    for number, share in strongest(result, ATOMS):
        text = f"{number} ({pitch(arrays.to_numpy(result.Phi[number]), None)}"
        words.append(f"{text})" if share is None else f"{text}, {100 * share:.0f} %)")
    return words


def sparkline(values: Array, name: str) -> str:
    """Return a curve as SVG, in the colour of the text."""
    places = np.linspace(0, len(values) - 1, min(POINTS, len(values))).astype(int)
    drawn = values[places]
    drawn = drawn[np.isfinite(drawn)]
    if not len(drawn):
        return "–"
    height = np.ptp(drawn) or 1.0
    x = np.linspace(2, WIDTH - 2, len(drawn))
    y = 2 + (HEIGHT - 4) * (drawn.max() - drawn) / height
    points = " ".join(f"{a:.1f},{b:.1f}" for a, b in zip(x, y, strict=True))
    label = escape(f"{name}: from {drawn[0]:.6g} to {drawn[-1]:.6g}")
    return (
        f'<svg role="img" aria-label="{label}" width="{WIDTH}" height="{HEIGHT}"'
        f' viewBox="0 0 {WIDTH} {HEIGHT}"><polyline points="{points}" fill="none"'
        ' stroke="currentColor" stroke-width="1.5"/></svg>'
    )
