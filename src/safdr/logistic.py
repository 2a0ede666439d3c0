"""Candidate subsets become unpenalised logistic fits and cross-entropies."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from safdr import _core
from safdr.checkpoint import no_checkpoint
from safdr.moments import FloatArray, IntArray

# Half the squared Newton decrement estimates what is left of the mean cross-entropy, and the step
# that follows squares it: coefficients end at rounding error.
TOL = 1e-9
MAX_ITER = 100

# Some tenth of a second, after which Python gets its turn: to see Ctrl-C, or a checkpoint.
OPERATIONS_AT_ONCE = 3e8


@dataclass(frozen=True, eq=False)
class LogisticFits:
    """One logistic model a subset, on the original scale of the features.

    Attributes
    ----------
    coefficients : ndarray of shape (n_subsets, size)
        Slopes.
    intercepts : ndarray of shape (n_subsets,)
        Intercepts.
    cross_entropies : ndarray of shape (n_subsets,)
        Mean cross-entropy over the weight of the rows; 0 under complete separation.
    separated : ndarray of shape (n_subsets,), dtype=bool
        Whether the classes can be separated, so that the optimum lies at infinity.
    n_iter : ndarray of shape (n_subsets,)
        Newton steps.
    """

    coefficients: FloatArray
    intercepts: FloatArray
    cross_entropies: FloatArray
    separated: NDArray[np.bool_]
    n_iter: IntArray


def fit_subsets(
    X: FloatArray,
    y: FloatArray,
    sample_weight: FloatArray,
    subsets: IntArray,
    *,
    center: FloatArray,
    scale: FloatArray,
    n_threads: int = 1,
    checkpoint: Callable[[], None] = no_checkpoint,
) -> LogisticFits:
    """Fit an unpenalised logistic model to each subset of the columns of X.

    Equal subsets are fitted once.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
        Rows; any scale.
    y : ndarray of shape (n_samples,)
        1 where the row is of the second class, else 0.
    sample_weight : ndarray of shape (n_samples,)
        Positive weights.
    subsets : ndarray of shape (n_subsets, size)
        Columns of each model.
    center, scale : ndarray of shape (n_features,)
        The fit works on (x - center) / scale, for conditioning; a scale of zero counts as one.
    n_threads : int, default=1
        Threads over subsets. The answer does not depend on it.
    checkpoint : callable, default=no_checkpoint
        Called several times a second; may raise to stop.

    Returns
    -------
    LogisticFits
    """
    distinct, inverse = np.unique(subsets, axis=0, return_inverse=True)
    divisor = np.where(scale > 0, scale, 1.0)
    # A fit takes some ten passes of size² operations a row.
    at_once = n_threads * (
        1 + int(OPERATIONS_AT_ONCE / (10 * X.shape[0] * (subsets.shape[1] + 1) ** 2))
    )
    parts = []
    for start in range(0, len(distinct), at_once):
        checkpoint()
        parts.append(
            _core.fit_logistic(
                X,
                np.ascontiguousarray(center),
                divisor,
                np.ascontiguousarray(y, dtype=np.float64),
                np.ascontiguousarray(sample_weight, dtype=np.float64),
                distinct[start : start + at_once].astype(np.int32),
                max_iter=MAX_ITER,
                tol=TOL,
                n_threads=n_threads,
            )
        )
    scaled, cross_entropies, separated, _, n_iter = map(np.concatenate, zip(*parts, strict=True))
    slopes = scaled[:, :-1] / divisor[distinct]
    intercepts = scaled[:, -1] - np.sum(slopes * center[distinct], axis=1)
    return LogisticFits(
        coefficients=slopes[inverse],
        intercepts=intercepts[inverse],
        cross_entropies=cross_entropies[inverse],
        separated=separated[inverse],
        n_iter=n_iter[inverse],
    )
