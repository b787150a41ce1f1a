"""
Two notes that the window cannot part
=====================================

A4 and B♭4 are 26 Hz apart: one step of the spectrum of a window of 40 ms. NMF in the DCT separates
them if the floor is annealed (the default), and not without. A learned transform separates them as
well as that; what it adds is atoms at the frequencies of the notes.
"""

import matplotlib.pyplot as plt
import numpy as np

import phinmf
from phinmf.analysis import strongest_atoms

rng, sample_rate, pitches = np.random.default_rng(1), 5000, (440.0, 466.16)
t = np.arange(3 * sample_rate) / sample_rate  # one note, then the other, then both: a second each
loud = np.array([(t < 1) | (t >= 2), t >= 1])
tones = [np.sin(2 * np.pi * f * t) + 0.5 * np.sin(4 * np.pi * f * t + 1) for f in pitches]
notes = loud * tones
Y = phinmf.to_frames(notes.sum(axis=0) + 1e-3 * rng.standard_normal(len(t)), 200)

# %%
# NMF with two components in each transform, and the sound of these components:
abrupt = phinmf.Method(anneal=False)
fits = {"DCT, not annealed": {"solver": None, "method": abrupt}, "DCT": {"solver": None}}
figure, axes = plt.subplots(1, 3, sharey=True, figsize=(13, 3.5), layout="constrained")
for ax, (name, how) in zip(axes, (fits | {"learned": {}}).items(), strict=True):
    result = phinmf.tl_nmf(Y, 2, sparsity=0, max_iter=60, tol=0, random_state=0, **how)
    parts = [phinmf.from_frames(part, len(t)) for part in result.separate(Y)]
    error = [[np.sum((note - part) ** 2) for part in parts] for note in notes]
    snr = 10 * np.log10(np.sum(notes**2, axis=1) / np.min(error, axis=1))
    print(f"{name}: the two notes are separated with {snr[0]:z.1f} dB and {snr[1]:z.1f} dB")
    for atom in strongest_atoms(result.Phi, Y, 4):
        ax.plot(np.fft.rfftfreq(6400, 1 / sample_rate), np.abs(np.fft.rfft(atom, 6400)))
    ax.vlines(pitches, 0, 10, color="black", ls="dotted", label="the two notes")
    ax.set(title=f"Spectra of the strongest atoms, {name}", xlim=(380, 540), xlabel="Hz")
axes[0].legend()
plt.show()
