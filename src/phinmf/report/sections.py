"""The sections of the page: the rows of the player, the pictures, the figures, the facts."""

from __future__ import annotations

import base64
from collections.abc import Iterable, Iterator
from html import escape

import numpy as np

from phinmf._types import Array
from phinmf.report import figures, pictures
from phinmf.report.contents import ComponentGroup, Report, Transformed
from phinmf.report.words import clean, clock, link, percent, shown

STEPS = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30)
GOLDEN = 137.508  #: degrees: hues of neighbours are far apart, however many there are


def rows(report: Report) -> Iterator[str]:
    """Yield a row of the player for the mixture, and one for each component."""
    peak = max(float(np.abs(samples).max()) for samples in report.sounds)
    hint = '<div class="controls"><span class="hint">the recording, to compare</span></div>'
    name = _name("mixture", "", [], None)
    yield _row('class="row whole"', name, hint, report.mixture, peak)
    if not report.groups:
        for number in range(1, len(report.components) + 1):
            yield _component(report, number, peak)
    for group in report.groups:
        yield _group(report, group, peak)
        for number in group.components:
            yield _component(report, number, peak)


def _component(report: Report, number: int, peak: float) -> str:
    """Return the row of a component."""
    component = report.components[number - 1]
    attributes = f'class="row" data-component="{number}"{_hue(report, number)}'
    key = f'<kbd class="key" aria-hidden="true">{number}</kbd>' if number <= 9 else ""
    share = [f"<span>{percent(component.share)} of the energy</span>"]
    name = _name(component.name, key, share, component.file)
    return _row(attributes, name, _controls(component.name, gain=True), component.samples, peak)


def _group(report: Report, group: ComponentGroup, peak: float) -> str:
    """Return the row of a group, which comes before the rows of its components."""
    members = [report.components[number - 1] for number in group.components]
    numbers = " ".join(map(str, group.components))
    attributes = f'class="row group" data-group="{numbers}"{_hue(report, group.components[0])}'
    n = f"{len(members)} component{'s' * (len(members) > 1)}"
    share = percent(sum(component.share for component in members))
    name = _name(group.name, "", [f"<span>{n}, {share}</span>"], group.file)
    samples = np.sum([component.samples for component in members], axis=0)
    return _row(attributes, name, _controls(f"group {group.name}", gain=False), samples, peak)


def _hue(report: Report, number: int) -> str:
    """Return the colour of a component, which is that of its group."""
    colour: int | None = number - 1
    for group in report.groups:
        if number in group.components:
            colour = group.colour
    if colour is None:
        return ' style="--tone:var(--ink)"'
    return f' style="--hue:{(250 + GOLDEN * colour) % 360:.0f}"'


def _row(attributes: str, name: str, controls: str, samples: Array, peak: float) -> str:
    """Return a row of the player."""
    wave = pictures.waveform(samples, peak)
    return f'<li {attributes}>{name}{controls}<div class="timeline">{wave}</div></li>'


def _name(name: str, key: str, about: list[str], file: str | None) -> str:
    """Return a name with the key that plays it alone, and what is known about it."""
    if file is not None:
        about = [*about, link(file, "whole file", name)]
    return f'<div class="name">{key}{shown(name)}<small>{" · ".join(about)}</small></div>'


def _controls(name: str, gain: bool) -> str:
    """Return the buttons of a component or a group, and the gain of a component."""
    name = escape(clean(name))
    buttons = "".join(
        f'<button type="button" class="{word.lower()}" aria-pressed="false"'
        f' aria-label="{word} {name}">{word}</button>'
        for word in ("Solo", "Mute")
    )
    fader = (
        f'<label class="gain"><span class="hidden">Gain of {name}</span>'
        '<input type="range" min="-40" max="12" step="1" value="0"><output>0 dB</output></label>'
    )
    return f'<div class="controls">{buttons}{fader * gain}</div>'


def player_sections(report: Report, preview: Transformed) -> Iterator[str]:
    """Yield the pictures below the player; a click on them seeks."""
    kind = "learned" if preview.learned else "fixed"
    both = (
        (f"In the {kind} transform", pictures.learned(report, preview),
         f"Each row is one shape of sound, {kind}.",
         f"Power of the recording over time in the {kind} transform, ordered by frequency"),
        ("As an ordinary spectrogram", pictures.spectrogram(report, preview),
         "Each row is one frequency of a fixed grid.",
         "Ordinary spectrogram of the recording"),
    )  # fmt: skip
    figures_ = "".join(_picture(report, *what) for what in both)
    yield (
        "<section><h2>The recording, seen two ways</h2><p>From left to right is time, from bottom"
        " to top is pitch; what stands out is loud. Click anywhere to go there.</p>"
        f'<div class="pair">{figures_}</div></section>'
    )


