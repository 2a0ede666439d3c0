"""Coefficients of standardised columns become those of the features as they came."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from safdr._engine.arrays import FloatArray, IntArray
from safdr._engine.fits.columns import Standardiser
from safdr._engine.fits.fits import Fits

# An intercept of standardised columns beyond this is that of rows far out on their way to infinity.
LARGEST_INTERCEPT = 1e5

# What rounding may take from the logits, where large numbers make up an intercept on the original
# scale; the loss may be off by half the square of it.
MOST_LOST = 1e-4

# A row with less than this to lose does not count.
LEAST_LOSS = 1e-10


def original_scale(
    fits: Fits,
    subsets: IntArray,
    rows: Standardiser,
    codes: NDArray[np.integer[Any]],
    weight: FloatArray | None,
    fit_anew: Callable[[Standardiser, IntArray], Fits],
) -> Fits:
    """Slopes and intercepts of the features as they came.

    Slopes of 1e13 take rows to infinity beside values of 1e13. If these rows are at the center of a
    column, a 0/1 feature, say, all others have their logits from the difference of two such
    numbers, and no fit finds its way by that. Then one is made with the center where rows count.
    """
    fits, coarse = _as_they_came(fits, subsets, rows)
    for i in np.flatnonzero(coarse & (fits.losses > 0)):
        subset = subsets[i]
        X = rows.as_they_came(subset)
        losses = _row_losses(X, codes, fits.coefficients[i], fits.intercepts[i])
        counts = losses > LEAST_LOSS
        if not counts.any():
            continue
        center = rows.center.copy()
        center[subset] = np.median(X[counts], axis=0)
        moved = rows.centred_at(center)
        anew, _ = _as_they_came(fit_anew(moved, subset[None]), subset[None], moved)
        others = _row_losses(X, codes, anew.coefficients[0], anew.intercepts[0])
        if np.average(others, weights=weight) < np.average(losses, weights=weight):
            for old, new in zip(fits, anew, strict=True):
                if old is not None:
                    old[i] = new[0]
    return fits


def _as_they_came(
    fits: Fits, subsets: IntArray, rows: Standardiser
) -> tuple[Fits, NDArray[np.bool_]]:
    """The models on the original scale, and of which the logits are made up of huge numbers."""
    per_class = (slice(None), None) if fits.coefficients.ndim == 3 else slice(None)
    slopes = fits.coefficients / rows.scale[subsets][per_class]
    terms = slopes * rows.center[subsets][per_class]
    intercepts = fits.intercepts - np.sum(terms, axis=-1)
    coarse = _largest(fits.intercepts) > LARGEST_INTERCEPT
    coarse |= np.finfo(float).eps * _largest(terms) > MOST_LOST
    return fits._replace(coefficients=slopes, intercepts=intercepts, left=None), coarse


def _largest(numbers: FloatArray) -> FloatArray:
    """Of each model."""
    return np.abs(numbers).reshape(len(numbers), -1).max(axis=1)


def _row_losses(
    X: FloatArray, codes: NDArray[np.integer[Any]], slopes: FloatArray, intercepts: FloatArray
) -> FloatArray:
    """Cross-entropy of each row, in extended precision where there is one: huge values cancel."""
    logits = X.astype(np.longdouble) @ slopes.T + intercepts
    if logits.ndim == 1:  # one set of coefficients for two classes
        logits = np.column_stack([np.zeros_like(logits), logits])
    own = logits[np.arange(len(logits)), codes]
    return logsumexp((logits - own[:, None]).astype(float), axis=1)
