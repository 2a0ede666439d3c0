"""Coefficients of the features as they came, where rounding would take digits that count."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from safdr._engine.arrays import FloatArray, IntArray
from safdr._engine.fits.columns import Standardiser
from safdr._engine.fits.fits import Fits

# A row with less than this to lose does not count.
LEAST_LOSS = 1e-10

# A column whose deviation is below this share of its center may stand in for an intercept.
NEARLY_CONSTANT = 1e-3


class Target(NamedTuple):
    """What models are fitted to; half the penalty times the squared slopes is part of a loss."""

    codes: NDArray[np.integer[Any]]
    weight: FloatArray | None
    penalty: float


def rounded_with_care(
    fits: Fits,
    subsets: IntArray,
    rows: Standardiser,
    target: Target,
    fit_anew: Callable[[Standardiser, IntArray], Fits],
) -> Fits:
    """Models of the features as they came; those that rounding would spoil, made with care.

    Slopes of 1e13 take rows to infinity beside values of 1e13. If these rows are at the center of a
    column, a 0/1 feature, say, all others have their logits from the difference of two such
    numbers, and no fit finds its way by that. Then one is made with the center where rows count.
    Of such models the loss is that of the rounded coefficients.
    """
    came, coarse = rows.undo(fits, subsets)
    for i in np.flatnonzero(coarse):
        subset = subsets[i]
        best = _best_rounded(fits.take(np.array([i])), subset, rows, target)
        counts = best.row_losses > LEAST_LOSS
        if counts.any():
            center = rows.center.copy()
            center[subset] = np.median(rows.as_they_came(subset)[counts], axis=0)
            moved = rows.centred_at(center)
            anew = _best_rounded(fit_anew(moved, subset[None]), subset, moved, target)
            best = min(best, anew, key=lambda rounded: rounded.fits.losses[0])
        for all_of_them, one in zip(came, best.fits, strict=True):
            if all_of_them is not None:
                all_of_them[i] = one[0]
    return came


class _Rounded(NamedTuple):
    fits: Fits  # one model on the original scale, with the loss that it has
    row_losses: FloatArray


def _best_rounded(fits: Fits, subset: IntArray, rows: Standardiser, target: Target) -> _Rounded:
    """One model on the original scale, rounded in the better of two ways."""
    plain, _ = rows.undo(fits, subset[None])
    slopes = _filled_up(plain, fits.intercepts[0], rows.center[subset], rows.scale[subset])
    both = (plain, plain._replace(coefficients=slopes))
    rounded = [_with_its_loss(some, subset, rows, target) for some in both]
    return min(rounded, key=lambda one: one.fits.losses[0])


def _filled_up(fits: Fits, wanted: FloatArray, center: FloatArray, scale: FloatArray) -> FloatArray:
    """Slopes of one model that make up for what its intercepts lack.

    An intercept of 1e16 is a whole number. A column far from zero that hardly varies is nearly an
    intercept too, and its slope is smaller, so that rounding takes less of the product.
    """
    slopes = fits.coefficients.copy()
    near = np.flatnonzero(scale < NEARLY_CONSTANT * np.abs(center))
    for j in near[np.argsort(scale[near] / np.abs(center[near]), kind="stable")]:
        lacking = wanted - _logits_at(center, slopes[0], fits.intercepts[0])
        slopes[0][..., j] += lacking / center[j]
    return slopes


def _with_its_loss(fits: Fits, subset: IntArray, rows: Standardiser, target: Target) -> _Rounded:
    """One model on the original scale with the loss that its coefficients have."""
    slopes, intercepts, center = fits.coefficients[0], fits.intercepts[0], rows.center[subset]
    # In extended precision, where there is one: huge values cancel.
    deviations = rows.as_they_came(subset).astype(np.longdouble) - center
    logits = deviations @ slopes.T + _logits_at(center, slopes, intercepts)
    if logits.ndim == 1:  # one set of coefficients for two classes
        logits = np.column_stack([np.zeros_like(logits), logits])
    own = logits[np.arange(len(logits)), target.codes]
    losses = logsumexp((logits - own[:, None]).astype(float), axis=1)
    # The fit punishes what classes don't share.
    punished = (slopes - slopes.mean(axis=0) if slopes.ndim == 2 else slopes) * rows.scale[subset]
    loss = np.average(losses, weights=target.weight) + 0.5 * target.penalty * np.sum(punished**2)
    return _Rounded(fits._replace(losses=np.array([loss])), losses)


def _logits_at(point: FloatArray, slopes: FloatArray, intercepts: FloatArray) -> FloatArray:
    """What a model gives for one row: exact, since huge terms cancel."""
    numbers = [Fraction(x) for x in [*point.tolist(), 1.0]]
    models = np.column_stack([np.atleast_2d(slopes), np.ravel(intercepts)]).tolist()
    exact = [
        sum(Fraction(slope) * x for slope, x in zip(model, numbers, strict=True))
        for model in models
    ]
    return np.array([float(logit) for logit in exact]).reshape(np.shape(intercepts))
