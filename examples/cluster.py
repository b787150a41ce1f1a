"""
A cluster on one machine
========================

The frames of a dask array stay on the workers of a cluster; only small sums travel. A fit on a
cluster has the same bits as one without it, even if a worker is lost on the way.
"""

import dask.array as da
import matplotlib.pyplot as plt
import numpy as np
from distributed import Client, LocalCluster

import phinmf
from phinmf.audio.example import example

Y, workers = phinmf.to_frames(example().mixture[:80_000], 128), []
frames, alone = da.from_array(Y, chunks=(128, 250)), phinmf.tl_nmf(Y, 6, random_state=0)


def lose_one(state):
    workers.append(len(cluster.scheduler_info["workers"]))
    if state.iteration == 10:  # close the first worker, as if its machine had failed
        cluster.sync(cluster.workers[0].close)


# Two workers in threads of this process; ``Client("scheduler:8786")`` would use any cluster.
how = {"processes": False, "protocol": "tcp", "dashboard_address": ":0"}
with LocalCluster(n_workers=2, **how) as cluster, Client(cluster):
    shared = phinmf.tl_nmf(frames, 6, random_state=0, callback=lose_one)
print(f"{workers[0]} workers at the beginning, {workers[-1]} at the end")
print("The same bits as without a cluster:", np.array_equal(shared.Phi, alone.Phi))
figure, ax = plt.subplots(figsize=(9, 3.5), layout="constrained")
for result, style, name in ((shared, "o", "on the cluster"), (alone, "-", "without it")):
    ax.plot(result.history.objective / Y.size, style, label=f"objective per entry, {name}")
ax.axvline(9, color="black", ls="dotted", label="one of two workers is lost")
ax.set(title="Nothing changes when a worker is lost", xlabel="iteration")
ax.legend()
plt.show()
