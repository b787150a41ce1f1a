"""
Learning from a stream
======================

``TLNMF.partial_fit`` learns from a microphone that never ends, in constant memory, and measures
each block before anything is learned from it. Halfway the melody changes its key.
"""

import matplotlib.pyplot as plt
import numpy as np

import phinmf

SAMPLE_RATE, M = 8000, 128
rng, t = np.random.default_rng(0), np.arange(2400) / SAMPLE_RATE


def microphone():
    """Yield one note after the other, 0.3 s each: 30 s in one key, 30 s in another."""
    for key in ((0, 4, 7, 11), (1, 3, 6, 10)):
        for _ in range(100):
            hertz = 220 * 2 ** (rng.choice(key) / 12 + rng.integers(2))
            harmonics = [np.sin(2 * np.pi * hertz * h * t + h) / h for h in range(1, 6)]
            yield np.exp(-4 * t) * np.sum(harmonics, axis=0) + 0.003 * rng.standard_normal(2400)


model = phinmf.TLNMF(n_components=8, forget_factor=0.8, random_state=0)
for Y in phinmf.stream_frames(microphone(), M):  # frames, as the sound arrives
    model.partial_fit(Y.T)
cost = model.history_.objective / (M * 2 * M)  # per entry of each block
seconds = (np.arange(len(cost)) + 2) * M**2 / SAMPLE_RATE  # at the end; the first has two blocks
change = np.searchsorted(seconds, 30)
before, then, end = np.median(cost[change - 5 : change]), cost[change:].max(), np.median(cost[-5:])
print(f"Objective per entry before the change: {before:.2f}, then {then:.2f}, in the end {end:.2f}")
figure, ax = plt.subplots(figsize=(9, 3.5), layout="constrained")
ax.plot(seconds, cost, marker="o")
ax.axvline(30, color="black", ls="dotted")
ax.set(title="A change of key costs, until it is learned", xlabel="s", ylabel="objective per entry")
plt.show()
