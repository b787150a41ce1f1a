"""
From a sound file to its atoms
==============================

The transform is learned from the recording alone: nobody says what a note is. Yet its strongest
atoms have the pitch of the notes that are played, and come in pairs, a sine and a cosine.
"""

import tempfile

import matplotlib.pyplot as plt
import soundfile

import phinmf
from phinmf.analysis import atom_frequencies, atoms_for_energy, strongest_atoms
from phinmf.audio.example import example
from phinmf.linalg.manifold import dct

with tempfile.TemporaryDirectory() as folder:  # with a file of your own, only the third line
    soundfile.write(f"{folder}/band.wav", example().mixture, example().sample_rate)
    y, sample_rate = soundfile.read(f"{folder}/band.wav")

# %%
# Frames of 40 ms, an orthogonal transform of them, and eight components in it:
Y = phinmf.to_frames(y, 640)
result = phinmf.tl_nmf(Y, n_components=8, random_state=0)
atoms = strongest_atoms(result.Phi, Y, 8)
pitches = atom_frequencies(atoms, sample_rate).peak
for name, hertz in {"E5": 659.26, "C5": 523.25, "A4": 440.0}.items():
    print(f"{name} is {hertz} Hz; atoms:", *[f"{f:.1f}" for f in pitches if abs(f - hertz) < 6])
few, many = (atoms_for_energy(Phi, Y, 0.95) for Phi in (result.Phi, dct(640)))
print(f"95 % of the energy is in {few} learned atoms, or in {many} cosines, 12.5 Hz apart.")

figure, axes = plt.subplots(2, 4, sharey=True, figsize=(9, 3.5), layout="constrained")
for ax, atom, hertz in zip(axes.flat, atoms, pitches, strict=True):
    ax.plot(atom)
    ax.set(title=f"{hertz:.0f} Hz", xticks=(0, 320, 640), xticklabels=("0", "20", "40 ms"))
figure.suptitle("The eight strongest atoms of the recording, and their pitch")
plt.show()
