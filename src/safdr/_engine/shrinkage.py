"""The ridge that a correlation matrix of few rows needs."""

from __future__ import annotations

import numpy as np

# The intensity is the best for the matrix itself. Its inverse and the best of many subsets amplify
# errors more: three times as much was best (docs/design/recipe.md).
MULTIPLE = 3.0

# With more, little but the diagonal is left.
LARGEST_AUTO = 10.0

# Smallest ridge, and the default without shrinkage.
SMALLEST_AUTO = 1e-6


def ridge_of_squares(sum_of_squares: float, n_live: int, n_rows: float) -> float:
    """Return the ridge of a correlation matrix from the sum of its squared entries."""
    # The oracle-approximating intensity a of Chen, Wiesel, Eldar and Hero (2010) shrinks
    # the matrix R to (1 - a)·R + a·I: relative to R, a ridge of a / (1 - a). It needs
    # second moments alone, so it is robust to heavy tails. `n_live` is the number of
    # features that are not constant.
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
