"""Supervised speech enhancement, after the experiment of the first paper (arXiv 1705.04193).

A transform and a dictionary are learned from a minute of clean speech, a dictionary of the noise in
the same transform from other seconds of the noise; then only activations are computed of the
mixture at 0 dB. Speech is one speaker at 8 kHz, from the Debian package
asterisk-core-sounds-en-wav (CC BY-SA 3.0); noise is white, or the built-in example's string and
bars. SI-SDR ignores a gain; the mixture itself is the measure that has to be passed.
"""

from __future__ import annotations

import argparse
import warnings
from typing import Any

import numpy as np
import soundfile
from _common import table, write_csv
from _packages import Missing, debian
from scipy.signal import resample_poly
from sklearn.exceptions import ConvergenceWarning

import phinmf
from phinmf.audio.example import example

RATE, M, K_SPEECH, K_NOISE = 8000, 256, 32, 8
ATOMS = {"single": {"init": "dct"}, "pairs": {"init": "dft", "pairs": True}}
FLOOR = 1e-6


def speech(name: str, seconds: float) -> np.ndarray:
    folder = debian("asterisk-core-sounds-en-wav")
    y, rate = soundfile.read(folder / f"usr/share/asterisk/sounds/en_US_f_Allison/{name}.wav")
    assert rate == RATE
    return y[: int(seconds * rate)]


def noises(n: int) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Noise to learn from, and n other samples of it."""
    rng, stems = np.random.default_rng(0), example().stems
    music = resample_poly(stems["string"] + stems["bars"], 1, 2)
    first, second = music[: len(music) // 2], music[len(music) // 2 :]
    return {
        "white": (rng.standard_normal(5 * RATE), rng.standard_normal(n)),
        "music": (first, np.tile(second, -(-n // len(second)))[:n]),
    }


def si_sdr(estimate: np.ndarray, truth: np.ndarray) -> float:
    target = truth * (estimate @ truth) / (truth @ truth)
    return float(10 * np.log10((target @ target) / np.square(estimate - target).sum()))


def fit(y: np.ndarray, K: int, **how: Any) -> phinmf.Result:
    Y = phinmf.to_frames(y, M).astype(np.float32)
    return phinmf.tl_nmf(Y, K, floor=FLOOR, random_state=0, **how)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="few seconds; writes no results")
    quick = parser.parse_args().quick
    warnings.simplefilter("ignore", ConvergenceWarning)
    try:
        learn, clean = speech("demo-instruct", 6 if quick else 60), speech("demo-congrats", 15)
    except Missing as missing:
        print(missing)
        return
    rows: list[dict[str, Any]] = []
    for atoms, start in ATOMS.items():
        for sparsity in (0.0, 10.0):
            for name, how in {
                "not learned": {"solver": None}, "itakura-saito": {},
                "gaussian": {"divergence": "gaussian"},
            }.items():  # fmt: skip
                voice = fit(learn, K_SPEECH, sparsity=sparsity, **start, **how)
                fixed = start | {"init": voice.Phi, "solver": None, "sparsity": sparsity}
                row = {"atoms": atoms, "sparsity": sparsity, "transform": name}
                for noise, (sample, other) in noises(len(clean)).items():
                    other = other * np.sqrt((clean @ clean) / (other @ other))
                    W = np.hstack([voice.W, fit(sample, K_NOISE, **fixed).W])
                    mixture = clean + other
                    r = fit(mixture, W.shape[1], W=W, fixed="W", **fixed)
                    parts = r.to_sound(phinmf.to_frames(mixture, M), len(mixture))
                    heard = parts[:K_SPEECH].sum(axis=0)
                    row[noise] = round(si_sdr(heard, clean) - si_sdr(mixture, clean), 2)
                rows.append(row)
                print(row, flush=True)
    print(table(rows, {key: key for key in rows[0]}))
    if not quick:
        write_csv("enhancement", rows, "gain in SI-SDR, dB")


if __name__ == "__main__":
    main()
