"""Stretches of tracker modules with exact stems, one for each of the most important instruments."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import numpy as np
from _packages import Missing, debian
from _pieces import MODULE_RATE, Piece
from _trackers import CHANNELS, FULL, playing, sound

PACKAGES = "heroes-sound-tracks", "pekka-kana-2-data", "pingus-data"
ENDINGS = "*.xm", "*.it", "*.s3m"
MINUTE = 60.0  # of a module that is looked at
SECONDS = 15.0  # that are taken of it
STEP = 5.0  # seconds between the stretches that are compared
SOURCES = 5, 4, 3, 2  # the most that are well heard
WEAKEST = 0.08  # share of the energy that the weakest source has at least


class Stretch(NamedTuple):
    """Where a stretch starts in seconds, and the channels (from 1) of each source."""

    start: float
    sources: dict[str, set[int]]


def modules() -> Iterator[Piece]:
    """Game music in stereo: the sources are the loudest instruments and the sum of the others."""
    for package in PACKAGES:
        try:
            folder = debian(package)
        except Missing as missing:
            print(f"no {package}: {missing}", flush=True)
            continue
        for path in sorted(path for ending in ENDINGS for path in folder.rglob(ending)):
            if piece := piece_of(path, package):
                yield piece


def piece_of(module: Path, package: str) -> Piece | None:
    """The stretch of a module in which the most instruments are well heard."""
    alone = {
        instrument: (channels, sound(module, MINUTE, MODULE_RATE, channels))
        for instrument, channels in instruments(module).items()
    }
    stretch = best_stretch(alone)
    if stretch is None:
        print(f"no {module.name}: one instrument is nearly all of it", flush=True)
        return None
    first, end = round(stretch.start * MODULE_RATE), stretch.start + SECONDS
    stems = {
        name: sound(module, end, MODULE_RATE, channels)[first:]
        for name, channels in stretch.sources.items()
    }
    mixture = sound(module, end, MODULE_RATE)[first:]
    # libxmp rounds each sample down to 16 bits
    if np.abs(mixture - sum(stems.values())).max() * FULL >= len(stems):
        print(f"no {module.name}: its stems do not add up", flush=True)
        return None
    return Piece("arrangement", f"{package.split('-')[0]} {module.stem}", stems, MODULE_RATE)


def best_stretch(alone: dict[int, tuple[set[int], np.ndarray]]) -> Stretch | None:
    """Find the stretch with the most sources whose weakest is the strongest."""
    for n in SOURCES:
        stretches: list[tuple[float, Stretch]] = []
        for start in np.arange(0, MINUTE - SECONDS + 1, STEP):
            part = slice(round(start * MODULE_RATE), round((start + SECONDS) * MODULE_RATE))
            energy = {i: float(np.square(y[part]).sum()) for i, (_, y) in alone.items()}
            loudest = sorted(energy, key=energy.__getitem__, reverse=True)
            if len(loudest) < n or not any(energy.values()):
                continue
            sources = {f"instrument {i}": alone[i][0] for i in loudest[: n - 1]}
            rest = loudest[n - 1 :]
            sources["others"] = set.union(*(alone[i][0] for i in rest))
            energies = [*(energy[i] for i in loudest[: n - 1]), sum(energy[i] for i in rest)]
            stretches.append((min(energies) / sum(energies), Stretch(float(start), sources)))
        share, stretch = max(stretches, key=lambda pair: pair[0], default=(0.0, None))
        if share >= WEAKEST:
            return stretch
    return None


class _Channel(ctypes.Structure):
    """What libxmp says about a channel at a moment (xmp_channel_info)."""

    _fields_: ClassVar[list[tuple[str, Any]]] = [
        ("period", ctypes.c_uint), ("position", ctypes.c_uint), ("pitchbend", ctypes.c_short),
        ("note", ctypes.c_ubyte), ("instrument", ctypes.c_ubyte), ("sample", ctypes.c_ubyte),
        ("volume", ctypes.c_ubyte), ("pan", ctypes.c_ubyte), ("reserved", ctypes.c_ubyte),
        ("event", ctypes.c_ubyte * 8),
    ]  # fmt: skip


class _Frame(ctypes.Structure):
    """What libxmp says about a moment (xmp_frame_info)."""

    _fields_: ClassVar[list[tuple[str, Any]]] = [
        *((name, ctypes.c_int) for name in ("pos", "pattern", "row", "num_rows", "frame", "speed",
                                            "bpm", "time", "total_time", "frame_time")),
        ("buffer", ctypes.c_void_p),
        *((name, ctypes.c_int) for name in ("buffer_size", "total_size", "volume", "loop_count",
                                            "virt_channels", "virt_used", "sequence")),
        ("channels", _Channel * CHANNELS),
    ]  # fmt: skip


def instruments(module: Path) -> dict[int, set[int]]:
    """The channels (from 1) of the first minute that play mostly the same instrument."""
    moment, played = _Frame(), np.zeros((CHANNELS, 256))
    with playing(module, MODULE_RATE) as (libxmp, player):
        while libxmp.xmp_play_frame(player) == 0:
            libxmp.xmp_get_frame_info(player, ctypes.byref(moment))
            for i, channel in enumerate(moment.channels):
                played[i, channel.instrument] += channel.volume * moment.frame_time
            if moment.time > 1000 * MINUTE or moment.loop_count:
                break
    channels: dict[int, set[int]] = {}
    for i in np.flatnonzero(played.any(axis=1)):
        channels.setdefault(int(played[i].argmax()), set()).add(int(i) + 1)
    return channels
