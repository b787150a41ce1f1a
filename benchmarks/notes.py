"""Two notes a semitone apart, as Zhang, Soubies and Févotte (2020) have them.

Their five data sets of ten realisations (datasets/nonstationary440_sim1.mat … sim5.mat of
github.com/sixin-zh/tlnmf-gcm) are not part of this project: put those that you have into data/, or
into the folder PHINMF_DATA; two_notes_sim1.mat is the first of them. The realisations of a data set
share Φ, W and H. The frames are theirs: 40 ms, half overlapping, Tukey windows with 10 % of
slopes, ε = 5e-7. SDR, SIR and SAR are those of BSS Eval by mir_eval, with filters of 512 taps.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from _common import NOTES, SOURCES, data_folder, save, table, write_csv
from matplotlib.figure import Figure
from mir_eval.separation import bss_eval_sources
from scipy.fft import dct
from scipy.io import loadmat
from scipy.optimize import minimize_scalar
from scipy.signal import istft, stft
from sklearn.exceptions import ConvergenceWarning

import phinmf
from phinmf.analysis import atom_frequencies, energy_curve, strongest_atoms
from phinmf.result.masks import component_frames

M, K, EPSILON, ATOMS = 200, 2, 5e-7, 8
FRAMES: dict[str, Any] = {"window": ("tukey", 0.1), "nperseg": M, "return_onesided": False}
#: of TL-NMF, in a notebook of arXiv 2112.05664
PUBLISHED = {
    "method": "published",
    "energy in 8 atoms": 0.99896,
    "Hz": "440.10 466.35 466.11 439.74 932.32 932.39 879.94 879.99",
}
PATIENT = phinmf.Method(n_iter_nmf=10)
NOT_ANNEALED = phinmf.Method(anneal=False, n_iter_nmf=10)
#: name: options; the best of several random starts is the one of the lowest objective
METHODS: dict[str, dict[str, Any]] = {
    "DCT": {"solver": None},
    "DCT, not annealed": {"solver": None, "method": NOT_ANNEALED},
    "learned from the DCT": {},
    "learned from random starts": {"init": "random"},
    "learned from random starts, not annealed": {"init": "random", "method": NOT_ANNEALED},
    "pairs: DFT": {"solver": None, "pairs": True},
    "pairs: learned from the DFT": {"pairs": True},
}


def data_sets() -> Iterator[tuple[str, np.ndarray, int]]:
    """Name, sources (S, 2, n) and rate of each data set that is there."""
    folder = data_folder(NOTES) or Path("data")
    names = [NOTES, *(f"nonstationary440_sim{i}.mat" for i in range(2, 6))]
    for name in names:
        if (folder / name).is_file():
            data = loadmat(folder / name)
            yield name, np.stack([data["ys1"], data["ys2"]], axis=1), int(data["fs"].item())


def frequency(atom: np.ndarray, rate: int) -> float:
    """The frequency of the sinusoid of any phase that fits an atom best, as in the paper."""
    m = np.arange(len(atom))

    def misfit(f: float) -> float:
        waves = np.stack([np.cos(2 * np.pi * f * m / rate), np.sin(2 * np.pi * f * m / rate)], 1)
        return float(np.linalg.norm(atom - waves @ np.linalg.lstsq(waves, atom)[0]))

    peak = atom_frequencies(atom[None], rate).peak[0]
    return float(minimize_scalar(misfit, bounds=(peak - 25, peak + 25), method="bounded").x)


def measure(how: dict[str, Any], sources: np.ndarray, rate: int, starts: int) -> dict[str, Any]:
    """One method on one data set: the best of its starts."""
    n = sources.shape[2]
    Y = np.fft.ifft(stft(sources.sum(axis=1), rate, **FRAMES)[2], axis=1).real
    results = [
        phinmf.tl_nmf(Y, K, random_state=seed,
                      **{"divergence": "gaussian", "sparsity": 0, "method": PATIENT,
                         "floor": EPSILON / np.mean(Y**2)} | how)
        for seed in range(starts)
    ]  # fmt: skip
    r = min(results, key=lambda r: r.objective)
    parts = component_frames(Y, r.Phi, r.W, r.H, r.floor)
    sounds = [istft(np.fft.fft(part, axis=1), rate, input_onesided=False,
                    **{k: v for k, v in FRAMES.items() if k != "return_onesided"})[1].real[:, :n]
              for part in parts]  # fmt: skip
    pairs = zip(sources, np.stack(sounds, axis=1), strict=True)
    scores = np.mean([bss_eval_sources(*pair)[:3] for pair in pairs], axis=(0, 2))
    atoms = strongest_atoms(r.Phi, Y, ATOMS)
    return {
        "C / entry": round(r.objective / (M * Y.shape[2]) + float(np.log(np.mean(Y**2))), 4),
        "energy in 8 atoms": round(float(energy_curve(r.Phi, Y)[ATOMS - 1]), 5),
        "Hz": " ".join(f"{frequency(atom, rate):.2f}" for atom in atoms),
        **{k: round(float(v), 2) for k, v in zip(("SDR", "SIR", "SAR"), scores, strict=True)},
    }


def equation_9(starts: int) -> np.ndarray:
    """ΦΦ̄ᵀ at the optimum of the population, from random starts: the example of equation (9).

    Rows 1 and 2 of Φ̄ have the same variances, so have rows 3 and 4: only the two planes that they
    span are identified. M channels with the exact covariances stand for all realisations.
    """
    truth, W = dct(np.eye(4), norm="ortho").T, np.array([[1, 1, 0.1, 0.1], [0.1, 0.1, 1, 1]]).T
    roots = np.sqrt(W @ np.array([[1.0, 0, 1], [0, 1, 1]]))  # (M, N)
    Y = 2 * np.einsum("mi,mn->min", truth, roots)  # channel m has row m of Φ̄
    results = [
        phinmf.tl_nmf(Y, 2, divergence="gaussian", sparsity=0, init="random", random_state=seed,
                      max_iter=500, tol=1e-12) for seed in range(starts)
    ]  # fmt: skip
    return np.stack([r.Phi @ truth.T for r in results])


def draw(products: np.ndarray) -> None:
    figure = Figure(figsize=(2.1 * len(products), 2.5), layout="constrained")
    for axes, product in zip(figure.subplots(1, len(products)), products, strict=True):
        axes.imshow(np.abs(product), cmap="Greys", vmin=0, vmax=1)
        for (i, j), value in np.ndenumerate(product):
            axes.text(j, i, f"{value:.2f}".replace("-0.00", "0.00"), ha="center", va="center",
                      fontsize=7, color="white" if abs(value) > 0.5 else "black")  # fmt: skip
        axes.set(xticks=[], yticks=[], xlabel="row of the true transform")
    save(figure, "notes_equation_9")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--starts", type=int, default=2)
    starts = parser.parse_args().starts
    warnings.simplefilter("ignore", ConvergenceWarning)
    warnings.simplefilter("ignore", FutureWarning)  # mir_eval will move its scores elsewhere
    products = equation_9(4)
    draw(products)
    planes = np.sqrt(np.square(products[:, :, :2]).sum(axis=2))  # 0 or 1: in one of the two planes
    print("equation (9): largest distance from two planes", np.minimum(planes, 1 - planes).max())
    rows: list[dict[str, Any]] = []
    for name, sources, rate in data_sets():
        for method, how in METHODS.items():
            rows.append({"data": name, "method": method} | measure(how, sources, rate, starts))
            print(rows[-1], flush=True)
    if not rows:
        print(f"{NOTES} is missing. {SOURCES[NOTES]}")
        return
    rows.append(dict.fromkeys(rows[0], "") | PUBLISHED)
    write_csv("notes", rows)
    print(table(rows, {key: key for key in rows[0]}))


if __name__ == "__main__":
    main()
