"""The paper's timing claims as ratios, on one core as in the paper and on two."""

from __future__ import annotations

from functools import partial
from typing import Any

from printing import print_claims, print_table
from setting import Setting, interleaved, median, quietly, sklearn_nmf
from threadpoolctl import threadpool_limits

import phinmf
from phinmf.arrays.threads import available

AUTHORS_STOP = 144  #: outer iterations after which the stopping rule of the authors' code ends it
SAMPLE = 12  #: outer iterations that are timed, to compute the time of `AUTHORS_STOP`
PAPER_RATIO = 10 / 2  #: minutes of TL-NMF to minutes of NMF, as printed


def fits(setting: Setting, cores: int) -> dict[str, Any]:
    """What is timed: our default fit, iterations of the paper's, and two plain NMF."""
    Y = setting.recording
    fit = partial(
        quietly, phinmf.tl_nmf, Y, setting.budget.K, n_threads=cores, sparsity=150.0,
        init="random", random_state=0, floor=phinmf.PAPER["floor"],
    )  # fmt: skip
    return {
        "default": fit,
        "paper": partial(fit, **{**phinmf.PAPER, "max_iter": SAMPLE, "tol": 0}),
        "nmf": sklearn_nmf(Y, setting.budget.K),
        "our nmf": partial(
            fit, solver=None, method=phinmf.Method(anneal=False), max_iter=200, tol=0
        ),
    }


def run(setting: Setting) -> None:
    """Time in turns, with one core and with two."""
    rows = []
    for cores in range(1, min(2, available()) + 1):
        with threadpool_limits(cores):
            seconds = interleaved(fits(setting, cores), setting.budget.repeats)
        turns = list(zip(*seconds.values(), strict=True))
        rows.append(
            {
                "cores": cores,
                "TL-NMF, the paper's method / NMF": median(
                    paper * AUTHORS_STOP / SAMPLE / nmf for _, paper, nmf, _ in turns
                ),
                "TL-NMF, default / NMF": median(ours / nmf for ours, _, nmf, _ in turns),
                "our NMF in the DCT / NMF": median(own / nmf for *_, nmf, own in turns),
            }
        )
    on_one_core = rows[0]["TL-NMF, the paper's method / NMF"]
    print_claims(
        {
            f"TL-NMF takes {PAPER_RATIO:g} times as long as NMF": f"the paper's method,"
            f" {AUTHORS_STOP} outer iterations, to scikit-learn's NMF, 200 iterations:"
            f" {on_one_core:.1f} on one core",
            "(not in the paper) the default fit to the same NMF": ", ".join(
                f"{r['TL-NMF, default / NMF']:.2f} on {r['cores']} core(s)" for r in rows
            ),
        }
    )
    print_table(rows)
    setting.csv("timing", rows)
