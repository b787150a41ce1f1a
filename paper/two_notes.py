"""Two notes a semitone apart (Zhang, Soubies and Févotte 2020), found and separated."""

from __future__ import annotations

from itertools import permutations
from typing import Any

import music
import numpy as np
from matplotlib.figure import Figure
from printing import listed, print_claims, print_table
from scipy.io import loadmat
from setting import COLOURS, NOTES, Setting, axes_style, data_folder, quietly

import phinmf
from phinmf.analysis import atom_frequencies, energy_curve, strongest_atoms

M, K, ATOMS = 200, 2, 8
FREQUENCIES = np.array([440.0, 466.16, 880.0, 932.33])  #: A4 and B♭4, with their octaves, in Hz
PUBLISHED_SHARE, PUBLISHED_ERROR = 99.896, 0.4  #: % of the energy in 8 atoms; Hz
CASES = [(d, s) for d in ("gaussian", "itakura-saito") for s in (0.0, 10.0)]
#: the fixed transform has the schedule, the number of iterations and the starts of the learned one
TRANSFORMS: dict[str, dict[str, Any]] = {
    "learned": {}, "DCT": {"solver": None},
    "DCT, not annealed": {"solver": None, "method": phinmf.Method(anneal=False)},
}  # fmt: skip


def parted(r: phinmf.Result, Y: np.ndarray, length: int) -> np.ndarray:
    """The components of a signal: mask (w_k h_k + ε/K)/v̂ on X, back with Φᵀ."""
    X, model = r.Phi @ Y, r.W @ r.H + r.floor
    masks = [(np.outer(r.W[:, k], r.H[k]) + r.floor / K) / model for k in range(K)]
    return np.array([phinmf.from_frames(r.Phi.T @ (mask * X), length) for mask in masks])


def sdr(estimates: np.ndarray, sources: np.ndarray) -> float:
    """Mean over the notes of 10 log₁₀ ‖s‖²/‖s - ŝ‖², components in their better order."""

    def mean(order: tuple[int, ...]) -> float:
        error = np.square(sources - estimates[list(order)]).sum(axis=1)
        return float(np.mean(10 * np.log10(np.square(sources).sum(axis=1) / error)))

    return max(mean(order) for order in permutations(range(K)))


def fit(Y: np.ndarray, divergence: str, sparsity: float, seed: int, **how: Any) -> phinmf.Result:
    """One run, from the DCT unless `how` names another start; the seed draws W."""
    return quietly(phinmf.tl_nmf, Y, K, divergence=divergence, sparsity=sparsity,
                   random_state=seed, **how)  # fmt: skip


def measure(r: phinmf.Result, Y: np.ndarray, sources: np.ndarray, rate: int) -> dict[str, Any]:
    """Energy, frequencies and SDR of one run on (C, M, N) frames and (C, 2, n) sources."""
    peaks = np.sort(atom_frequencies(strongest_atoms(r.Phi, Y, ATOMS), rate).peak)
    off = np.abs(peaks[:, None] - FREQUENCIES)
    length = sources.shape[-1]
    return {
        "energy in 8 atoms, %": 100 * float(energy_curve(r.Phi, Y)[ATOMS - 1]),
        "nearest atom to each note, Hz off": float(off.min(axis=0).max()),
        "atoms within 0.4 Hz of a note": int((off.min(axis=1) <= PUBLISHED_ERROR).sum()),
        "peaks, Hz": listed(f"{f:.1f}" for f in peaks),
        "SDR, dB": float(np.mean([sdr(parted(r, y, length), s)
                                  for y, s in zip(Y, sources, strict=True)])),
    }  # fmt: skip


def recordings(setting: Setting) -> tuple[np.ndarray, np.ndarray, int]:
    """Frames (C, M, N) of the realisations, their sources (C, 2, n), and the sampling rate."""
    folder, n = data_folder(NOTES), setting.budget.realisations
    if folder:
        data = loadmat(folder / NOTES)
        sources, rate = np.stack([data["ys1"][:n], data["ys2"][:n]], axis=1), int(data["fs"].item())
    else:
        sources, rate = music.two_notes(n)
    return np.stack([phinmf.to_frames(y, M) for y in sources.sum(axis=1)]), sources, rate


