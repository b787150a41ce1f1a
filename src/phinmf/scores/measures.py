"""How well an estimate matches a source, in decibels: SDR, SIR, SAR, SI-SDR and SNR.

An estimate is split, channel by channel, into its own reference times a gain (the target), the
other references times gains (interference) and the rest (artefacts): BSS Eval with filters of one
tap (Vincent, Gribonval and Févotte 2006).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from phinmf import checks
from phinmf._types import Array

LIMIT = 200.0  #: dB; scores beyond it would be rounding or silence


class Scores(NamedTuple):
    """Decibels, each from -200 to 200; more is better."""

    sdr: float  #: target / (interference + artefacts); a gain for each channel does not count
    sir: float  #: target / interference
    sar: float  #: (target + interference) / artefacts
    si_sdr: float  #: as sdr, with one gain for all channels; the same for one channel
    snr: float  #: reference / (estimate - reference); gains count as errors


def score(estimate: ArrayLike, references: Sequence[ArrayLike] | Array, source: int) -> Scores:
    """Score an estimate of one of the references.

    Parameters
    ----------
    estimate : array of shape (n,) or (n, channels)
        The signal that is scored.
    references : sequence of arrays of that shape
        All true sources: the others are the interference.
    source : int
        Which of them is estimated, from 0.

    Returns
    -------
    Scores
        A silent estimate or a silent reference gives -200 dB, and +200 dB if both are silent. No
        score is NaN or infinite.

    Examples
    --------
    >>> import numpy as np
    >>> from phinmf.scores.measures import score
    >>> t = 2 * np.pi * np.arange(1000) / 1000
    >>> references = [np.sin(5 * t), np.sin(7 * t)]
    >>> print(round(score(references[0] + 0.1 * references[1], references, 0).sir, 9))
    20.0
    """
    truths = signals("references", references)
    given = signals("estimate", [estimate])
    if given.shape[1:] != truths.shape[1:]:
        raise ValueError(
            f"estimate has {described(given)}, but the references have {described(truths)}:"
            " both need the same length and channels"
        )
    source = checks.count("source", source, 0, len(truths) - 1, f" for {len(truths)} references")
    heard, wanted = given[0], truths[source]
    if not heard.any() and not wanted.any():
        return Scores(*[LIMIT] * 5)
    target, explained = np.zeros_like(heard), np.zeros_like(heard)
    for c in range(heard.shape[1]):
        target[:, c] = _projection(heard[:, c], wanted[:, c : c + 1])
        explained[:, c] = _projection(heard[:, c], truths[:, :, c].T)
    one_gain = _projection(heard.ravel(), wanted.reshape(-1, 1)).reshape(heard.shape)
    return Scores(
        sdr=decibels(_energy(target), _energy(heard - target)),
        sir=decibels(_energy(target), _energy(explained - target)),
        sar=decibels(_energy(explained), _energy(heard - explained)),
        si_sdr=decibels(_energy(one_gain), _energy(heard - one_gain)),
        snr=decibels(_energy(wanted), _energy(heard - wanted)) if heard.any() else -LIMIT,
    )


def decibels(signal: float, noise: float) -> float:
    """Return 10 log10(signal / noise), within the limit; no signal is the lower limit."""
    if signal <= 0:
        return -LIMIT
    if noise <= 0:
        return LIMIT
    return min(LIMIT, max(-LIMIT, 10 * (math.log10(signal) - math.log10(noise))))


def signals(name: str, given: Sequence[ArrayLike] | Array) -> Array:
    """Return several signals of equal shape as one array (how many, n, channels), float64."""
    listed = [checks.real_array(f"{name}[{i}]", one) for i, one in enumerate(given)]
    if not listed:
        raise ValueError(f"{name} is empty, but at least one signal is needed")
    shapes = {one.shape for one in listed}
    if len(shapes) > 1:
        raise ValueError(
            f"{name} have the shapes {', '.join(map(str, sorted(shapes)))}, but signals of one"
            " length and number of channels are needed"
        )
    (shape,) = shapes
    if len(shape) not in (1, 2) or 0 in shape:
        raise ValueError(
            f"{name} have shape {shape}, but (n,) or (n, channels) with n ≥ 1 is needed"
        )
    return np.stack(listed).astype(np.float64).reshape(len(listed), shape[0], -1)


def described(array: Array) -> str:
    """Say length and channels in words."""
    _, n, channels = array.shape
    return f"{n} samples on {channels} channel{'s' if channels > 1 else ''}"


def _projection(y: Array, basis: Array) -> Array:
    """Project y (n,) onto the span of the columns of basis (n, J), which may be dependent."""
    norms = np.linalg.norm(basis, axis=0)
    columns = basis[:, norms > 0] / norms[norms > 0]
    gains = np.linalg.lstsq(columns.T @ columns, columns.T @ y, rcond=1e-12)[0]
    return columns @ gains


def _energy(y: Array) -> float:
    """Return the sum of squares."""
    return float(np.vdot(y, y))
