"""Commands in processes of their own, forked so that nothing is imported or compiled again."""

import contextlib
import fcntl
import os
import re
import signal
import sys
import time
import traceback
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

PATIENCE = 90.0  # seconds after which a command counts as one that hangs


class Ended(NamedTuple):
    """How a command ended, and what it printed."""

    code: int  # exit code; 128 + n if signal n killed it
    killed: bool
    out: str
    err: str

    @property
    def fault(self) -> str:
        """What is wrong with the way it ended, apart from what is on the disk."""
        text = self.out + self.err
        if self.killed and self.code not in (129, 130, 143):
            return f"killed by signal {self.code - 128}: {text[-1500:]}"
        for bad in ("Traceback", "is a fault of phinmf", "Exception ignored", "Warning:", "HANGS"):
            if bad in text:
                return f"{bad} in {text[-1500:]}"
        if found := re.search(r"[\x00-\x09\x0b-\x1f\x7f\u202e]", text):
            return f"{found[0]!r} is printed in {text[-500:]!r}"
        if self.code not in (0, 1, 2, 129, 130, 143):
            return f"exit code {self.code}"
        if self.code and not self.killed and not re.search(r"^phinmf( \w+)?: .", self.err, re.M):
            return f"exit code {self.code}, but no line says why: {self.err[-500:]!r}"
        return ""


class Child:
    """A command that is running."""

    def __init__(
        self,
        work: Callable[[], int],
        folder: Path,
        first: Callable[[], object] = lambda: listen(),
        signals: Sequence[tuple[float, int]] = (),
    ) -> None:
        self.pipes = [os.pipe() for _ in range(2)]  # which no limit on files touches
        for _, end in self.pipes:
            fcntl.fcntl(end, fcntl.F_SETPIPE_SZ, 2**20)
        self.signals = sorted(signals)
        self.begun = time.monotonic()
        sys.stdout.flush()
        listen(signal.SIG_BLOCK)
        self.pid = os.fork()
        if self.pid == 0:
            code = 70
            try:
                os.chdir(folder)
                for number, (_, end) in enumerate(self.pipes, 1):
                    os.dup2(end, number)
                sys.stdout = open(1, "w", encoding="utf-8")  # noqa: SIM115
                sys.stderr = open(2, "w", 1, encoding="utf-8")  # noqa: SIM115
                signal.signal(signal.SIGINT, signal.SIG_DFL)  # once main() is through
                first()
                code = ended(work)
            finally:
                os._exit(code)
        listen()
        for _, end in self.pipes:
            os.close(end)

    def wait(self) -> Ended:
        """Send the signals at their times, and wait."""
        hangs = False
        while not (waited := os.waitpid(self.pid, os.WNOHANG))[0]:
            passed = time.monotonic() - self.begun
            while self.signals and passed > self.signals[0][0]:
                os.kill(self.pid, self.signals.pop(0)[1])
            if passed > PATIENCE and not hangs:
                hangs = True
                os.kill(self.pid, signal.SIGKILL)
            time.sleep(0.002)
        texts = []
        for end, _ in self.pipes:
            with open(end, "rb") as file:
                texts.append(file.read().decode("utf-8", "surrogateescape"))
        killed = os.WIFSIGNALED(waited[1])
        code = 128 + os.WTERMSIG(waited[1]) if killed else os.WEXITSTATUS(waited[1])
        return Ended(code, killed, texts[0], texts[1] + "\nHANGS" * hangs)


def listen(how: int = signal.SIG_UNBLOCK) -> None:
    """Let signals arrive, or wait."""
    signal.pthread_sigmask(how, [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])


def ended(work: Callable[[], int]) -> int:
    """The exit code that a program would have."""
    try:
        code = work()
        listen(signal.SIG_BLOCK)
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else 0 if end.code is None else 1
    except BaseException:
        with contextlib.suppress(OSError):
            traceback.print_exc()
        code = 1
    try:
        sys.stdout.flush()
    except OSError:
        code = 120  # as Python has it
    return code
