"""What rows the estimators accept: tables of finite numbers, measured outputs, and weights."""

from __future__ import annotations

import sys
import warnings
from numbers import Number
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import _check_sample_weight, validate_data

from safdr._engine import wide
from safdr._engine.arrays import FloatArray
from safdr._engine.taken_rows import TakenRows
from safdr._estimators.bad_columns import better_told, check_kinds
from safdr._estimators.parameters import as_float

# The square of anything beyond this, or of its inverse, is no longer a number with all its digits.
LARGEST = 1e150

# A row must weigh at least this share of the heaviest. Where the heavy rows are too few to fix a
# model, the light ones do, and their part of the moments is rounded to 1e-16 of the whole: this
# leaves it at least four digits, and keeps it above the variance that least squares take for none.
LEAST_ROW_SHARE = 1e-10

# A class must have at least this share of the weight. Of two classes, where probabilities near one
# are rounded to 1e-16, this leaves the gradient four digits. Of more, the fit ends when 1e-11 of
# the loss is left, and a class of share s has about s of it: its slopes are then known to
# √(1e-11 / s), three parts in a hundred, before the last step squares that.
LEAST_SHARE_OF_TWO = 1e-12
LEAST_SHARE_OF_MORE = 1e-8

# Numbers of so many different values are more often measurements than labels.
MANY_CLASSES = 20

ALL_ZERO = "sample_weight is zero for every row; some must be above 0."


class SeparationWarning(ConvergenceWarning):
    """The chosen features separate the classes, so an unpenalised model has no finite optimum."""


class SeenColumns(BaseEstimator):
    """Takes the number and names of the columns where no estimator does."""

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.input_tags.sparse = True
        return tags


def validated(seen: Any, X: Any, y: Any, *, min_rows: int = 2, **how: Any) -> tuple[Any, Any]:
    """X and y as arrays (X as CSR, if it is sparse), checked; an error says what to do."""
    if _is_elsewhere(X):
        rows = _device_rows(X)
        # The target is checked beside a column that says nothing.
        _, y = validated(SeenColumns(), np.zeros((len(X), 1)), y, min_rows=min_rows, **how)
        seen.n_features_in_ = rows.shape[1]
        _check_range(rows)
        return rows, y
    if not (isinstance(X, np.ndarray) and X.dtype.kind in "biuf"):  # else all are numbers
        check_kinds(X)
    try:
        X, y = validate_data(
            seen,
            X,
            y,
            accept_sparse="csr",
            dtype=_types(X),
            order="C",
            ensure_min_samples=min_rows,
            **how,
        )
    except (TypeError, ValueError) as error:
        raise better_told(X, error) from None
    _check_range(X)
    return X, y


def rows_like_those_seen(estimator: Any, X: Any) -> Any:
    """X as an array, checked to have the columns that an estimator was fitted to."""
    if _is_elsewhere(X) and X.shape[1:] == (estimator.n_features_in_,):
        return _device_rows(X)
    try:
        return validate_data(estimator, X, accept_sparse="csr", dtype=np.float64, reset=False)
    except (TypeError, ValueError) as error:
        raise better_told(X, error) from None


def _is_elsewhere(X: Any) -> bool:
    """Whether it is a tensor of torch's in the memory of a device."""
    return type(X).__module__ == "torch" and X.device.type != "cpu"


def _device_rows(X: Any) -> Any:
    """Rows that stay on their device, checked there."""
    from safdr._engine.device.rows import DeviceRows

    if X.ndim != 2 or not X.dtype.is_floating_point or not bool(X.isfinite().all()):
        raise ValueError(
            f"X on device {str(X.device)!r} must have two dimensions and finite floating-point "
            f"numbers; got {X.ndim} dimension(s) of {X.dtype}. `X.double()` makes such numbers; "
            "missing values must be filled."
        )
    return DeviceRows(X)


def _types(X: Any) -> Any:
    """What numbers may be: double precision, and single where it would double very many."""
    many = isinstance(X, np.ndarray) and X.ndim == 2 and X.shape[1] > wide.WIDE
    return [np.float64, np.float32] if many else np.float64


