"""The one array type of the package; tensors of PyTorch take part under its name."""

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Array: TypeAlias = NDArray[np.floating[Any]]  #: float32 or float64
Indices: TypeAlias = NDArray[np.intp]
Tensor = Any  #: of PyTorch, which may be missing; never an array of NumPy
