"""The outcome of an attack that may raise: refusals are one sentence of this package."""

import contextlib
import os
import re
import signal
import traceback

from fuzz.counting import broke, held, refused
from fuzz.formulas import Wrong

SECONDS = 60  #: after which an attack hangs


class Hangs(BaseException):
    """An attack takes too long."""


@contextlib.contextmanager
def alarm(seconds):
    """Raise if the block takes longer."""

    def ring(*_):
        raise Hangs(f"nothing after {seconds} s")

    before = signal.signal(signal.SIGALRM, ring)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def judged(what, function, rng, seconds=SECONDS):
    """The outcome of an attack: it returns, it is refused in a sentence, or something broke."""
    try:
        with alarm(seconds):
            found = function(rng)
    except Wrong as error:
        return broke(what, str(error))
    except (ValueError, TypeError, OSError, ImportError) as error:
        wrong = fault_of_refusal(error)
        return broke(what, wrong) if wrong else refused(what)
    except BaseException as error:
        last = traceback.extract_tb(error.__traceback__)[-1]
        return broke(what, f"{type(error).__name__}: {error} ({last.filename}:{last.lineno})")
    return found or held(what)


def fault_of_refusal(error):
    """Why an error is not a refusal: it comes from inside a library, or is not one sentence."""
    text = str(error)
    last = traceback.extract_tb(error.__traceback__)[-1]
    ours = any(part in last.filename for part in (f"{os.sep}phinmf{os.sep}", "sklearn"))
    if not ours:
        return f"{type(error).__name__} from {last.filename}:{last.lineno}: {text}"
    if "\n" in text and "sklearn" not in last.filename:
        return f"not one line: {text}"
    if len(text) > 1000:
        return f"no sentence but {len(text)} characters: {text[:100]}"
    return ""


#: Frames beyond the levels that docs/reliability.md names, which are drawn rarely.
BEYOND = re.compile(r"leaves? the range of float32")


def must_not_be_refused(function, *args, **how):
    """Call; a refusal is wrong here, unless single precision cannot hold the numbers."""
    try:
        return function(*args, **how)
    except (ValueError, TypeError, OSError) as error:
        if BEYOND.search(str(error)):
            raise
        raise Wrong(f"refused: {error}") from error
