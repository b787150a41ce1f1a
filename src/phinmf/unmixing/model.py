"""What `unmix` learns from a recording, to be used on other recordings and kept in a file."""

from __future__ import annotations

import os
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from phinmf import checks, storage
from phinmf._types import Array, Indices
from phinmf.estimator import model_file
from phinmf.estimator.encoding import penalty_of
from phinmf.estimator.tlnmf import TLNMF
from phinmf.fit.encode import encode
from phinmf.linalg.manifold import exactly_orthogonal
from phinmf.penalties import Sparse
from phinmf.result import History


@dataclass(frozen=True, eq=False)
class UnmixModel:
    """The transform and the components that `unmix` learned from a recording.

    Give it as ``model`` to `unmix` to find the same components in another recording of the same
    sampling rate. `save` writes it to a file, which is also what ``phinmf unmix --model`` reads.

    Attributes
    ----------
    Phi : array of shape (M, M)
        The orthogonal transform; its rows are the atoms.
    W : array of shape (M, K)
        The pattern of each component over the atoms, in the units of the power of the frames.
    scale : float
        Root mean square of the frames it was learned from.
    floor : float
        Power that is added to every entry of the model, in the same units as W.
    sparsity : float
        Weight of the penalty on activations.
    sample_rate : int
        Samples per second of the recording.
    history : History
        One row for each outer iteration of learning.
    stop_reason : str
        Why learning ended.
    n_atoms : int
        Number of atoms that were learned: the first rows of Φ.
    energy : float
        Share of the energy of the frames that these hold.
    """

    Phi: Array
    W: Array
    scale: float
    floor: float
    sparsity: float
    sample_rate: int
    history: History = field(repr=False)
    stop_reason: str
    n_atoms: int
    energy: float

    @property
    def M(self) -> int:
        """Samples of a frame."""
        return len(self.Phi)

    @property
    def K(self) -> int:
        """Number of components."""
        return self.W.shape[1]

    def activations(self, Y: Array, n_threads: int | None = None) -> Array:
        """Find the activations of frames.

        Parameters
        ----------
        Y : array of shape (channels, M, N)
            Frames.
        n_threads : int, optional
            Number of threads; by default that of the processors.

        Returns
        -------
        array of shape (K, N)
            Activations, in the units of the power of the frames.
        """
        return encode(
            Y, self.Phi, self.W, scale=self.scale, penalty=Sparse(self.sparsity),
            floor=self.floor / self.scale**2, n_threads=n_threads,
        ).H  # fmt: skip

    def in_order(self, order: Indices) -> UnmixModel:
        """Return the same model with its components in another order.

        Parameters
        ----------
        order : array of int
            The present number of each component, from 0, in the new order.

        Returns
        -------
        UnmixModel
            A copy.
        """
        return replace(self, W=self.W[:, order])

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model to a file.

        Parameters
        ----------
        path : path
            The file, usually with the ending .npz; a model that was saved there is replaced; any
            other file is not, nor is a model of `TLNMF`. `TLNMF.load` reads it, too.
        """
        model = TLNMF(self.K, sparsity=self.sparsity, floor=self.floor / self.scale**2)
        model.transform_matrix_ = self.Phi
        model.components_ = np.ascontiguousarray(self.W.T)
        model.scale_, model.floor_ = self.scale, self.floor
        model.history_, model.stop_reason_ = self.history, self.stop_reason
        last = self.history[-1].target_objective if len(self.history) else self.history.start
        model.objective_ = model.reconstruction_err_ = last
        model.n_iter_, model.converged_ = len(self.history), "converged" in self.stop_reason
        model.n_atoms_, model.energy_ = self.n_atoms, self.energy
        model.atom_energies_, model.objectives_ = np.zeros(self.M), np.array([last])
        model_file.save(model, path, sample_rate=self.sample_rate)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> UnmixModel:
        """Read a model that `save` or ``phinmf unmix`` has written.

        Parameters
        ----------
        path : path
            The file; a damaged one, or one that is not such a model, raises ValueError.

        Returns
        -------
        UnmixModel
            What was saved.
        """
        model = TLNMF.load(path)
        rate = checked_rate(path, storage.read(path, "model").header.get("sample_rate"))
        if model.n_features_in_ % 2:
            raise ValueError(
                f"{path} has windows of {model.n_features_in_} samples, but an even number is"
                " needed: it was not made by unmix"
            )
        return cls(
            Phi=exactly_orthogonal(model.transform_matrix_, np.float64),  # so components add up
            W=model.components_.T.astype(np.float64),
            scale=float(model.scale_),
            floor=float(model.floor_),
            sparsity=float(penalty_of(model).weight),
            sample_rate=rate,
            history=model.history_,
            stop_reason=model.stop_reason_,
            n_atoms=model.n_atoms_,
            energy=model.energy_,
        )


def checked_rate(path: str | os.PathLike[str], rate: Any) -> int:
    """Return the sampling rate that a file states, or raise ValueError."""
    if rate is None:
        raise ValueError(f"{path} does not say its sampling rate: it was not made by unmix")
    try:
        return checks.count("sample_rate", rate, 1, 2**31 - 1)
    except (TypeError, ValueError):
        raise ValueError(
            f"{path} was learned at {storage.shown(rate)} Hz, which is no sampling rate: it was"
            " not made by unmix"
        ) from None


def model_for(given: UnmixModel | str | os.PathLike[str], sample_rate: int) -> UnmixModel:
    """Return a model, or the one in a file, for a recording of this sampling rate."""
    if isinstance(given, UnmixModel):
        model, name = given, "the model"
    elif isinstance(given, (str, os.PathLike)):
        model, name = UnmixModel.load(given), str(given)
    else:
        raise TypeError(
            f"model is {type(given).__name__}, but the model of an unmixing or the path of one is"
            ' needed: pass u.model, or a path such as "out/song/model.npz"'
        )
    if model.sample_rate != sample_rate:
        raise ValueError(
            f"{name} was learned at {model.sample_rate} Hz, but the recording has {sample_rate}"
            " Hz: resample it"
        )
    return model
