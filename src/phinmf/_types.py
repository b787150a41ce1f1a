"""Types that the whole package shares.

The libraries of tensors and of dask arrays may not be installed: their types are names for `Any`.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

Array: TypeAlias = NDArray[np.floating[Any]]  #: float32 or float64, also for tensors
Indices: TypeAlias = NDArray[np.intp]
Mask: TypeAlias = NDArray[np.bool_]
Precision: TypeAlias = np.dtype[Any]  #: float32 or float64
Tensor = Any  #: of PyTorch, never an array of NumPy
AnyArray = Any  #: an array of NumPy, a tensor of PyTorch or a dask array
Device = Any  #: the name of a device, or one of PyTorch
RandomState: TypeAlias = int | np.integer[Any] | np.random.RandomState | np.random.Generator | None
Components: TypeAlias = int | Literal["auto"]
Fixed: TypeAlias = str | Sequence[str] | Mapping[str, bool | Sequence[int] | Indices] | None
