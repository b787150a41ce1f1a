"""From a tracker module to sound: libxmp plays all of its channels, or some of them."""

from __future__ import annotations

import ctypes
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

import numpy as np
from _packages import Missing, library

CHANNELS = 64  # the largest number of channels that libxmp plays
AMPLIFICATION = 0  # number of the option
LOWEST = 0  # so that nothing clips
FULL = 32_768  # 16 bits
# At 125 beats per minute, the usual tempo, notes are whole numbers of half windows of 40 ms apart:
# a transform could learn them as waveforms. A little faster they are not.
TEMPO = 0.963  # length of a beat, relative to what is written


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
