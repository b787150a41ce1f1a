"""Write docs/api.md from the docstrings: ``python docs/make_api.py``."""

from __future__ import annotations

import importlib
import inspect
from pathlib import Path

PAGE = Path(__file__).with_name("api.md")
MODULES = {
    "phinmf": "The public functions and classes.",
    "phinmf.analysis": "Properties of a learned transform.",
    "phinmf.divergences": "Measures of fit; pass an instance as `divergence`.",
    "phinmf.penalties": "Costs of the factors; pass an instance as `penalty`.",
    "phinmf.inits": "Where the transform starts; pass an instance as `init`.",
    "phinmf.solvers": "Ways to update the transform; pass an instance as `solver`.",
    "phinmf.linalg.manifold": "Orthogonal matrices.",
}
#: The classes of these modules that a caller makes or subclasses; of other modules all names.
CLASSES = {
    "phinmf.divergences": ("ItakuraSaito", "Gaussian"),
    "phinmf.penalties": ("Penalty", "Sparse"),
    "phinmf.inits": ("Init", "DCT", "RandomOrthogonal", "KLT", "JointDiagonalisation"),
    "phinmf.solvers": ("Solver", "LBFGS", "QuasiNewton", "ProjectedGradient", "Jacobi"),
}


def page() -> str:
    """Return the whole page."""
    lines = [
        "# API",
        "",
        "Every public name with its docstring, written by `docs/make_api.py`.",
    ]
    for name, summary in MODULES.items():
        module = importlib.import_module(name)
        lines += ["", f"## {name}", "", summary]
        for public in sorted(names(module), key=str.lower):
            lines += entry(f"{name}.{public}", getattr(module, public))
    return "\n".join(lines) + "\n"


def names(module) -> list[str]:
    """Return the public names of a module that the page lists."""
    if module.__name__ in CLASSES:
        return list(CLASSES[module.__name__])
    listed = getattr(module, "__all__", None) or [
        name
        for name, value in vars(module).items()
        if inspect.isfunction(value) and value.__module__ == module.__name__
    ]
    return [name for name in listed if not name.startswith("_")]


def entry(name: str, value: object) -> list[str]:
    """Return a heading, the signature and the docstring of a public name."""
    if not callable(value):
        return ["", f"### `{name}`", "", f"`{value!r}`"]
    try:
        signature = str(inspect.signature(value)) if not isinstance(value, type) else ""
    except ValueError:
        signature = ""
    arguments = ", ".join(
        part.split(":")[0].strip() for part in signature.split(" -> ")[0].strip("()").split(", ")
    )
    head = f"{name}({arguments})" if signature and len(signature) < 90 else name
    text = inspect.cleandoc(value.__doc__ or "")
    return ["", f"### `{head}`", "", "```text", text, "```"]


if __name__ == "__main__":
    PAGE.write_text(page())
