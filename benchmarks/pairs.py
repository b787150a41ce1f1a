"""Single atoms, pairs of atoms and fixed transforms, on the paper's recording and on two notes.

Every comparison gives the fixed transform the same schedule and the same iterations.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Iterator
from itertools import pairwise, permutations
from typing import Any

import numpy as np
from _common import NOTES, data_folder, machine, median, recording, save, table, timed, write_csv
from sklearn.exceptions import ConvergenceWarning

import phinmf
from phinmf.analysis import atoms_for_energy, held_out, split_frames, strongest_atoms
from phinmf.linalg.manifold import dct

K = 10
SPARSITIES = 0.0, 10.0, 150.0
ATOMS = {"single": {}, "pairs": {"pairs": True}}
START = {"single": "dct", "pairs": "dft"}  #: the fixed transforms
STRONG = 50  #: atoms that two starts are compared by
SEMITONE = 2 ** (1 / 12)
Row = dict[str, Any]


def fit(Y: np.ndarray, atoms: str, sparsity: float, start: str | int, **how: Any) -> phinmf.Result:
    """A fit from a named start, or from a random one of this seed; the seed draws W, too."""
    seed = start if isinstance(start, int) else 0
    init = "random" if isinstance(start, int) else start
    how = {"n_components": K, "sparsity": sparsity, "init": init, "random_state": seed} | how
    return phinmf.tl_nmf(Y, **how, **ATOMS[atoms])


def objectives(Y: np.ndarray, seeds: int) -> Iterator[tuple[Row, phinmf.Result]]:
    """Objectives per entry from the fixed transform and from random starts."""
    for sparsity in SPARSITIES:
        for atoms in ATOMS:
            for annealed in (True, False):
                for start in (START[atoms], *range(seeds)):
                    how = {"method": phinmf.Method(anneal=annealed)}
                    result, seconds = timed(lambda: fit(Y, atoms, sparsity, start, **how))  # noqa: B023
                    yield (
                        {"what": "objective", "atoms": atoms, "sparsity": sparsity,
                         "annealed": annealed, "start": start, "value": result.objective / Y.size,
                         "iterations": result.n_iter, "seconds": round(seconds, 2)},
                        result,
                    )  # fmt: skip
            fixed, seconds = timed(lambda: fit(Y, atoms, sparsity, START[atoms], solver=None))  # noqa: B023
            yield (
                {"what": "objective", "atoms": atoms, "sparsity": sparsity, "annealed": True,
                 "start": "not learned", "value": fixed.objective / Y.size,
                 "iterations": fixed.n_iter, "seconds": round(seconds, 2)},
                fixed,
            )  # fmt: skip


def row(what: str, atoms: str, sparsity: float, start: str | int, value: float) -> Row:
    return {"what": what, "atoms": atoms, "sparsity": sparsity, "annealed": True, "start": start,
            "value": round(float(value), 4), "iterations": "", "seconds": ""}  # fmt: skip


def energies(Y: np.ndarray, atoms: str, sparsity: float, r: phinmf.Result) -> Iterator[Row]:
    """Number of dimensions for 90, 95 and 99 % of the energy."""
    for share, n in zip((90, 95, 99), atoms_for_energy(r.Phi, Y), strict=True):
        yield row(f"dimensions for {share} %", atoms, sparsity, 0, n)


def again(Y: np.ndarray, atoms: str, A: np.ndarray, B: np.ndarray) -> tuple[int, float]:
    """How many of the strong pairs, or single atoms, another start has; overlap of their spans.

    A pair is there again if the smaller cosine of the principal angles of the planes is over 0.95,
    a single atom if its own is.
    """
    pairs = atoms == "pairs"
    n, size = (STRONG // 2, 2) if pairs else (STRONG, 1)
    a, b = (strongest_atoms(Phi, Y, n, pairs=pairs).astype(float) for Phi in (A, B))
    overlap = np.square(a @ b.T).sum() / STRONG
    planes = (x.reshape(n, size, -1) for x in (a, b))
    cosines = np.linalg.svd(np.einsum("prm,qsm->pqrs", *planes), compute_uv=False)[..., -1]
    return int((cosines.max(axis=1) > 0.95).sum()), float(overlap)


def predictions(Y: np.ndarray) -> Iterator[Row]:
    """Loss of predicting held-out coefficients of frames that were not learned from."""
    learn, out = split_frames(Y.shape[1], random_state=0)
    for atoms in ATOMS:
        for name, how in (("learned", {}), ("not learned", {"solver": None})):
            result = fit(Y[:, learn], atoms, 10.0, START[atoms], **how)
            yield row("held-out loss", atoms, 10.0, name, held_out(result, Y[:, out]).nll)


def notes() -> Iterator[tuple[str, np.ndarray]]:
    """Pairs of notes (2, n): those of the paper's followers, and others made by shifting one."""
    folder = data_folder(NOTES)
    if folder is None:
        return
    from scipy.io import loadmat

    data = loadmat(folder / NOTES)
    rng = np.random.default_rng(0)
    for i in range(4):
        sources = np.stack([data["ys1"][i], data["ys2"][i]]).astype(float)
        yield "a semitone", sources
        noise = rng.standard_normal(sources.shape) * np.sqrt(np.mean(sources**2)) / 10
        yield "a semitone, noise at -20 dB", sources + noise
        for interval in (2, 4):
            yield f"{interval + 1} semitones", np.stack([sources[0], shifted(sources[1], interval)])


