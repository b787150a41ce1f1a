"""The fit of frames that were not learned from: half of the recording is held out, in stretches.

Starts, sparsities and numbers of components are compared with the DCT.
"""

from __future__ import annotations

import argparse
import warnings
from dataclasses import dataclass

import numpy as np
from _common import machine, recording, write_csv
from sklearn.exceptions import ConvergenceWarning

import phinmf
from phinmf.analysis import held_out, split_frames


@dataclass(frozen=True)
class Setting:
    """How half of the frames of the recording are learned from."""

    K: int = 10
    sparsity: float = 10.0
    divergence: str = "itakura-saito"
    start: str = "dct"
    learned: bool = True  #: or the DCT

    def evaluated(self, Y: np.ndarray) -> dict[str, str]:
        """Learn from one half of the frames and evaluate the other."""
        learn, out = split_frames(Y.shape[1])
        result = phinmf.tl_nmf(
            Y[:, learn], self.K, sparsity=self.sparsity, divergence=self.divergence,
            init=self.start, solver="lbfgs" if self.learned else None, random_state=0,
        )  # fmt: skip
        unseen = held_out(result, Y[:, out])
        return {
            "K": str(self.K),
            "sparsity": f"{self.sparsity:g}",
            "transform": f"{self.divergence}, {self.start} start" if self.learned else "DCT",
            "train_objective": f"{result.objective / Y[:, learn].size:.3f}",
            "held_out_objective": f"{unseen.objective:.3f}",
            "nll": f"{unseen.nll:.3f}",
        }


def main() -> None:
    argparse.ArgumentParser(description=__doc__).parse_args()
    warnings.simplefilter("ignore", ConvergenceWarning)
    print(machine())
    Y = recording()
    settings = []
    for sparsity in (0.0, 10.0, 150.0):
        settings += [Setting(sparsity=sparsity, learned=False)]
        settings += [Setting(sparsity=sparsity, start=start) for start in ("dct", "random", "klt")]
        settings += [Setting(sparsity=sparsity, divergence="gaussian")]
    for K in (2, 5, 20, 40):
        settings += [Setting(K, learned=False), Setting(K), Setting(K, divergence="gaussian")]
    rows = []
    for setting in settings:
        rows.append(setting.evaluated(Y))
        print(rows[-1], flush=True)
    write_csv("held_out", rows)


if __name__ == "__main__":
    main()
