"""Ways to lower the floor, on the paper's recording: the reason for the default schedule."""

from __future__ import annotations

import argparse
import warnings
from functools import partial

from _common import machine, median, recording, timed, write_csv
from sklearn.exceptions import ConvergenceWarning

import phinmf
from phinmf import Anneal, Method

TARGET = phinmf.PAPER["floor"]
SCHEDULES = {
    "default": Anneal(),
    "geometric to the target, all frames": Anneal(shape=1, knee=TARGET, sample=0),
    "geometric to the target": Anneal(shape=1, knee=TARGET),
    "geometric to 1e-6, then the target": Anneal(shape=1),
    "slow then fast to the target": Anneal(knee=TARGET),
    "slow then fast to 1e-4, then the target": Anneal(knee=1e-4),
    "default on all frames": Anneal(sample=0),
    "default on fewer frames (1.5 M)": Anneal(sample=1.5),
    "default on more frames (6 M)": Anneal(sample=6),
    "start at 0.5": Anneal(start=0.5),
    "start at 0.01": Anneal(start=0.01),
    "half as long": Anneal(length=20),
    "twice as long": Anneal(length=80),
    "no annealing": False,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=3)
    options = parser.parse_args()
    warnings.simplefilter("ignore", ConvergenceWarning)
    print(machine())
    Y = recording()
    how = {"sparsity": 150, "floor": TARGET, "init": "random"}
    phinmf.tl_nmf(Y, 10, max_iter=2, tol=0, **how)
    runs: dict[str, list] = {name: [] for name in SCHEDULES}
    for seed in range(options.seeds):
        for name, anneal in SCHEDULES.items():
            fit = partial(
                phinmf.tl_nmf, Y, 10, method=Method(anneal=anneal), random_state=seed, **how
            )
            runs[name].append(timed(fit))
    reference = median(t for _, t in runs["default"])
    rows = []
    for name, done in runs.items():
        objectives = [r.objective / Y.size for r, _ in done]
        row = {
            "schedule": name,
            "median_objective": f"{median(objectives):.3f}",
            "worst_objective": f"{max(objectives):.3f}",
            "time_to_default": f"{median(t for _, t in done) / reference:.2f}",
        }
        rows.append(row)
        print(row, flush=True)
    print(write_csv("schedules", rows))


if __name__ == "__main__":
    main()
