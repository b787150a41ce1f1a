"""
Two notes that the window cannot part
=====================================

A4 and B♭4 are 26 Hz apart: one step of the spectrum of a window of 40 ms. NMF in the DCT cannot
separate them here; learned atoms move until each hears mostly one note. (The DCT sometimes can,
too, if the recording is longer.)
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.ndimage import uniform_filter1d

import phinmf
from phinmf.analysis import strongest_atoms

rng, sample_rate, pitches = np.random.default_rng(0), 5000, (440.0, 466.16)
t = np.arange(4 * sample_rate) / sample_rate  # each note sounds in some quarters of a second
loud = np.repeat(1.0 * (rng.random((2, 16)) > 0.5), sample_rate // 4, axis=1)
tones = [np.sin(2 * np.pi * f * t) + 0.5 * np.sin(4 * np.pi * f * t + 1) for f in pitches]
notes = uniform_filter1d(loud, 400, axis=1) * tones  # with soft beginnings and ends
Y = phinmf.to_frames(notes.sum(axis=0) + 1e-3 * rng.standard_normal(len(t)), 200)

# %%
# NMF with two components in each transform, and the sound of these components:
figure, axes = plt.subplots(1, 2, sharey=True, figsize=(9, 3.5), layout="constrained")
for ax, name, solver in zip(axes, ("DCT", "learned"), (None, "lbfgs"), strict=True):
    result = phinmf.tl_nmf(Y, 2, solver=solver, max_iter=60, tol=0, random_state=0)
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
