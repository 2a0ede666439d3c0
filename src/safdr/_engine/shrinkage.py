"""How much ridge a covariance of so many rows wants."""

from __future__ import annotations

import numpy as np

from safdr._engine.arrays import FloatArray

# The intensity is made for the covariance itself. Its inverse, and the best of many subsets, feel
# its errors more: three times as much served best (docs/recipe.md).
MULTIPLE = 3.0

# From here on hardly anything but the diagonal is left.
LARGEST_AUTO = 10.0

# Least and default for those who do without.
SMALLEST_AUTO = 1e-6


def auto_ridge(correlation: FloatArray, n_rows: float) -> float:
    """The ridge on the diagonal of a correlation matrix, out of the number of rows behind it.

    The oracle-approximating intensity a of Chen, Wiesel, Eldar and Hero (2010), which shrinks the
    matrix towards the unit matrix: (1 - a)·R + a·I. In units of what is left of R that is a ridge
    of a / (1 - a). It needs second moments alone, so heavy tails can't blow it up.
    """
    # Columns that never change have nothing on their diagonal.
    n_live = int(np.count_nonzero(np.diag(correlation)))
    return ridge_of_squares(float(np.einsum("ij,ij->", correlation, correlation)), n_live, n_rows)


def ridge_of_squares(sum_of_squares: float, n_live: int, n_rows: float) -> float:
    """The same from the sum of the squares of all entries."""
    if n_live < 2:
        return SMALLEST_AUTO
    squares = sum_of_squares / n_live**2
    # The mean square of all entries is 1 / n_live for the unit matrix, and more for any other.
    excess = max(squares - 1.0 / n_live, 0.0)
    intensity = (squares + 1.0) / max((n_rows + 1.0) * excess, np.finfo(float).tiny)
    if intensity >= 1.0:
        return LARGEST_AUTO
    ridge = MULTIPLE * intensity / (1.0 - intensity)
    return float(np.clip(ridge, SMALLEST_AUTO, LARGEST_AUTO))
