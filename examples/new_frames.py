"""
New frames in a known transform
===============================

Learn from the first half of a recording, then describe the second half, which was never heard, in
the same transform. One component is the bass drum in both (with other seeds often the snare, too).
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.signal import find_peaks

import phinmf
from phinmf.audio.example import example

sound, M = example(), 256
half, hop = len(sound.mixture) // 2, M / 2 / sound.sample_rate
first, second = (phinmf.to_frames(part, M).T for part in np.split(sound.mixture, 2))
model = phinmf.TLNMF(n_components=8, random_state=1)
H = model.fit_transform(first)  # (frames, components)
G = model.transform(second)  # nothing is learned here
alone = model.transform(second[[100]])  # a frame alone gets what it gets among others
print(f"Alone or among others: activations differ by {np.abs(alone / G[100] - 1).max():.0e}")

# %%
# The component that resembles the drums of the first half most, and its strokes in the second:
drums = np.square(phinmf.to_frames(sound.stems["drums"][:half], M)).sum(axis=0)
k = int(np.argmax([np.corrcoef(h, drums)[0, 1] for h in H.T]))
strokes = find_peaks(G[:, k], height=0.2 * H[:, k].max(), distance=20)[0]
print("The bass drum is played at 5.00 6.25 7.50 8.75 s,")
print("and the component is loud at", *[f"{5 + i * hop:.2f}" for i in strokes], "s.")

figure, ax = plt.subplots(figsize=(9, 3.5), layout="constrained")
ax.plot(np.arange(len(H)) * hop, H[:, k], label="learned from")
ax.plot(5 + np.arange(len(G)) * hop, G[:, k], label="never heard")
ax.plot(5 + strokes * hop, G[strokes, k], "^", color="black", label="strokes that are found")
ax.set(title="A component finds its drum in the second half", xlabel="s", ylabel="activation")
ax.legend()
plt.show()