def run(setting: Setting) -> None:
    """Every realisation by itself, then all of them as channels that share Φ, W and H."""
    Y, sources, rate = recordings(setting)
    n = len(Y)
    rows, first = [], {}
    for divergence, sparsity in CASES:
        for transform, how in TRANSFORMS.items():
            for seed in range(setting.budget.note_seeds):
                singles = [(str(c), Y[c : c + 1], sources[c : c + 1]) for c in range(n)]
                for name, frames, notes in [*singles, ("all, as channels", Y, sources)]:
                    r = fit(frames, divergence, sparsity, seed, **how)
                    first.setdefault((divergence, sparsity, transform), (r, frames))
                    rows.append({"divergence": divergence, "sparsity": sparsity,
                                 "transform": transform, "realisation": name, "seed": seed}
                                | measure(r, frames, notes, rate))  # fmt: skip
    summary = [
        summarise(rows, divergence, sparsity, transform, channels)
        for divergence, sparsity in CASES
        for transform in TRANSFORMS
        for channels in (False, True)
    ]
    best = [s for s in summary if s["transform"] == "learned" and s["realisations"] == "one by one"]
    top = max(best, key=lambda s: s["energy in 8 atoms, %"])
    near = min(best, key=lambda s: s["nearest atom to each note, Hz off"])
    scores = {(s["divergence"], s["sparsity"], s["transform"], s["realisations"]): s["SDR, dB"]
              for s in summary}  # fmt: skip

    def gains(method: str, other: str, how: str) -> dict[tuple[str, float], float]:
        return {c: scores[*c, method, how] - scores[*c, other, how] for c in CASES}

    print_claims(
        {
            f"{PUBLISHED_SHARE} % of the energy in 8 atoms": f"{name_of(top)}:"
            f" {top['energy in 8 atoms, %']:.3f} % (median)",
            f"atoms within {PUBLISHED_ERROR} Hz of 440, 466, 880 and 932 Hz": f"{name_of(near)}:"
            " the atom nearest to each note is at most"
            f" {near['nearest atom to each note, Hz off']:.2f} Hz off (median over runs of the"
            f" worst note); {near['atoms within 0.4 Hz of a note']:g} of the 8 atoms are within"
            f" {PUBLISHED_ERROR} Hz",
            "(SDR of the two notes against NMF in the DCT, annealed alike)": gains_of(
                gains("learned", "DCT", "one by one")
            ),
            "(the same with all realisations as channels that share Φ, W and H)": gains_of(
                gains("learned", "DCT", "as channels")
            ),
            "(what the annealed floor adds to the SDR of NMF in the DCT)": gains_of(
                gains("DCT", "DCT, not annealed", "one by one")
            ),
        }
    )
    print_table(summary)
    draw(setting, first["gaussian", 0.0, "learned"], summary, rate)
    setting.csv("two_notes", rows)


def gains_of(gains: dict[tuple[str, float], float]) -> str:
    """Gains in SDR, in words."""
    return ", ".join(f"{d} at sparsity {s:g}: {g:+.1f} dB" for (d, s), g in gains.items())


def name_of(line: dict[str, Any]) -> str:
    """Which runs a line of the summary is about."""
    return f"{line['divergence']}, sparsity {line['sparsity']:g}"


def summarise(
    rows: list[dict[str, Any]], divergence: str, sparsity: float, transform: str, channels: bool
) -> dict[str, Any]:
    """Medians of one case."""
    this = divergence, sparsity, transform, channels
    mine = [
        r for r in rows
        if (r["divergence"], r["sparsity"], r["transform"], r["realisation"][0] == "a") == this
    ]  # fmt: skip
    keys = ("energy in 8 atoms, %", "nearest atom to each note, Hz off",
            "atoms within 0.4 Hz of a note", "SDR, dB")  # fmt: skip
    return {
        "divergence": divergence,
        "sparsity": sparsity,
        "transform": transform,
        "realisations": "as channels" if channels else "one by one",
    } | {key: round(float(np.median([r[key] for r in mine])), 3) for key in keys}


def draw(
    setting: Setting, learned: tuple[phinmf.Result, np.ndarray], summary: list[Any], rate: int
) -> None:
    """Spectra of the atoms, and SDR as bars."""
    r, Y = learned
    figure = Figure(figsize=(10.5, 3.8), layout="constrained")
    left, right = figure.subplots(1, 2)
    for i, atom in enumerate(strongest_atoms(r.Phi, Y, ATOMS)):
        power = np.abs(np.fft.rfft(atom, 32 * M)) ** 2
        f = np.fft.rfftfreq(32 * M, 1 / rate)
        left.plot(f, power / power.max() + 1.1 * (ATOMS - 1 - i), color=COLOURS["annealed lbfgs"],
                  lw=1.2)  # fmt: skip
    for note in FREQUENCIES:
        left.axvline(note, color="black", ls=":", lw=0.8)
    left.set_yticks([])
    axes_style(left, xlim=(300, 1100), xlabel="Hz", ylabel="power, strongest atom on top")
    for i, (divergence, sparsity) in enumerate(CASES):
        for j, transform in enumerate(TRANSFORMS):
            (line,) = (s for s in summary if s["realisations"] == "one by one"
                       and (s["divergence"], s["sparsity"], s["transform"])
                       == (divergence, sparsity, transform))  # fmt: skip
            colour = (COLOURS["annealed lbfgs"], "#777777", "#cccccc")[j]
            label = transform if i == 0 else None
            right.bar(i + 0.28 * (j - 1), line["SDR, dB"], 0.26, label=label, color=colour)
    right.set_xticks(range(len(CASES)), [f"{d}\nsparsity {s:g}" for d, s in CASES], fontsize=8)
    axes_style(right, ylabel="SDR of the notes, dB")
    right.set_ylim(0, 1.25 * right.get_ylim()[1])
    right.legend(frameon=False, ncols=3, loc="upper center")
    setting.save(figure, "two_notes")
