"""Learning from a stream in one pass, beside fits that have all frames.

What is compared is the objective per entry of frames that were not learned from: stretches of the
same recording, whose activations are found with Φ and W fixed, at one scale for all contestants.

    python benchmarks/online.py [pass] [hours] [change] [sklearn]
"""

from __future__ import annotations

import gc
import sys
import time
import warnings
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from _common import machine, recording, write_csv
from _long_sound import Heard, LongSound, piece
from sklearn.exceptions import ConvergenceWarning

import phinmf
from phinmf.analysis import split_frames
from phinmf.fit.encode import encode
from phinmf.linalg.manifold import dct
from phinmf.penalties import Sparse
from phinmf.result import Result

M, K = 440, 10
FLOOR = 1e-8
HELD_OUT = 0.2  # of the frames
SPARSITIES = 0.0, 10.0, 150.0
SEEDS = 0, 1
#: The settings of the method (sizes, schedules, forget factor) were chosen on these pieces …
CHOSEN_ON = {"the paper's recording": None, "knolls": "knolls", "knalgan theme": "knalgan_theme"}
#: … and then only measured on these.
FRESH = {"vengeful": "vengeful", "suspense": "suspense"}
PIECES = CHOSEN_ON | FRESH
HOURS = 10.0


class Frames(NamedTuple):
    """Frames to learn from, and frames that are held out."""

    learn: np.ndarray
    out: np.ndarray


@cache
def frames_of(name: str) -> Frames:
    """The frames of a piece, M samples at 11,025 Hz, in single precision."""
    known = PIECES[name]
    Y = recording() if known is None else phinmf.to_frames(piece(known), M)
    Y = Y.astype(np.float32)
    learn, out = split_frames(Y.shape[1], HELD_OUT)
    return Frames(Y[:, learn], Y[:, out])


def in_blocks(Y: np.ndarray, n: int = 1000) -> Iterator[np.ndarray]:
    """Frames as a stream."""
    return (Y[:, a : a + n] for a in range(0, Y.shape[1], n))


def cost(Y: np.ndarray, found: Result, scale: float, sparsity: float) -> float:
    """Objective per entry of frames that were not learned from."""
    assert found.W is not None
    seen = encode(
        Y[None], found.Phi, found.W, scale=scale, penalty=Sparse(sparsity), floor=FLOOR
    )  # fmt: skip
    return (seen.divergence + seen.penalty) / Y.size


class Timed(NamedTuple):
    """A result, and the processor time that it took."""

    result: Result
    seconds: float


def timed(Y: Any, **how: Any) -> Timed:
    """Fit frames or a stream."""
    gc.collect()
    start = time.process_time()
    return Timed(phinmf.tl_nmf(Y, K, **how), time.process_time() - start)


def one_pass() -> None:
    """One pass over a piece, beside a fit that has all of its frames."""
    rows = []
    for name in PIECES:
        Y, out = frames_of(name)
        for sparsity in SPARSITIES:
            found: dict[str, list[Timed]] = {"batch": [], "stream": []}
            for seed in SEEDS:
                how = {"sparsity": sparsity, "random_state": seed}
                found["batch"].append(timed(Y, **how))
                found["stream"].append(timed(in_blocks(Y), **how))
            scale = found["batch"][0].result.scale
            costs = {
                kind: [cost(out, fit.result, scale, sparsity) for fit in fits]
                for kind, fits in found.items()
            }
            batch = float(np.mean(costs["batch"]))
            seconds = {kind: np.mean([f.seconds for f in fits]) for kind, fits in found.items()}
            rows.append(
                {
                    "sound": name,
                    "chosen_on": "yes" if name in CHOSEN_ON else "no",
                    "frames": Y.shape[1],
                    "sparsity": f"{sparsity:g}",
                    "batch": f"{batch:.3f}",
                    "stream": f"{np.mean(costs['stream']):.3f}",
                    "more": f"{100 * (np.mean(costs['stream']) / batch - 1):+.1f} %",
                    "worst": f"{100 * (max(costs['stream']) / batch - 1):+.1f} %",
                    "batch_seconds": f"{seconds['batch']:.1f}",
                    "stream_seconds": f"{seconds['stream']:.1f}",
                }
            )
            print(rows[-1], flush=True)
            write_csv("online", rows)


