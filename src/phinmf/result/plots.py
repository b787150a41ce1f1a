"""One figure of a result: the cost, the strongest atoms, the patterns W and the activations H.

`figure_of` draws all that a result has. The functions that draw one thing on axes of the caller are
those of reports, too. Matplotlib is imported when something is drawn.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from phinmf._types import Array, Indices
from phinmf.arrays import for_each_atom
from phinmf.result.history import History

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


#: colours that colour-blind readers can tell apart (Okabe and Ito)
BLUE, ORANGE, GREY = "#0072B2", "#D55E00", "#777777"
RANGE = 60.0  #: dB between the darkest and the brightest shade
ATOMS = 6  #: number of atoms that are drawn or named, at most
PADDING = 16  #: padded length of an atom, in lengths of the atom


def figure_of(
    Phi: Array, W: Array | None, H: Array | None, history: History, rate: float | None = None
) -> Figure:
    """Draw what a result has, each on axes of its own, in a new figure that no window shows."""
    from matplotlib.figure import Figure

    n_rows = 1 if W is None or H is None else 2
    figure = Figure(figsize=(10, 3 * n_rows), layout="constrained")
    axes = figure.subplots(n_rows, 2, squeeze=False).flat
    titles = ("cost", "atoms", "patterns", "activations")
    for ax, title in zip(axes, titles, strict=False):
        ax.set_title(title, loc="left", fontsize=10)
    size = 1 if W is None else len(Phi) // len(W)
    atoms(axes[1], Phi[strongest(Phi, W, H)[0]], rate, size)
    if W is None or H is None:
        plot_best(axes[0], history, color=BLUE)
        return figure
    M, N = len(Phi), H.shape[1]
    plot_best(axes[0], history, M * N, color=BLUE)
    axes[0].set_ylabel("best objective so far, per entry")
    order = periods(Phi[:: M // len(W)], padding=2).argsort(kind="stable")
    plot_power(axes[2], W[order].T)
    axes[2].set(xlabel="atoms, from low to high frequency", ylabel="component")
    plot_power(axes[3], H, None if rate is None else N * M / 2 / rate)  # frames overlap by half
    axes[3].set(xlabel="frames" if rate is None else "seconds", ylabel="component")
    return figure


def atoms(ax: Axes, rows: Array, rate: float | None, size: int = 1) -> None:
    """Draw atoms, the first at the top, each labelled with its frequency.

    The two atoms of a pair, if `size` is 2, are drawn over each other with one label.
    """
    n, M = len(rows) // size, rows.shape[1]
    times = np.arange(M) if rate is None else 1000 * np.arange(M) / rate
    heights = np.arange(n)[::-1]
    for number, atom in enumerate(rows):
        height, color = heights[number // size], (BLUE, ORANGE)[number % size]
        ax.plot(times, height + 0.45 * atom / np.abs(atom).max(), color=color, lw=1)
    ax.set_yticks(heights, [pitch(atom, rate) for atom in rows[::size]])
    ax.set(xlabel="samples" if rate is None else "milliseconds", ylim=(-0.6, n - 0.4))


def plot_best(ax: Axes, history: History, unit: float = 1.0, **style: Any) -> None:
    """Draw the best objective so far, at the target floor, against seconds; it never rises.

    The objective itself rises while the floor falls: at a lower floor the same fit costs more, and
    factors that fit a high floor cost much at the target floor.
    """
    ax.plot(np.concatenate([[0.0], history.seconds]), history.best_so_far / unit, **style)
    ax.set(xlabel="seconds", ylabel="best objective so far")


def plot_atom(ax: Axes, atom: Array, sample_rate: float, **style: Any) -> None:
    """Draw an atom against milliseconds, titled with the frequency of its spectral peak."""
    ax.plot(1000 * np.arange(len(atom)) / sample_rate, atom, **style)
    ax.set_ylim(*(np.array([-1.1, 1.1]) * np.abs(atom).max()))  # a constant is a straight line
    ax.set_title(pitch(atom, sample_rate), fontsize=9)
    ax.set_yticks([])
    ax.spines[["left", "right", "top"]].set_visible(False)


def plot_power(ax: Axes, power: Array, width: float | None = None) -> None:
    """Draw nonnegative power (rows, columns) in decibels, below its maximum.

    The horizontal axis ends at `width`, by default at the number of columns.
    """
    from matplotlib.ticker import MaxNLocator

    rows, columns = power.shape
    with np.errstate(divide="ignore"):
        level = 10 * np.log10(power / (power.max() or 1.0))
    ax.imshow(
        np.maximum(level, -RANGE), cmap="magma", vmin=-RANGE, vmax=0, aspect="auto",
        origin="lower", extent=(0, columns if width is None else width, 0.5, rows + 0.5),
    )  # fmt: skip
    ax.yaxis.set_major_locator(MaxNLocator("auto", integer=True, min_n_ticks=1))


def strongest(Phi: Array, W: Array | None, H: Array | None) -> tuple[Indices, Array | None]:
    """Return the rows of the strongest atoms in the model WH, and their shares of its power.

    Without factors these are the first atoms, which are those that were learned.
    """
    if W is None or H is None:
        return np.arange(min(ATOMS, len(Phi))), None
    power = for_each_atom(W @ H.sum(axis=1, dtype=np.float64), len(Phi))
    shares = power / (power.sum() or 1.0)
    rows = np.argsort(-shares, kind="stable")[: ATOMS * len(Phi) // len(W)]
    return rows, shares[rows]


def periods(atoms: Array, padding: int = PADDING) -> Array:
    """Return the number of periods in a frame at which the spectrum of each atom is largest."""
    n = padding * atoms.shape[1]
    return np.array([np.abs(np.fft.rfft(atom, n)).argmax() / padding for atom in atoms])


def pitch(atom: Array, sample_rate: float | None) -> str:
    """Return the frequency of an atom in words, in periods per frame if no rate is named.

    Less than one period in a frame has no peak that could be located: "below 36 Hz".
    """
    n = float(periods(atom[None])[0])
    if sample_rate is None:
        return f"{n:.1f} periods"
    period = sample_rate / len(atom)
    if n < 1:
        return f"below {period:.{0 if period >= 1 else 2}f} Hz"
    return f"{n * period:.0f} Hz"