def shifted(y: np.ndarray, semitones: int) -> np.ndarray:
    """A note transposed upwards by resampling, padded to its length."""
    places = np.arange(len(y)) * SEMITONE**semitones
    return np.interp(places, np.arange(len(y)), y, right=0.0)


def sdr(result: phinmf.Result, Y: np.ndarray, sources: np.ndarray) -> float:
    """Mean of 10 log₁₀ ‖s‖²/‖s - ŝ‖² over the notes, components in their better order."""
    estimates = result.to_sound(Y, sources.shape[1])

    def mean(order: tuple[int, ...]) -> float:
        error = np.square(sources - estimates[list(order)]).sum(axis=1)
        return float(np.mean(10 * np.log10(np.square(sources).sum(axis=1) / error)))

    return max(map(mean, permutations(range(len(sources)))))


def separations() -> Iterator[Row]:
    """Two notes at sparsity 0: fixed transforms, learned ones, and random starts."""
    for name, sources in notes():
        Y = phinmf.to_frames(sources.sum(axis=0), 200)
        for atoms in ATOMS:
            cases = {"learned": START[atoms], "random start": 0}
            for what, start in cases.items():
                result = fit(Y, atoms, 0.0, start, n_components=2)
                yield row(f"SDR, {name}", atoms, 0.0, what, sdr(result, Y, sources))
            fixed = fit(Y, atoms, 0.0, START[atoms], n_components=2, solver=None)
            yield row(f"SDR, {name}", atoms, 0.0, "not learned", sdr(fixed, Y, sources))


def summary(rows: list[Row]) -> str:
    """The table of docs/pairs.md: the median of each case, and the spread of random starts."""
    lines = []
    cases = dict.fromkeys((r["what"], r["sparsity"], r["annealed"]) for r in rows)
    for what, sparsity, annealed in cases:
        line: Row = {"what": what, "sparsity": f"{sparsity:g}", "annealed": annealed}
        for atoms in ATOMS:
            mine = [r for r in rows if (r["what"], r["sparsity"], r["annealed"], r["atoms"])
                    == (what, sparsity, annealed, atoms)]  # fmt: skip
            drawn = [r["value"] for r in mine if isinstance(r["start"], int)]
            words = [
                f"{name} {median(r['value'] for r in mine if r['start'] == name):.4g}"
                for name in dict.fromkeys(r["start"] for r in mine if isinstance(r["start"], str))
            ]
            if drawn:
                words.append(f"random {median(drawn):.4g} ({min(drawn):.4g} to {max(drawn):.4g})")
            line[atoms] = ", ".join(words)
        lines.append(line)
    return table(lines, {key: key for key in lines[0]})


def draw(Y: np.ndarray, r: phinmf.Result) -> None:
    """A pair of atoms, the circle of its phases, and its power beside that of one atom."""
    from matplotlib.figure import Figure

    pair = strongest_atoms(r.Phi, Y, 1, pairs=True)
    X = pair @ Y
    loud = int(np.square(X).sum(axis=0).argmax())
    frames = slice(max(0, loud - 40), loud + 120)
    figure = Figure(figsize=(10, 3), layout="constrained")
    left, middle, right = figure.subplots(1, 3)
    left.plot(pair.T, lw=1.2)
    left.set(title="a pair of atoms", xlabel="samples")
    middle.plot(*X[:, frames], ".-", lw=0.4, ms=3, color="#555555")
    middle.set(title="its two coefficients, frame after frame", aspect="equal")
    powers = {"first atom alone": X[0, frames] ** 2, "both": np.square(X[:, frames]).mean(axis=0)}
    for (name, power), color in zip(powers.items(), ("#d55e00", "#0072b2"), strict=True):
        right.plot(10 * np.log10(power / power.max() + 1e-6), lw=1, color=color, label=name)
    right.set(title="power, dB", xlabel="frames", ylim=(-50, 3))
    right.legend(frameon=False, fontsize=8)
    save(figure, "pairs")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=5)
    options = parser.parse_args()
    warnings.simplefilter("ignore", ConvergenceWarning)
    print(machine())
    Y = recording().astype(np.float32)
    rows: list[Row] = []
    starts: dict[tuple[str, float], list[np.ndarray]] = {}
    picture = None
    for line, result in objectives(Y, options.seeds):
        rows.append(line)
        print(line, flush=True)
        atoms, sparsity, start = line["atoms"], line["sparsity"], line["start"]
        if not line["annealed"] or sparsity == 0:
            continue
        if start == 0:
            rows += energies(Y, atoms, sparsity, result)
        if isinstance(start, int):
            starts.setdefault((atoms, sparsity), []).append(result.Phi)
        if (atoms, start) == ("pairs", "dft"):
            picture = result
    bound = fit(Y, "single", 0.0, "klt", solver=None, max_iter=0)
    rows += energies(Y, "Karhunen–Loève", 0.0, bound)
    rows += energies(Y, "DCT", 0.0, bound.__class__(**vars(bound) | {"Phi": dct(len(Y))}))
    for (atoms, sparsity), found in starts.items():
        for A, B in pairwise(found):
            number, overlap = again(Y, atoms, A, B)
            rows += [row("come back, of 25 pairs or 50 atoms", atoms, sparsity, 0, number),
                     row("overlap of their span", atoms, sparsity, 0, overlap)]  # fmt: skip
    rows += [*predictions(Y), *separations()]
    write_csv("pairs", rows)
    draw(Y, picture)
    print(summary([r for r in rows if r["atoms"] in ATOMS]))


if __name__ == "__main__":
    main()
