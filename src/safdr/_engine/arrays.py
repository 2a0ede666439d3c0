"""Types of the arrays in the engine."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

FloatArray: TypeAlias = NDArray[np.float64]
IntArray: TypeAlias = NDArray[np.int64]

# An array of rows, or a sparse matrix or array of SciPy's in CSR or CSC form (which has no types).
RowArray: TypeAlias = Any
