"""Import and compile what unmixing needs, before the first recording comes."""

from __future__ import annotations

import numpy as np

from phinmf.audio.sources import ArraySource
from phinmf.unmixing.learn import learn
from phinmf.unmixing.options import UnmixOptions
from phinmf.unmixing.separate import ArraySink, separate


def warm_up() -> None:
    """Unmix a moment of noise, which takes a second or two."""
    noise = np.random.default_rng(0).standard_normal((4000, 2)) / 10
    source = ArraySource(noise, 8000)
    model = learn(source, UnmixOptions(n_components=2, window=64, seed=0))
    separate(source, model, ArraySink(2, source, np.float32), dtype=np.float32)
