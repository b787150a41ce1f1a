"""One pass over frames that arrive, beside a fit that has all of them at once.

What is compared is `TLNMF.score` on frames that neither has seen. The share

    (score of one pass - score of the DCT) / (score of all at once - score of the DCT)

is how much is kept of what learning the transform gains; the DCT is plain NMF of all frames in it.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from _common import machine, samples, write_csv
from sklearn.exceptions import ConvergenceWarning

import phinmf
from phinmf.analysis import split_frames
from phinmf.audio.example import example
from phinmf.linalg.manifold import random_orthogonal

SEEDS = 0, 1
CALL = 100  #: frames in each call of partial_fit
Split = tuple[np.ndarray, np.ndarray]  #: frames to learn from and frames to hold out, (M, n)


def hidden(M: int, K: int, N: int, seed: int) -> Split:
    """Gaussian frames whose power is WH in a random orthogonal transform."""
    rng = np.random.default_rng(seed)
    W, H = rng.exponential(size=(M, K)) ** 3, rng.exponential(size=(K, N)) ** 2
    X = rng.standard_normal((M, N)) * np.sqrt(W @ H / (W @ H).mean() + 1e-3)
    Y = random_orthogonal(M, rng).T @ X
    return Y[:, : N * 4 // 5], Y[:, N * 4 // 5 :]


def sound(y: np.ndarray, M: int) -> Split:
    """Frames of a sound, a fifth of them held out in stretches."""
    Y = phinmf.to_frames(y, M)
    learn, out = split_frames(Y.shape[1], 0.2)
    return Y[:, learn], Y[:, out]


def melody(keys: list[tuple[int, ...]], notes: int, seed: int) -> np.ndarray:
    """Decaying tones of five harmonics, 0.3 s each at 8 kHz, in one key after the other."""
    rng, t = np.random.default_rng(seed), np.arange(2400) / 8000
    played = []
    for key in keys:
        for _ in range(notes):
            hertz = 220 * 2 ** (rng.choice(key) / 12 + rng.integers(2))
            tone = sum(np.sin(2 * np.pi * hertz * h * t + h) / h for h in range(1, 6))
            played.append(np.exp(-4 * t) * tone + 0.003 * rng.standard_normal(len(t)))
    return np.concatenate(played)


def tones(seed: int) -> Split:
    """A melody in one key."""
    return sound(melody([(0, 4, 7, 11)], 200, seed), 128)


def change(seed: int) -> Split:
    """A melody whose key changes halfway; frames of the second key are held out."""
    first, _ = sound(melody([(0, 4, 7, 11)], 200, seed), 128)
    second, out = sound(melody([(1, 3, 6, 10)], 200, seed + 10), 128)
    return np.concatenate([first, second], axis=1), out


gaussian = {"divergence": "gaussian"}
#: Frames by seed, number of components, and other parameters.
KINDS: dict[str, tuple[Callable[[int], Split], int, dict[str, Any]]] = {
    "hidden transform": (partial(hidden, 16, 3, 4000), 3, {}),
    "hidden transform, Gaussian": (partial(hidden, 16, 3, 4000), 3, gaussian),
    "larger hidden transform": (partial(hidden, 64, 5, 10_000), 5, {}),
    "larger hidden transform, Gaussian": (partial(hidden, 64, 5, 10_000), 5, gaussian),
    "tones": (tones, 8, {}),
    "tones, Gaussian": (tones, 8, gaussian),
    "tones, the key changes, Gaussian": (change, 8, gaussian),
    "built-in example": (lambda seed: sound(example().mixture, 128), 8, {}),
    "built-in example, Gaussian": (lambda seed: sound(example().mixture, 128), 8, gaussian),
    "paper's recording": (lambda seed: sound(samples()[0], 256), 10, {}),
    "paper's recording, Gaussian": (lambda seed: sound(samples()[0], 256), 10, gaussian),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kinds", nargs="+", choices=KINDS, help="only these; writes no results")
    options = parser.parse_args()
    warnings.simplefilter("ignore", ConvergenceWarning)
    print(machine())
    rows = []
    for kind in options.kinds or KINDS:
        frames, K, how = KINDS[kind]
        for seed in SEEDS:
            learn, out = (Y.T for Y in frames(seed))
            scores, seconds = {}, {}
            for name, more in {"dct": {"solver": None}, "all": {}, "stream": {}}.items():
                model = phinmf.TLNMF(K, random_state=seed, **how, **more)
                start = time.process_time()
                if name == "stream":
                    for first in range(0, len(learn), CALL):
                        model.partial_fit(learn[first : first + CALL])
                else:
                    model.fit(learn)
                seconds[name], scores[name] = time.process_time() - start, model.score(out)
            gain = scores["all"] - scores["dct"]
            share = f"{(scores['stream'] - scores['dct']) / gain:.2f}" if gain > 0 else "no gain"
            row = {"frames": kind, "seed": seed, "M": learn.shape[1], "n_frames": len(learn)}
            row |= {name: f"{score:.2f}" for name, score in scores.items()}
            row |= {"share": share}
            rows.append(row | {f"{name}_seconds": f"{seconds[name]:.1f}" for name in seconds})
            print(rows[-1], flush=True)
    if not options.kinds:
        write_csv("online", rows)


if __name__ == "__main__":
    main()
