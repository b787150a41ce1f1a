"""The defaults on different kinds of sound, compared with quasi-newton; the effect of sparsity."""

from __future__ import annotations

import argparse
import warnings
from functools import partial

import numpy as np
from _common import data_folder, machine, median, recording, timed, write_csv
from sklearn.exceptions import ConvergenceWarning

import phinmf
from phinmf.analysis import atoms_for_energy
from phinmf.audio.example import example
from phinmf.linalg.manifold import dct


def sounds() -> dict[str, tuple[np.ndarray, int]]:
    """Frames and numbers of components."""
    found = {}
    if data_folder() is not None:
        from scipy.io import loadmat

        found["recording (M=440)"] = (recording(), 10)
        notes = loadmat(data_folder() / "two_notes_sim1.mat")["ys"][0]
        found["two notes (M=200)"] = (phinmf.to_frames(notes, 200), 2)
    polyphonic = example().mixture
    found["built-in example (M=640)"] = (phinmf.to_frames(polyphonic, 640), 8)
    found["built-in example (M=256)"] = (phinmf.to_frames(polyphonic, 256), 8)
    noise = np.random.default_rng(0).standard_normal((128, 2000))
    found["white noise (M=128)"] = (noise, 5)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=2)
    options = parser.parse_args()
    warnings.simplefilter("ignore", ConvergenceWarning)
    print(machine())
    phinmf.tl_nmf(np.random.default_rng(0).standard_normal((32, 200)), 2, max_iter=8)
    rows, sparsities = [], []
    for name, (Y, K) in sounds().items():
        for sparsity in (0.0, 1.0, 10.0, 150.0):
            runs: dict[str, list] = {"lbfgs": [], "quasi-newton": []}
            for seed in range(options.seeds):
                for solver, done in runs.items():
                    how = {"solver": solver, "sparsity": sparsity, "init": "random"}
                    done.append(timed(partial(phinmf.tl_nmf, Y, K, random_state=seed, **how)))
            ours, theirs = runs["lbfgs"], runs["quasi-newton"]
            row = {
                "sound": name,
                "sparsity": sparsity,
                "lbfgs_worst": round(max(r.objective for r, _ in ours) / Y.size, 3),
                "quasi_newton_best": round(min(r.objective for r, _ in theirs) / Y.size, 3),
                "lbfgs_seconds": round(median(t for _, t in ours), 2),
                "quasi_newton_seconds": round(median(t for _, t in theirs), 2),
            }
            rows.append(row)
            print(row, flush=True)
            if not name.startswith("white"):
                learned = atoms_for_energy(ours[0][0].Phi, Y)
                fixed = atoms_for_energy(dct(len(Y)), Y)
                sparsities.append(
                    {
                        "sound": name,
                        "sparsity": sparsity,
                        "atoms_90_95_99": "/".join(map(str, learned)),
                        "dct_90_95_99": "/".join(map(str, fixed)),
                    }
                )
                print(sparsities[-1], flush=True)
    print(write_csv("defaults", rows))
    print(write_csv("sparsity", sparsities))


if __name__ == "__main__":
    main()
