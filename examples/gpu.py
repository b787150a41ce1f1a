"""
A GPU, if there is one
======================

``device="cuda"`` is all that changes. Without a GPU the processor does the same. A seed is the same
start on both: starts are drawn on the host.
"""

import time

import matplotlib.pyplot as plt
import numpy as np

import phinmf
from phinmf.audio.example import example

try:
    import torch

    device = "cuda" if torch.cuda.is_available() else None
except ImportError:
    device = None
print("Computed by a GPU" if device else "PyTorch finds no GPU here, so the processor computes.")

X = phinmf.to_frames(example().mixture, 128).T  # rows are frames
start = time.perf_counter()
model = phinmf.TLNMF(6, init="random", n_init=4, n_jobs=2, device=device, random_state=0).fit(X)
print(f"Four random starts in {time.perf_counter() - start:.1f} s")
costs = model.objectives_ / X.size
dct = phinmf.TLNMF(6, random_state=0).fit(X).objective_ / X.size
print(f"Objective per entry: {costs.min():.3f} to {costs.max():.3f}; from the DCT: {dct:.3f}")

figure, ax = plt.subplots(figsize=(9, 3.5), layout="constrained")
names = ["from the DCT", *(f"random start {i}" for i in range(1, 5))]
ends = np.array([dct, *costs])
ax.bar(names, 100 * (ends / ends.min() - 1))
ax.set(title="How far each start ends above the best", ylabel="% of the objective")
plt.show()
