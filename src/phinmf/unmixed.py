"""What `unmix` returns: a recording and its components, to look at, listen to and save."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from phinmf import storage
from phinmf._types import Array
from phinmf.audio.sources import ArraySource
from phinmf.result import History
from phinmf.unmixing.model import UnmixModel
from phinmf.unmixing.options import TEMPLATE, Output

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True, eq=False, repr=False)
class Unmixing:
    """A recording and its components, which add up to it.

    Attributes
    ----------
    components : array of shape (K, n) or (K, n, channels)
        The components, the strongest first.
    mixture : array of shape (n,) or (n, channels)
        The recording.
    sample_rate : int
        Samples per second.
    model : UnmixModel
        What was learned; it can be saved, and used on another recording.
    H : array of shape (K, N)
        Activations.
    """

    components: Array
    mixture: Array
    sample_rate: int
    model: UnmixModel
    H: Array

    @property
    def Phi(self) -> Array:
        """The learned transform; its rows are the atoms."""
        return self.model.Phi

    @property
    def W(self) -> Array:
        """Patterns of the components over the atoms."""
        return self.model.W

    @property
    def history(self) -> History:
        """How it was learned, one row for each outer iteration."""
        return self.model.history

    @property
    def exact(self) -> bool:
        """Whether the components add up to the mixture bit for bit."""
        return np.array_equal(self.components.sum(axis=0), self.mixture)

    @property
    def null_db(self) -> float:
        """Level of mixture minus components, relative to the mixture; -inf: no difference."""
        from phinmf.unmixing.null_test import level

        rest = np.square(self.components.sum(axis=0) - self.mixture).sum()
        return level(float(rest), float(np.square(self.mixture).sum()))

    def save(
        self,
        folder: str | os.PathLike[str],
        *,
        format: str | None = None,
        subtype: str | None = None,
        filename: str = TEMPLATE,
        gain: float = 0.0,
        overwrite: bool = False,
    ) -> Path:
        """Write a file for each component, the model and a page to listen to into a new folder.

        Parameters
        ----------
        folder : path
            The folder; it must not exist yet.
        format : str, optional
            Format of the files, such as "WAV" (the default), "FLAC" or "MP3".
        subtype : str, optional
            Type of the samples, such as "PCM_16", "PCM_24" or "FLOAT" (the default for WAV).
        filename : str
            Template of the file names without the ending, made of ``{track}``, the name of the
            folder, and ``{number}``, from 01.
        gain : float
            Decibels, the same for all components.
        overwrite : bool
            Replace a folder that was written before, if it holds nothing else and its files were
            not changed since.

        Returns
        -------
        Path
            The folder.
        """
        from phinmf.audio.sample_format import SampleFormat
        from phinmf.report.folder import write_report
        from phinmf.unmixing.folder import Origin, read_folder, write_folder
        from phinmf.unmixing.placing import new_folder

        own = SampleFormat("WAV", "DOUBLE" if self.mixture.dtype == np.float64 else "FLOAT")
        if subtype is None and format is None:
            subtype = "FLOAT"
        output = Output(storage.named(folder, "folder"), format, subtype, filename, gain)
        source = ArraySource(columns(self.mixture), self.sample_rate)
        with new_folder(output.folder, overwrite) as new:
            write_folder(new, source, self.model, output, Origin(own))
            write_report(read_folder(new))
        return output.folder

    def plot_atoms(self, n: int = 6) -> Figure:
        """Draw the atoms that carry the most energy.

        Parameters
        ----------
        n : int
            Number of atoms.

        Returns
        -------
        matplotlib Figure
            The strongest atom first.
        """
        from phinmf.report import unmixing_plots

        return unmixing_plots.atoms(self.model, self.mixture, n)

    def plot_activations(self) -> Figure:
        """Draw how loud each component is over time.

        Returns
        -------
        matplotlib Figure
            One row for each component.
        """
        from phinmf.report import unmixing_plots

        return unmixing_plots.activations(self.model, self.H)

    def plot_energy(self) -> Figure:
        """Draw how few atoms carry the energy.

        Returns
        -------
        matplotlib Figure
            The share of the energy in the strongest atoms, learned and of the DCT.
        """
        from phinmf.report import unmixing_plots

        return unmixing_plots.energy(self.model, self.mixture)

    def plot_cost(self) -> Figure:
        """Draw the best objective so far against seconds of learning.

        Returns
        -------
        matplotlib Figure
            A curve that never rises.
        """
        from phinmf.report import unmixing_plots

        return unmixing_plots.cost(self.history)

    def _repr_html_(self) -> str:
        """Return the player of the page, for a notebook."""
        from phinmf import report
        from phinmf.report.folder import report_of_arrays

        return report.fragment(report_of_arrays(self.components, self.model))

    def __repr__(self) -> str:
        K, n = self.components.shape[:2]
        how = "bit for bit" if self.exact else f"to {self.null_db:.0f} dB"
        return f"<Unmixing: {K} components of {n / self.sample_rate:.1f} s, which add up {how}>"


def columns(signal: Array) -> Array:
    """Return a signal as (n, channels) in double precision."""
    return signal.reshape(len(signal), -1).astype(np.float64)
