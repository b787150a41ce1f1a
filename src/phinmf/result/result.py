"""What `tl_nmf` and `learn_transform` return, and what can be done with it."""

from __future__ import annotations

import os
from dataclasses import dataclass
from enum import Enum
from html import escape
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from phinmf import arrays, checks, storage
from phinmf._types import Array
from phinmf.arrays.lazy import is_lazy
from phinmf.audio.frames import from_frames
from phinmf.divergences import Divergence
from phinmf.entries import Entry, check_rows, checked, packed
from phinmf.errors import InvalidValue
from phinmf.result import masks, plots
from phinmf.result.history import History
from phinmf.result.terms import Terms

if TYPE_CHECKING:
    from matplotlib.figure import Figure


KIND = "result"
TABLE = {
    "Phi": Entry("M M", rule="orthogonal"),
    "W": Entry("P K", rule="nonnegative", group="factors"),
    "H": Entry("K N", rule="nonnegative", group="factors"),
    "objective": Entry("", "float64"),
    "divergence": Entry("", "float64"),
    "penalty": Entry("", "float64"),
    "floor": Entry("", "float64", "nonnegative"),
    "scale": Entry("", "float64", "positive"),
    "n_atoms": Entry("", "int64", "from 1 to M"),
    "energy": Entry("", "float64", "between 0 and 1"),
    "pairs": Entry("", "bool"),
    "status": Entry("", "text"),
}


class Status(Enum):
    """Why a run stopped; each value is a sentence to show to the user."""

    SMALL_DECREASE = "converged: the objective decreased by less than tol, relative to its value"
    SMALL_GRADIENT = "converged: the relative gradient of the transform fell below tol"
    LINE_SEARCH = "stopped: the line search found no lower point along the search direction"
    MAX_ITER = "stopped: max_iter outer iterations were made"
    MAX_TIME = "stopped: max_time seconds had passed"
    CALLBACK = "stopped: the callback asked for it"
    INTERRUPTED = "stopped: interrupted from the keyboard; this is the best result so far"
    ROSE = "stopped: the objective rose from one outer iteration to the next, which is an error"
    NOT_FINITE = "stopped: the objective became NaN or infinite; this is the result before that"
    NOT_BETTER = "stopped: what was found is worse than the start, so this is the start itself"

    @property
    def converged(self) -> bool:
        """Whether the run stopped because it converged."""
        return self in (Status.SMALL_DECREASE, Status.SMALL_GRADIENT)

    @property
    def failed(self) -> bool:
        """Whether the divergence or a compiled function must be wrong."""
        return self in (Status.ROSE, Status.NOT_FINITE, Status.NOT_BETTER)