def hours() -> None:
    """One pass over many hours: memory and time against what was heard."""
    sound, heard = LongSound(), Heard()
    stream = phinmf.stream_frames(heard.listening(sound.pieces(HOURS)), M)
    phinmf.tl_nmf(stream, K, random_state=0, callback=heard.learned)
    if heard.entries:  # since the last row
        heard.note()


def change() -> None:
    """A piece and then another one: how well frames of the second are fitted."""
    (first, _), (second, out) = frames_of("knolls"), frames_of("knalgan theme")
    second = second[:, : len(first.T) * 3 // 4]
    how = {"sparsity": 10.0, "random_state": 0}
    batch = timed(second, **how).result
    goal = cost(out, batch, batch.scale, 10.0)
    rows = []

    def note(what: str, found: Result) -> None:
        value = cost(out, found, batch.scale, 10.0)
        more = f"{100 * (value / goal - 1):+.1f} %"
        rows.append({"learned": what, "objective": f"{value:.3f}", "more": more})
        print(rows[-1], flush=True)
        write_csv("online_change", rows)

    note("all frames of the second piece at once", batch)
    note("all frames of the first piece at once", timed(first, **how).result)
    both = np.concatenate([first, second], axis=1)
    for factor in (1.0, 0.95, 0.8):
        found = timed(in_blocks(both), forget_factor=factor, **how).result
        note(f"a stream of both, forget_factor={factor:g}", found)


def sklearn() -> None:
    """NMF in the fixed DCT, one pass, beside MiniBatchNMF of scikit-learn on the same blocks."""
    from sklearn.decomposition import MiniBatchNMF

    rows = []
    for name in CHOSEN_ON:
        Y, out = frames_of(name)
        Phi = dct(M, np.float32)
        V = ((Phi @ Y) ** 2).T
        V += np.float32(FLOOR * V.mean())
        how = {"sparsity": 0.0, "solver": None, "anneal": False, "random_state": 0}
        scale = float(np.sqrt(np.mean(Y.astype(np.float64) ** 2)))
        found = {
            "tl_nmf, all frames at once": timed(Y, **how),
            "tl_nmf, a stream": timed(in_blocks(Y, 2 * M), **how),
        }
        for factor in (0.7, 0.95):
            model = MiniBatchNMF(
                K, beta_loss="itakura-saito", batch_size=2 * M, forget_factor=factor,
                init="random", random_state=0,
            )  # fmt: skip
            start = time.process_time()
            for a in range(0, len(V), 2 * M):
                model.partial_fit(V[a : a + 2 * M])
            seconds = time.process_time() - start
            W = model.components_.T / model.components_.sum(axis=1)
            like = found["tl_nmf, a stream"].result
            learned = replace(like, W=W.astype(np.float32))
            found[f"MiniBatchNMF, forget_factor={factor:g}"] = Timed(learned, seconds)
        for method, (result, seconds) in found.items():
            value = cost(out, result, scale, 0.0)
            rows.append(
                {
                    "sound": name,
                    "method": method,
                    "objective": f"{value:.3f}",
                    "seconds": f"{seconds:.1f}",
                }
            )
            print(rows[-1], flush=True)
        write_csv("online_sklearn", rows)


STEPS: dict[str, Any] = {
    "pass": one_pass, "hours": hours, "change": change, "sklearn": sklearn,
}  # fmt: skip


def main(names: list[str]) -> None:
    warnings.simplefilter("ignore", ConvergenceWarning)
    print(machine())
    for name in names or STEPS:
        STEPS[name]()


if __name__ == "__main__":
    main(sys.argv[1:])
