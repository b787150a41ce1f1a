"""How alike components are, and the groups that follow from it.

Two components are compared in spectrum, rhythm, onsets and place between the channels.

No respect alone is enough. The notes of an instrument follow each other, so that they are not loud
at the same times, but they have similar spectra, rhythms and places; a drum may start together with
a bass, but it has another spectrum. In each respect the difference of two components is compared
with the mean difference in the recording, and the mean of these four numbers counts. A respect in
which all components are the same, as the place in a recording of one channel, counts nothing.
"""

from __future__ import annotations

import numpy as np
from scipy.cluster.hierarchy import cut_tree, linkage
from scipy.ndimage import convolve1d
from scipy.spatial.distance import squareform

from phinmf._types import Array, Indices
from phinmf.unmixing.model import UnmixModel

BANDS = 32  #: of a spectrum, equally wide on the mel scale
SPEEDS = 40  #: bands of a rhythm, equally wide on a logarithmic scale
SLOWEST, FASTEST = 0.25, 20.0  #: Hz, of a rhythm
SMOOTH = 5  #: frames over which activations are smoothed
CLOSE = 7  #: frames within which onsets are taken to be at the same time
LEAST_COSINE = 1e-6  #: two components that have nothing in common
LEAST_MEAN = 0.02  #: mean difference in a recording; smaller ones are chance

WEIGHT = 0.5  #: exponent of a component's share of the energy
LEAST_SHARE = 1e-9  #: so that a silent component has a weight
BALANCE = 0.4  #: exponent of what is inside a group; the less, the more alike groups are in energy
GAIN = 1e-9  #: improvement for which a component moves


def similarity(H: Array, spectra: Array, channels: Array, sample_rate: int) -> Array:
    """Return how alike components are, whatever their levels: (K, K), symmetric, from 0 to 1.

    H (K, N) are activations of frames that overlap by half, `spectra` (K, M/2 + 1) power spectra,
    `channels` (K, channels, channels) inner products of the channels of each component. Two that
    differ as much as is usual in the recording have exp(-1) = 0.37, a silent one has 0 with others.
    """
    heard = np.flatnonzero(H.any(axis=1))
    S = np.eye(len(H))
    if len(heard) > 1:
        D = differences(H[heard], spectra[heard], channels[heard], sample_rate)
        S[np.ix_(heard, heard)] = np.exp(-D.mean(axis=0))
    return S


def spectra_of(model: UnmixModel) -> Array:
    """Return the power spectrum (K, M/2 + 1) of each component: that of its atoms, added up."""
    spectra = np.square(np.abs(np.fft.rfft(model.Phi, axis=1)))
    P = len(model.W)  # pairs of atoms have the mean of both spectra
    return model.W.T @ spectra.reshape(P, -1, spectra.shape[1]).mean(axis=1)


def differences(H: Array, spectra: Array, channels: Array, sample_rate: int) -> Array:
    """Return how much components that are heard differ in each respect: (4, K, K)."""
    K, F = spectra.shape
    likeness = (
        cosines(in_bands(spectra, mel(F, sample_rate), BANDS) ** 0.25),
        cosines(np.sqrt(rhythms(H, sample_rate / (F - 1)))),
        (1 + cosines(onsets(H))) / 2,
        cosines(channels.reshape(K, -1)),
    )
    D = -np.log(np.clip(likeness, LEAST_COSINE, 1))
    D[:, range(K), range(K)] = 0
    means = D.sum(axis=(1, 2)) / (K * (K - 1))
    return D / np.maximum(means, LEAST_MEAN)[:, None, None]


def rhythms(H: Array, frame_rate: float) -> Array:
    """Return how strongly activations (K, N) go up and down at each speed: (K, SPEEDS)."""
    speeds = np.fft.rfftfreq(H.shape[1], 1 / frame_rate)
    inside = (speeds >= SLOWEST) & (speeds < FASTEST)
    place = np.log(speeds[inside] / SLOWEST) / np.log(FASTEST / SLOWEST)
    rows = np.zeros((len(H), SPEEDS))
    for k, activations in enumerate(H):  # one after the other: a recording may last for hours
        spectrum = np.fft.rfft(smoothed(activations, SMOOTH))[inside]
        rows[k] = in_bands(np.square(np.abs(spectrum))[None], place, SPEEDS)
    return rows


