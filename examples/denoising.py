"""
Denoising with a sample of the noise
====================================

Two seconds of nothing but hum and hiss teach the transform what the noise is made of. Its
components stay fixed, others are added for the music, and only their share is kept.
"""

import matplotlib.pyplot as plt
import numpy as np

import phinmf
from phinmf.audio.example import example

sound, rng = example(), np.random.default_rng(0)
music, sample_rate = sound.stems["string"] + sound.stems["bars"], sound.sample_rate
t = np.arange(len(music) + 2 * sample_rate) / sample_rate
hum = sum(np.sin(2 * np.pi * 50 * h * t + h) / h for h in (1, 2, 3, 5, 7, 9, 11, 13, 15, 17))
noise = hum + 0.3 * np.diff(rng.standard_normal(len(t) + 1))
noise *= np.sqrt(np.mean(music**2) / np.mean(noise**2))  # as loud as the music
noisy = music + noise[2 * sample_rate :]

# %%
# The same for atoms that are learned from the noise, and for cosines (``solver=None``):
Z, Y = phinmf.to_frames(noise[: 2 * sample_rate], 320), phinmf.to_frames(noisy, 320)
clean = {}
for name, solver in (("cosines", None), ("learned atoms", "lbfgs")):
    known = phinmf.tl_nmf(Z, n_components=8, solver=solver, random_state=0)
    result = phinmf.tl_nmf(Y, 12, init=known.Phi, W=known.W, fixed=("Phi", "W"), random_state=0)
    share = result.W[:, 8:] @ result.H[8:] / (result.W @ result.H + result.floor)  # of the music
    clean[name] = phinmf.from_frames(result.Phi.T @ (share * (result.Phi @ Y)), len(music))
    snr = 10 * np.log10(np.sum(music**2) / np.sum((music - clean[name]) ** 2))
    print(f"From 0.0 dB to {snr:.1f} dB, with {name}")

figure, axes = plt.subplots(3, 1, sharex=True, figsize=(9, 6), layout="constrained")
for ax, (name, y) in zip(axes, {"noisy": noisy, **clean}.items(), strict=True):
    ax.specgram(y + 1e-5 * rng.standard_normal(len(y)), NFFT=512, Fs=sample_rate, vmin=-120)
    ax.set(title=name, ylim=(0, 4000), ylabel="Hz", xlim=(0, 10))
axes[2].set(xlabel="s")
plt.show()
