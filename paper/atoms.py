"""The learned atoms, which the paper does not show: the strongest 24, each with its spectrum."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.figure import Figure
from music import SAMPLE_RATE
from printing import print_claims
from setting import COLOURS, Setting
from stability import stability

from phinmf.analysis import atom_energies, atom_frequencies, strongest_atoms

NUMBER = 24


def run(setting: Setting) -> None:
    """Draw the atoms of the longest annealed fit."""
    Y, rate = setting.recording, SAMPLE_RATE
    runs = [
        setting.fit(setting.budget.patient, random_state=s) for s in range(setting.budget.starts)
    ]
    number = min(NUMBER, setting.budget.M // 2)
    atoms = strongest_atoms(runs[0].Phi, Y, number)
    energy = np.sort(atom_energies(runs[0].Phi, Y))[::-1]
    frequencies = atom_frequencies(atoms, rate)
    n = min(50, setting.budget.M // 2)
    again = stability([strongest_atoms(r.Phi, Y, n) for r in runs])
    reliability = again.reliability[again.labels[0][:number]]
    rows = [
        {
            "atom": i + 1,
            "peak, Hz": round(float(frequencies.peak[i]), 1),
            "centroid, Hz": round(float(frequencies.centroid[i]), 1),
            "share of the energy, %": round(100 * float(energy[i] / energy.sum()), 2),
            "reliability": round(float(reliability[i]), 3),
            "power within a quarter octave of the peak, %": round(
                100 * near_peak(atoms[i], rate, float(frequencies.peak[i])), 1
            ),
        }
        for i in range(number)
    ]
    tonal = sum(r["power within a quarter octave of the peak, %"] > 50 for r in rows)
    close = sum(
        bool((np.abs(np.delete(frequencies.peak, i) - f) < 0.03 * f).any())
        for i, f in enumerate(frequencies.peak)
    )
    print_claims(
        {
            "“similar to those obtained in [Fagot 2018, Wendt 2018]” (not shown)": f"{tonal} of"
            f" {number} have more than half of their power within a quarter octave of their peak;"
            f" {close} share their peak (3 %) with another of the {number}"
        }
    )
    draw(setting, atoms, frequencies.peak, reliability)
    setting.csv("atoms", rows)


def near_peak(atom: np.ndarray, rate: float, peak: float) -> float:
    """Share of an atom's power within a quarter of an octave of its peak, on either side."""
    power = np.abs(np.fft.rfft(atom, 16 * len(atom))) ** 2
    f = np.fft.rfftfreq(16 * len(atom), 1 / rate)
    near = np.abs(np.log2(np.maximum(f, 1e-9) / max(peak, 1e-9))) < 0.25
    return float(power[near].sum() / power.sum())


def draw(setting: Setting, atoms: np.ndarray, peaks: np.ndarray, reliability: np.ndarray) -> None:
    """A grid of atoms, the spectrum under each."""
    rate = SAMPLE_RATE
    columns, lines = 6, -(-len(atoms) // 6)
    figure = Figure(figsize=(11, 2.1 * lines), layout="constrained")
    axes: Any = figure.subplots(2 * lines, columns, sharex=False, squeeze=False)
    for i in range(columns * lines):
        top, bottom = (
            axes[2 * (i // columns), i % columns],
            axes[2 * (i // columns) + 1, i % columns],
        )
        if i >= len(atoms):
            top.remove(), bottom.remove()
            continue
        M = atoms.shape[1]
        top.plot(1000 * np.arange(M) / rate, atoms[i], color=COLOURS["quasi-newton"], lw=0.8)
        top.set_title(f"{i + 1}: {peaks[i]:.0f} Hz, {reliability[i]:.2f}", fontsize=8)
        power = np.abs(np.fft.rfft(atoms[i], 16 * M)) ** 2
        f = np.fft.rfftfreq(16 * M, 1 / rate)
        bottom.fill_between(f, power, color=COLOURS["annealed lbfgs"], lw=0)
        bottom.set_xlim(0, 3000)
        last = i // columns == lines - 1
        for ax in (top, bottom):
            ax.set_yticks([])
            ax.tick_params(labelsize=6, length=2)
            ax.spines[["left", "right", "top"]].set_visible(False)
        top.set_xlim(0, 1000 * M / rate)
        top.set_xticks([0, 20, 40] if 1000 * M / rate > 39 else [0])
        bottom.set_xticks(
            [0, 1000, 2000, 3000], ["0", "1", "2", "3 kHz"] if last else ["", "", "", ""]
        )
        top.set_xticklabels([])
    setting.save(figure, "atoms")
