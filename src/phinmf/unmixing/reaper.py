"""A project file of REAPER: a track for each group, with its name, colour, level and place."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from phinmf._types import Array
from phinmf.unmixing.mix import Group, Level, Mix, folded

PROJECT = "project.rpp"
KINDS = {".flac": "FLAC", ".mp3": "MP3", ".ogg": "VORBIS"}  #: of sound files; others are "WAVE"
LIGHTNESS, CHROMA = 0.57, 0.115  #: of the colours of groups, as on the page
FIRST_HUE, NEXT_HUE = 250.0, 137.508  #: degrees
#: from OKLab to the cube roots of cone responses, and from these responses to linear sRGB
TO_CONES = np.array(
    [
        [1.0, 0.3963377774, 0.2158037573],
        [1.0, -0.1055613458, -0.0638541728],
        [1.0, -0.0894841775, -1.2914855480],
    ]
)
TO_RGB = np.array(
    [
        [4.0767416621, -3.3077115913, 0.2309699292],
        [-1.2684380046, 2.6097574011, -0.3413193965],
        [-0.0041960863, -0.7034186147, 1.7076147010],
    ]
)


def project(
    parts: Sequence[Group], names: Sequence[str], mix: Mix, sample_rate: int, length: int
) -> str:
    """Return the project of files of equal length that stand for groups.

    A track has the level that the fader of its group shows, the mean of its components in decibels,
    and their mean place. It is muted if all of them are.
    """
    colours = {folded(group.name): group.colour for group in mix.coloured()}
    tracks = "".join(
        track(
            part, name, levels_of(part, mix), colours.get(folded(part.name)), length / sample_rate
        )
        for part, name in zip(parts, names, strict=True)
    )
    return f'<REAPER_PROJECT 0.1 "7.0" 0\n  SAMPLERATE {sample_rate} 1 0\n{tracks}>\n'


def levels_of(part: Group, mix: Mix) -> list[Level]:
    """Return the levels of the components of a group."""
    return [mix.levels[k - 1] for k in part.components] if mix.levels else [Level()]


def track(
    part: Group, name: str, levels: Sequence[Level], colour: int | None, seconds: float
) -> str:
    """Return the track of a file; names of groups have no quotation marks."""
    gain = Level(sum(level.gain_db for level in levels) / len(levels)).gain
    pan = sum(level.pan for level in levels) / len(levels)
    muted = int(all(level.muted for level in levels))
    kind = KINDS.get(Path(name).suffix, "WAVE")
    return f"""\
  <TRACK
    NAME "{part.name}"
    PEAKCOL {0 if colour is None else packed(rgb(colour))}
    VOLPAN {gain:.6g} {pan:.6g} -1 -1 1
    MUTESOLO {muted} 0 0
    <ITEM
      POSITION 0
      LENGTH {seconds!r}
      NAME "{name}"
      <SOURCE {kind}
        FILE "{name}"
      >
    >
  >
"""


def rgb(colour: int) -> Array:
    """Return red, green and blue, from 0 to 255, of the number of a colour of the page."""
    hue = math.radians(FIRST_HUE + NEXT_HUE * colour)
    cones = TO_CONES @ [LIGHTNESS, CHROMA * math.cos(hue), CHROMA * math.sin(hue)]
    linear = np.clip(TO_RGB @ cones**3, 0, 1)
    shown = np.where(linear <= 0.0031308, 12.92 * linear, 1.055 * linear ** (1 / 2.4) - 0.055)
    return np.rint(255 * shown)


def packed(colour: Array) -> int:
    """Return a colour as REAPER writes it: red is the lowest byte, and one bit says it is set."""
    red, green, blue = (int(x) for x in colour)
    return 1 << 24 | blue << 16 | green << 8 | red
