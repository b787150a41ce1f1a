"""
A GPU, if there is one
======================

``device="cuda"`` is all that changes; eight restarts are then one batch. Without a GPU the
processor computes the same: random starts are drawn on the host, so a seed is the same start.
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
where = torch.cuda.get_device_name() if device else "the processor, as there is no GPU for PyTorch"
print(f"Computed by {where}")

X = phinmf.to_frames(example().mixture, 128).T  # rows are frames
model = phinmf.TLNMF(n_components=6, init="random", n_init=8, n_jobs=2, device=device, random_state=0)
start = time.perf_counter()
model.fit(X)
seconds = time.perf_counter() - start
costs = np.sort(model.objectives_) / X.size
from_dct = phinmf.TLNMF(n_components=6, random_state=0).fit(X).objective_ / X.size
print(f"Eight random starts in {seconds:.1f} s: objective per entry {costs[0]:.3f} to {costs[-1]:.3f};")
print(f"from the cosines of the DCT: {from_dct:.3f}. Where it starts hardly matters.")

figure, ax = plt.subplots(figsize=(9, 3.5), layout="constrained")
ax.bar(range(1, 9), costs, label="random starts")
ax.axhline(from_dct, color="black", ls="dotted", label="from the DCT")
ax.set(title="Eight random starts end at nearly the same objective", ylabel="objective per entry")
ax.legend(loc="lower right")
plt.show()
