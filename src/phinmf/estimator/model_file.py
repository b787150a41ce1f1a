"""A fitted model in one file: the transform, the components, the parameters and the history."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from phinmf import storage
from phinmf.algorithm.options import Anneal, Method, divergence_of
from phinmf.divergences import DIVERGENCES, Divergence, DivergenceName
from phinmf.entries import Entry, Kinds, checked, from_json, in_json, packed
from phinmf.estimator import saved_learner
from phinmf.fit.checkpoint import Checkpoint, File
from phinmf.result import History
from phinmf.result.terms import KINDS, divergence_label, same_divergence
from phinmf.solvers import SOLVERS

Model = TypeVar("Model")

KIND = "model of TLNMF"
#: Fitted attributes. An ``objectives_`` is that of a restart.
TABLE = {
    "transform_matrix_": Entry("M M", rule="orthogonal"),
    "components_": Entry("K M", rule="nonnegative"),
    "atom_energies_": Entry("M", "float64", "nonnegative"),
    "objectives_": Entry("R", "float64"),
    "scale_": Entry("", "float64", "positive"),
    "floor_": Entry("", "float64", "nonnegative"),
    "objective_": Entry("", "float64"),
    "reconstruction_err_": Entry("", "float64"),
    "n_iter_": Entry("", "int64", "nonnegative"),
    "converged_": Entry("", "bool"),
    "n_atoms_": Entry("", "int64", "from 1 to M"),
    "energy_": Entry("", "float64", "between 0 and 1"),
    "stop_reason_": Entry("", "text"),
    "feature_names_in_": Entry("M", "text", group="names"),
}
#: Classes of phinmf whose objects are stored as their fields.
WITH_FIELDS: Kinds = {
    "Anneal": Anneal,
    "Checkpoint": Checkpoint,
    "Method": Method,
    **KINDS,
    **{kind.__name__: kind for kind in SOLVERS.values()},
}
#: Parameters that a fitted model does not need: left out of the file if JSON cannot hold them.
OPTIONAL = ("init", "components", "fixed", "random_state", "callback", "device", "divergence")


def save(model: Any, path: File) -> None:
    """Write a fitted TLNMF."""
    values = {name: getattr(model, name, None) for name in TABLE}
    parameters = model.get_params(deep=False)
    parameters["divergence"] = registered_name(parameters["divergence"])
    header = {
        "parameters": stored_parameters(parameters),
        "divergence": label_of(model.divergence),
        "history": model.history_.to_json(),
    }
    parts = packed(values, TABLE)
    if model._learner is not None:
        header["learner"], learner = saved_learner.packed_learner(model)
        parts |= learner
    storage.write(path, KIND, header, parts)


def stored_parameters(parameters: dict[str, Any]) -> dict[str, Any]:
    """Return parameters as values for JSON, without those that need not be in the file."""
    stored = {}
    for name, value in parameters.items():
        try:
            stored[name] = in_json(value, WITH_FIELDS)
        except TypeError:
            if name not in OPTIONAL:
                raise ValueError(
                    f"{name} is {storage.shown(value)}, which a file cannot hold: set {name} to"
                    " what phinmf itself offers before you save the model"
                ) from None
    return stored


def load(
    cls: type[Model],
    path: File,
    check_parameters: Callable[[Any], None],
    divergence: DivergenceName | Divergence | None = None,
) -> Model:
    """Read a model; everything in the file is checked before it is used.

    A `divergence` replaces that of the file and must have the same name and values.
    """
    header, parts = storage.read(path, KIND)
    with storage.usable(path, KIND):
        values = checked(parts, TABLE)
        saved = header["parameters"].items()
        parameters = {name: from_json(value, WITH_FIELDS) for name, value in saved}
        parameters["divergence"] = same_divergence(
            header["divergence"], parameters.get("divergence"), divergence, label_of
        )
        model: Any = cls(**parameters)
        check_parameters(model)
        names = values.pop("feature_names_in_")
        vars(model).update(values)
        model.history_ = History.from_json(header["history"])
        model.n_components_, model.n_features_in_ = model.components_.shape
        if names is not None:
            model.feature_names_in_ = names.astype(object)
        if "learner" in header:
            model._learner = saved_learner.restored_learner(model, header["learner"], parts)
            model.n_steps_ = model._learner.progress.step
            model.n_frames_seen_ = model._learner.n_seen
    return model


def label_of(divergence: str | Divergence) -> str:
    """Return the label of a divergence that is a name or an object."""
    return divergence_label(divergence_of("divergence", divergence))


def registered_name(divergence: str | Divergence) -> str | Divergence:
    """Return the name of a registered divergence; any other divergence is returned unchanged."""
    return next((n for n, other in DIVERGENCES.items() if other == divergence), divergence)
