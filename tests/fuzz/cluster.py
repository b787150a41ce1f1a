"""Attacks on fits on a cluster: workers are killed, stopped, paused, or the scheduler ends.

Each is a process of its own with a scheduler and two workers on this machine. A fit that ends must
have the bits of one machine; one that cannot go on must say so within its limit.
"""

import os
import signal
import subprocess
import sys
import threading
import time

import numpy as np

from fuzz.counting import Outcome, broke, held, main, refused

HOW = {"n_components": 3, "random_state": 0, "max_iter": 12, "tol": 0}
LIMIT = 6  # seconds that a fit waits for a worker
LONGEST = 90  # seconds of an attack, after which it hangs
ENDS = ("all killed, others come", "others come, all killed", "killed again and again")
ENDS += ("one stopped", "all stopped, others come", "all stopped, then continued", "one paused")
NONE_LEFT = ("all killed", "all stopped", "all paused", "no scheduler")


def attack(rng: np.random.Generator) -> Outcome:
    """Attack a fit in another process, at a random moment."""
    kind = str(rng.choice([*ENDS, *NONE_LEFT]))
    source = str(rng.choice(["dask", "numpy"]))
    moment = [str(rng.uniform(0, 2.5)), str(rng.random())]
    tree = str(rng.choice([1, 100]))  # number of workers from which messages take a tree
    command = [sys.executable, "-m", "fuzz.cluster", "one", kind, source, *moment, tree]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=LONGEST)
    except subprocess.TimeoutExpired:
        return broke(kind, f"a fit of {source} frames has not ended after {LONGEST} s")
    said = done.stdout.strip().splitlines()[-1:] or [done.stderr[-500:]]
    if said == ["held"]:
        return held(kind)
    if said[0].startswith("refused: ") and kind in NONE_LEFT:
        return refused(kind)
    return broke(kind, f"{source} frames, {' '.join(moment)}, tree from {tree}: {said[0]}")


def frames() -> np.ndarray:
    rng = np.random.default_rng(0)
    return rng.standard_normal((1, 40, 6000)) * np.linspace(0.1, 1, 6000)


class Cluster:
    """A scheduler, and workers without a nanny, so that a killed worker is not restarted."""

    def __init__(self) -> None:
        from distributed import Client, LocalCluster

        how = {"n_workers": 0, "threads_per_worker": 1, "dashboard_address": ":0"}
        self.local = LocalCluster(silence_logs=50, **how)
        self.client = Client(self.local)
        self.workers: list[subprocess.Popen] = []
        self.add(2)
        self.client.wait_for_workers(2, timeout=60)

    def add(self, n: int) -> None:
        program = [sys.executable, "-m", "distributed.cli.dask_worker"]
        options = ["--no-nanny", "--nthreads", "1", "--no-dashboard", "--memory-limit", "0"]
        for _ in range(n):
            command = [*program, self.local.scheduler_address, *options]
            nowhere = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
            self.workers.append(subprocess.Popen(command, start_new_session=True, **nowhere))

    def send(self, number: int, workers: list[subprocess.Popen]) -> None:
        for worker in workers:
            if worker.poll() is None:
                os.kill(worker.pid, number)

    def suffer(self, kind: str, share: float) -> None:
        """Carry out the attack of this name on the workers."""
        old = list(self.workers)
        if kind in ("all killed", "all killed, others come"):
            self.send(signal.SIGKILL, old)
            time.sleep(3 * share)
            self.add(0 if kind == "all killed" else 2)
        elif kind == "others come, all killed":
            self.add(2)
            self.client.wait_for_workers(4, timeout=60)
            self.send(signal.SIGKILL, old)
        elif kind == "killed again and again":
            for _ in range(3):
                dying = list(self.workers)
                self.add(2)
                time.sleep(2.5)
                self.send(signal.SIGKILL, dying)
                time.sleep(share)
        elif kind.startswith(("one stopped", "all stopped")):
            stopped = old[:1] if kind == "one stopped" else old
            self.send(signal.SIGSTOP, stopped)
            if kind.endswith("others come"):
                self.add(2)
            elif kind.endswith("continued"):
                time.sleep(share * LIMIT / 2)
                self.send(signal.SIGCONT, stopped)
        elif kind.endswith("paused"):
            all_of_them = sorted(self.client.scheduler_info()["workers"])
            self.client.run(pause, workers=all_of_them[: 1 if kind.startswith("one") else None])
        else:
            self.local.sync(self.local.scheduler.close)


def pause(dask_worker) -> None:
    """Pause a worker, as it does itself when it has too little memory."""
    from distributed.core import Status

    dask_worker.status = Status.paused


def one(kind: str, source: str, delay: float, share: float, tree: float) -> str:
    """Fit while the cluster is attacked, and compare with one machine."""
    import dask
    import dask.array

    from phinmf import tl_nmf

    Y = frames()
    expected = tl_nmf(Y, engine="compiled", **HOW)
    dask.config.set({"phinmf.timeout": f"{LIMIT}s", "distributed.comm.timeouts.connect": "5s"})
    dask.config.set({"phinmf.tree": int(tree)})
    cluster = Cluster()

    def act() -> None:
        time.sleep(delay)
        cluster.suffer(kind, share)

    threading.Thread(target=act, daemon=True).start()
    given = Y if source == "numpy" else dask.array.from_array(Y, chunks=(-1, -1, 700))
    try:
        found = tl_nmf(given, engine="dask", **HOW)
    except ConnectionError as error:
        return f"refused: {error}"
    finally:
        cluster.send(signal.SIGKILL, cluster.workers)
    names = ("Phi", "W", "H")
    same = all(np.array_equal(getattr(found, n), getattr(expected, n)) for n in names)
    return "held" if same else "other bits"


if __name__ == "__main__":
    if sys.argv[1:2] == ["one"]:
        try:
            print(one(*sys.argv[2:4], *map(float, sys.argv[4:])), flush=True)
        except BaseException as error:
            print(f"{type(error).__name__}: {error}", flush=True)
        os._exit(0)  # whatever still waits for a cluster that is not there
    main("cluster", attack)
