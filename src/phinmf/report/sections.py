"""The sections of the page: the rows of the player, the pictures, the figures, the facts."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
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


def link(file: str, words: str, name: str) -> str:
    """Return a link to a file beside the page; "./" keeps it from being another address."""
    address = escape("./" + quote(os.fsencode(file)))
    return f'<a href="{address}" aria-label="{words}: {clean(name)}">{words}</a>'


def clock(seconds: float, digits: int = 0) -> str:
    """Return minutes and seconds: 1:05 or 1:05.2."""
    unit = 10**digits
    minutes, rest = divmod(round(seconds * unit), 60 * unit)
    width = 2 if digits == 0 else 3 + digits
    return f"{minutes}:{rest / unit:0{width}.{digits}f}"


def percent(share: float) -> str:
    """Return a share of the energy in percent."""
    return "below 1 %" if 0 < share < 0.01 else f"{100 * share:.0f} %"


def rows(report: Report) -> Iterator[str]:
    """Yield a row of the player for the original, for each group, and for each component."""
    hint = '<div class="controls"><span class="hint">the recording, to compare</span></div>'
    yield _row(report, 'class="row original"', _name("original"), hint, report.mixture)
    if not report.groups:
        for number in range(1, len(report.components) + 1):
            yield _component(report, number)
    for group in report.groups:
        members = [report.components[number - 1] for number in group.components]
        numbers = " ".join(map(str, group.components))
        attributes = f'class="row group" data-group="{numbers}"{_hue(report, group.components[0])}'
        n = f"{len(members)} component{'s' * (len(members) > 1)}"
        about = f"{n}, {percent(sum(component.share for component in members))}"
        name = _name(group.name, about, group.file)
        samples = np.sum([component.samples for component in members], axis=0)
        yield _row(report, attributes, name, _controls(f"group {group.name}"), samples)
        for number in group.components:
            yield _component(report, number)


def _component(report: Report, number: int) -> str:
    """Return the row of a component, with its gain."""
    component = report.components[number - 1]
    attributes = f'class="row" data-component="{number}"{_hue(report, number)}'
    key = f'<kbd class="key" aria-hidden="true">{number}</kbd>' if number <= 9 else ""
    about = f"{percent(component.share)} of the energy"
    gain = (
        f'<label class="gain"><span class="hidden">Gain of {clean(component.name)}</span>'
        '<input type="range" data-action="gain" min="-40" max="12" step="1" value="0">'
        "<output>0</output></label>"
    )
    name = _name(component.name, about, component.file, key)
    return _row(report, attributes, name, _controls(component.name, gain), component.samples)


def _hue(report: Report, number: int) -> str:
    """Return the colour of a component, which is that of its group."""
    colour: int | None = number - 1
    for group in report.groups:
        if number in group.components:
            colour = group.colour
    if colour is None:
        return ' style="--tone:var(--ink)"'
    return f' style="--hue:{(250 + GOLDEN * colour) % 360:.0f}"'


def _row(report: Report, attributes: str, name: str, controls: str, samples: Array) -> str:
    """Return a row of the player."""
    wave = pictures.waveform(samples, report.peak)
    return f'<li {attributes}>{name}{controls}<div class="timeline">{wave}</div></li>'


def _name(name: str, about: str = "", file: str | None = None, key: str = "") -> str:
    """Return a name with the key that plays it alone, and what is known about it."""
    more = f" · {link(file, 'whole file', name)}" if file is not None else ""
    return f'<div class="name">{key}{shown(name)}<small><span>{about}</span>{more}</small></div>'


def _controls(name: str, gain: str = "") -> str:
    """Return the buttons of a component or a group."""
    buttons = "".join(
        f'<button type="button" data-action="{word.lower()}"'
        f' aria-pressed="false" aria-label="{word} {clean(name)}">{word}</button>'
        for word in ("Solo", "Mute")
    )
    return f'<div class="controls">{buttons}{gain}</div>'


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
        f'<div class="hertz" aria-hidden="true">{labels}</div>'
        f'<div class="timeline">{pictures.image(png, "png", words)}</div>'
        f'<div class="ruler" aria-hidden="true">{time_ruler(report)}</div></div></figure>'
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
