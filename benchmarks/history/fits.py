"""Whole fits, of the size of ten seconds of sound."""

import phinmf
from phinmf.audio.example import example

WINDOW, COMPONENTS = 160, 8


class Fits:
    """Fits to the frames of the built-in example."""

    timeout = 120

    def setup(self) -> None:
        self.sound = example()
        self.frames = phinmf.to_frames(self.sound.mixture, WINDOW)
        self.fit(max_iter=2, tol=0)  # compile

    def fit(self, **how) -> None:
        phinmf.tl_nmf(self.frames, COMPONENTS, random_state=0, **how)

    def time_default_fit(self) -> None:
        self.fit()

    def time_twenty_nmf_steps(self) -> None:
        self.fit(solver=None, max_iter=20, tol=0)

    def time_unmix_ten_seconds(self) -> None:
        phinmf.unmix(self.sound.mixture, self.sound.sample_rate, COMPONENTS, seed=0)

    def peakmem_default_fit(self) -> None:
        self.fit()


def timeraw_import() -> str:
    """Return what a new process runs."""
    return "import phinmf"
