"""Files with other contents, as somebody with bad intentions writes them, checksums included."""

import json

import numpy as np

from phinmf import storage

JUNK = [None, True, -1, 0, 3.5, 1e400, 10**400, "x", "", [], [[]], {}, {"a": 1}, [None] * 11]


def changes(a):
    """An array changed in every way: of shape, of type, and of one number."""
    changed = {
        "shorter": a[:-1] if a.ndim else a[None],
        "longer": np.concatenate([a, a]) if a.ndim else np.stack([a, a]),
        "empty": np.zeros(0, a.dtype),
        "another axis": a[None],
        "text": np.full(a.shape, "x"),
        "half": np.ones(a.shape, np.float16),
        "swapped bytes": a.astype(a.dtype.newbyteorder()),
        "unsigned": np.ones(a.shape, np.uint64),
    }
    if a.dtype.kind in "fi":
        values = (np.nan, np.inf, -1e-3) if a.dtype.kind == "f" else (-1, 2**62, 10**6)
        changed |= {str(value): spoiled(a, value) for value in values}
    return changed


def spoiled(a, value):
    """An array whose last number is another one."""
    b = np.array(a)
    with np.errstate(over="ignore"):
        b[(-1,) * b.ndim] = value
    return b


def forged(path, kind, header=None, arrays=None):
    """Replace a part of the header or of the arrays of a file; None removes it."""
    old = storage.read(path, kind)
    header = {"format": "phinmf", **old.header, **(header or {})}
    arrays = {**old.arrays, **(arrays or {})}
    with open(path, "wb") as file:
        np.savez(
            file,
            header=np.array(json.dumps({k: v for k, v in header.items() if v is not None})),
            **{k: v for k, v in arrays.items() if v is not None},
        )


def refusal(error, path):
    """Return what an error says: one sentence that names the file."""
    said = str(error)
    assert "\n" not in said
    assert str(path) in said
    assert len(said) < 450
    return said
