"""What `unmix` learns from a recording, to be used on other recordings and kept in a file."""

from __future__ import annotations

import os
from dataclasses import asdict, dataclass, field, replace

import numpy as np

from phinmf import storage
from phinmf._types import Array, Components, Indices
from phinmf.algorithm.options import Options
from phinmf.entries import Entry, check_rows, checked, packed
from phinmf.errors import InvalidType, InvalidValue
from phinmf.fit.automatic import AUTO
from phinmf.fit.encode import Learned, encode
from phinmf.linalg.manifold import exactly_orthogonal
from phinmf.result import History
from phinmf.unmixing import typed_json
from phinmf.unmixing.mix import Group, Mix, check_groups

KIND = "model of unmix"  #: of its file
TABLE = {
    "Phi": Entry("M M", "float64", "orthogonal"),
    "W": Entry("P K", "float64", "nonnegative"),
    "scale": Entry("", "float64", "positive"),
    "floor": Entry("", "float64", "nonnegative"),
    "sparsity": Entry("", "float64", "nonnegative"),
    "sample_rate": Entry("", "int64", "positive"),
    "n_atoms": Entry("", "int64", "from 1 to M"),
    "energy": Entry("", "float64", "between 0 and 1"),
    "stop_reason": Entry("", "text"),
}


@dataclass(frozen=True, eq=False)
class UnmixModel:
    """The transform and the components that `unmix` learned from a recording.

    Give it as ``model`` to `unmix` to find the same components in another recording of the same
    sampling rate. `save` writes it to a file, which is also what ``phinmf unmix --model`` reads.

    Attributes
    ----------
    Phi : array of shape (M, M)
        The orthogonal transform; its rows are the atoms.
    W : array of shape (M, K), or (M/2, K) if two atoms share a power
        The pattern of each component over the atoms, in the units of the power of the frames.
    scale : float
        Root mean square of the frames it was learned from.
    floor : float
        Power that is added to every entry of the model, in the same units as W.
    sparsity : float
        Weight of the penalty of active components, at unit power.
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
    groups : tuple of Group
        The components of each reference sound, counted from 1; empty without references.
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
    groups: tuple[Group, ...] = ()

    @property
    def M(self) -> int:
        """Samples of a frame."""
        return len(self.Phi)

    @property
    def K(self) -> int:
        """Number of components."""
        return self.W.shape[1]

    def sorted(self, order: Indices) -> UnmixModel:
        """Return the same model with its components in another order: their numbers from 0."""
        numbers = {int(k) + 1: i for i, k in enumerate(order, 1)}
        groups = tuple(
            replace(group, components=sorted(numbers[k] for k in group.components))
            for group in self.groups
        )
        return replace(self, W=self.W[:, order], groups=groups)

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
        floor = self.floor / self.scale**2
        options = Options(sparsity=self.sparsity, floor=floor, n_threads=n_threads)
        return encode(Y, Learned(self.Phi, self.W, self.scale, options)).H

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model to a file.

        Parameters
        ----------
        path : path
            The file, usually with the ending .npz; a model of `unmix` that was saved there is
            replaced, any other file is not.
        """
        values = {name: getattr(self, name) for name in TABLE}
        factors = {name: values[name].astype(np.float64) for name in ("Phi", "W")}
        groups = [asdict(group) for group in self.groups]
        header = {"history": self.history.to_json(), "groups": groups}
        storage.write(path, KIND, header, packed(values | factors, TABLE))

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
        header, parts = storage.read(path, KIND)
        with storage.usable(path, KIND):
            model = cls(
                **checked(parts, TABLE),
                history=History.from_json(header["history"]),
                groups=tuple(typed_json.parse(Mix, header).groups),
            )
            check_rows(model.W, model.Phi)
            check_groups([*model.groups], model.K)
            if model.M % 2:
                raise InvalidValue(
                    f"it has windows of {model.M} samples, but an even number is needed"
                )
        return replace(model, Phi=exactly_orthogonal(model.Phi, np.float64))  # parts then add up


def model_for(
    source: UnmixModel | str | os.PathLike[str],
    sample_rate: int,
    n_components: Components | None = None,
) -> UnmixModel:
    """Return a model, or the one in a file, if it has this sampling rate and number of components.

    None or "auto" is the number that it has.
    """
    if isinstance(source, UnmixModel):
        model, name = source, "the model"
    elif isinstance(source, (str, os.PathLike)):
        model, name = UnmixModel.load(source), str(source)
    else:
        raise InvalidType(
            f"model is {type(source).__name__}, but the model of an unmixing or the path of one is"
            ' needed: pass u.model, or a path such as "out/song/model.npz"'
        )
    if model.sample_rate != sample_rate:
        raise InvalidValue(
            f"{name} was learned at {model.sample_rate} Hz, but the recording has {sample_rate}"
            " Hz: resample it"
        )
    if n_components not in (None, AUTO, model.K):
        raise InvalidValue(
            f"n_components is {n_components}, but {name} has {model.K} components: leave out the"
            " number, or leave out the model to learn others"
        )
    return model
