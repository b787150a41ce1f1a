"""Frames of sounds that are hard on a fit; only NumPy is needed."""

import numpy as np


def framed(y, M, N):
    """Cut a signal into frames that do not overlap."""
    return y[: M * N].reshape(N, M).T


def noise(M, N, rng):
    return rng.standard_normal((M, N))


def tone(M, N, rng):
    return framed(np.sin(rng.uniform(0.05, 3) * np.arange(1, M * N + 1)), M, N)


def constant(M, N, rng):
    return np.ones((M, N))


def square_wave(M, N, rng):
    """A sine that is clipped hard."""
    return np.clip(100 * tone(M, N, rng), -1, 1)


def click(M, N, rng):
    Y = np.zeros((M, N))
    Y[rng.integers(M), rng.integers(N)] = 1
    return Y


def silent_stretches(M, N, rng):
    Y = noise(M, N, rng)
    Y[:, rng.random(N) < 0.5] = 0
    Y[:, 0] = 1
    return Y


def denormals(M, N, rng):
    """Noise, half of it so faint that its samples are denormal numbers in either precision."""
    faint = rng.choice([1e-41, 1e-310], size=(M, N))
    Y = noise(M, N, rng) * np.where(rng.random((M, N)) < 0.5, faint, 1)
    Y[0, 0] = 1
    return Y


def duplicates(M, N, rng):
    """One frame again and again, its sign aside."""
    return rng.standard_normal((M, 1)) * rng.choice([-1, 1], N)


def crescendo(M, N, rng):
    """Noise from -200 to 0 dB."""
    return noise(M, N, rng) * np.logspace(-10, 0, N)


def sparse(M, N, rng):
    Y = noise(M, N, rng) * (rng.random((M, N)) < 0.1)
    Y[0, 0] = 1
    return Y


KINDS = {
    kind.__name__.replace("_", " "): kind
    for kind in (
        noise, tone, constant, square_wave, click, silent_stretches, denormals, duplicates,
        crescendo, sparse,
    )
}  # fmt: skip
