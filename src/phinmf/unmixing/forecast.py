"""How long an unmixing will take, from the speed of this machine at this moment.

Every stage is counted in operations of two kinds: products of matrices in single precision, and
elementwise work, which is limited by memory. The numbers were fitted to recordings of 10 to 180 s
at 16 and 44.1 kHz, mono and stereo, with 4 to 24 components; `benchmarks/forecast.py` measures how
good they are.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from phinmf.arrays.threads import available, single_threaded_blas
from phinmf.fit.automatic import FIRST_OF_LONG, FRAMES
from phinmf.linalg.eigenvectors import LARGE
from phinmf.unmixing.preview import preview_of

NMF_ITERATIONS = 70, 35  #: of three updates each, typical before and after learning the transform
USUAL_SHARE = 4  #: a quarter of the atoms usually holds the share of the energy that is asked for
OUTER = 9  #: outer iterations that learn the transform
LOADING = 7e8  #: elementwise operations that take as long as loading the compiled functions
#: elementwise operations that take as long as encoding a sample as FLAC, and as MP3
FLAC_SAMPLE, MP3_SAMPLE = 45.0, 290.0
FLAC_SAMPLES = 30e6  #: of all sounds together, that usually have room in a page


class Work(NamedTuple):
    """Operations of each kind."""

    products: float
    elements: float

    def __add__(self, other: tuple[float, ...]) -> Work:  # type: ignore[override]
        return Work(self.products + other[0], self.elements + other[1])

    def times(self, n: float) -> Work:
        """Return the work of doing it n times."""
        return Work(n * self.products, n * self.elements)


class Speed(NamedTuple):
    """Operations of each kind per second."""

    products: float
    elements: float

    def seconds(self, work: Work) -> float:
        """Return how long some work takes."""
        return work.products / self.products + work.elements / self.elements


class Size(NamedTuple):
    """What the work depends on."""

    M: int  #: samples of a frame
    N: int  #: frames
    channels: int
    K: int  #: components
    atoms: int  #: that are learned


def likely_atoms(n_atoms: int | float | None, M: int) -> int:
    """Return how many atoms are learned, as far as that can be said before the frames are seen."""
    if n_atoms is None:
        return M
    return min(n_atoms, M) if isinstance(n_atoms, int) else max(1, M // USUAL_SHARE)


def nmf_setup(size: Size) -> Work:
    """Work before and after the iterations of NMF in a known transform."""
    M, N, C, *_ = size
    return Work(3.0 * M**2 * N * C, 30.0 * M**2)


def nmf_iteration(size: Size) -> Work:
    """Work of an iteration of NMF in a known transform: three updates and the objective."""
    M, N, C, K, _ = size
    return Work(0.0, M * N * (2.5 + 1.8 * C + 0.8 * K))


def transform_setup(size: Size) -> Work:
    """Work before and after the iterations that learn the transform."""
    M, N, C, _, P = size
    if P == M:
        return Work(45.0 * M**3 + 10.0 * M**2 * N * C, 60.0 * M**2)
    return subspace(size) + Work(4.0 * M**3 + 6.0 * M**2 * N * C + 45.0 * P**3, 60.0 * M**2)


def subspace(size: Size) -> Work:
    """Work to find the strongest atoms: eigenvectors in double precision, on one thread."""
    M, N, C, _, P = size
    n = min(N * C, M)
    if n < M:
        return Work(30.0 * M**2 * n + 40.0 * n**3, 0.0)
    each = 25.0 * M if M < LARGE else 60.0 * P
    return Work(each * M**2 + 5.0 * M**2 * N * C, 0.0)


def transform_iteration(size: Size) -> Work:
    """Work of an outer iteration that learns the transform: three evaluations, inverses."""
    _, N, C, K, P = size
    return Work(20.0 * P**3 + 13.0 * P**2 * N * C, P * N * (30.0 * C + 11.0 * K) + 30.0 * P**2)


def counting(size: Size) -> Work:
    """Work to count components: NMF with many of them, and with fewer and fewer."""
    some = size._replace(N=min(size.N, FRAMES), K=FIRST_OF_LONG)
    fewer = some._replace(K=FIRST_OF_LONG // 2)
    return nmf_setup(some) + nmf_iteration(some).times(30) + nmf_iteration(fewer).times(50)


def learning(size: Size, transform: bool = True) -> Work:
    """Work to learn from so many frames."""
    before, after = NMF_ITERATIONS
    loading = Work(0.0, LOADING + 3e7 * size.K)
    work = loading + nmf_setup(size) + nmf_iteration(size).times(before)
    if not transform:
        return work
    work = work + Work(0.0, LOADING / 2)
    work = work + transform_setup(size) + transform_iteration(size).times(OUTER)
    return work + nmf_setup(size) + nmf_iteration(size).times(after)


def writing(size: Size) -> Work:
    """Work to separate all frames, write the components and compare their sum."""
    M, N, C, K, _ = size
    return Work(2.0 * M**2 * (K + 1) * N * C, 26.0 * K * M * N * C)


def page(size: Size, sample_rate: int) -> Work:
    """Work to draw the pictures of a page and encode its sound."""
    M, N, C, K, P = size
    _, samples = preview_of(N * M // 2, sample_rate)
    frames = Size(M, 2 * samples // M + 1, C, K, P)
    heard = min(C, 2) * samples * min(1.0, 48_000 / sample_rate) * (K + 1)
    drawn = Work(4.0 * M**3 + 4.0 * M**2 * frames.N * C, 1.4e9 + 2e7 * K + 500.0 * M**2)
    each = FLAC_SAMPLE if heard <= FLAC_SAMPLES else MP3_SAMPLE
    return drawn + Work(0.0, 10.0 * K * M * frames.N * C + each * heard)


def measured_speed(n_threads: int | None = None) -> Speed:
    """Measure the speed of this machine, in a tenth of a second.

    Products are divided among threads that do not wait for each other; elementwise work is limited
    by the memory that all of them share.
    """
    A, x = np.ones((768, 768), np.float32), np.ones(2**20, np.float32)
    with single_threaded_blas:
        products = 2.0 * len(A) ** 3 / usual_seconds(lambda: A @ A)
    y = np.empty_like(x)

    def elementwise() -> None:
        np.sqrt(np.add(np.multiply(x, x, out=y), x, out=y), out=y)

    elements = x.size / usual_seconds(elementwise)
    return Speed(products * min(n_threads or available(), available()), elements)


def usual_seconds(work: Callable[[], object]) -> float:
    """Return the median seconds of some calls, as slow as other programs make them."""
    work()
    times = []
    for _ in range(7):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return float(np.median(times))
