"""A fitted model in one file: the transform, the components, the parameters and the history."""

from __future__ import annotations

import platform
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np
import sklearn

from phinmf import storage
from phinmf.algorithm.annealing import Anneal
from phinmf.algorithm.options import Method, divergence_of
from phinmf.arrays import to_numpy
from phinmf.divergences import DIVERGENCES, Divergence, DivergenceName
from phinmf.estimator import saved_learner
from phinmf.fit.checkpoint import Checkpoint, File
from phinmf.linalg.manifold import orthogonality_error
from phinmf.result import History
from phinmf.result.terms import KINDS, divergence_label, same_divergence
from phinmf.solvers import SOLVERS
from phinmf.stored_values import from_json, in_json, is_number

Model = TypeVar("Model")

ARRAYS = ("transform_matrix_", "components_", "atom_energies_", "objectives_")
NUMBERS = (
    "scale_", "floor_", "objective_", "reconstruction_err_", "n_iter_", "converged_", "n_atoms_",
    "energy_",
)  # fmt: skip
#: Classes of phinmf whose objects are stored as their fields.
WITH_FIELDS: dict[str, Any] = {
    "Anneal": Anneal,
    "Checkpoint": Checkpoint,
    "Method": Method,
    **KINDS,
}
WITH_FIELDS |= {kind.__name__: kind for kind in SOLVERS.values()}
#: Parameters that a fitted model does not need: left out of the file if JSON cannot hold them.
OPTIONAL = ("init", "components", "fixed", "random_state", "callback", "device")


def save(model: Any, path: File) -> None:
    """Write a fitted TLNMF."""
    parameters, left_out = {}, []
    for name, value in model.get_params(deep=False).items():
        try:
            stored = registered_name(value) if name == "divergence" else value
            parameters[name] = in_json(stored, WITH_FIELDS)
        except TypeError:
            if name not in (*OPTIONAL, "divergence"):
                raise ValueError(
                    f"{name} is {storage.shown(value)}, which a file cannot hold: set {name} to"
                    " what phinmf itself offers before you save the model"
                ) from None
            left_out.append(name)
    header = {
        "parameters": parameters,
        "left_out": left_out,
        "divergence": label_of(model.divergence),
        "attributes": {name: in_json(getattr(model, name), {}) for name in NUMBERS},
        "stop_reason": model.stop_reason_,
        "history": model.history_.to_json(),
        "versions": {"python": platform.python_version(), "numpy": np.__version__,
                     "scikit-learn": sklearn.__version__},
    }  # fmt: skip
    arrays = {name: to_numpy(getattr(model, name)) for name in ARRAYS}
    learner, parts = saved_learner.packed(model)
    if learner:
        header["stream"], arrays = learner, arrays | parts
    if hasattr(model, "feature_names_in_"):
        arrays["feature_names_in_"] = model.feature_names_in_.astype(str)
    storage.write(path, "model", header, arrays)


def load(
    cls: type[Model],
    path: File,
    check_parameters: Callable[[Any], None],
    divergence: DivergenceName | Divergence | None = None,
) -> Model:
    """Read a model; everything in the file is checked before it is used.

    A `divergence` replaces that of the file and must have the same name and values.
    """
    header, arrays = storage.read(path, "model")
    try:
        stored = header["parameters"].items()
        parameters = {name: from_json(value, WITH_FIELDS) for name, value in stored}
        saved = parameters.get("divergence")
        label = header.get("divergence", saved)
        known = same_divergence(label, saved, divergence, label_of)
        model: Any = cls(**{**parameters, "divergence": known})
        for name in NUMBERS:
            setattr(model, name, header["attributes"][name])
        for name in ARRAYS:
            setattr(model, name, arrays[name])
        model.history_ = History.from_json(header["history"])
        model.stop_reason_ = str(header["stop_reason"])
        check_parameters(model)
        check(model)
        model.n_components_, model.n_features_in_ = model.components_.shape
        if "feature_names_in_" in arrays:
            names = arrays["feature_names_in_"]
            if names.shape != (model.n_features_in_,) or names.dtype.kind != "U":
                raise ValueError("it does not have one name for each feature")
            model.feature_names_in_ = names.astype(object)
        if "stream" in header:
            model._learner = saved_learner.restored(model, header["stream"], arrays)
            model.n_steps_ = model._learner.at.step
            model.n_frames_seen_ = model._learner.n_seen
    except (KeyError, TypeError, AttributeError, ValueError, OverflowError) as error:
        why = storage.shortened(str(error))
        raise ValueError(f"{path} does not hold a usable model ({why})") from error
    return model


def label_of(divergence: str | Divergence) -> str:
    """Return the label of a divergence that is given by its name or as an object."""
    return divergence_label(divergence_of("divergence", divergence))


def registered_name(divergence: str | Divergence) -> str | Divergence:
    """Return the name of a registered divergence; any other divergence is returned unchanged."""
    return next((n for n, known in DIVERGENCES.items() if known == divergence), divergence)


def check(model: Any) -> None:
    """Raise if the attributes cannot be those of a fitted model."""
    Phi, components = model.transform_matrix_, model.components_
    dtype = Phi.dtype
    K, M = components.shape
    if (
        Phi.shape != (M, M)
        or 0 in (K, M)
        or not (dtype == components.dtype and dtype in (np.float32, np.float64))
    ):
        raise ValueError(f"shapes {Phi.shape} and {components.shape} do not belong together")
    if not (np.isfinite(Phi).all() and np.isfinite(components).all() and (components >= 0).all()):
        raise ValueError("its numbers are not finite, or not those of nonnegative components")
    if abs(Phi).max() > 2 or not orthogonality_error(Phi.astype(np.float64)) < 1e-4:
        raise ValueError("its transform is not orthogonal")
    largest = float(np.finfo(dtype).max) ** 0.5  # whose square can be computed
    sums = components.sum(axis=1, dtype=np.float64)
    if not all(s == 0 or 1 / largest < s < largest for s in sums):
        raise ValueError("its components are too large or too small to compute with")
    if not (is_number(model.scale_) and 1 / largest < model.scale_ < largest):
        raise ValueError(f"its scale is {model.scale_!r}, whose square leaves the range of {dtype}")
    if not (is_number(model.floor_, 0) and model.floor_ < float(np.finfo(dtype).max)):
        raise ValueError(f"its floor is {model.floor_!r}")
    if not (is_number(model.objective_) and is_number(model.reconstruction_err_)):
        raise ValueError("its objective is not a number")
    if not (is_number(model.n_iter_, 0) and isinstance(model.converged_, bool)):
        raise ValueError("it does not say how many iterations were made, and whether it converged")
    whole = is_number(model.n_atoms_, 1) and isinstance(model.n_atoms_, int)
    if not (whole and model.n_atoms_ <= M and is_number(model.energy_, 0) and model.energy_ <= 1):
        raise ValueError("it does not say how many atoms were learned, and what they hold")
    energies, objectives = model.atom_energies_, model.objectives_
    floats = energies.dtype.kind == objectives.dtype.kind == "f"
    if not (floats and energies.shape == (M,) and objectives.ndim == 1 and len(objectives)):
        raise ValueError("its energies or objectives have the wrong shape or type")
    finite = np.isfinite(energies).all() and np.isfinite(objectives).all()
    if not (finite and (energies >= 0).all()):
        raise ValueError("its energies or objectives are not finite, or have the wrong sign")
