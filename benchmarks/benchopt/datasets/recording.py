"""Any recording: `benchopt run . -d 'recording[path=song.wav]'`; by default the paper's."""

import os
from pathlib import Path

import soundfile
from benchopt import BaseDataset

import phinmf


class Dataset(BaseDataset):
    """The channels of a sound file, which share Φ, W and H."""

    name = "recording"
    requirements = ["pip::phinmf"]
    parameters = {"path": [str(Path(os.environ.get("PHINMF_DATA", "data"), "armstrong.wav"))],
                  "milliseconds": [40], "n_components": [10]}  # fmt: skip

    def get_data(self):
        """Return frames of an even number of samples."""
        y, rate = soundfile.read(self.path)
        M = 2 * round(self.milliseconds * rate / 2000)
        return {"Y": phinmf.to_frames(y, M), "n_components": self.n_components}
