"""Two notes a semitone apart (Zhang, Soubies and Févotte 2020), which are not part of phinmf."""

import os
from pathlib import Path

import numpy as np
from benchopt import BaseDataset
from scipy.io import loadmat

import phinmf


class Dataset(BaseDataset):
    """Realisations of two notes, as channels that share Φ, W and H."""

    name = "two notes"
    requirements = ["pip::phinmf"]
    parameters = {"path": [str(Path(os.environ.get("PHINMF_DATA", "data"), "two_notes_sim1.mat"))],
                  "realisations": [1]}  # fmt: skip

    def get_data(self):
        """Return frames of 40 ms."""
        sounds = loadmat(self.path)["ys"][: self.realisations]
        return {"Y": np.stack([phinmf.to_frames(y, 200) for y in sounds]), "n_components": 2}