def onsets(H: Array) -> Array:
    """Return when and how much the loudness rises, less its mean: (K, N - 1)."""
    rows = np.zeros((len(H), H.shape[1] - 1))
    for k, activations in enumerate(H):
        rises = smoothed(np.maximum(np.diff(np.sqrt(activations)), 0), CLOSE)
        rows[k] = rises - rises.sum() / max(1, len(rises))
    return rows


def mel(n: int, sample_rate: int) -> Array:
    """Return where n frequencies from 0 to the highest are on the mel scale, from 0 to 1."""
    scale = np.log1p(np.linspace(0, sample_rate / 2, n) / 700)
    return scale / scale[-1]


def in_bands(power: Array, place: Array, n: int) -> Array:
    """Add up power (K, F) at places (F,) from 0 to 1 in n bands of equal width: (K, n)."""
    band = np.minimum((place * n).astype(int), n - 1)
    return np.stack([np.bincount(band, row, n) for row in power])


def smoothed(x: Array, width: int) -> Array:
    """Return the moving average under a Hann window."""
    window = np.hanning(width + 2)
    return convolve1d(x, window / window.sum(), mode="constant") if len(x) else x


def cosines(X: Array) -> Array:
    """Return the cosine of each two rows; a row of zeros has 0 with all."""
    return normalised(X @ X.T)


def normalised(products: Array) -> Array:
    """Return the cosines of vectors from their inner products."""
    norms = np.sqrt(np.diag(products))
    norms = np.where(norms > 0, norms, 1)
    return products / norms / norms[:, None]


def divide(S: Array, n: int, shares: Array | None = None) -> Indices:
    """Divide K components into n groups, none of them empty; return their numbers from 0.

    `S` (K, K) is the similarity, of which negative numbers count as 0, and `shares` (K,) the share
    of the energy that each component has, by default the same.

    The groups of average linkage are improved by moving single components, as long as that raises
    the sum over groups of (w' S w)^0.4, where w are the weights of the components of a group. With
    an exponent of 0.5 that would be spherical k-means in the space in which S are the inner
    products. Strong components decide, and groups of like energy are preferred, so that a weak
    component that is unlike all others does not become a group.
    """
    S = symmetric(S)
    K = len(S)
    weights = np.ones(K) if shares is None else np.maximum(shares, LEAST_SHARE) ** WEIGHT
    if K == 1:
        return np.zeros(1, dtype=np.intp)
    tree = linkage(squareform(1 - S, checks=False), "average")
    labels = cut_tree(tree, n_clusters=[n])[:, 0].astype(np.intp)
    while (move := best_move(S, weights, labels, n)) is not None:
        k, group = move
        labels[k] = group
    return labels


def best_move(S: Array, w: Array, labels: Indices, n: int) -> tuple[int, int] | None:
    """Return the component and the group whose union improves the sum most, or None."""
    rows = np.arange(len(S))
    member = np.zeros((len(S), n))
    member[rows, labels] = w
    near = S @ member  # similarity of each component to each group, weighted
    inside = np.einsum("kg,kg->g", member, near)
    own = w * w * np.diag(S)
    left = np.maximum(inside[labels] - 2 * w * near[rows, labels] + own, 0)
    joined = inside + 2 * w[:, None] * near + own[:, None]
    value = inside**BALANCE
    gain = (left**BALANCE - value[labels])[:, None] + joined**BALANCE - value
    alone = np.bincount(labels, minlength=n)[labels] == 1
    gain[rows, labels] = gain[alone] = -np.inf
    k, group = np.unravel_index(gain.argmax(), gain.shape)
    return (int(k), int(group)) if gain[k, group] > GAIN * value.sum() else None


def symmetric(S: Array) -> Array:
    """Return S without what rounding and older versions left in it: from 0 to 1, symmetric."""
    S = np.clip((S + S.T) / 2, 0, 1)
    np.fill_diagonal(S, 1)
    return S
