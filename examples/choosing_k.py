"""
How many components?
====================

More components always fit better. Two questions, two answers: ``n_components="auto"`` counts
spectra that come and go; ``rank_path`` finds how many predict unheard frames best, often more.
"""

import matplotlib.pyplot as plt
import numpy as np

import phinmf
from phinmf.analysis import rank_path

rng, sample_rate = np.random.default_rng(1), 8000
t = np.arange(16 * sample_rate) / sample_rate
pitches = 220 * 2 ** (np.array([0, 3, 7, 10, 12]) / 12)  # five notes of an organ, and some noise
on = np.repeat(rng.random((len(pitches), 64)) < 0.3, sample_rate // 4, axis=1)
tones = [sum(np.sin(2 * np.pi * f * h * t + h) / h for h in range(1, 6)) for f in pitches]
y = np.sum(on * tones, axis=0) + 0.1 * rng.standard_normal(len(t))
Y = phinmf.to_frames(y, 256)

# %%
# Both ways in the DCT (``solver=None``), which is fast:
n_components = phinmf.tl_nmf(Y, "auto", solver=None, random_state=0).W.shape[1]
path = rank_path(Y, [1, 2, 3, 4, 5, 6, 8, 12], solver=None, random_state=0)
error = dict(zip(path.ranks, path.held_out, strict=True))
print(f"There are {len(pitches)} notes; n_components='auto' counts {n_components}.")
print(f"From 1 to 6 components the held-out error falls by {error[1] - error[6]:.3f},")
print(f"from 6 to 12 only by {error[6] - error[12]:.3f} nats per entry.")

figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.5), layout="constrained")
left.plot(path.ranks, path.fit, marker="o")
left.set(title="Objective per entry: always lower", xlabel="components")
right.plot(path.ranks, path.held_out, marker="o")
right.axvline(n_components, color="black", ls="dotted", label=f"auto: {n_components}")
right.set(title="Held-out error per entry: flat beyond 6", xlabel="components")
right.legend()
plt.show()
