"""
Denoising with a sample of the noise
====================================

Two seconds of hum teach a transform what the noise is. Its components stay fixed, others are added
for the music, and only these are kept. (Against hiss, cosines are as good as learned atoms.)
"""

import matplotlib.pyplot as plt
import numpy as np

import phinmf
from phinmf.analysis import atoms_for_energy
from phinmf.audio.example import example

sound, rng = example(), np.random.default_rng(0)
music, sample_rate = sound.stems["string"] + sound.stems["bars"], sound.sample_rate
t = np.arange(len(music) + 2 * sample_rate) / sample_rate
hum = sum(np.sin(2 * np.pi * 50 * h * t + h) / h for h in (1, 2, 3, 5, 7, 9, 11, 13, 15, 17))
noise = hum + 0.05 * np.diff(rng.standard_normal(len(t) + 1))
noise *= np.std(music) / np.std(noise)  # as loud as the music
sounds = {"noisy": music + noise[2 * sample_rate :]}
Z, Y = (phinmf.to_frames(y, 320) for y in (noise[: 2 * sample_rate], sounds["noisy"]))

# %%
# Learn the noise, fix what was learned, and add components for the music:
for name, solver in (("cosines", None), ("learned atoms", "lbfgs")):
    fit = phinmf.tl_nmf(Z, n_components=2, solver=solver, random_state=0)
    print(f"99 % of the noise is in {atoms_for_energy(fit.Phi, Z, 0.99)} {name}.")
    result = phinmf.tl_nmf(Y, 10, init=fit.Phi, W=fit.W, fixed=("Phi", "W"), random_state=0)
    parts = result.separate(Y)[2:]  # frames of each component but those of the noise
    sounds[name] = phinmf.from_frames(parts.sum(axis=0), len(music))
figure, axes = plt.subplots(3, 1, sharex=True, figsize=(9, 6), layout="constrained")
for ax, (name, y) in zip(axes, sounds.items(), strict=True):
    snr = 10 * np.log10(np.sum(music**2) / np.sum((music - y) ** 2))
    print(f"{name}: {snr:z.1f} dB")
    ax.specgram(y + 1e-4 * rng.standard_normal(len(y)), NFFT=1024, Fs=sample_rate, noverlap=768)
    ax.set(title=f"{name}: {snr:z.1f} dB", ylim=(0, 1500), ylabel="Hz", xlabel="s", xlim=(0, 10))
plt.show()
