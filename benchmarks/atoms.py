"""What few atoms cost and what they lose, on a minute of orchestra and on the paper's recording.

speed   few atoms against all atoms at 44.1 kHz: time, objective, energy
length  time against the number M of samples in a window of 40 ms
tail    what becomes of the atoms that are not learned: three ways
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from _common import machine, median, recording, save, timed, write_csv
from _orchestra import WINDOW, orchestra
from _tails import WAYS, learned
from matplotlib.figure import Figure
from sklearn.exceptions import ConvergenceWarning

import phinmf
from phinmf import Anneal, Method
from phinmf.algorithm.options import Options
from phinmf.analysis import atoms_for_energy
from phinmf.fit.few_atoms import FewAtoms
from phinmf.fit.problem import problem_of

K, SHARE = 10, 0.999
VERSION_0_1 = Anneal(start=0.05, length=40, shape=2.0, coarse=0.0)
LENGTHS = (440, 882, 1764, 2822, 4096)
COMPLETE = 1764  # the largest M at which learning all atoms runs to its end
FULL_ITERATIONS = 2  # outer iterations with all atoms before a longer one is stopped
LAST_STEPS = (5, 15, 40)
Rows = list[dict[str, Any]]


class Fit(NamedTuple):
    """A fit, its seconds by the clock and its processor seconds, over all threads."""

    result: phinmf.Result
    seconds: float
    processor: float


def fit(Y: np.ndarray, **how: Any) -> Fit:
    """TL-NMF with default settings but for these."""
    before = time.process_time()
    result, seconds = timed(partial(phinmf.tl_nmf, Y, K, **{"random_state": 0, **how}))
    return Fit(result, seconds, time.process_time() - before)


def warm_up(dtype: str = "float32") -> None:
    """Compile and load what the fits need."""
    Y = np.random.default_rng(0).standard_normal((64, 3000)).astype(dtype)
    fit(Y, n_atoms=32, max_iter=10)
    fit(Y, max_iter=10)


def energy(Phi: np.ndarray, Y: np.ndarray) -> str:
    """Atoms for 90, 95 and 99 % of the energy."""
    return "/".join(str(n) for n in atoms_for_energy(Phi, Y))


def speed(repeats: int) -> None:
    """Few atoms and all atoms of the orchestra in turns; the short fit before each long one."""
    Y = orchestra()
    fits: dict[str, Callable[[], Fit]] = {
        f"`n_atoms={SHARE}`": partial(fit, Y, n_atoms=SHARE),
        "all atoms": partial(fit, Y),
        "all atoms, schedule of version 0.1": partial(fit, Y, method=Method(anneal=VERSION_0_1)),
        "Karhunen–Loève transform, nothing learned": partial(fit, Y, solver=None, init="klt"),
    }
    few, coarse_to_fine, old, fixed = fits
    runs: dict[str, list[Fit]] = {name: [] for name in fits}
    for _ in range(repeats):
        for name in (few, coarse_to_fine, few, old, few, fixed):
            runs[name].append(fits[name]())
            print(f"{name}: {runs[name][-1].seconds:.1f} s", flush=True)
    longest = median(run.seconds for run in runs[old])
    start, end = (runs[name][0].result.objective for name in (fixed, old))
    rows = []
    for name, made in runs.items():
        result, seconds = made[0].result, median(run.seconds for run in made)
        rows.append(
            {
                "fit": name,
                "learned": 0 if name == fixed else result.n_atoms,
                "energy": f"{100 * result.energy:.1f} %" if name != fixed else "",
                "iterations": result.n_iter,
                "seconds": f"{seconds:.2f}",
                "processor_seconds": f"{median(run.processor for run in made):.1f}",
                "share_of_time": f"{seconds / longest:.3f}",
                "objective": f"{result.objective / Y.size:.3f}",
                "gain": f"{(start - result.objective) / (start - end):.2f}",
                "atoms_90_95_99": energy(result.Phi, Y),
            }
        )
        print(rows[-1], flush=True)
    print(write_csv("atoms", rows))


def stopped_early(state: phinmf.State) -> bool:
    """A callback: whether there were enough outer iterations with all atoms."""
    return np.count_nonzero(state.history.atoms == len(state.Phi)) >= FULL_ITERATIONS


def length(repeats: int) -> None:
    """Seconds for few atoms, and for all, of the same sound at several sampling rates."""
    rows = [at_length(M, repeats) for M in LENGTHS]
    print(write_csv("atoms_time", rows))
    draw(rows)


def at_length(M: int, repeats: int) -> dict[str, Any]:
    """One sampling rate."""
    Y, ends = orchestra(M), M <= COMPLETE
    few = [fit(Y, n_atoms=SHARE) for _ in range(repeats if ends else 1)]
    all_atoms = fit(Y, callback=None if ends else stopped_early)
    eigenvectors = [timed(lambda: subspace(Y))[1] for _ in few]
    h = all_atoms.result.history
    full = np.diff(h.seconds, prepend=0)[h.atoms == M]
    row = {
        "M": M,
        "rate": f"{M / WINDOW / 1000:.1f}",
        "few_learned": few[0].result.n_atoms,
        "few_seconds": f"{median(run.seconds for run in few):.2f}",
        "loop_seconds": f"{median(run.result.history.seconds[-1] for run in few):.2f}",
        "eigenvectors_seconds": f"{median(eigenvectors):.2f}",
        "all_seconds": f"{'' if ends else '> '}{all_atoms.seconds:.1f}",
        "all_iterations": f"{len(full)}{'' if ends else ', then stopped'}",
        "seconds_per_iteration": f"{median(full):.2f}",
    }
    print(row, flush=True)
    return row


def subspace(Y: np.ndarray) -> FewAtoms | None:
    """Compute the eigenvectors as a fit of few atoms does."""
    return problem_of(Y[None], K, Options(n_atoms=SHARE)).few_atoms


def draw(rows: Rows) -> None:
    """Seconds against M."""
    figure = Figure(figsize=(5.6, 4.4), layout="constrained")
    ax, Ms = figure.subplots(), [row["M"] for row in rows]
    complete = [row for row in rows if not row["all_seconds"].startswith(">")]
    stopped = [row for row in rows if row not in complete]
    ax.loglog([r["M"] for r in complete], [float(r["all_seconds"]) for r in complete], "o-",
              color="#D55E00", label="all atoms")  # fmt: skip
    if stopped:
        least = [float(r["all_seconds"].removeprefix("> ")) for r in stopped]
        ax.loglog([r["M"] for r in stopped], least, "^", mfc="none", color="#D55E00",
                  label=f"all atoms, stopped after {FULL_ITERATIONS} outer iterations\nwith all of"
                  " them: the whole fit takes longer")  # fmt: skip
    ax.loglog(Ms, [float(r["few_seconds"]) for r in rows], "s-", color="#0072B2",
              label=f"atoms for {100 * SHARE:g} % of the energy")  # fmt: skip
    for key, style, label in (
        ("loop_seconds", "--", "of which learning"),
        ("eigenvectors_seconds", ":", "of which eigenvectors"),
    ):
        ax.loglog(Ms, [float(r[key]) for r in rows], "s", ls=style, color="#777777", ms=3,
                  label=label)  # fmt: skip
    ax.minorticks_off()
    ax.set_xticks(Ms, [str(M) for M in Ms])
    ax.set(xlabel="M, samples in 40 ms", ylabel="seconds", title="60 s of orchestra, float32")
    ax.set_ylim(top=30 * ax.get_ylim()[1])  # room for the legend
    ax.legend(loc="upper left", fontsize=7, frameon=False)
    save(figure, "atoms_time")


def sounds() -> Iterator[tuple[str, np.ndarray, dict[str, Any]]]:
    """Frames in single precision, and how they are learned."""
    paper = {"sparsity": 150.0, "floor": phinmf.PAPER["floor"]}
    yield "recording", recording().astype(np.float32), {**paper, "n_atoms": 0.99}
    yield "recording", recording().astype(np.float32), {**paper, "n_atoms": SHARE}
    yield "orchestra", orchestra(), {"n_atoms": SHARE}


def tail(seeds: int) -> None:
    """Three ways to treat the rows of X that are not learned."""
    rows = []
    for name, Y, how in sounds():
        found = {way: [] for way in WAYS}
        for seed in range(seeds):
            for way, group in WAYS.items():
                found[way].append(learned(Y, group, LAST_STEPS, seed, **how))
        for way, runs in found.items():
            row = {"sound": name, "energy": f"{100 * how['n_atoms']:g} %", "way": way}
            for steps in LAST_STEPS:
                objective = median(run.objectives[steps] for run in runs) / Y.size
                row[f"objective_{steps}"] = f"{objective:.3f}"
            row["atoms_90_95_99"] = energy(runs[0].Phi, Y)
            row["processor_seconds"] = f"{median(run.processor for run in runs):.1f}"
            rows.append(row)
            print(row, flush=True)
    print(write_csv("atoms_tail", rows))


QUESTIONS = ("speed", "length", "tail")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("questions", nargs="*", choices=[*QUESTIONS, []], help="default: all")
    parser.add_argument("--repeats", type=int, default=1, help="rounds of speed, and of length")
    parser.add_argument("--seeds", type=int, default=2, help="of tail")
    options = parser.parse_args()
    warnings.simplefilter("ignore", ConvergenceWarning)
    print(machine())
    warm_up()
    asked = options.questions or QUESTIONS
    if "speed" in asked:
        speed(options.repeats)
    if "length" in asked:
        length(options.repeats)
    if "tail" in asked:
        tail(options.seeds)


if __name__ == "__main__":
    main()
