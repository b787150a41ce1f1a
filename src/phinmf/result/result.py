"""What `tl_nmf` and `learn_transform` return, and what can be done with it."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from phinmf import arrays, checks
from phinmf._types import Array
from phinmf.arrays.lazy import is_lazy
from phinmf.audio.frames import from_frames
from phinmf.divergences import Divergence
from phinmf.result import file, masks, plots, summary
from phinmf.result.record import Record

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


@dataclass(frozen=True, eq=False, repr=False)
class Result(Record):
    """A learned transform and, from `tl_nmf`, the factors of the power in this transform.

    Attributes
    ----------
    Phi : (M, M) array
        The orthogonal transform; its rows are the atoms.
    W : (M, K) array or None
        Spectral patterns, columns summing to 1.
    H : (K, N) array or None
        Activations, in the units of Y²; None from `learn_transform`.
    objective : float
        C(Φ, W, H) at the target floor, with Y scaled to unit power. Divide by M·N for "per entry".
    divergence, penalty : float
        The two terms of the objective.
    terms : Terms or None
        The `Divergence` and the `Penalty` that these are values of; None from `learn_transform`.
    history : History
        One row per outer iteration.
    status : Status
        Why the run stopped; ``status.value`` is a sentence.
    floor : float
        The floor ε in the units of Y²: the model of the power is WH + ε.
    scale : float
        Root mean square of Y.
    n_atoms : int
        Number of atoms that were learned. If it is less than M, they are the first rows of Φ (with
        `learn_transform`, those of the strongest rows of V̂), and the others an orthonormal basis of
        the rest: the weaker eigenvectors of the covariance, if M is below 2048.
    energy : float
        Share of the energy of the frames that these atoms hold.

    Examples
    --------
    >>> import numpy as np, phinmf
    >>> y = np.sin(0.1 * np.arange(4000)) * np.exp(-0.001 * np.arange(4000))
    >>> Y = phinmf.to_frames(y, 64)
    >>> result = phinmf.tl_nmf(Y, n_components=2, max_iter=5, tol=0, random_state=0)
    >>> result.save("notes.npz")
    >>> again = phinmf.Result.load("notes.npz")
    >>> sounds = again.to_sound(Y, len(y))
    >>> bool(np.allclose(sounds.sum(axis=0), y))
    True
    """

    def separate(self, Y: ArrayLike) -> Array:
        """Return the frames of each component; together they are the frames Y.

        Each component gets its share of the model: the coefficients ΦY are multiplied by the masks
        (w_k h_k + ε/K) / (WH + ε), which add up to 1. `to_sound` returns their sound.

        Parameters
        ----------
        Y : array of shape (M, N) or (C, M, N)
            The frames of the fit, in the same order. For other frames there are no activations
            here: `TLNMF.transform` finds them, and `unmix` with a model takes recordings apart.

        Returns
        -------
        array of shape (K, M, N) or (K, C, M, N)
            Frames of each component, in the precision of Y; a tensor if Y is one.

        Raises
        ------
        ValueError
            If the result has no activations, or if Y has another number or length of frames.

        Examples
        --------
        >>> import numpy as np, phinmf
        >>> Y = phinmf.to_frames(np.random.default_rng(0).standard_normal(1000), 32)
        >>> result = phinmf.tl_nmf(Y, n_components=3, max_iter=5, tol=0)
        >>> parts = result.separate(Y)
        >>> parts.shape == (3, *Y.shape) and bool(np.allclose(parts.sum(axis=0), Y))
        True
        """
        if self.W is None or self.H is None:
            raise ValueError(
                "this result is one of learn_transform, which has no activations: find them with"
                " TLNMF, or take a recording apart with phinmf.unmix"
            )
        frames = checks.frames(Y)
        if is_lazy(frames):
            raise ValueError(
                "Y is a dask array, but separate takes frames that are in memory: pass Y.compute()"
            )
        M, N, shape = len(self.Phi), self.H.shape[1], tuple(np.shape(Y))
        if frames.shape[1:] == (N, M) and M != N:
            how = "Y.T" if len(shape) == 2 else "Y.swapaxes(1, 2)"
            raise ValueError(
                f"Y has shape {shape}, but the {N} frames of {M} samples of the fit are columns:"
                f" pass the transpose, {how}"
            )
        if frames.shape[1:] != (M, N):
            raise ValueError(
                f"Y has shape {shape}, but the {N} frames of {M} samples of the fit are needed:"
                " for other frames use TLNMF, or phinmf.unmix with a model"
            )
        frames = arrays.to_numpy(frames).reshape(shape)
        unit = float(self.scale) ** 2  # of H: at unit power every precision can hold it
        factors = (self.Phi, self.W, arrays.to_numpy(self.H).astype(np.float64) / unit)
        Phi, W, H = (arrays.to_numpy(a).astype(frames.dtype) for a in factors)
        parts: Array = np.empty((len(H), *shape), frames.dtype)
        for k, part in enumerate(masks.component_frames(frames, Phi, W, H, self.floor / unit)):
            parts[k] = part
        return arrays.like(parts, Y) if arrays.is_tensor(Y) else parts

    def to_sound(self, Y: ArrayLike, length: int) -> Array:
        """Return the sound of each component; together they are the sound that Y was made of.

        Parameters
        ----------
        Y : array of shape (M, N) or (C, M, N)
            The frames of the fit, as `to_frames` made them of the sound.
        length : int
            Number of samples of the sound.

        Returns
        -------
        array of shape (K, length) or (K, length, C)
            Sound of each component, in the precision of Y; a tensor if Y is one.

        Raises
        ------
        ValueError
            If `separate` or `from_frames` refuses the frames, if no sound of this length has as
            many frames, or if M is odd: `to_frames` does not make such frames.
        """
        if len(self.Phi) % 2:
            raise ValueError(
                f"the frames of the fit have {len(self.Phi)} samples, but those of phinmf.to_frames"
                " have an even number: use separate, and put the frames together as they were cut"
            )
        parts = self.separate(Y)
        sounds = np.stack([from_frames(part, length) for part in arrays.to_numpy(parts)])
        return arrays.like(sounds, Y) if arrays.is_tensor(Y) else sounds

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the result to one .npz file, without pickle; `load` reads it.

        Tensors are written as arrays. The file appears under its name when it is complete.

        Parameters
        ----------
        path : path
            The file, usually with the ending .npz. A result that was saved there is replaced, any
            other file that is not empty is not.

        Raises
        ------
        ValueError
            If there is something else than a result.
        FileNotFoundError
            If its folder does not exist.
        """
        file.save(self, path)

    @classmethod
    def load(
        cls,
        path: str | os.PathLike[str],
        *,
        divergence: Divergence | None = None,
    ) -> Result:
        """Read a result that `save` wrote, as arrays of NumPy.

        Parameters
        ----------
        path : path
            The file.
        divergence : Divergence, optional
            A divergence of your own is not in the file: pass it again. Its name and its values at a
            few entries are compared with those of the fit.

        Returns
        -------
        Result
            Equal to the one that was saved, bit by bit.

        Raises
        ------
        ValueError
            If the file is damaged, or is not a result.
        FileNotFoundError
            If it does not exist.
        """
        return file.load(cls, path, divergence)

    def plot(
        self, *, sample_rate: float | None = None, axes: Sequence[Axes] | None = None
    ) -> Figure:
        """Draw the cost, the strongest atoms, and the patterns W and activations H if it has them.

        Levels are in decibels, from the loudest to 60 dB below it.

        Parameters
        ----------
        sample_rate : float, optional
            Samples per second: frequencies are then in Hz, and times in seconds of frames that
            overlap by half, as those of `to_frames`.
        axes : sequence of matplotlib axes, optional
            Where to draw: one for the cost, one for the atoms, one for W and one for H, as far as
            the result has them. By default a new figure, which no window shows.

        Returns
        -------
        matplotlib.figure.Figure
            The figure, which a notebook shows, and whose ``savefig`` writes it.

        Raises
        ------
        ValueError
            If the number of axes is not that of the drawings.

        Examples
        --------
        >>> import numpy as np, phinmf
        >>> Y = phinmf.to_frames(np.random.default_rng(0).standard_normal(1000), 32)
        >>> figure = phinmf.tl_nmf(Y, n_components=3, max_iter=5, tol=0).plot(sample_rate=8000)
        >>> figure.savefig("result.png")
        """
        return plots.figure_of(self, sample_rate, axes)

    def _repr_html_(self) -> str:
        """Return a summary for a notebook."""
        return summary.html(self)
