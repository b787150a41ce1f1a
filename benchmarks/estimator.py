"""Transforming frames against scikit-learn's NMF.transform.

Both transforms know the same dictionary; scikit-learn is given the power in the learned transform,
ours computes it from the frames. Sparsity 0; scikit-learn stops by its own rule, ours by each
frame's.
"""

from __future__ import annotations

import argparse
import warnings

import numpy as np
from _common import interleaved, machine, median, recording, write_csv
from sklearn.decomposition import NMF
from sklearn.exceptions import ConvergenceWarning

import phinmf
from phinmf.divergences import DIVERGENCES


def transforms(Y: np.ndarray, dtype: type) -> list[dict[str, object]]:
    X = np.ascontiguousarray(Y.T, dtype=dtype)
    model = phinmf.TLNMF(10, sparsity=0, max_iter=30, tol=0, random_state=0).fit(X)
    V = ((X @ model.transform_matrix_.T) / dtype(model.scale_)) ** 2 + dtype(model.floor)
    theirs = NMF(10, solver="mu", beta_loss="itakura-saito", init="random", max_iter=1).fit(V)
    theirs.components_ = model.components_
    theirs.set_params(max_iter=200)
    candidates = {
        "phinmf": lambda: model.transform(X),
        "scikit-learn": lambda: theirs.transform(V),
    }
    seconds = interleaved(candidates, 5)

    def divergence(H: np.ndarray) -> float:
        v_hat = H.astype(np.float64) @ model.components_ + model.floor
        values = DIVERGENCES["itakura-saito"].value(V - dtype(model.floor), v_hat, model.floor)
        return float(values.mean())

    ours = divergence(model.transform(X) / model.scale_**2)
    other = divergence(theirs.transform(V))
    ratio = median(seconds["phinmf"]) / median(seconds["scikit-learn"])
    what = f"transform, {dtype.__name__}: "
    return [
        {"what": what + "time / scikit-learn's", "value": f"{ratio:.3f}", "goal": "≤ 0.5"},
        {"what": what + "divergence / theirs", "value": f"{ours / other:.5f}", "goal": "≤ 1.001"},
        {"what": what + "seconds", "value": f"{median(seconds['phinmf']):.3f}", "goal": ""},
    ]


def main() -> None:
    argparse.ArgumentParser(description=__doc__).parse_args()
    warnings.simplefilter("ignore", ConvergenceWarning)
    print(machine())
    Y = recording()
    rows = [*transforms(Y, np.float64), *transforms(Y, np.float32)]
    for row in rows:
        print(row)
    write_csv("estimator", rows)


if __name__ == "__main__":
    main()
