"""Two methods compared on the same pieces and seeds; a row holds the scores of one run."""

from __future__ import annotations

from typing import Any

import numpy as np
from _separators import DCT, LEARNED
from scipy.stats import t as student
from scipy.stats import ttest_1samp, wilcoxon

Rows = list[dict[str, Any]]


def kinds(rows: Rows) -> dict[str, Rows]:
    """The rows of each kind of sound, and all rows."""
    names = [*dict.fromkeys(r["kind"] for r in rows), "all"]
    return {name: [r for r in rows if name in (r["kind"], "all")] for name in names}


def mean(rows: Rows, method: str, what: str) -> float:
    """Mean of a score, or of the seconds, over the runs of a method."""
    return float(np.mean([r[what] for r in rows if r["method"] == method]))


def differences(rows: Rows, measure: str, other: str = DCT, method: str = LEARNED) -> np.ndarray:
    """Score of a method minus that of another one, for each piece and seed."""
    value = {(r["piece"], r["seed"], r["method"]): float(r[measure]) for r in rows}
    pairs = [key[:2] for key in value if key[2] == method]
    return np.array([value[*pair, method] - value[*pair, other] for pair in pairs])


def interval(difference: np.ndarray) -> float:
    """Half the 95 % interval of the mean."""
    n = len(difference)
    return float(student.ppf(0.975, n - 1) * difference.std(ddof=1) / np.sqrt(n))


def paired(difference: np.ndarray) -> str:
    """Mean, 95 % interval and the p of Wilcoxon's test, in words; of one run only the mean."""
    told = f"{difference.mean():+.2f}"
    if len(difference) > 1:
        told += f" ± {interval(difference):.2f} (p = {wilcoxon(difference).pvalue:.2g})"
    return told


def by_piece(rows: Rows, measure: str, other: str = DCT, method: str = LEARNED) -> str:
    """The p of Student's test over pieces, each with the mean of its seeds."""
    means = [
        differences([r for r in rows if r["piece"] == name], measure, other, method).mean()
        for name in dict.fromkeys(r["piece"] for r in rows)
    ]
    return f"{ttest_1samp(means, 0).pvalue:.2g}" if len(means) > 1 else ""


def fewer_atoms(rows: Rows, method: str = LEARNED) -> float:
    """Mean share of the DCT's atoms that the learned transform does not need."""
    runs = [r for r in rows if r["method"] == method]
    return 1 - float(np.mean([r["atoms_95"] / r["dct_atoms_95"] for r in runs]))
