"""A fitted model in one file: attributes, parameters, and what `partial_fit` continues from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from phinmf import storage
from phinmf._types import Array
from phinmf.algorithm.options import Anneal, Method
from phinmf.divergences import DIVERGENCES, Divergence
from phinmf.entries import (
    Entry,
    Kinds,
    check_rows,
    checked,
    from_json,
    in_json,
    packed,
    prefixed,
    without_prefix,
)
from phinmf.errors import InvalidValue
from phinmf.fit.checkpoint import Checkpoint, File
from phinmf.fit.online import Learner
from phinmf.result import History
from phinmf.result.terms import KINDS, divergence_from_json, divergence_to_json
from phinmf.solvers import SOLVERS

KIND = "model of TLNMF"
#: Fitted attributes. An ``objectives_`` is that of a restart.
TABLE = {
    "transform_matrix_": Entry("M M", rule="orthogonal"),
    "components_": Entry("K P", rule="nonnegative"),
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
#: Parameters that may be arrays, which JSON does not hold.
ARRAYS = {
    "init": Entry("M m", "float64", group="init"),
    "components": Entry("k P", "float64", group="components"),
}
LEARNER = "learner_"  #: prefix of the names of the entries of a `Learner`
LEARNER_TABLE = {
    "window": Entry("C M n", group="window"),
    "weights": Entry("n", "float64", "positive", group="window"),
    "keys": Entry("n", "float64", group="window"),
    "births": Entry("n", "int64", "nonnegative", group="window"),
    "energy": Entry("", "float64", "nonnegative"),
    "count": Entry("", "float64", "nonnegative"),
    "waiting": Entry("C M m", group="waiting"),
    "waiting_weights": Entry("m", "float64", "nonnegative", group="waiting"),
    "Phi": Entry("M M", rule="orthogonal", group="factors"),
    "W": Entry("P K", rule="nonnegative", group="factors"),
    "fitted_at": Entry("", "int64", "nonnegative"),
    "step": Entry("", "int64", "nonnegative"),
    "n_frames": Entry("", "int64", "nonnegative"),
    "divergence": Entry("", "float64"),
    "penalty": Entry("", "float64"),
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
OPTIONAL = ("random_state", "callback", "device")


def save(model: Any, path: File) -> None:
    """Write a fitted TLNMF."""
    values = {name: getattr(model, name, None) for name in TABLE}
    parameters = {n: v for n, v in model.get_params(deep=False).items() if n != "divergence"}
    given = {name: parameters.pop(name) for name in ARRAYS if np.ndim(parameters[name]) == 2}
    header = {
        "parameters": stored_parameters(parameters),
        "divergence": divergence_to_json(model._options(["divergence"]).divergence),
        "history": model.history_.to_json(),
    }
    parts = packed(values, TABLE) | packed(dict.fromkeys(ARRAYS) | given, ARRAYS)
    if model._learner is not None:
        header["seed"] = model._learner.seed
        parts |= prefixed(LEARNER, packed(vars(model._learner), LEARNER_TABLE))
    storage.write(path, KIND, header, parts)


def stored_parameters(parameters: dict[str, Any]) -> dict[str, Any]:
    """Return parameters as values for JSON, without those that need not be in the file."""
    stored = {}
    for name, value in parameters.items():
        try:
            stored[name] = in_json(value, WITH_FIELDS)
        except TypeError:
            if name not in OPTIONAL:
                raise InvalidValue(
                    f"{name} is {storage.shown(value)}, which a file cannot hold: set {name} to"
                    " what phinmf itself offers before you save the model"
                ) from None
    return stored


def load(cls: type[Any], path: File, divergence: Divergence | None = None) -> Any:
    """Read a model; everything in the file is checked before it is used."""
    header, parts = storage.read(path, KIND)
    with storage.usable(path, KIND):
        values = checked(parts, TABLE)
        saved = header["parameters"].items()
        parameters = {name: from_json(value, WITH_FIELDS) for name, value in saved}
        check_rows(values["components_"].T, values["transform_matrix_"])
        sizes = {"M": len(values["transform_matrix_"]), "P": values["components_"].shape[1]}
        parameters |= {n: a for n, a in checked(parts, ARRAYS, **sizes).items() if a is not None}
        own = divergence_from_json(header["divergence"], divergence)
        name = next((name for name, other in DIVERGENCES.items() if other == own), own)
        model: Any = cls(**parameters, divergence=name)
        model._options()  # raises for values that no fit has
        names = values.pop("feature_names_in_")
        vars(model).update(values)
        model.history_ = History.from_json(header["history"])
        model.n_components_, model.n_features_in_ = len(model.components_), sizes["M"]
        if names is not None:
            model.feature_names_in_ = names.astype(object)
        if "seed" in header:
            learner = restored_learner(header["seed"], parts, model)
            model._learner = learner
            model.n_steps_, model.n_frames_seen_ = learner.step, learner.n_frames
    return model


def restored_learner(seed: Any, parts: Mapping[str, Array], model: Any) -> Learner:
    """Return the learner of a model whose attributes are restored.

    If it has not begun, the history of the model is that of another fit, or of one to few frames.
    """
    if not isinstance(seed, int) or seed < 0:
        raise InvalidValue(f"its seed is {storage.shown(seed)}")
    Phi, P = model.transform_matrix_, model.components_.shape[1]
    values = checked(without_prefix(LEARNER, parts), LEARNER_TABLE, M=len(Phi), P=P, C=1)
    full = {name: value for name, value in values.items() if value is not None}
    learner = replace(Learner.of(seed, len(Phi), Phi, Phi.dtype), **full)
    return replace(learner, history=model.history_) if learner.fitted_at else learner
