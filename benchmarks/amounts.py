"""10 minutes of 44.1 kHz stereo, M = 1764: what a whole fit takes."""

from __future__ import annotations

import argparse
import resource

import numpy as np
from _common import machine, table, timed, write_csv
from _stereo_sound import StereoSound

import phinmf

K = 10
WAYS = {"tl_nmf(Y, 10)": {}, "tl_nmf(Y, 10, n_atoms=0.999)": {"n_atoms": 0.999}}


def measured(minutes: float, Y: np.ndarray, call: str, how: dict) -> dict:
    """Fit once with the default options, and return a row."""
    result, seconds = timed(lambda: phinmf.tl_nmf(Y, K, random_state=0, **how))
    history = result.history
    complete = np.flatnonzero(history.frames == Y.shape[2])
    steps = np.diff(history.seconds)[complete[complete > 0] - 1]
    row = {
        "minutes": f"{minutes:g}",
        "call": call,
        "seconds": f"{seconds:.3g}",
        "learning": f"{history.seconds[-1]:.3g}",
        "outer_iterations": len(history),
        "on_all_frames": len(complete),
        "seconds_for_each": f"{np.median(steps):.3g}" if len(steps) else "",
        "objective": f"{result.objective / (Y.shape[1] * Y.shape[2]):.3f}",
        "frames_gigabytes": f"{Y.nbytes / 1e9:.3g}",
        "host_gigabytes": f"{resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6:.3g}",
    }
    print(row, flush=True)
    return row


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, nargs="+", default=[10.0])
    options = parser.parse_args()
    print(machine())
    rows = []
    for minutes in options.minutes:
        Y, seconds = timed(StereoSound(minutes).frames)
        print(f"{minutes:g} minutes, frames {Y.shape}, made in {seconds:.1f} s", flush=True)
        for call, how in WAYS.items():
            rows.append(measured(minutes, Y, call, how))
            print(write_csv("amounts", rows))
    print(table(rows, {"minutes": "minutes", "call": "call", "seconds": "s"}))


if __name__ == "__main__":
    main()