def _picture(report: Report, title: str, picture: pictures.Picture, caption: str, alt: str) -> str:
    """Return a picture with its scales."""
    light, dark = (f"data:image/png;base64,{base64.b64encode(png).decode()}" for png in picture)
    ticks = "".join(
        f'<span style="bottom:{100 * height:.2f}%">{label}</span>'
        for label, height in pictures.Scale(report.sample_rate).ticks()
    )
    return (
        f'<figure><figcaption><h3>{title}</h3>{caption}</figcaption><div class="plot">'
        f'<div class="hertz" aria-hidden="true">{ticks}</div><div class="timeline"><picture>'
        f'<source media="(prefers-color-scheme: dark)" srcset="{dark}">'
        f'<img src="{light}" alt="{alt}" draggable="false"></picture></div>'
        f'<div class="ruler" aria-hidden="true">{time_ruler(report)}</div></div></figure>'
    )


def page_sections(report: Report, preview: Transformed) -> Iterator[str]:
    """Yield the sections to look at and read."""
    yield _components(report, preview)
    yield _learned(report, preview)
    if report.facts:
        facts = "".join(
            f'<tr><th scope="row">{shown(what)}</th><td>{shown(value)}</td></tr>'
            for what, value in report.facts
        )
        yield f"<section><h2>Facts</h2><table>{facts}</table></section>"


def _components(report: Report, preview: Transformed) -> str:
    """Return the section of W and H, a row for each component."""
    peaks = preview.frequencies
    order = peaks.argsort(kind="stable")
    scale = pictures.Scale(report.sample_rate)
    spectra = pictures.resampled(report.W[order], scale.place(peaks[order]), 240)
    own = [f"component {k}" for k in range(1, len(report.H) + 1)]
    same = own == [
        component.name for component in report.components
    ]  # then the colours are the same, too
    lines = []
    for k, (spectrum, activation) in enumerate(zip(spectra.T, report.H, strict=True), 1):
        colour = _hue(report, k) if same else ""
        hertz = peaks[report.W[:, k - 1].argmax()]
        second = report.start + report.seconds * activation.argmax() / max(1, len(activation) - 1)
        pitch = f'role="img" aria-label="component {k} is strongest near {hertz:.0f} Hz"'
        time = f'role="img" aria-label="component {k} is loudest at {clock(second, 1)}"'
        lines.append(
            f'<div class="factor"{colour}><div class="name">{own[k - 1]}</div>'
            f'<div class="spectrum" {pitch}>{pictures.area(spectrum)}</div>'
            f'<div class="timeline" {time}>{pictures.area(activation)}</div></div>'
        )
    ticks = _ruler(scale.ticks()[::2])
    return (
        "<section><h2>What each component is made of</h2><p>A component is a fixed mix of"
        " frequencies, on the left, that grows louder and softer over time, on the right.</p>"
        f'<div class="factors">{"".join(lines)}<div class="factor scale" aria-hidden="true">'
        f'<div class="ruler">{ticks}</div><div class="ruler">{time_ruler(report)}</div></div></div>'
        "</section>"
    )


def _learned(report: Report, preview: Transformed) -> str:
    """Return the section of atoms, cost and energy."""
    left, right = [], []
    if preview.power.any():
        left.append(_figure(
            "The strongest shapes", "The building blocks that carry the most energy, each with the"
            " frequencies it contains.", figures.atoms(report, preview),
            "Waveforms of the strongest atoms beside their spectra",
        ))  # fmt: skip
    if preview.learned and preview.power.any():
        right.append(_figure(
            "Where the energy is", "How much of the energy the strongest building blocks carry:"
            " learned from this recording, and in the fixed transform (DCT) used otherwise.",
            figures.energy(report, preview),
            "Share of the energy in the strongest atoms, learned and DCT",
        ))  # fmt: skip
    if len(report.history):
        right.append(_figure(
            "How it was learned", "The lower, the better the recording is explained; shown is the"
            " best up to each moment. Learning begins with what is loud, so the curve may stay flat"
            " at first.", figures.cost(report), "Best cost so far against seconds of learning",
        ))  # fmt: skip
    words = (
        "" if preview.power.any() else "<p>The preview is silent, so there is nothing to draw.</p>"
    )
    stacks = "".join(f'<div class="stack">{"".join(stack)}</div>' for stack in (left, right))
    title = "What was learned" if preview.learned else "The transform"
    return f'<section><h2>{title}</h2>{words}<div class="pair">{stacks}</div></section>'


def _figure(title: str, caption: str, svg: str, alt: str) -> str:
    """Return a figure with its caption."""
    return (
        f"<figure><figcaption><h3>{title}</h3>{caption}</figcaption>"
        f'<div class="chart" role="img" aria-label="{alt}">{svg}</div></figure>'
    )


def time_ruler(report: Report) -> str:
    """Return labels of the time in the recording, along something as wide as the preview."""
    step = next((step for step in STEPS if report.seconds / step <= 6), STEPS[-1])
    first = max(0.0, np.ceil(report.start / step - 1e-9))
    times = np.arange(first, first + 8) * step
    times = times[times < report.start + 0.97 * report.seconds]
    digits = max(0, int(np.ceil(-np.log10(step))))
    return _ruler((clock(t, digits), (t - report.start) / report.seconds) for t in times.tolist())


def _ruler(ticks: Iterable[tuple[str, float]]) -> str:
    """Return labels at shares of the width; one at the left edge begins there."""
    labels = []
    for label, share in ticks:
        edge = " class=edge" if share < 0.03 else ""
        labels.append(f'<span{edge} style="left:{100 * share:.4g}%">{label}</span>')
    return "".join(labels)
