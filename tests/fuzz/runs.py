"""Attacks on runs: callbacks, interrupts, limits, checkpoints, the estimator, recordings."""

import os
import shutil
import signal
import tempfile
import threading
import time
import warnings
from contextlib import contextmanager, suppress
from pathlib import Path

import numpy as np

import phinmf
from fuzz.fits import Kind
from fuzz.formulas import check_fit, demand, same_bits
from fuzz.judging import must_not_be_refused
from fuzz.random_fits import effective, fit, pick, problem


@contextmanager
def folder():
    """A folder that is removed."""
    with tempfile.TemporaryDirectory() as name:
        yield Path(name)


class Stop(Exception):
    """What a callback raises."""


def callbacks(rng):
    """A callback stops, raises, forks, spoils what it sees, or fits something itself."""
    Y, K, how = problem(rng)
    when, kind = int(rng.integers(1, 6)), pick(rng, ["stop", "raise", "fork", "fit", "interrupt"])

    def callback(state):
        if state.iteration != when:
            return False
        if kind == "raise":
            raise Stop
        if kind == "interrupt":
            raise KeyboardInterrupt
        if kind == "fork":
            child_fits(Y, K, how)
        if kind == "fit":
            fit(Y, K, how)
        return kind == "stop"

    try:
        result = must_not_be_refused(fit, Y, K, how | {"callback": callback})
    except Stop:
        return
    check_fit(Y, result, how, effective(how, Y.shape[-1]))
    if kind in ("fork", "fit"):
        same_bits(result, fit(Y, K, how), kind)
    elif len(result.history) >= when:
        wanted = phinmf.Status.CALLBACK if kind == "stop" else phinmf.Status.INTERRUPTED
        demand(result.status is wanted, f"{kind}: {result.status}")
        demand(len(result.history) == when, f"{kind}: {len(result.history)} iterations")


def child_fits(Y, K, how):
    """A fit in a forked process ends with a correct result."""
    pid = os.fork()
    if pid == 0:
        signal.alarm(20)
        try:
            signal.signal(signal.SIGALRM, signal.SIG_DFL)
            fit(Y, K, how)
            os._exit(0)
        finally:
            os._exit(1)
    _, status = os.waitpid(pid, 0)
    demand(status == 0, f"a fit in a forked process ended with {status}")


def interrupts(rng):
    """Ctrl-C at any time: a correct result, or KeyboardInterrupt; the next fit is correct."""
    Y, K, how = problem(rng, large=rng.random() < 0.3, most_iter=30)
    how |= {"tol": 0.0}
    delay = float(rng.exponential(0.05)) + 1e-4
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    timer = threading.Timer(delay, os.kill, (os.getpid(), signal.SIGINT))
    try:
        timer.start()
        result = fit(Y, K, how)
        timer.cancel()
        timer.join()
    except KeyboardInterrupt:
        result = None
    finally:
        timer.cancel()
        signal.signal(signal.SIGINT, before)
    if result is not None:
        check_fit(Y, result, how, effective(how, Y.shape[-1]))
    again = fit(Y[..., :50], 1, {"max_iter": 2}) if Y[..., :50].any() else None
    if again is not None:
        check_fit(Y[..., :50], again, {})


def limits(rng):
    """max_time is respected except for one iteration, and the result is correct."""
    Y, K, how = problem(rng, large=rng.random() < 0.5)
    how |= {
        "max_time": float(pick(rng, [0.0, 1e-9, 0.01, 0.1, 0.5])),
        "max_iter": 10**6,
        "tol": 0.0,
    }
    began = time.perf_counter()
    result = must_not_be_refused(fit, Y, K, how)
    taken = time.perf_counter() - began
    check_fit(Y, result, how, effective(how, Y.shape[-1]))
    demand(taken < how["max_time"] + 8, f"max_time {how['max_time']} took {taken:.1f} s")


def resumed(rng):
    """A run continued from a checkpoint of any iteration has the bits of one without."""
    Y, K, how = problem(rng, large=rng.random() < 0.2, most_iter=25)
    with folder() as here:
        path = here / "run"
        how |= {"tol": 0.0}
        if rng.random() < 0.2:
            how["random_state"] = np.random.default_rng(3)
        whole = must_not_be_refused(fit, Y, K, fresh(how))
        after, way = int(rng.integers(1, 25)), pick(rng, ["stop", "raise", "interrupt", "end"])

        def callback(state):
            if state.iteration == after and way == "raise":
                raise Stop
            if state.iteration == after and way == "interrupt":
                raise KeyboardInterrupt
            return state.iteration == after and way == "stop"

        keeping = fresh(how) | {"checkpoint": phinmf.Checkpoint(path, every=0, resume=True)}
        with suppress(Stop):
            must_not_be_refused(fit, Y, K, keeping | {"callback": callback})
        kept = sorted(p.name for p in here.iterdir())
        demand(set(kept) <= {"run", "run.previous"}, f"left behind: {kept}")
        if "run.previous" in kept and rng.random() < 0.3:
            shutil.copy(here / "run.previous", path)
        other = {"n_threads": int(rng.integers(1, 4))} if rng.random() < 0.3 else {}
        result = must_not_be_refused(fit, Y, K, keeping | fresh(how) | other)
        same_bits(whole, result, f"resumed after {way} at {after}")


def fresh(how):
    """Options whose generator is as it was."""
    return (
        how | {"random_state": np.random.default_rng(3)}
        if not isinstance(how["random_state"], int)
        else dict(how)
    )


def clusters(rng):
    """A cluster of two workers has the bits of one process."""
    import dask.array as da
    from clusters import cluster

    Y, K, how = problem(rng, most_iter=5)
    how = {k: v for k, v in how.items() if k != "engine"}
    chunks = (*Y.shape[:-1], max(1, Y.shape[-1] // 3))
    with cluster(2, processes=False):
        result = must_not_be_refused(fit, da.from_array(Y, chunks=chunks), K, how)
    same_bits(fit(Y, K, how), result, "on a cluster")


def side_by_side(rng):
    """Several fits in threads of one process have the bits of each alone."""
    problems = [problem(rng, most_iter=6) for _ in range(3)]
    alone = [must_not_be_refused(fit, *p) for p in problems]
    found, errors = {}, []

    def work(number):
        try:
            found[number] = fit(*problems[number])
        except BaseException as error:
            errors.append(error)

    fitters = [threading.Thread(target=work, args=(i,)) for i in range(3)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for t in fitters:
            t.start()
        for t in fitters:
            t.join()
    demand(not errors, f"beside others: {errors}")
    for number, result in found.items():
        same_bits(alone[number], result, "beside others")


KINDS = {
    "callbacks": Kind(callbacks, 1.5),
    "interrupts": Kind(interrupts, 1.5),
    "time limits": Kind(limits, 0.5),
    "resumed runs": Kind(resumed, 2),
    "cluster of threads": Kind(clusters, 0.1),
    "fits side by side": Kind(side_by_side, 0.5),
}
