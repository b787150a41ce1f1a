"""Does `unmix` separate as well with few atoms as with all? The same pieces and seeds for both."""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Iterable
from typing import Any

from _common import machine, write_csv
from _pairs import Rows, by_piece, differences, kinds, mean, paired
from _pieces import MAKERS, Piece
from _runs import CHOSEN, add_options, runs, wanted
from _separators import Separator, unmixed, unmixed_with
from sklearn.exceptions import ConvergenceWarning

from phinmf.unmixing.options import UnmixOptions

ALL = "unmix"


def methods(given: Iterable[float | int]) -> dict[str, Separator]:
    """`unmix` with all atoms, and with each of these."""
    few = {f"{n} atoms" if isinstance(n, int) else f"{100 * n:g} %": n for n in given}
    return {ALL: unmixed} | {f"{ALL}, {name}": unmixed_with(n) for name, n in few.items()}


def compare(some: Iterable[Piece], seeds: int, ways: dict[str, Separator]) -> Rows:
    """Run all and print a line for each piece."""
    rows: Rows = []
    for piece in some:
        found = list(runs(piece, CHOSEN, seeds, ways))
        told = (
            f"{name}: {differences(found, 'snr', ALL, name).mean():+.2f} dB"
            f" in {mean(found, name, 'seconds'):.1f} s"
            for name in ways
        )
        print(piece.kind, piece.name, *told, sep="; ", flush=True)
        rows += found
    return rows


def summary(rows: Rows, few: str) -> Rows:
    """A row for each kind of sound."""
    told: Rows = []
    for kind, some in kinds(rows).items():
        row: dict[str, Any] = {"method": few, "kind": kind}
        row["pieces"] = len({r["piece"] for r in some})
        for measure in ("snr", "sdr"):
            row[f"all {measure}"] = f"{mean(some, ALL, measure):.2f}"
            row[f"few {measure}"] = f"{mean(some, few, measure):.2f}"
            row[f"paired {measure}"] = paired(differences(some, measure, ALL, few))
            row[f"by piece {measure}"] = by_piece(some, measure, ALL, few)
        for name, method in (("all", ALL), ("few", few)):
            row[f"{name} atoms_95"] = f"{mean(some, method, 'atoms_95'):.0f}"
            row[f"{name} seconds"] = f"{mean(some, method, 'seconds'):.1f}"
        told.append(row)
    return told


def atoms(text: str) -> float | int:
    """A number of atoms such as 200, or a share of the energy such as 0.999."""
    return float(text) if "." in text else int(text)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    add_options(parser)
    told = "numbers of atoms, or shares of the energy"
    parser.add_argument("--atoms", nargs="*", type=atoms, default=[UnmixOptions.n_atoms], help=told)
    options = parser.parse_args()
    warnings.simplefilter("ignore", ConvergenceWarning)
    print(machine())
    ways = methods(options.atoms)
    some = wanted(options.kinds or MAKERS, options.quick)
    rows = compare(some, 1 if options.quick else options.seeds, ways)
    table = [row for name in ways if name != ALL for row in summary(rows, name)]
    print(*table, sep="\n")
    if table and not (options.kinds or options.quick):
        write_csv("few_atoms", rows)
        write_csv("few_atoms_summary", table)


if __name__ == "__main__":
    main()