@dataclass(frozen=True, eq=False, repr=False)
class Result:
    """A learned transform and, from `tl_nmf`, the factors of the power in this transform.

    Attributes
    ----------
    Phi : (M, M) array
        The orthogonal transform; its rows are the atoms.
    W : (M, K) array or None
        Spectral patterns, columns summing to 1; (M/2, K) with pairs.
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
        Number of atoms that were learned. If it is less than M, they are the first rows of Φ, and
        the others are the weaker eigenvectors of the covariance.
    energy : float
        Share of the energy of the frames that these atoms hold.
    pairs : bool
        Whether the atoms 2p and 2p + 1 share their power.

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

    Phi: Array
    W: Array | None
    H: Array | None
    objective: float
    divergence: float
    penalty: float
    history: History
    status: Status
    floor: float
    scale: float
    n_atoms: int
    energy: float = 1.0
    terms: Terms | None = None
    pairs: bool = False

    @property
    def converged(self) -> bool:
        """Whether the run stopped because it converged."""
        return self.status.converged

    @property
    def n_iter(self) -> int:
        """Number of outer iterations made."""
        return len(self.history)

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
            raise InvalidValue(
                "this result is one of learn_transform, which has no activations: find them with"
                " TLNMF, or take a recording apart with phinmf.unmix"
            )
        frames = checks.frames(Y)
        if is_lazy(frames):
            raise InvalidValue(
                "Y is a dask array, but separate takes frames that are in memory: pass Y.compute()"
            )
        M, N, shape = len(self.Phi), self.H.shape[1], tuple(np.shape(Y))
        if frames.shape[1:] != (M, N):
            raise InvalidValue(
                f"Y has shape {shape}, but the {N} frames of {M} samples of the fit are needed, as"
                " columns: for other frames use TLNMF, or phinmf.unmix with a model"
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
            raise InvalidValue(
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
        values = {name: getattr(self, name) for name in TABLE} | {"status": self.status.name}
        header = {
            "terms": None if self.terms is None else self.terms.to_json(),
            "history": self.history.to_json(),
        }
        storage.write(path, KIND, header, packed(values, TABLE))

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
        header, parts = storage.read(path, KIND)
        with storage.usable(path, KIND):
            values, terms = checked(parts, TABLE), header["terms"]
            check_rows(values["W"], values["Phi"])
            return cls(
                **values | {"status": Status[values["status"]]},
                history=History.from_json(header["history"]),
                terms=None if terms is None else Terms.from_json(terms, divergence),
            )

    def plot(self, *, sample_rate: float | None = None) -> Figure:
        """Draw the cost, the strongest atoms, and the patterns W and activations H if it has them.

        Levels are in decibels, from the loudest to 60 dB below it.

        Parameters
        ----------
        sample_rate : float, optional
            Samples per second: frequencies are then in Hz, and times in seconds of frames that
            overlap by half, as those of `to_frames`.

        Returns
        -------
        matplotlib.figure.Figure
            The figure, which a notebook shows, and whose ``savefig`` writes it.

        Examples
        --------
        >>> import numpy as np, phinmf
        >>> Y = phinmf.to_frames(np.random.default_rng(0).standard_normal(1000), 32)
        >>> figure = phinmf.tl_nmf(Y, n_components=3, max_iter=5, tol=0).plot(sample_rate=8000)
        >>> figure.savefig("result.png")
        """
        rate = None
        if sample_rate is not None:
            rate = checks.number("sample_rate", sample_rate, 0, strict=True)
        return plots.figure_of(*self._arrays(), self.history, rate)

    def _arrays(self) -> tuple[Array, Array | None, Array | None]:
        """Return Φ, W and H as arrays of NumPy."""
        W, H = (None if a is None else arrays.to_numpy(a) for a in (self.W, self.H))
        return arrays.to_numpy(self.Phi), W, H

    def __repr__(self) -> str:
        M, K = len(self.Phi), None if self.W is None else self.W.shape[1]
        size = f"M={M}" if K is None else f"M={M}, K={K}"
        return (
            f"<Result: {size}, objective {self.objective:.6g} after {self.n_iter} outer iterations,"
            f" {self.status.value}>"
        )

    def _repr_html_(self) -> str:
        """Return a table for a notebook; every text in it is escaped."""
        Phi, W, H = self._arrays()
        M, size, objective = len(Phi), f"M = {len(Phi)} samples", f"{self.objective:.6g}"
        if self.n_atoms < M:
            size += f", {self.n_atoms} atoms learned"
        if H is not None:
            size += f", K = {len(H)} components, N = {H.shape[1]} frames"
            objective += f", {self.objective / (M * H.shape[1]):.6g} per entry"
        numbers, shares = plots.strongest(Phi, W, H)
        atoms = [f"{number} ({plots.pitch(Phi[number], None)})" for number in numbers]
        if shares is not None:
            atoms = [f"{atom}: {share:.0%}" for atom, share in zip(atoms, shares, strict=True)]
        rows = {
            "size": size,
            "objective": objective,
            "status": self.status.value,
            "iterations": str(self.n_iter),
            "strongest atoms": ", ".join(atoms),
            "terms": "" if self.terms is None else ", ".join(map(repr, self.terms)),
        }
        cells = (
            f'<tr><th scope="row">{name}</th><td>{escape(text)}</td></tr>'
            for name, text in rows.items()
        )
        return f"<table><caption><b>phinmf Result</b></caption>{''.join(cells)}</table>"
