"""A listener who errs: marks where a result is most wrong, and what they improve.

Pieces with exact stems are taken apart, and automatic groups get the names of the sources that
suit them. A simulated listener looks for boxes in time and frequency in which most is wrong that a
mark can mend, and says whose they are: of the source that is strongest there. Some marks are wrong:
they name another source, or are shifted in time.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

import numpy as np
from _common import machine, table, timed, write_csv
from _pieces import Piece, pieces
from _separators import mean_scores
from _source_scores import energy, grouped, oracle_grouping
from scipy.optimize import linear_sum_assignment

import phinmf
from phinmf.audio import ArraySource
from phinmf.unmixing.marks import Box, Marks
from phinmf.unmixing.mix import Group
from phinmf.unmixing.model import UnmixModel
from phinmf.unmixing.refine import hear, refine
from phinmf.unmixing.similarity import divide, similarity, spectra_of

KINDS = ("chorale", "piano", "drums", "example", "arrangement")
K = 24
NUMBERS = 5, 10, 20  # of marks
CARELESS = 10  # marks of another listener
WRONG = 0.0, 0.1, 0.2  # share of marks
SECONDS, OCTAVES = (0.25, 0.5, 1.0), (0.5, 1.0, 2.0)  # sizes of boxes
LOWEST = 60.0  # Hz
MOSTLY = 0.75  # share of the energy
SHIFT = 0.5, 2.0  # s, of a mark that is badly placed


@dataclass(frozen=True, eq=False)
class Result:
    """What the listener hears first."""

    piece: Piece
    source: ArraySource
    stems: np.ndarray  #: (J, n, channels)
    model: UnmixModel  #: with a group for each stem
    before: np.ndarray  #: (J, n, channels)
    oracle: dict[str, float]

    @classmethod
    def of(cls, piece: Piece) -> Result:
        stems = np.stack(list(piece.stems.values()))
        u = phinmf.unmix(stems.sum(axis=0), piece.rate, K, seed=0)
        parts = u.components.reshape(*u.components.shape[:2], -1)
        stems = stems.reshape(*stems.shape[:2], -1)
        labels = automatic(u, parts, len(stems))
        sums = grouped(parts, labels, len(stems)).reshape(stems.shape)
        errors = [[energy(x - s) / energy(s) for s in stems] for x in sums]
        _, source_of = linear_sum_assignment(np.log(errors))
        names = list(piece.stems)
        groups = [
            Group(names[j], (np.flatnonzero(labels == g) + 1).tolist())
            for g, j in enumerate(source_of)
        ]
        oracle = grouped(parts, oracle_grouping(parts, stems), len(stems))
        return cls(
            piece, ArraySource(stems.sum(axis=0), piece.rate), stems,
            replace(u.model, groups=tuple(groups)), sums[np.argsort(source_of)],
            mean_scores(oracle.reshape(stems.shape), stems),
        )  # fmt: skip

    def heard(self, model: UnmixModel, marks: Marks) -> np.ndarray:
        groups = hear(self.source, model, marks)
        return np.stack([groups[name] for name in self.piece.stems])

    def marks(self, boxes: list[Box]) -> Marks:
        return Marks(self.piece.rate, self.source.length, boxes)


def automatic(u: phinmf.Unmixing, parts: np.ndarray, n: int) -> np.ndarray:
    """The group (K,) of each component, as `phinmf unmix --groups` finds them."""
    channels = np.einsum("knc,knd->kcd", parts, parts)
    shares = np.square(parts).sum(axis=(1, 2))
    S = similarity(u.H, spectra_of(u.model), channels, u.sample_rate)
    return divide(S, n, shares / shares.sum())


def planes(y: np.ndarray, M: int) -> np.ndarray:
    """Bins (..., channels, M/2 + 1, N) of sounds (J, n, channels)."""
    return np.stack([np.fft.rfft(phinmf.to_frames(x, M), axis=1) for x in y])


def placed(result: Result, number: int, careless: bool = False) -> list[Box]:
    """Boxes where a mark can mend most, the worst first.

    That is the error there, less what would be wrong with the mark: the energy of all sources but
    the strongest, which would be missing in their groups and be in another one. A careless listener
    looks at the error alone, wherever one source has `MOSTLY` the energy.
    """
    M, rate = result.model.M, result.piece.rate
    X, X_hat = planes(result.stems, M), planes(result.before, M)
    powers = np.square(np.abs(X)).sum(axis=1)
    error = np.square(np.abs(X_hat - X)).sum(axis=(0, 1))
    candidates = list(boxes_of(result.source.length / rate, rate / 2))
    edges = np.array([edges_of(box, M / 2 / rate, rate / M) for box in candidates])
    shares = np.stack([sums_in(power, edges) for power in powers], axis=1)
    wrong_then = 2 * (shares.sum(axis=1) - shares.max(axis=1))
    if careless:
        wrong_then = np.where(shares.max(axis=1) >= MOSTLY * shares.sum(axis=1), 0.0, np.inf)
    names, boxes = list(result.piece.stems), []
    while len(boxes) < number:
        best = int((sums_in(error, edges) - wrong_then).argmax())
        boxes.append(replace(candidates[best], group=names[int(shares[best].argmax())]))
        low, high, start, end = edges[best]
        error[low:high, start:end] = 0
    return boxes


def boxes_of(seconds: float, highest: float) -> Iterator[Box]:
    """All boxes of some sizes; those that are next to each other overlap by half."""
    for length in SECONDS:
        for octaves in OCTAVES:
            for start in np.arange(0, seconds - length, length / 2):
                low = LOWEST
                while low * 2**octaves < highest:
                    yield Box("", float(start), float(start + length), low, low * 2**octaves)
                    low *= 2 ** (octaves / 2)


def edges_of(box: Box, step: float, width: float) -> tuple[int, int, int, int]:
    """The first and last bins and frames of a box; the last ones do not belong to it."""
    low, start = round(box.low / width), round(box.start / step)
    high, end = round((box.high or 0) / width), round((box.end or 0) / step)
    return low, max(low + 1, high), start, max(start + 1, end)


def sums_in(plane: np.ndarray, edges: np.ndarray) -> np.ndarray:
    """The sum of a plane (bins, frames) in each of some boxes."""
    total = np.pad(plane, ((1, 0), (1, 0))).cumsum(axis=0).cumsum(axis=1)
    low, high, start, end = edges.T
    return total[high, end] - total[low, end] - total[high, start] + total[low, start]


def with_errors(result: Result, boxes: list[Box], share: float, seed: int) -> list[Box]:
    """The same with some wrong ones: half name another source, half are shifted in time."""
    rng = np.random.default_rng(seed)
    boxes, names = list(boxes), list(result.piece.stems)
    seconds = result.source.length / result.piece.rate
    wrong = int(share * len(boxes) + rng.uniform())
    for i, k in enumerate(rng.permutation(len(boxes))[:wrong]):
        box = boxes[k]
        if (i + seed) % 2:
            other = rng.choice([name for name in names if name != box.group])
            boxes[k] = replace(box, group=str(other))
        else:
            shift = rng.uniform(*SHIFT) * rng.choice([-1, 1])
            if not 0 <= box.start + shift < box.end + shift <= seconds:
                shift = -shift
            boxes[k] = replace(box, start=box.start + shift, end=box.end + shift)
    return boxes


def rows_of(piece: Piece, seeds: int) -> Iterator[dict[str, Any]]:
    """A row for each number of marks, share of wrong ones and seed."""
    result = Result.of(piece)
    what = {"kind": piece.kind, "piece": piece.name}
    none = {"marks": 0, "wrong": 0.0, "seed": 0, "seconds": 0.0}
    before = mean_scores(result.before, result.stems)
    yield what | none | {"way": "automatic groups"} | before
    yield what | none | {"way": "oracle groups"} | result.oracle
    careful, careless = placed(result, max(NUMBERS)), placed(result, CARELESS, careless=True)
    for way, boxes, number in [
        *(("marks", careful, number) for number in NUMBERS),
        ("careless marks", careless, CARELESS),
    ]:
        for share in WRONG:
            for seed in range(seeds):
                marks = result.marks(with_errors(result, boxes[:number], share, seed))
                model, seconds = timed(lambda: refine(result.source, result.model, marks))  # noqa: B023
                scores = mean_scores(result.heard(model, marks), result.stems)
                how = {"marks": number, "wrong": share, "seed": seed, "seconds": round(seconds, 3)}
                yield what | how | {"way": way} | scores


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--kinds", nargs="+", choices=KINDS, help="only these; writes no results")
    parser.add_argument("--quick", action="store_true", help="one piece; writes no results")
    options = parser.parse_args()
    print(machine())
    rows: list[dict[str, Any]] = []
    for kind in options.kinds or (KINDS[-2:-1] if options.quick else KINDS):
        for piece in islice(pieces([kind]), 1 if options.quick else None):
            rows += rows_of(piece, options.seeds)
            print(kind, piece.name, flush=True)
    lines = summary(rows)
    print(table(lines, {key: key for key in lines[0]}))
    if not (options.kinds or options.quick):
        write_csv("marks", rows)


def summary(rows: list[dict[str, Any]]) -> list[dict[str, str]]:
    """Mean SNR and SI-SDR of each way by kind of piece, and the mean over all pieces."""
    lines = []
    cases = dict.fromkeys((row["way"], row["marks"], row["wrong"]) for row in rows)
    for way, number, wrong in sorted(cases, key=lambda case: (case[0], case[1:])):
        mine = [r for r in rows if (r["way"], r["marks"], r["wrong"]) == (way, number, wrong)]
        name = f"{number} {way}, {wrong:.0%} wrong" if number else way
        line = {"way": name}
        for kind in [*dict.fromkeys(row["kind"] for row in rows), "all pieces"]:
            chosen = [r for r in mine if kind in (r["kind"], "all pieces")]
            means = [float(np.mean([r[score] for r in chosen])) for score in ("snr", "si_sdr")]
            line[kind] = " / ".join(f"{mean:.2f}" for mean in means)
        line["s"] = f"{np.mean([r['seconds'] for r in mine]):.2f}"
        lines.append(line)
    return lines


if __name__ == "__main__":
    main()