def extremes(X: Any) -> tuple[FloatArray, FloatArray]:
    """Smallest and largest value of each column."""
    if issparse(X):
        return X.min(axis=0).toarray().ravel(), X.max(axis=0).toarray().ravel()
    if isinstance(X, TakenRows):
        low, high = zip(*map(extremes, X.blocks()), strict=True)
        return np.min(low, axis=0), np.max(high, axis=0)
    return X.min(axis=0), X.max(axis=0)


def _check_range(X: Any) -> None:
    """Refuse values whose squares are no longer numbers."""
    low, high = (np.asarray(values, dtype=np.float64) for values in extremes(X))
    spread = high - low
    bad = np.flatnonzero(
        (np.maximum(-low, high) > LARGEST) | ((spread > 0) & (spread < 1 / LARGEST))
    )
    if bad.size:
        j = bad[0]
        raise ValueError(
            f"X holds values too large or too close together to be squared: column {j} goes from "
            f"{low[j]:.3g} to {high[j]:.3g}. Sizes up to {LARGEST:.0e} and differences from "
            f"{1 / LARGEST:.0e} are allowed; divide the column by a constant."
        )


def numbers(y: Any) -> Any:
    """Refuse text, even where it looks like numbers, dates and the like; None becomes NaN."""
    if y is None:
        raise ValueError("fit requires y to be passed, but the target y is None.")
    values = np.asarray(y)
    if values.dtype.kind in "biuf":
        return y
    if values.dtype.kind == "c":
        raise ValueError("y must hold numbers; got complex ones. Complex data not supported.")
    of_any_type = values.dtype == object
    for value in values.flat:
        if not of_any_type or isinstance(value, complex) or not isinstance(value, Number | None):
            raise ValueError(
                f"y must hold numbers; got {shown(value)}. Text that means numbers becomes such by "
                "y.astype(float). For labels there are AnnealingSelector and AnnealingSelectorCV."
            )
    flat = [np.nan if value is None else as_float(value) for value in values.flat]
    return np.array(flat).reshape(values.shape)


def check_labels(y: Any) -> None:
    """Refuse labels that can't be sorted; numbers that are missing are found later."""
    labels = np.asarray(y)
    if labels.dtype != object:
        return
    try:
        np.unique(labels)
    except TypeError as error:
        raise ValueError(
            f"y must hold labels of one type, and none missing ({error}). Drop the rows without a "
            "label."
        ) from None


def check_classes(data: Any) -> None:
    """At least two classes with two rows each; one row of weight two or more counts as two."""
    if len(data.codes) == 0:
        raise ValueError(ALL_ZERO)
    counts = np.bincount(data.codes, minlength=len(data.classes))
    present = data.classes[np.flatnonzero(counts)]
    if len(present) < 2:
        raise ValueError(
            f"y holds one class only, {shown(present[0])}; the classifier needs rows of at least 2 "
            "classes."
        )
    if len(present) < len(data.classes):
        gone = data.classes[np.flatnonzero(counts == 0)[0]]
        raise ValueError(
            f"y holds no row of class {shown(gone)} with a weight above 0; each class needs at "
            "least 2 rows."
        )
    weighted = np.bincount(data.codes, weights=data.sample_weight, minlength=len(data.classes))
    counts = np.maximum(counts, weighted)
    if counts.min() < 2:
        raise ValueError(
            f"y holds 1 row of class {shown(data.classes[counts.argmin()])}; each class needs at "
            f"least 2 rows, or it has no variance.{if_measured(data.classes)}"
        )


def check_not_constant(X: Any) -> None:
    """Refuse rows that are all the same."""
    # A few rows tell, as a rule.
    if all(np.array_equal(*extremes(some)) for some in (X[:64], X)):
        raise ValueError(
            f"X has {X.shape[1]} feature(s), and all of them are constant: there is nothing to "
            "choose from. At least one feature must take two values."
        )


