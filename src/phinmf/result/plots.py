"""One figure of a result: the cost, the strongest atoms, the patterns W and the activations H.

`figure_of` draws all that a result has. The functions that draw one thing on axes of the caller are
those of reports, too. Matplotlib is imported when something is drawn.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from phinmf import arrays, checks
from phinmf._types import Array
from phinmf.result.history import History
from phinmf.result.record import Record

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

#: colours that colour-blind readers can tell apart (Okabe and Ito)
BLUE, ORANGE, GREY = "#0072B2", "#D55E00", "#777777"
RANGE = 60.0  #: dB between the darkest and the brightest shade
ATOMS = 6  #: maximum number that are drawn
PADDING = 16  #: padded length of an atom, in lengths of the atom


def figure_of(
    result: Record, sample_rate: float | None = None, axes: Sequence[Axes] | None = None
) -> Figure:
    """Draw what a result has, each on one of the axes, and return their figure."""
    rate = None
    if sample_rate is not None:
        rate = checks.number("sample_rate", sample_rate, 0, strict=True)
    drawings: list[Callable[[Record, Axes, float | None], None]] = [cost, atoms]
    drawings += [] if result.W is None else [patterns]
    drawings += [] if result.H is None else [activations]
    panels = np.ravel(np.asarray(new_axes(len(drawings)) if axes is None else axes, dtype=object))
    if len(panels) != len(drawings):
        names = ", ".join(draw.__name__ for draw in drawings)
        raise ValueError(
            f"axes has {len(panels)} axes, but {len(drawings)} are needed, for {names}: pass as"
            " many"
        )
    for draw, ax in zip(drawings, panels, strict=True):
        draw(result, ax, rate)
        ax.set_title(draw.__name__, loc="left", fontsize=10)
    figure: Figure = panels[0].figure
    return figure


def new_axes(n: int) -> Sequence[Axes]:
    """Return n axes of a new figure that no window shows."""
    from matplotlib.figure import Figure

    rows = -(-n // 3)
    figure = Figure(figsize=(10, 3 + 3 * (rows - 1)), layout="constrained")
    return list(figure.subplots(rows, n // rows, squeeze=False).flat)


def cost(result: Record, ax: Axes, rate: float | None) -> None:
    """Draw the best objective so far, per entry."""
    n = entries(result)
    plot_best(ax, result.history, n or 1.0, color=BLUE)
    if n is not None:
        ax.set_ylabel("best objective so far, per entry")


def atoms(result: Record, ax: Axes, rate: float | None) -> None:
    """Draw the strongest atoms, the first at the top, each labelled with its frequency."""
    rows = arrays.to_numpy(result.Phi)[[atom.row for atom in strongest(result, ATOMS)]]
    n, M = rows.shape
    times = np.arange(M) if rate is None else 1000 * np.arange(M) / rate
    heights = np.arange(n)[::-1]
    for height, atom in zip(heights, rows, strict=True):
        ax.plot(times, height + 0.45 * atom / np.abs(atom).max(), color=BLUE, lw=1)
    ax.set_yticks(heights, [pitch(atom, rate) for atom in rows])
    ax.set(xlabel="samples" if rate is None else "milliseconds", ylim=(-0.6, n - 0.4))


def patterns(result: Record, ax: Axes, rate: float | None) -> None:
    """Draw W, a row for each component, the atoms in the order of their frequencies."""
    order = periods(arrays.to_numpy(result.Phi), padding=2).argsort(kind="stable")
    plot_power(ax, arrays.to_numpy(result.W)[order].T)
    ax.set(xlabel="atoms, from low to high frequency", ylabel="component")


def activations(result: Record, ax: Axes, rate: float | None) -> None:
    """Draw H, a row for each component; frames overlap by half."""
    H, M = arrays.to_numpy(result.H), len(result.Phi)
    plot_power(ax, H, None if rate is None else H.shape[1] * M / 2 / rate)
    ax.set(xlabel="frames" if rate is None else "seconds", ylabel="component")


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
    """Draw nonnegative power (rows, columns) in decibels; columns that share a pixel are averaged.

    The horizontal axis ends at `width`, by default at the number of columns.
    """
    from matplotlib.ticker import MaxNLocator

    rows, columns = power.shape
    means = mean_columns(power, max(1, int(ax.figure.bbox.width)))
    with np.errstate(divide="ignore"):
        level = 10 * np.log10(means / (means.max() or 1.0))
    ax.imshow(
        np.maximum(level, -RANGE), cmap="magma", vmin=-RANGE, vmax=0, aspect="auto",
        interpolation="nearest", origin="lower",
        extent=(0, columns if width is None else width, 0.5, rows + 0.5),
    )  # fmt: skip
    ax.yaxis.set_major_locator(MaxNLocator("auto", integer=True, min_n_ticks=1))


def mean_columns(power: Array, n: int) -> Array:
    """Return the means of neighbouring columns, so that at most n are left."""
    N = power.shape[1]
    edges = np.arange(min(N, n) + 1) * N // min(N, n)
    sums = np.add.reduceat(power.astype(np.float64), edges[:-1], axis=1)
    return sums / np.diff(edges)


class StrongAtom(NamedTuple):
    """A row of the transform, and its share of the power that the factors model."""

    row: int
    share: float | None  #: None if there are no factors


def strongest(result: Record, n: int) -> list[StrongAtom]:
    """Return at most n atoms, the strongest in the model first.

    Without activations all components count the same; without factors these are the first atoms,
    which are those that were learned.
    """
    n = min(n, len(result.Phi))
    if result.W is None:
        return [StrongAtom(row, None) for row in range(n)]
    W = arrays.to_numpy(result.W).astype(np.float64)
    loudness = np.ones(W.shape[1])
    if result.H is not None:
        loudness = arrays.to_numpy(result.H).sum(axis=1, dtype=np.float64)
    power = W @ loudness
    shares = power / (power.sum() or 1.0)
    order = np.argsort(-shares, kind="stable")[:n]
    return [StrongAtom(int(row), float(shares[row])) for row in order]


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


def entries(result: Record) -> int | None:
    """Return the number of entries of ΦY, M·N; None if the result does not tell N."""
    M, history = len(result.Phi), result.history
    if result.H is not None:
        return M * int(result.H.shape[1])
    if not len(history):
        return None
    if history[-1].floor * result.scale**2 > 1.001 * result.floor:
        return None  # the run ended while the floor was high: its last step may be of a sample
    return M * history[-1].frames
