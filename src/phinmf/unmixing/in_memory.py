"""`unmix`: a recording in memory, taken apart."""

from __future__ import annotations

import importlib
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from phinmf import arrays, checks
from phinmf._types import Array
from phinmf.algorithm.group import Callback
from phinmf.result import History
from phinmf.unmixing.learning import Learned, Options, learn
from phinmf.unmixing.streaming import Separation

BLOCK = 2**18  #: samples that are taken apart at a time


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
    model : Learned
        The transform and the patterns of the components; can be used on another recording.
    H : array of shape (K, N)
        Activations.
    """

    components: Array
    mixture: Array
    sample_rate: int
    model: Learned
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

    def save(self, folder: str | os.PathLike[str], **how: Any) -> Path:
        """Write a file for each component, the model and a report to a new folder.

        Parameters
        ----------
        folder : path
            Where to; must not exist yet. With ``overwrite=True`` a folder that was written before
            is replaced, if it holds nothing else and its files were not changed.
        **how
            ``format``, ``subtype``, ``filename``, ``gain``, ``overwrite`` as on the command line.
        """
        from phinmf.unmixing.folder import save

        return save(self, folder, **how)

    def plot_atoms(self, n: int = 6) -> Any:
        """Draw the atoms that carry the most energy; returns a matplotlib figure."""
        return view("report.unmixing_plots").atoms(self, n)

    def plot_activations(self) -> Any:
        """Draw how loud each component is over time; returns a matplotlib figure."""
        return view("report.unmixing_plots").activations(self)

    def plot_energy(self) -> Any:
        """Draw how few atoms carry the energy; returns a matplotlib figure."""
        return view("report.unmixing_plots").energy(self)

    def plot_cost(self) -> Any:
        """Draw the best objective so far against seconds of learning; returns a figure."""
        return view("report.unmixing_plots").cost(self)

    def _repr_html_(self) -> str:
        """The player of the report, in a notebook."""
        return str(view("report").fragment(view("report.folder").report_of_unmixing(self)))

    def __repr__(self) -> str:
        K, n = self.components.shape[:2]
        return (
            f"<Unmixing: {K} components of {n / self.sample_rate:.1f} s,"
            f" null test {self.null_db:.0f} dB>"
        )


def view(name: str) -> Any:
    """A module of the views, which are above this one: imported when someone looks."""
    return importlib.import_module(f"phinmf.{name}")


def unmix(
    y: ArrayLike,
    sample_rate: int,
    n_components: int = 8,
    *,
    model: Learned | None = None,
    callback: Callback | None = None,
    **how: Any,
) -> Unmixing:
    """Take a recording apart into components that add up to it.

    Parameters
    ----------
    y : array of shape (n,) or (n, channels)
        The recording, as soundfile reads it.
    sample_rate : int
        Samples per second.
    n_components : int
        Number of components.
    model : Learned, optional
        The ``model`` of an earlier unmixing: nothing is learned, its components are found again.
    callback : callable, optional
        Called with a `State` after each outer iteration; stops learning by returning True.
    **how
        ``window`` ("40ms", or samples), ``sparsity``, ``solver`` (None: plain NMF in the DCT),
        ``init``, ``seed``, ``max_time`` (seconds of learning), ``learn_on`` (frames to learn on),
        ``n_threads``, ``device`` ("cuda": learn on a GPU).

    Examples
    --------
    >>> import phinmf
    >>> from phinmf.audio.example import example
    >>> sound = example()
    >>> parts = phinmf.unmix(sound.mixture[:16000], sound.sample_rate, 3, max_time=1, seed=0)
    >>> parts.components.shape
    (3, 16000)
    """
    signal = checks.real_array("y", arrays.to_numpy(y) if arrays.is_tensor(y) else y)
    if signal.ndim not in (1, 2) or signal.size == 0:
        raise ValueError(
            f"y has shape {signal.shape}, but (n,) or (n, channels) with n ≥ 1 is needed"
        )
    rate = checks.count("sample_rate", sample_rate, 1, 2**31 - 1)
    options = Options(n_components=n_components, **how)
    samples = signal.reshape(len(signal), -1).astype(np.float64)
    if model is None:
        model = learn(lambda s, n: samples[s : s + n], *samples.shape, rate, options, callback)
    elif not isinstance(model, Learned):
        raise TypeError(
            f"model is {type(model).__name__}, but the model of an unmixing is needed: pass"
            " u.model, or load_model(path, sample_rate) of phinmf.unmixing.model_files"
        )
    elif model.sample_rate != rate:
        raise ValueError(
            f"sample_rate is {rate}, but the model was learned at {model.sample_rate} Hz:"
            " resample y"
        )
    separation = Separation(model, samples.shape[1], options.n_threads)
    pieces = separation(samples[i : i + BLOCK] for i in range(0, len(samples), BLOCK))
    parts = np.concatenate([parts for _, parts in pieces], axis=1)
    parts = parts.reshape(len(parts), *signal.shape).astype(signal.dtype)
    order = np.argsort([-np.square(part).sum() for part in parts], kind="stable")
    return Unmixing(
        components=parts[order],
        mixture=signal,
        sample_rate=rate,
        model=model.in_order(order),
        H=np.concatenate(separation.activations, axis=1)[order],
    )
