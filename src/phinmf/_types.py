"""Types that the whole package shares.

The libraries of tensors and of dask arrays may not be installed, so `AnyArray` is `Any`.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

Array: TypeAlias = NDArray[np.floating[Any]]  #: float32 or float64, also for tensors
Indices: TypeAlias = NDArray[np.intp]
Mask: TypeAlias = NDArray[np.bool_]
Precision: TypeAlias = np.dtype[Any]  #: float32 or float64
AnyArray: TypeAlias = Any  #: an array of NumPy, a tensor of PyTorch or a dask array
Device: TypeAlias = object  #: the name of a device, one of PyTorch, or None
RandomState: TypeAlias = int | np.integer[Any] | np.random.RandomState | np.random.Generator | None
Components: TypeAlias = int | Literal["auto"]
Fixed: TypeAlias = str | Sequence[str] | Mapping[str, bool | Sequence[int] | Indices] | None
