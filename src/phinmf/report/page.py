"""The page: a template, filled with the sections and sounds of a report."""

from __future__ import annotations

import base64
import hashlib
import io
import json
import re
from importlib.resources import files
from string import Template

import numpy as np

import phinmf
from phinmf._types import Array
from phinmf.arrays.threads import parallel_map
from phinmf.report import sections
from phinmf.report.contents import Report, shortened
from phinmf.report.pictures import ticks
from phinmf.report.sections import address, clean, clock
from phinmf.unmixing.overview import SECONDS, Overview, strongest

LIMIT = 20_000_000  #: bytes of a page
NOTEBOOK_LIMIT = 6_000_000  #: bytes of a fragment: a notebook holds several
DRAWN, ROW = 1_500_000, 50_000  #: bytes that pictures and scripts have at most, and each row
RATES = (8000, 48_000)  #: Hz, lowest and highest sampling rate of previews
BITS = (16, 13)  #: of the samples of previews: noise at -98 dB or, if that is too large, -80 dB
#: in the order in which they import each other; the studio serves those in core, too
MODULES = (
    "core/dom.js", "core/words.js", "core/groups.js", "core/mix.js", "core/controls.js",
    "core/player.js", "core/rows.js", "core/timeline.js", "core/commands.js", "page.js",
)  # fmt: skip


def html(report: Report) -> str:
    """Return the whole page as one string of at most 20 MB, which needs no other file.

    Texts of the report are escaped: scripts in them are not run.
    """
    return _page(report, "page", LIMIT)


def fragment(report: Report) -> str:
    """Return only the player, for a notebook: an element ``<iframe>`` that holds a separate page.

    So several of them in one notebook share no names, styles or keys.
    """
    page = _page(report, "fragment", NOTEBOOK_LIMIT)
    rows = len(report.components) + len(report.groups)
    height = 500 + 70 * rows  # until the page inside has measured itself
    return (
        f'<iframe title="Player: {clean(report.title)}" allow="autoplay" srcdoc="'
        f'{clean(page)}" style="width:100%;height:{height}px;border:0"></iframe>'
    )


def _page(report: Report, kind: str, limit: int) -> str:
    """Fill the template, with as much sound as there is room for; `kind` is page or fragment."""
    room = limit - DRAWN - ROW * (len(report.components) + len(report.groups))
    rate = min(max(report.sample_rate, RATES[0]), RATES[1])
    report, sounds, note = previews(report, rate, room)
    script = _script()
    ruler = sections.time_ruler(report)
    below = "" if kind == "fragment" else Template(_asset("below.html")).substitute(
        factors=sections.factors(report),
        pitches=sections.ruler(ticks(report.sample_rate)[::2]),
        ruler=ruler,
        atoms=sections.atoms(report),
        energy=sections.energy(report),
        cost=sections.cost(report),
        facts=sections.facts(report),
    )  # fmt: skip
    return Template(_asset("template.html")).substitute(
        digest=base64.b64encode(hashlib.sha256(script.encode()).digest()).decode(),
        title=clean(report.title),
        style="".join(map(_asset, ("core/base.css", "core/desk.css", "style.css"))),
        kind=kind,
        lede=_lede(report),
        desk=_asset("core/desk.html"),
        note=note,
        powers=sections.powers(report),
        below=below,
        version=clean(phinmf.__version__),
        data=_data(report, rate, sounds),
        script=script,
    )


def _data(report: Report, rate: int, sounds: list[bytes]) -> str:
    """Return what the player shows and plays, as JSON that cannot end its element."""
    overview = Overview(len(report.components), len(report.mixture))
    for row, samples in enumerate(report.sounds):
        overview.add(row, 0, samples)
    shown = {
        "rate": rate,
        "seconds": report.seconds,
        "start": report.start,
        "components": [
            {
                "number": k,
                "hertz": strongest(part.samples.mean(axis=1), report.sample_rate),
                "share": part.share,
                "file": address(part.file),
            }
            for k, part in enumerate(report.components, 1)
        ],
        "groups": [vars(group) | {"file": address(group.file)} for group in report.groups],
        "step": overview.step / report.sample_rate,
        "peaks": base64.b64encode(overview.rounded().tobytes()).decode(),
        "sounds": [base64.b64encode(sound).decode() for sound in sounds],
    }
    return json.dumps(shown).replace("<", "\\u003c")


def _lede(report: Report) -> str:
    """Return the introduction of the page."""
    K = len(report.components)
    components = f"{K} components that add" if K > 1 else "one component that adds"
    where = ""
    if report.start > 0:
        end = report.start + report.seconds
        where = f" You hear it from {clock(report.start)} to {clock(end)}."
    return (
        f"Taken apart into {components} up to the recording.{where}"
        " Play one alone, leave one out, or compare their sum with the original."
    )


def _script() -> str:
    """Return the modules of the player as one script; no name is at the top of two of them."""
    modules = "".join(map(_asset, MODULES))
    modules = re.sub(r"^import .*\n", "", modules, flags=re.MULTILINE)
    return '"use strict";\n{\n' + re.sub(r"^export ", "", modules, flags=re.MULTILINE) + "}\n"


def _asset(name: str) -> str:
    """Read a file of this package."""
    return files("phinmf.report").joinpath(name).read_text(encoding="utf-8")


def previews(report: Report, rate: int, room: int) -> tuple[Report, list[bytes], str]:
    """Encode mixture and components so that in base64 they take at most `room` bytes.

    All are FLAC, which browsers decode in sync. If there is no room for it with the fewest bits,
    the preview is cut. Return the report on what is heard, the sounds, the mixture first, and what
    a listener should know.
    """
    whole, gain = report.seconds, 1 / max(1.0, report.peak)
    report = shortened(report, SECONDS)
    for bits in BITS:
        sounds, size = encoded(report, rate, gain, bits)
        if size <= room:
            break
    while size > room and report.seconds >= 0.1:
        report = shortened(report, 0.95 * report.seconds * room / size)
        sounds, size = encoded(report, rate, gain, bits)
    channels = report.mixture.shape[1]
    linked = any(component.file is not None for component in report.components)
    note = f"You hear {bits}-bit previews{'; the linked files are the exact ones' * linked}."
    if report.seconds < whole - 0.05:
        note += (
            f" They were cut to the first {report.seconds:.1f} of {whole:.1f} seconds,"
            " so that this page stays small."
        )
    if channels > 2:
        note += f" Their {channels} channels were mixed to one."
    if gain < 1:
        note += (
            f" All are {-20 * np.log10(gain):.1f} dB quieter, so that the loudest does not clip."
        )
    return report, sounds, note


def encoded(report: Report, rate: int, gain: float, bits: int) -> tuple[list[bytes], float]:
    """Return mixture and components as FLAC, and how many bytes they take in base64.

    Samples are rounded to fewer bits than the 16 they are stored in: FLAC leaves out the rest. More
    than two channels become one.
    """
    import soundfile
    import soxr

    def encode(samples: Array) -> bytes:
        """Encode one sound; the encoder lets other threads run."""
        if samples.shape[1] > 2:
            samples = samples.mean(axis=1, keepdims=True)
        if rate != report.sample_rate:
            samples = soxr.resample(samples, report.sample_rate, rate)
        most = 2 ** (bits - 1)
        integers = np.rint(samples * gain * most).clip(-most, most - 1).astype(np.int16)
        file = io.BytesIO()
        soundfile.write(file, integers * np.int16(2 ** (16 - bits)), rate, format="FLAC")
        return file.getvalue()

    sounds = list(parallel_map(encode, report.sounds))
    return sounds, sum(map(len, sounds)) * 4 / 3