def check_outputs(y: FloatArray) -> None:
    """Refuse values whose squares are no longer numbers."""
    largest = np.abs(y).max()
    if largest > LARGEST:
        raise ValueError(
            f"y holds values too large to be squared, up to {largest:.3g}; sizes up to "
            f"{LARGEST:.0e} are allowed. Divide it by a constant."
        )
    spread = y.max(axis=0) - y.min(axis=0)
    if np.any((spread > 0) & (spread < 1 / LARGEST)):
        raise ValueError(
            f"y holds values too close together to be squared: its largest difference is "
            f"{spread[spread > 0].min() if y.ndim > 1 else spread:.3g}, and {1 / LARGEST:.0e} is "
            "the least that is allowed. Multiply it by a constant."
        )


def checked_weight(sample_weight: Any, X: Any) -> FloatArray:
    """Weights, none negative and not all zero."""
    if np.asarray(sample_weight).dtype.kind not in "biufO":
        kind = np.asarray(sample_weight).dtype
        raise ValueError(f"sample_weight must hold numbers; got values of type {kind}.")
    try:
        weight: FloatArray = _check_sample_weight(
            sample_weight, X, dtype=np.float64, ensure_non_negative=True
        )
    except (TypeError, ValueError) as error:
        if "at least one non-zero" in str(error):  # scikit-learn 1.9 and later look for that too
            raise ValueError(ALL_ZERO) from None
        raise ValueError(f"sample_weight can't be used: {error}") from None
    if not np.isfinite(weight).all():  # scikit-learn lets one number for all rows pass
        raise ValueError(f"sample_weight must be finite; got {sample_weight!r}.")
    if not weight.any():
        raise ValueError(ALL_ZERO)
    return weight


def check_ratio_of_weights(weight: FloatArray, name: str) -> None:
    """Refuse rows that weigh too little beside the heaviest for double precision to see them."""
    low, high = weight.min(), weight.max()
    if low < LEAST_ROW_SHARE * high:
        raise ValueError(
            f"{name} goes from {low:.3g} to {high:.3g}: the lightest row has {low / high:.1e} of "
            f"the weight of the heaviest, and {LEAST_ROW_SHARE:.0e} is the least that counts in "
            "double precision. Give such rows a weight of 0, which leaves them out, or a larger "
            "one."
        )


def if_measured(classes: NDArray[Any]) -> str:
    """What to say where labels look like measurements."""
    if classes.dtype.kind not in "iuf" or len(classes) <= MANY_CLASSES:
        return ""
    return (
        f" With its {len(classes)} values y looks measured: for that there are "
        "AnnealingRegressorSelector and AnnealingRegressorSelectorCV."
    )


def shown(label: Any) -> str:
    """A label as people write it: 1 and 'yes', not np.int64(1)."""
    return repr(label.item() if isinstance(label, np.generic) else label)


def warn_separated(size: int) -> None:
    """Say once that the unpenalised model has no finite optimum."""
    warnings.warn(
        f"The chosen {size} feature(s) separate the classes, completely or in part: the "
        "coefficients of an unpenalised logistic model grow without bound, and the values "
        "returned are where the fit stopped. Choose fewer features if there are several, or "
        "penalise the model: C=1, the default. Where another model predicts in the end, this does "
        "not matter.",
        SeparationWarning,
        stacklevel=_callers_level(),
    )


def warn_unfinished(size: int) -> None:
    """Say once that the model may not be the best on its features."""
    warnings.warn(
        f"The fit on the chosen {size} feature(s) stopped where rounding hides the way to its "
        "optimum: its loss, and what was chosen by it, may be off. Values of a column that "
        "differ by many orders of magnitude, or columns that are nearly equal, are the usual "
        "reason: clip or transform them (logarithms, ranks), or leave one out.",
        ConvergenceWarning,
        stacklevel=_callers_level(),
    )


def _callers_level() -> int:
    """How far up the stack the user's own line is: past this package and scikit-learn."""
    level, frame = 1, sys._getframe(1)
    while frame.f_back is not None:
        level, frame = level + 1, frame.f_back
        if frame.f_globals.get("__name__", "").partition(".")[0] not in ("safdr", "sklearn"):
            break
    return level
