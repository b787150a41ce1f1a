"""Stretches of tracker modules with exact stems: libxmp plays all of their channels, or some."""

from __future__ import annotations

import ctypes
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import numpy as np
from _common import Piece
from _packages import Missing, debian, library

Sources = dict[str, set[int]]  #: the channels (from 1) of each source

RATE = 44_100
CHANNELS = 64  # the largest number of channels that libxmp plays
AMPLIFICATION = 0  # number of the option
LOWEST = 0  # so that nothing clips
FULL = 32_768  # 16 bits
# At 125 beats per minute, the usual tempo, notes are whole numbers of half windows of 40 ms apart:
# a transform could learn them as waveforms. A little faster they are not.
TEMPO = 0.963  # length of a beat, relative to what is written

EXCERPT = 10.0  # seconds of a module whose channels were chosen by hand
ENDINGS = "*.xm", "*.it", "*.s3m"
MINUTE = 60.0  # of a module that is looked at
SECONDS = 15.0  # of a stretch that is found in it
STEP = 5.0  # seconds between the stretches that are compared
SOURCES = 5, 4, 3, 2  # the most that are well heard
WEAKEST = 0.08  # share of the energy that the weakest source has at least


def sound(module: Path, end: float, rate: int, play: Collection[int] | None = None) -> np.ndarray:
    """The first seconds of a module in stereo, (n, 2) within ±1; `play` numbers channels from 1."""
    samples = np.zeros((round(end * rate), 2), np.int16)
    with playing(module, rate) as (libxmp, player):
        libxmp.xmp_set_player(player, AMPLIFICATION, LOWEST)
        for i in range(CHANNELS):
            libxmp.xmp_channel_mute(player, i, int(play is not None and i + 1 not in play))
        libxmp.xmp_play_buffer(player, samples.ctypes.data_as(ctypes.c_void_p), samples.nbytes, 0)
    return samples / FULL


@contextmanager
def playing(module: Path, rate: int) -> Iterator[tuple[ctypes.CDLL, ctypes.c_void_p]]:
    """The library and its player of a module, which is at the beginning."""
    libxmp = _libxmp()
    player = ctypes.c_void_p(libxmp.xmp_create_context())
    try:
        if libxmp.xmp_load_module(player, str(module).encode()) < 0:
            raise Missing(f"{module.name} cannot be played")
        libxmp.xmp_set_tempo_factor(player, ctypes.c_double(TEMPO))
        libxmp.xmp_start_player(player, rate, 0)
        yield libxmp, player
        libxmp.xmp_end_player(player)
        libxmp.xmp_release_module(player)
    finally:
        libxmp.xmp_free_context(player)


@cache
def _libxmp() -> ctypes.CDLL:
    libxmp = library("libxmp4", "libxmp.so.4")
    libxmp.xmp_create_context.restype = ctypes.c_void_p
    return libxmp


def piece(name: str, module: Path, start: float, seconds: float, sources: Sources) -> Piece | None:
    """A stretch of a module; None if its sources do not add up to it."""
    first, end = round(start * RATE), start + seconds
    stems = {source: sound(module, end, RATE, part)[first:] for source, part in sources.items()}
    mixture = sound(module, end, RATE)[first:]
    # libxmp rounds each sample down to 16 bits
    if np.abs(mixture - sum(stems.values())).max() * FULL >= len(stems):
        print(f"no {module.name}: its stems do not add up", flush=True)
        return None
    return Piece("arrangement", name, stems, RATE)


class Excerpt(NamedTuple):
    """Where a stretch of a module starts, and the channels (from 1) of its three loudest stems."""

    start: float
    loudest: tuple[set[int], set[int], set[int]]


# Channels that play mostly the same instrument are one stem; the channels beside the three loudest
# stems are the fourth. Stretches are from the first minute, where all four are well heard.
MODULES = {
    "heroes-sound-tracks": {
        "heroes02.xm": Excerpt(20, ({2, 3}, {1}, {5, 7})),
        "heroes05.xm": Excerpt(5, ({5}, {1}, {6})),
        "heroes10.xm": Excerpt(25, ({1}, {3}, {6})),
    },
    "pekka-kana-2-data": {
        "song09.xm": Excerpt(0, ({8}, {7}, {9, 10})),
        "song12.xm": Excerpt(40, ({1, 2, 3, 4}, {5}, {6})),
        "song13.xm": Excerpt(30, ({3}, {1, 8, 11}, {4, 5, 6, 7})),
    },
    "pingus-data": {
        "pingus-6.it": Excerpt(20, ({3}, {6}, {8, 9})),
        "pingus-7.it": Excerpt(25, ({1}, {4, 5}, {2})),
    },
}


def arrangements() -> Iterator[Piece]:
    """Game music in stereo; levels and places are those of the arrangement."""
    for package, excerpts in MODULES.items():
        folder = debian(package)
        for name, excerpt in excerpts.items():
            (module,) = folder.rglob(name)
            sources = {" ".join(map(str, sorted(part))): part for part in excerpt.loudest}
            sources["others"] = set(range(1, CHANNELS + 1)) - set.union(*excerpt.loudest)
            if mixture := piece(module.stem, module, excerpt.start, EXCERPT, sources):
                yield mixture


class Stretch(NamedTuple):
    """Where a stretch starts in seconds, and its sources."""

    start: float
    sources: Sources


def modules() -> Iterator[Piece]:
    """Game music in stereo: the sources are the loudest instruments and the sum of the others."""
    for package in MODULES:
        try:
            folder = debian(package)
        except Missing as missing:
            print(f"no {package}: {missing}", flush=True)
            continue
        for path in sorted(path for ending in ENDINGS for path in folder.rglob(ending)):
            if mixture := piece_of(path, package):
                yield mixture


def piece_of(module: Path, package: str) -> Piece | None:
    """The stretch of a module in which the most instruments are well heard."""
    alone = {
        instrument: (channels, sound(module, MINUTE, RATE, channels))
        for instrument, channels in instruments(module).items()
    }
    stretch = best_stretch(alone)
    if stretch is None:
        print(f"no {module.name}: one instrument is nearly all of it", flush=True)
        return None
    name = f"{package.split('-')[0]} {module.stem}"
    return piece(name, module, stretch.start, SECONDS, stretch.sources)


def best_stretch(alone: dict[int, tuple[set[int], np.ndarray]]) -> Stretch | None:
    """Find the stretch with the most sources whose weakest is the strongest."""
    for n in SOURCES:
        stretches: list[tuple[float, Stretch]] = []
        for start in np.arange(0, MINUTE - SECONDS + 1, STEP):
            part = slice(round(start * RATE), round((start + SECONDS) * RATE))
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
    with playing(module, RATE) as (libxmp, player):
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
