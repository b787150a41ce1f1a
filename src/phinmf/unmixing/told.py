"""Progress of an unmixing in memory, for those who ask for it."""

from __future__ import annotations

from phinmf.audio.sources import Source
from phinmf.fit.verbose import say
from phinmf.result import Callback, State
from phinmf.unmixing.estimates import Forecast, expected, words
from phinmf.unmixing.options import UnmixOptions


class Told:
    """Prints the progress of `unmix` to standard error."""

    def __init__(self, source: Source, options: UnmixOptions, learns: bool) -> None:
        expectation = expected(source, options, learns=learns, page=False)
        self.forecast = Forecast(expectation.stages)
        say(f"unmix: {expectation}")

    def learning(self, callback: Callback | None) -> Callback:
        """Return a callback that shows an outer iteration before it calls another one."""

        def seen(state: State) -> bool:
            self.show(self.forecast.line("learning"))
            return bool(callback is not None and callback(state))

        return seen

    def separating(self, share: float) -> None:
        """Show how much of the recording has been separated."""
        self.show(self.forecast.line("writing", share, "separating"))
        if share == 1:
            say(f"unmix: done in {words(self.forecast.seconds)}")

    def show(self, line: str | None) -> None:
        """Print a line, if there is one."""
        if line is not None:
            say(f"unmix: {line}")
