"""Work on the workers of a Dask cluster: its results, or an error in time.

* Everything that a task needs is the result of another task, or part of the task itself. So the
  scheduler can compute again whatever is lost with a worker, and nothing here has to.
* The scheduler waits for new workers forever. `Cluster.results` waits as long as any worker runs,
  and at most `phinmf.timeout` (dask's configuration) while there is none.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Sequence
from concurrent.futures import CancelledError
from typing import Any, Literal, TypeAlias

import numpy as np

import phinmf
from phinmf._types import AnyArray, Array
from phinmf.arrays import lazy
from phinmf.errors import InvalidValue, PackageError

TIMEOUT = "60s"  #: default of phinmf.timeout
LOOK = 1.0  #: seconds between two looks at the workers while tasks are computed
PIECE = 2**22  #: bytes that one message to the scheduler holds at most

Future: TypeAlias = Any  #: of `distributed`


class Cluster:
    """A client of a cluster, and what is sent to it and received from it."""

    def __init__(self, client: Any) -> None:
        self.client = client
        self.timeout = timeout()
        self.address: str = client.scheduler.address

    def submit(
        self, function: Callable[..., Any], *args: Any, address: str | None = None
    ) -> Future:
        """Return the future of a task, on the worker of this address if it is not lost."""
        if self.client.status == "closed":
            raise self._without_scheduler(CancelledError())
        where = {} if address is None else {"workers": [address], "allow_other_workers": True}
        return self.client.submit(function, *args, pure=False, **where)

    def send(self, array: Array) -> Future:
        """Return a future of an array, which keeps its order in memory: C or Fortran."""
        order: Literal["C", "F"] = "F" if array.flags.fnc else "C"
        flat = array.flatten(order)  # a copy: the caller may go on with his
        n = max(1, PIECE // array.itemsize)
        pieces: list[Any] = [flat[i : i + n] for i in range(0, max(flat.size, 1), n)]
        if len(pieces) > 1:
            pieces = [self.submit(np.array, piece) for piece in pieces]
        return self.submit(joined, pieces, array.shape, order)

    def threads(self) -> list[str]:
        """Return the address of a worker for each of their threads; wait for a worker if needed.

        Workers alternate: first come the first threads of all workers, then the second ones.
        """
        since = time.monotonic()
        while not (running := self._running(since)):
            time.sleep(min(LOOK, self.timeout) / 10)
        most = max(running.values())
        return [address for i in range(most) for address, n in running.items() if i < n]

    def results(self, futures: Sequence[Future]) -> list[Any]:
        """Wait for tasks and return their results, in order.

        Raises
        ------
        Exception
            What a task has raised.
        ConnectionError
            If there was no worker for the time limit, if one worker after the other was lost with
            the same task, or if the scheduler is lost.
        """
        distributed = lazy.distributed()
        results: dict[str, Any] = {}
        since = time.monotonic()  # a worker was running, or these tasks began
        try:
            while waiting := [future for future in futures if future.key not in results]:
                try:
                    distributed.wait(waiting, timeout=LOOK)
                except TimeoutError:
                    if self._running(since):
                        since = time.monotonic()
                else:
                    results |= self._fetched(waiting)
        except distributed.KilledWorker as error:
            raise ConnectionError(
                f"the Dask cluster at {self.address} has lost one worker after the other with the"
                f" same task ({error}): read the logs of the workers, which often need more memory"
            ) from error
        except CancelledError as error:
            raise self._without_scheduler(error) from error
        finally:
            for future in futures:
                if future.key not in results:
                    future.release()  # the scheduler drops a task that nobody waits for
        return [results[future.key] for future in futures]

    def _fetched(self, futures: list[Future]) -> dict[str, Any]:
        """Return the results of tasks that are done, by their keys; raise what one has raised."""
        answers: list[tuple[Future, Any]] = []
        with contextlib.suppress(TimeoutError):  # their worker is lost now: they are done again
            answers.extend(
                lazy.distributed().as_completed(
                    futures, with_results=True, raise_errors=False, timeout=self.timeout
                )
            )
        for future, answer in answers:
            if future.cancelled():
                raise CancelledError
            if future.status == "error":
                _, error, traceback = answer
                raise error.with_traceback(traceback)
        return {future.key: answer for future, answer in answers}

    def _running(self, since: float) -> dict[str, int]:
        """Return the number of threads of each worker that starts tasks.

        Raises
        ------
        ConnectionError
            If there is none and there was none since a time longer ago than the limit, or if the
            scheduler does not answer.
        """
        try:
            workers = self.client.scheduler_info(n_workers=-1)["workers"]
        except Exception as error:
            raise self._without_scheduler(error) from error
        running = {a: w["nthreads"] for a, w in workers.items() if w["status"] == "running"}
        if not running and time.monotonic() - since > self.timeout:
            paused = "" if not workers else f" ({len(workers)} are paused: they need more memory)"
            raise ConnectionError(
                f"the Dask cluster at {self.address} has had no running workers for"
                f" {self.timeout:.0f} s{paused}: start some with dask worker {self.address}"
            )
        return running

    def _without_scheduler(self, error: BaseException) -> ConnectionError:
        return ConnectionError(
            f"the Dask scheduler at {self.address} does not answer any more ({error!r}): start"
            " another cluster and resume from a checkpoint"
        )


def joined(pieces: list[Array], shape: tuple[int, ...], order: Literal["C", "F"]) -> Array:
    """Return an array from pieces of its memory; a task."""
    return np.concatenate(pieces).reshape(shape, order=order)


def versions() -> dict[str, str]:
    """Return the versions that must be the same on all machines."""
    return {"phinmf": phinmf.__version__, "numpy": np.__version__}


def check_versions(expected: dict[str, str]) -> None:
    """Raise ImportError if this worker has other versions than the client; part of a task."""
    for name, version in versions().items():
        if version != expected[name]:
            raise PackageError(
                f"a worker has {name} {version}, but the client {expected[name]}: install the same"
                " version on all machines"
            )


def timeout() -> float:
    """Return the seconds to wait while no worker is running, from dask's configuration."""
    dask = lazy.dask()
    setting = dask.config.get("phinmf.timeout", TIMEOUT)
    try:
        seconds = float(dask.utils.parse_timedelta(setting))
    except (AttributeError, KeyError, TypeError, ValueError):
        seconds = 0.0
    if not seconds > 0:
        raise InvalidValue(f"phinmf.timeout is {setting!r}, but some time is needed, such as 60s")
    return seconds


def compute(tasks: list[Any]) -> list[Any]:
    """Compute delayed tasks where dask computes now, and return their results."""
    client = lazy.current_client()
    if client is None:
        return list(lazy.dask().compute(*tasks))
    return Cluster(client).results(client.compute(tasks))


def chunks(Y: AnyArray) -> list[Any]:
    """Return the chunks of a dask array as delayed arrays, with the same tasks in every graph."""
    return list(Y.to_delayed(optimize_graph=False).ravel())


def in_memory(Y: AnyArray) -> Array:
    """Compute a dask array (C, M, N) that is chunked along frames alone."""
    return np.concatenate(compute(chunks(Y)), axis=2)
