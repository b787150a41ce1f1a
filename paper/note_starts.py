"""The two notes again: four starts, and joint diagonalisation instead of learning."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from page import Claim, Section, verdict
from setting import Setting
from two_notes import CASES, K, M, fit, measure, recordings

import phinmf
from phinmf.inits import Init, JointDiagonalisation

CHANNELS = "all, as channels"
TITLE = "Two notes: four starts, and joint diagonalisation"
CASES_OF_CLAIMS = [("gaussian", 0.0)]  #: with all realisations as channels
KEYS = ("energy in 8 atoms, %", "atoms within 0.4 Hz of a note", "SDR, dB", "objective per entry")


class Method(NamedTuple):
    """How the notes are found."""

    learned: bool  #: TL-NMF; else NMF in the start
    start: str
    init: str | Init
    annealed: bool = True

    @property
    def name(self) -> str:
        """TL-NMF or NMF, and whether it is annealed."""
        kind = "TL-NMF" if self.learned else "NMF alone"
        return kind if self.annealed else f"{kind}, not annealed"

    def fit(self, Y: np.ndarray, divergence: str, sparsity: float, seed: int) -> phinmf.Result:
        """One run."""
        how: dict[str, Any] = {} if self.learned else {"solver": None}
        return fit(
            Y,
            divergence,
            sparsity,
            seed,
            init=self.init,
            method=phinmf.Method(anneal=self.annealed),
            **how,
        )


def methods(n_frames: int) -> list[Method]:
    """TL-NMF from each start, then NMF in those that need no learning."""
    fixed: list[tuple[str, str | Init]] = [(name, name) for name in ("dct", "klt", "jd")]
    fixed.append(("jd, one stretch for each frame", JointDiagonalisation(n_stretches=n_frames)))
    return [
        *(Method(True, name, name) for name in ("dct", "random", "klt", "jd")),
        *(Method(False, *start) for start in fixed),
        *(Method(False, *start, annealed=False) for start in fixed),
    ]


def run(setting: Setting) -> Section:
    """Every realisation by itself with a seed of its own, then all of them as channels."""
    Y, sources, rate = recordings(setting)
    n = len(Y)
    singles = [(str(c), c, Y[c : c + 1], sources[c : c + 1]) for c in range(n)]
    shared = [(CHANNELS, s, Y, sources) for s in range(setting.budget.note_seeds)]
    cases, rows = CASES if n > 1 else CASES_OF_CLAIMS, []
    for name, seed, frames, notes in [*singles, *shared]:
        for divergence, sparsity in CASES_OF_CLAIMS if name == CHANNELS else cases:
            for m in methods(Y.shape[2]):
                r = m.fit(frames, divergence, sparsity, seed)
                rows.append({"divergence": divergence, "sparsity": sparsity, "method": m.name,
                             "start": m.start, "realisation": name, "seed": seed}
                            | measure(r, frames, notes, rate)
                            | {"objective per entry": r.objective / frames[0].size})  # fmt: skip
    summary = [
        summarise(rows, divergence, sparsity, m, channels)
        for channels, some in ((False, cases), (True, CASES_OF_CLAIMS))
        for divergence, sparsity in some
        for m in methods(Y.shape[2])
    ]
    return Section(
        TITLE,
        f"The same {n} realisations, M = {M}, K = {K}, each with a seed of its own. `jd` is the"
        " transform that best diagonalises the covariances of 8 stretches of the recording; “NMF"
        " alone” keeps the start as it is, with the same schedule of floors, so that NMF in `jd`"
        " is the two-step method of Zhang,"
        " Soubies and Févotte ([arXiv 2112.05664](https://arxiv.org/abs/2112.05664)). They average"
        " over realisations instead of stretches, one covariance for each frame: that is the last"
        " `jd`, with all realisations as channels.",
        claims(summary),
        [],
        [("Medians over realisations:", summary)],
        [setting.csv("note_starts", rows)],
    )  # fmt: skip


def claims(summary: list[dict[str, Any]]) -> list[Claim]:
    """The two sentences of the abstract, for the Gaussian likelihood without a penalty."""

    def line(method: str, start: str, realisations: str) -> dict[str, Any]:
        wanted = ("gaussian", 0.0, method, start, realisations)
        keys = ("divergence", "sparsity", "method", "start", "realisations")
        return next(s for s in summary if tuple(s[k] for k in keys) == wanted)

    def words(s: dict[str, Any]) -> str:
        return f"{s['energy in 8 atoms, %']:.2f} % and {s['SDR, dB']:.1f} dB"

    found = []
    for says, realisations, equal in (
        ("with few realisations, JD and then NMF is no substitute for TL-NMF", "one by one", False),
        ("with many realisations, it is one", "as channels", True),
    ):
        start = "jd, one stretch for each frame" if equal else "jd"
        two_steps = line("NMF alone", start, realisations)
        quick = line("NMF alone, not annealed", start, realisations)
        learned = [line("TL-NMF", name, realisations) for name in ("dct", "jd")]
        least = max(s["SDR, dB"] for s in learned) - 1
        as_good, if_quick = (s["SDR, dB"] >= least for s in (two_steps, quick))
        otherwise = verdict(if_quick == equal, "only if NMF is not annealed", "does not hold")
        found.append(
            Claim(
                says,
                f"gaussian, sparsity 0, {realisations}: energy in 8 atoms and SDR of NMF in"
                f" {two_steps['start']} {words(two_steps)}, of TL-NMF from the DCT"
                f" {words(learned[0])}, from jd {words(learned[1])}; the same NMF in jd, not"
                f" annealed, {words(quick)}",
                verdict(as_good == equal, no=otherwise),
            )
        )
    return found


def summarise(
    rows: list[dict[str, Any]], divergence: str, sparsity: float, m: Method, channels: bool
) -> dict[str, Any]:
    """Medians of one case."""
    wanted = divergence, sparsity, m.name, m.start, channels
    mine = [
        r for r in rows
        if (r["divergence"], r["sparsity"], r["method"], r["start"], r["realisation"] == CHANNELS)
        == wanted
    ]  # fmt: skip
    return {
        "divergence": divergence,
        "sparsity": sparsity,
        "method": m.name,
        "start": m.start,
        "realisations": "as channels" if channels else "one by one",
    } | {key: round(float(np.median([r[key] for r in mine])), 3) for key in KEYS}
