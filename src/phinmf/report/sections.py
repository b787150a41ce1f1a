"""The sections of the page below the player: the pictures, the figures, the facts."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from functools import partial
from html import escape
from typing import TYPE_CHECKING
from urllib.parse import quote

import numpy as np
from scipy.fft import dct

from phinmf._types import Array
from phinmf.report import pictures, plots
from phinmf.report.contents import Report

if TYPE_CHECKING:
    from matplotlib.figure import Figure

ATOMS = 6  #: maximum number that are drawn
GOLDEN = 137.508  #: degrees: hues of neighbours are far apart, however many there are


def clean(text: str) -> str:
    """Return text that can be encoded, escaped: file names may hold bytes that are not text."""
    return escape(text.encode("utf-8", "replace").decode().replace("\0", ""))


def shown(text: str) -> str:
    """Return text for the page; its direction of writing does not affect the text around it."""
    return f"<bdi>{clean(text)}</bdi>"


def address(file: str | None) -> str | None:
    """Return the address of a file beside the page; "./" keeps it from being another one."""
    return None if file is None else "./" + quote(os.fsencode(file))


def clock(seconds: float, digits: int = 0) -> str:
    """Return minutes and seconds: 1:05 or 1:05.2."""
    unit = 10**digits
    minutes, rest = divmod(round(seconds * unit), 60 * unit)
    width = 2 if digits == 0 else 3 + digits
    return f"{minutes}:{rest / unit:0{width}.{digits}f}"


def _hue(report: Report, number: int) -> str:
    """Return the colour of a component: its own or, where there are groups, that of its group."""
    colours = {number: group.colour for group in report.groups for number in group.components}
    colour = colours.get(number) if report.groups else number - 1
    if colour is None:
        return ""
    return f' style="--hue:{(250 + GOLDEN * colour) % 360:.0f}"'


def powers(report: Report) -> str:
    """Return the power over time in the transform, and as a spectrogram; a click on them seeks."""
    fourier = np.square(np.abs(np.fft.rfft(report.frames, axis=1))).mean(axis=0)
    ordinary = _power(
        report, "As an ordinary spectrogram", "Each row is one frequency of a fixed grid.",
        fourier, np.fft.rfftfreq(report.model.M, 1 / report.sample_rate),
    )  # fmt: skip
    if not report.learned:
        return ordinary
    order = report.frequencies.argsort(kind="stable")
    return _power(
        report, "In the learned transform", "Each row is one shape of sound, learned.",
        report.power[order], report.frequencies[order],
    ) + ordinary  # fmt: skip


def _power(report: Report, title: str, caption: str, power: Array, hertz: Array) -> str:
    """Return a picture of power over time with its scales."""
    times = np.arange(power.shape[1]) * report.model.M / 2 / len(report.mixture)
    png = pictures.spectrogram(power, hertz, times, report.sample_rate)
    words = f"Power of the recording over time: {title[0].lower()}{title[1:]}"
    labels = "".join(
        f'<span style="bottom:{100 * height:.2f}%">{label}</span>'
        for label, height in pictures.ticks(report.sample_rate)
    )
    return (
        f'<figure><figcaption><h3>{title}</h3>{caption}</figcaption><div class="plot">'
        f'<div class="pitches" aria-hidden="true">{labels}</div>'
        f'<div class="timeline">{pictures.image(png, "png", words)}</div>'
        f'<div class="labels" aria-hidden="true">{time_ruler(report)}</div></div></figure>'
    )


def factors(report: Report) -> str:
    """Return the spectrum and the activations of each component."""
    order = report.frequencies.argsort(kind="stable")
    heights = pictures.height(report.frequencies[order], report.sample_rate)
    spectra = pictures.resampled(report.model.W[order], heights, pictures.ROWS)
    lines = []
    for k, (component, activation) in enumerate(zip(report.components, report.H, strict=True)):
        strongest = report.frequencies[report.model.W[:, k].argmax()]
        second = report.start + report.seconds * activation.argmax() / max(1, len(activation) - 1)
        name = clean(component.name)
        pitch = f'role="img" aria-label="{name} is strongest near {strongest:.0f} Hz"'
        time = f'role="img" aria-label="{name} is loudest at {clock(second, 1)}"'
        lines.append(
            f'<div class="factor"{_hue(report, k + 1)}><div class="name">{shown(component.name)}'
            f'</div><div class="spectrum" {pitch}>{pictures.area(spectra[:, k])}</div>'
            f'<div class="timeline" {time}>{pictures.area(activation)}</div></div>'
        )
    return "\n".join(lines)


def atoms(report: Report) -> str:
    """Return the picture of the strongest atoms, if they were learned."""
    if not report.learned:
        return ""
    size = report.model.M // len(report.model.W)
    order = report.power.sum(axis=1).argsort(kind="stable")[::-1][:ATOMS]
    rows = (size * order[:, None] + np.arange(size)).ravel()
    return _figure(
        "The strongest shapes", "The building blocks that carry the most energy, each with the"
        " frequencies it contains.", "Waveforms of the strongest atoms beside their spectra",
        partial(plots.atoms, report.model.Phi[rows], report.sample_rate, pairs=size == 2),
    )  # fmt: skip


def energy(report: Report) -> str:
    """Return the picture of the energy in few atoms; nothing is to be compared in silence."""
    if not report.learned:
        return ""
    learned = report.energies.sum(axis=1)
    if not learned.any():
        return "<p>The preview is silent.</p>"
    fixed = np.square(dct(report.frames, axis=1, norm="ortho")).mean(axis=0).sum(axis=1)
    curves = [np.cumsum(np.sort(each)[::-1]) / each.sum() for each in (learned, fixed)]
    return _figure(
        "Where the energy is", "How much of the energy the strongest building blocks carry:"
        " learned from this recording, and in the fixed transform (DCT) used otherwise.",
        "Share of the energy in the strongest atoms, learned and DCT",
        partial(plots.energy, *curves),
    )  # fmt: skip


def cost(report: Report) -> str:
    """Return the picture of the objective, if the transform was learned here."""
    if not len(report.model.history):
        return ""
    return _figure(
        "How it was learned", "The lower, the better the recording is explained; shown is the best"
        " up to each moment. Learning begins with what is loud, so the curve may stay flat at"
        " first.", "Best cost so far against seconds of learning",
        partial(plots.cost, report.model.history),
    )  # fmt: skip


def _figure(title: str, caption: str, words: str, draw: Callable[[], Figure]) -> str:
    """Return a figure with its caption."""
    picture = pictures.image(plots.svg(draw), "svg+xml", words)
    return (
        f"<figure><figcaption><h3>{title}</h3>{caption}</figcaption>"
        f'<div class="chart">{picture}</div></figure>'
    )


def facts(report: Report) -> str:
    """Return the rows of the table of facts."""
    return "\n".join(
        f'<tr><th scope="row">{shown(what)}</th><td>{shown(value)}</td></tr>'
        for what, value in report.facts
    )


def time_ruler(report: Report) -> str:
    """Return labels of the time in the recording, along something as wide as the preview."""
    from matplotlib.ticker import MaxNLocator

    end = report.start + report.seconds
    times = np.asarray(MaxNLocator(6, steps=[1, 2, 5, 10]).tick_values(report.start, end))
    digits = max(0, int(np.ceil(-np.log10(times[1] - times[0]))))
    places = (times - report.start) / report.seconds
    return ruler(
        (clock(time, digits), place)
        for time, place in zip(times.tolist(), places.tolist(), strict=True)
        if -1e-9 < place < 0.97
    )


def ruler(ticks: Iterable[tuple[str, float]]) -> str:
    """Return labels at shares of the width; one at the left edge begins there."""
    labels = []
    for label, share in ticks:
        edge = " class=edge" if share < 0.03 else ""
        labels.append(f'<span{edge} style="left:{100 * share:.4g}%">{label}</span>')
    return "".join(labels)
