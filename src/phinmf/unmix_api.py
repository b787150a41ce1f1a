"""`unmix`: take a recording in memory apart, and look at what came out."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from phinmf import arrays, checks
from phinmf._types import Array, Components, Device, RandomState
from phinmf.algorithm.group import Callback
from phinmf.algorithm.options import DEFAULT_SPARSITY
from phinmf.audio.frames import whole_signal
from phinmf.audio.sources import ArraySource
from phinmf.result import History
from phinmf.solvers import Solver
from phinmf.unmixing.learn import learn
from phinmf.unmixing.model import UnmixModel, model_for
from phinmf.unmixing.options import TEMPLATE, Output, UnmixOptions
from phinmf.unmixing.separate import ArraySink, separate
from phinmf.unmixing.told import Told

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
    def null_db(self) -> float:
        """Level of mixture minus components, relative to the mixture."""
        rest = np.square(self.components.sum(axis=0) - self.mixture).sum()
        with np.errstate(divide="ignore"):
            return float(10 * np.log10(rest / np.square(self.mixture).sum()))

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
            folder, and ``{number}``, counted from 1.
        gain : float
            Decibels, the same for all components.
        overwrite : bool
            Replace a folder that was written before, if it holds nothing else and its files were
            not changed.

        Returns
        -------
        Path
            The folder.
        """
        from phinmf.audio.sample_format import SampleFormat
        from phinmf.report.folder import write_report
        from phinmf.unmixing.folder import Origin, write_folder
        from phinmf.unmixing.planning import planned

        own = SampleFormat("WAV", "DOUBLE" if self.mixture.dtype == np.float64 else "FLOAT")
        if subtype is None and format is None:
            subtype = "FLOAT"
        output = Output(Path(folder), format, subtype, filename, gain, overwrite)
        source = ArraySource(columns(self.mixture), self.sample_rate)
        plan = planned(output, source, own, self.model.K)
        write_folder(source, self.model, plan, Origin(), finish=write_report)
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

        return report.fragment(report_of_arrays(self.components, self.model, self.null_db))

    def __repr__(self) -> str:
        K, n = self.components.shape[:2]
        return (
            f"<Unmixing: {K} components of {n / self.sample_rate:.1f} s,"
            f" null test {self.null_db:.0f} dB>"
        )


def unmix(
    y: ArrayLike,
    sample_rate: int,
    n_components: Components = UnmixOptions.n_components,
    *,
    window: str | float = "40ms",
    sparsity: float = DEFAULT_SPARSITY,
    n_atoms: int | float | None = UnmixOptions.n_atoms,
    solver: str | Solver | None = "lbfgs",
    init: str = "dct",
    seed: RandomState = None,
    max_time: float | None = None,
    learn_on: int | None = None,
    n_threads: int | None = None,
    device: Device = None,
    model: UnmixModel | str | os.PathLike[str] | None = None,
    callback: Callback | None = None,
    verbose: bool = False,
) -> Unmixing:
    """Take a recording apart into components that add up to it.

    Parameters
    ----------
    y : array of shape (n,) or (n, channels)
        The recording, as soundfile reads it: in ±1. Integers keep their scale, and so do the
        components.
    sample_rate : int
        Samples per second.
    n_components : int or "auto"
        Number of components; "auto" counts them first, in the DCT. Ignored if a model is given.
    window : str or int
        Length of a frame: "40ms", "0.04s", or a number of samples. The nearest even number of
        samples is taken.
    sparsity : float
        Weight of the penalty on activations: how strongly each moment is explained by few
        components. 0 is no penalty.
    n_atoms : int, float or None
        Number of atoms of the start that are learned, the strongest, or the share of the energy
        that they must hold; the others stay as they are. None learns all, which takes longer.
    solver : {"lbfgs", "quasi-newton", "projected-gradient", "jacobi"}, Solver or None
        How the transform is learned, as in `tl_nmf`; None keeps the transform: plain NMF in it.
    init : {"dct", "random", "klt", "jd"}
        Transform that learning starts from.
    seed : int, RandomState, Generator or None
        Random seed; the same number gives the same result.
    max_time : float, optional
        Maximum seconds of learning. If they are few, it learns from fewer frames, or keeps the
        transform.
    learn_on : int, optional
        Number of frames to learn from, whatever `max_time` is; by default as many as are useful.
    n_threads : int, optional
        Number of threads; by default all processors.
    device : str or torch.device, optional
        Where to learn: "cuda" for a GPU.
    model : UnmixModel or path, optional
        The ``model`` of an earlier unmixing, or a file that holds one: nothing is learned, its
        components are found in this recording.
    callback : callable, optional
        Called with a `State` after each outer iteration; stops learning by returning True.
    verbose : bool
        Print to standard error how much is done and how long the rest will take.

    Returns
    -------
    Unmixing
        The components, the model, and ways to look at them, listen to them and save them.

    Examples
    --------
    >>> import phinmf
    >>> from phinmf.audio.example import example
    >>> sound = example()
    >>> u = phinmf.unmix(sound.mixture[:16000], sound.sample_rate, 3, max_time=1, seed=0)
    >>> u.components.shape
    (3, 16000)
    >>> again = phinmf.unmix(sound.mixture[16000:], sound.sample_rate, model=u.model)
    >>> again.components.shape
    (3, 144000)
    """
    signal = whole_signal("y", arrays.to_numpy(y) if arrays.is_tensor(y) else y)
    rate = checks.count("sample_rate", sample_rate, 1, 2**31 - 1)
    options = UnmixOptions(
        n_components=n_components,
        window=window,
        sparsity=sparsity,
        n_atoms=n_atoms,
        solver=solver,
        init=init,
        seed=seed,
        max_time=max_time,
        learn_on=learn_on,
        n_threads=n_threads,
        device=device,
    )
    source = ArraySource(columns(signal), rate)
    told = Told(source, options, model is None) if verbose else None
    seen = told.learning(callback) if told else callback
    learned = learn(source, options, seen) if model is None else model_for(model, rate)
    sink = ArraySink(learned.K, source, signal.dtype)
    progress = told.separating if told else lambda share: None
    H = separate(source, learned, sink, n_threads=n_threads, progress=progress)
    components = sink.components.reshape(learned.K, *signal.shape)
    order = np.argsort([-np.square(one).sum() for one in components], kind="stable")
    return Unmixing(
        components=components[order],
        mixture=signal,
        sample_rate=rate,
        model=learned.in_order(order),
        H=H[order],
    )


def columns(signal: Array) -> Array:
    """Return a signal as (n, channels) in double precision."""
    return signal.reshape(len(signal), -1).astype(np.float64)
