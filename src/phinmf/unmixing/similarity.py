"""How alike two components are: in spectrum, rhythm, onsets and place between the channels.

Each of the four is a number from 0 to 1 that does not depend on how loud the components are. Their
product, with the exponents below, is the similarity: components are alike only if they are alike in
every respect. No respect alone is enough. The notes of one instrument follow each other, so that
their activations do not overlap, but they have similar spectra and the same place. A drum has the
rhythm of a bass, but not its spectrum.
"""

from __future__ import annotations

import numpy as np
from scipy.ndimage import convolve1d

from phinmf._types import Array
from phinmf.unmixing.model import UnmixModel

SPECTRUM, RHYTHM, ONSETS, PLACE = 3.0, 2.0, 1.0, 2.0  #: exponents, chosen by benchmarks/grouping.py
BANDS = 32  #: of the spectrum, equally wide on the mel scale
TEMPI = 20  #: bands of the rhythm, equally wide on a logarithmic scale
SLOWEST, FASTEST = 0.25, 20.0  #: Hz, of the rhythm
SMOOTH = 5  #: frames over which a rhythm is smoothed
CLOSE = 7  #: frames within which onsets are at the same time


def similarity(H: Array, spectra: Array, channels: Array, sample_rate: int) -> Array:
    """Return how alike components are.

    Parameters
    ----------
    H : array of shape (K, N)
        Activations of frames that overlap by half.
    spectra : array of shape (K, M/2 + 1)
        Power spectrum of each component, see `spectra_of`.
    channels : array of shape (K, channels, channels)
        Inner products of the channels of each component.
    sample_rate : int
        Samples per second.

    Returns
    -------
    array of shape (K, K)
        Symmetric, from 0 to 1, and 1 on the diagonal.
    """
    loudness = np.sqrt(H)
    frame_rate = sample_rate / (spectra.shape[1] - 1)
    S = (
        cosines(np.sqrt(in_bands(spectra, mel(spectra.shape[1], sample_rate), BANDS))) ** SPECTRUM
        * cosines(np.sqrt(rhythms(loudness, frame_rate))) ** RHYTHM
        * ((1 + correlations(onsets(loudness))) / 2) ** ONSETS
        * cosines(channels.reshape(len(channels), -1)) ** PLACE
    )
    np.fill_diagonal(S, 1)  # silent components, too
    return S


def spectra_of(model: UnmixModel) -> Array:
    """Return the power spectrum (K, M/2 + 1) of each component: of its atoms, added up."""
    atoms = np.square(np.abs(np.fft.rfft(model.Phi, axis=1)))
    return model.W.T @ atoms


def rhythms(loudness: Array, frame_rate: float) -> Array:
    """Return how strongly the loudness (K, N) goes up and down at each speed: (K, TEMPI)."""
    smooth = smoothed(loudness, SMOOTH)
    power = np.square(np.abs(np.fft.rfft(smooth - smooth.mean(axis=1, keepdims=True), axis=1)))
    speeds = np.fft.rfftfreq(loudness.shape[1], 1 / frame_rate)
    with np.errstate(divide="ignore"):
        place = np.log(speeds / SLOWEST) / np.log(FASTEST / SLOWEST)
    inside = (place >= 0) & (place < 1)
    return in_bands(power[:, inside], place[inside], TEMPI)


def onsets(loudness: Array) -> Array:
    """Return when and how much the loudness (K, N) rises: (K, N - 1)."""
    return smoothed(np.maximum(np.diff(loudness, axis=1), 0), CLOSE)


def mel(n: int, sample_rate: int) -> Array:
    """Return where n frequencies from 0 to the highest are on the mel scale, from 0 to 1."""
    scale = np.log1p(np.linspace(0, sample_rate / 2, n) / 700)
    return scale / scale[-1]


def in_bands(power: Array, place: Array, n: int) -> Array:
    """Add up power (K, F) at places (F,) from 0 to 1 in n equal bands: (K, n)."""
    band = np.minimum((place * n).astype(int), n - 1)
    return np.stack([np.bincount(band, row, n) for row in power])


def smoothed(X: Array, width: int) -> Array:
    """Return the moving average of each row under a Hann window."""
    window = np.hanning(width + 2)
    return convolve1d(X, window / window.sum(), axis=1, mode="constant")


def correlations(X: Array) -> Array:
    """Return the correlation of each two rows; constant rows have none."""
    if X.shape[1] == 0:
        return np.zeros((len(X), len(X)))
    return cosines(X - X.mean(axis=1, keepdims=True))


def cosines(X: Array) -> Array:
    """Return the cosine between each two rows; rows of zeros have cosine 0."""
    norms = np.linalg.norm(X, axis=1, keepdims=True)
    unit = X / np.where(norms > 0, norms, 1)
    return np.clip(unit @ unit.T, -1, 1)
