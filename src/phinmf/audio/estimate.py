"""How long an unmixing will take, from the speed of a matrix product here and now."""

from __future__ import annotations

import time

import numpy as np

EVALUATIONS = 40  #: of loss and gradient in a usual fit, the last ones twice as long
UPDATES = 40  #: of the activations of a frame
NMF_UPDATES = 900  #: of the factors, before and after learning the transform
SLOWER = 8  #: times, of elementwise work beside products


def expected_seconds(
    M: int, n_learn: int, n_frames: int, channels: int, K: int, learns: bool = True
) -> float:
    """Seconds to learn on some frames and take all of them apart, roughly."""
    learning = EVALUATIONS * (4.0 * M**2 * n_learn * channels + 6.0 * M**3) if learns else 0.0
    learning += 12.0 * NMF_UPDATES * K * M * n_learn
    products = 4.0 * M**2 * (K + 1) * n_frames * channels  # in double precision
    activations = 6.0 * UPDATES * SLOWER * K * M * n_frames
    return (learning + products + activations) / product_rate()


def product_rate(n: int = 768) -> float:
    """Operations per second of a product in single precision."""
    A = np.ones((n, n), np.float32)
    A @ A
    times = []
    for _ in range(3):
        start = time.perf_counter()
        A @ A
        times.append(time.perf_counter() - start)
    return 2.0 * n**3 / min(times)
