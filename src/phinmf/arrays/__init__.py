"""Functions that work on arrays of NumPy and on tensors of PyTorch.

Formulas are written with the array API (`namespace`), which both libraries have. What it lacks, or
what is faster in another way with NumPy, is a function here. PyTorch is imported in `on_device`
only. Precisions are NumPy dtypes, also those of tensors. Shapes: frames (C, M, N).
"""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np
from array_api_compat import array_namespace, is_torch_array
from numpy.typing import DTypeLike, NDArray

from phinmf._types import AnyArray, Array, Device, Indices, Precision

is_tensor = is_torch_array  #: whether an array is a tensor of PyTorch, which need not be installed


def namespace(x: AnyArray) -> Any:
    """The functions of the array API for an array; those of NumPy for anything but a tensor."""
    return np if isinstance(x, np.ndarray) or not is_tensor(x) else array_namespace(x)


def dtype_of(x: AnyArray) -> Precision:
    """The precision of an array, in NumPy's words."""
    if isinstance(x, np.ndarray):
        return x.dtype
    return np.dtype(str(x.dtype).removeprefix("torch."))


def cast(x: AnyArray, dtype: DTypeLike) -> Array:
    """The array in another precision; the same object if that is no change."""
    if isinstance(x, np.ndarray):
        return x.astype(dtype, copy=False)
    xp = namespace(x)
    return xp.astype(x, getattr(xp, np.dtype(dtype).name), copy=False)


def copied(x: AnyArray, dtype: DTypeLike | None = None) -> Array:
    """A copy of an array, in another precision if one is named."""
    if isinstance(x, np.ndarray):
        return x.astype(x.dtype if dtype is None else dtype)
    xp = namespace(x)
    return xp.astype(x, getattr(xp, np.dtype(dtype or dtype_of(x)).name), copy=True)


def to_numpy(x: AnyArray) -> NDArray[Any]:
    """The same numbers on the host; an array of NumPy is handed back as it is."""
    return x.detach().cpu().numpy() if is_tensor(x) else np.asarray(x)


def on_device(x: AnyArray, device: Device) -> Array:
    """The same numbers as a tensor; of an array in memory it may share what it can."""
    if isinstance(x, np.ndarray) and (not x.flags.writeable or min(x.strides, default=0) < 0):
        x = x.copy()  # PyTorch needs writable arrays with positive strides
    return importlib.import_module("array_api_compat.torch").asarray(x, device=device)


def like(x: AnyArray, other: AnyArray, dtype: DTypeLike | None = None) -> AnyArray:
    """The same numbers as an array of the kind and on the device of another."""
    copy = on_device(x, other.device) if is_tensor(other) else to_numpy(x)
    return copy if dtype is None else cast(copy, dtype)


def zeros(shape: tuple[int, ...], other: AnyArray, dtype: DTypeLike | None = None) -> Array:
    """Zeros of the kind, on the device and in the precision of another array."""
    precision = dtype_of(other) if dtype is None else np.dtype(dtype)
    if not is_tensor(other):
        return np.zeros(shape, precision)
    xp = namespace(other)
    return xp.zeros(shape, dtype=getattr(xp, precision.name), device=other.device)


def identity(M: int, other: AnyArray, dtype: DTypeLike | None = None) -> Array:
    """I, M×M, of the kind, on the device and in the precision of another array."""
    I = zeros((M, M), other, dtype)
    diagonal(I)[...] = 1
    return I


def indices(which: Indices | slice, other: AnyArray) -> AnyArray:
    """Indices from the host, to index another array where that is."""
    return which if isinstance(which, slice) else like(which, other)


def take_frames(x: AnyArray, which: Indices | slice) -> Array:
    """(..., n): the frames of these indices on the host; frames are the last axis."""
    return x[..., indices(which, x)]


def diagonal(A: Array) -> Array:
    """(..., M): a view of the diagonal of matrices (..., M, M), to be written to."""
    if isinstance(A, np.ndarray):
        return np.einsum("...ii->...i", A)
    return namespace(A).linalg.diagonal(A)


def divided(numerator: Array, denominator: Array, otherwise: Array) -> Array:
    """Numerator / denominator, in the precision of `otherwise`, which stands where that is 0/0.

    An array of NumPy is written to `otherwise`, so that it has its layout.
    """
    if isinstance(otherwise, np.ndarray):
        return np.divide(numerator, denominator, out=otherwise, where=denominator > 0)
    where = namespace(otherwise).where
    ratio = where(denominator > 0, numerator / denominator, otherwise)
    return cast(ratio, dtype_of(otherwise))


def room_for_frames(shape: tuple[int, ...], dtype: DTypeLike) -> Array:
    """An empty array (C, n, M) whose frames are contiguous, with a gap between channels.

    With the gap, to compiled code any block of the frames, even of all, is an array of the same
    kind, and what is computed from it has the same bits. If there is no memory, the error says what
    needs less of it.
    """
    C, n, M = shape
    try:
        return np.empty((C, n + 1, M), dtype)[:, :n]
    except MemoryError as error:
        size = C * n * M * np.dtype(dtype).itemsize / 1e9
        raise MemoryError(
            f"{size:.3g} GB for frames do not fit into memory: learn few atoms (n_atoms), pass"
            " frames in float32, or learn block by block with TLNMF.partial_fit"
        ) from error


def with_separate_channels(Y: Array) -> Array:
    """The frames (C, n, M) in an array of `room_for_frames`: Y itself if it is one, or a copy."""
    C, _, M = Y.shape
    separate = C == 1 or not Y.flags.c_contiguous
    if separate and Y.strides[1:] == (M * Y.itemsize, Y.itemsize):
        return Y
    room = room_for_frames(Y.shape, Y.dtype)
    room[...] = Y
    return room


def contiguous(x: AnyArray) -> Array:
    """The same numbers, rows contiguous in memory."""
    return np.ascontiguousarray(x) if isinstance(x, np.ndarray) else x.contiguous()


def frames_contiguous(V: Array, dtype: DTypeLike) -> Array:
    """An (M, N) array in the layout that engines read fastest."""
    return np.asfortranarray(V, dtype=dtype) if isinstance(V, np.ndarray) else cast(V, dtype)


def for_each_atom(A: Array, M: int) -> Array:
    """Repeat the rows of (P, …) for the M atoms that share them; A itself if P = M."""
    return A if len(A) == M else namespace(A).repeat(A, M // len(A), axis=0)
