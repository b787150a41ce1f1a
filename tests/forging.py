"""Changes to arrays and headers of a file, as somebody with bad intentions makes them."""

import copy
import json

import numpy as np

JUNK = [None, True, -1, 0, 3.5, 1e400, 10**400, "x", "", [], [[]], {}, {"a": 1}, [None] * 11]


def changed_arrays(arrays):
    """Every array changed in every way, one at a time: what was changed, and all arrays."""
    for name, a in arrays.items():
        yield f"{name} missing", {k: v for k, v in arrays.items() if k != name}
        for how, changed in changes(a).items():
            yield f"{name} {how}", arrays | {name: np.array(changed)}
    yield "nothing", {}
    for name in ("last_X", "memory_x", "start_", "memory_s9", "sample_more"):
        yield f"{name} too much", arrays | {name: np.zeros(3)}


def changes(a):
    """An array changed in every way."""
    changed = {
        "shorter": a[:-1] if a.ndim else a[None],
        "longer": np.concatenate([a, a]) if a.ndim else np.stack([a, a]),
        "empty": np.zeros(0, a.dtype),
        "narrower": a[..., :-1] if a.ndim else np.zeros((0,), a.dtype),
        "another axis": a[None],
        "turned": a.T[..., ::-1] if a.ndim == 2 else a[..., None],
        "text": np.full(a.shape, "x"),
        "bool": np.ones(a.shape, bool),
        "half": np.ones(a.shape, np.float16),
        "swapped bytes": a.astype(a.dtype.newbyteorder()),
        "unsigned": np.ones(a.shape, np.uint64),
        "int8": np.ones(a.shape, np.int8),
    }
    if a.dtype.kind == "f":
        changed["negative"] = -a
        return changed | {
            str(value): spoiled(a, value) for value in (np.nan, np.inf, -np.inf, -1e-3, 1e300)
        }
    changed["backwards"] = a[::-1] if a.ndim else a - 10**9
    changed["equal"] = np.zeros_like(a) if a.ndim else -a - 1
    return changed | {str(n): spoiled(a, n) for n in (-1, 2**62, -(2**62), 10**6)}


def spoiled(a, value):
    """An array whose last number is another one."""
    b = np.array(a)
    with np.errstate(over="ignore"):
        b[(-1,) * b.ndim] = np.array(value).astype(b.dtype)  # a small integer type wraps
    return b


def changed_headers(header, fields):
    """Every field, a tuple of keys, replaced by junk, one at a time."""
    for place in fields:
        for junk in (*JUNK, "missing"):
            changed = copy.deepcopy(header)
            inside = changed
            for step in place[:-1]:
                inside = inside[step]
            if junk == "missing":
                del inside[place[-1]]
            else:
                inside[place[-1]] = junk
            yield f"{place} {junk!r:.20}", changed


def write(path, header, arrays):
    """A file in the format of `phinmf.storage`."""
    np.savez(path, header=np.array(json.dumps(header)), **arrays)


def assert_one_sentence(error, path):
    assert "\n" not in str(error)
    assert str(path) in str(error)
    assert len(str(error)) < 450
