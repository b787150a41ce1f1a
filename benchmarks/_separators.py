"""Ways to take a mixture apart, and the scores of what comes out."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from _common import Piece, timed
from _source_scores import Scores, component_signals, grouped, oracle_grouping, score
from scipy.signal import ShortTimeFFT, get_window

import phinmf
from phinmf.unmixing.options import UnmixOptions

#: Numbers of components that are usual for the kinds of pieces.
COMPONENTS = {"chorale": 24, "piano": 12, "drums": 12, "example": 12, "arrangement": 16}
STFT, HOP = 2048, 512  # samples, of scikit-learn's spectrogram


def even(seconds: float, rate: int) -> int:
    return 2 * round(seconds * rate / 2)


@dataclass(frozen=True)
class Setting:
    """A fixed transform and the NMF in it; the defaults are those of `unmix`."""

    K: int = 24
    window: float = 0.093
    sparsity: float = UnmixOptions.sparsity
    floor: float = UnmixOptions.floor
    pairs: bool = True
    divergence: Any = "itakura-saito"
    smoothness: float = 0.0

    def components(self, y: np.ndarray, rate: int, seed: int) -> np.ndarray:
        """The components (K, n) or (K, n, channels) of a mixture."""
        Y = phinmf.to_frames(y, even(self.window, rate)).astype(np.float32)
        fit = phinmf.tl_nmf(
            Y, self.K, solver=None, pairs=self.pairs, sparsity=self.sparsity, floor=self.floor,
            divergence=self.divergence, smoothness=self.smoothness, max_iter=200, tol=5e-5,
            random_state=seed,
        )  # fmt: skip
        return component_signals(Y, fit, len(y), self.floor)


def scikit_learn(y: np.ndarray, rate: int, K: int, seed: int) -> np.ndarray:
    """KL-NMF of the magnitude of an STFT and its masks: what thirty lines of code do."""
    from sklearn.decomposition import NMF

    stft = ShortTimeFFT(get_window("hann", STFT), HOP, rate)
    S = np.stack([stft.stft(channel) for channel in y.reshape(len(y), -1).T])
    model = NMF(
        K, solver="mu", beta_loss="kullback-leibler", init="random", max_iter=200, random_state=seed
    )
    W = model.fit_transform(np.abs(S).mean(axis=0) + 1e-9)
    parts = np.einsum("fk,kn->kfn", W, model.components_)
    masks = parts / (parts.sum(axis=0) + 1e-12)
    return np.stack([stft.istft(mask * S, k1=len(y)).T.reshape(y.shape) for mask in masks])


def measured(
    piece: Piece, separate: Callable[[np.ndarray, int], np.ndarray]
) -> tuple[dict[str, float], float]:
    """Mean scores over the sources, components grouped by an oracle, and the seconds."""
    stems = np.stack(list(piece.stems.values()))
    components, seconds = timed(lambda: separate(stems.sum(axis=0), piece.rate))
    sums = grouped(components, oracle_grouping(components, stems), len(stems))
    return mean_scores(sums, stems), seconds


def mean_scores(estimates: Iterable[np.ndarray], stems: np.ndarray) -> dict[str, float]:
    """The mean of each score over the sources."""
    scores = [score(estimate, stems, j) for j, estimate in enumerate(estimates)]
    means = np.mean(scores, axis=0)
    return {name: round(float(x), 4) for name, x in zip(Scores._fields, means, strict=True)}
