"""What the estimators accept: parameters, and tables of rows with a two-valued label."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.validation import _check_sample_weight, validate_data

from safdr.moments import FloatArray, IntArray

# The square of anything beyond this, or of its inverse, is no longer a number with all its digits.
LARGEST = 1e150

ALL_ZERO = "sample_weight is zero for every row; some must be above 0."

# Shared by every estimator that anneals.
ANNEALING_CONSTRAINTS: dict[str, list[Any]] = {
    "n_replicas": [Interval(Integral, 1, None, closed="left")],
    "sweeps": [Interval(Real, 0, None, closed="neither")],
    "temperature_step": [Interval(Real, 0, None, closed="neither")],
    "max_steps": [Interval(Integral, 1, None, closed="left")],
    "tol": [Interval(Real, 0, None, closed="left")],
    "n_iter_no_change": [Interval(Integral, 1, None, closed="left")],
    "n_batches": [Interval(Integral, 1, None, closed="left")],
    "batch_fraction": [Interval(Real, 0, 1, closed="right")],
    "batch_draw": [StrOptions({"step", "proposal"})],
    "moves": [StrOptions({"metropolis"})],
    "ridge": [Interval(Real, 1e-12, None, closed="left")],
    "n_jobs": [None, Integral],
    "random_state": ["random_state"],
}


class SeparationWarning(ConvergenceWarning):
    """The chosen features separate the classes, so an unpenalised model has no finite optimum."""


@dataclass(frozen=True, eq=False)
class Rows:
    """Validated training data.

    Attributes
    ----------
    X : ndarray of shape (n_samples, n_features)
        Rows with a positive weight.
    y : ndarray of shape (n_samples,)
        Their labels.
    codes : ndarray of shape (n_samples,)
        Index of each label in `classes`.
    classes : ndarray of shape (2,)
        The labels, sorted.
    sample_weight : ndarray of shape (n_samples,) or None
        Weights; positive in rows that `usable` returns.
    """

    X: FloatArray
    y: NDArray[Any]
    codes: IntArray
    classes: NDArray[Any]
    sample_weight: FloatArray | None

    def take(self, indices: IntArray | NDArray[np.bool_]) -> Rows:
        """Some of the rows."""
        weight = None if self.sample_weight is None else self.sample_weight[indices]
        return Rows(self.X[indices], self.y[indices], self.codes[indices], self.classes, weight)

    def usable(self) -> Rows:
        """The rows to learn from: those with a weight, checked to be enough of each class."""
        rows = self
        if self.sample_weight is not None and not self.sample_weight.all():
            # A row of weight zero counts as absent.
            rows = self.take(self.sample_weight > 0)
        _check_classes(rows)
        if np.all(rows.X[0] == rows.X):
            raise ValueError(
                f"X has {self.X.shape[1]} feature(s), and all of them are constant: there is "
                "nothing to choose from. At least one feature must take two values."
            )
        return rows


def validate_rows(estimator: Any, X: Any, y: Any, sample_weight: Any) -> Rows:
    """Check and translate training data; an error says what is wrong and what to do.

    Parameters
    ----------
    estimator : estimator
        Gets `n_features_in_` and `feature_names_in_`.
    X, y, sample_weight : array-like
        As given to `fit`.

    Returns
    -------
    Rows
    """
    _check_frame(X)
    _check_labels(y)
    try:
        X, y = validate_data(estimator, X, y, dtype=np.float64, order="C", ensure_min_samples=2)
    except ValueError as error:
        if "Complex data" in str(error):
            raise ValueError("X must hold real numbers. Complex data not supported.") from None
        if "could not convert" in str(error):
            raise ValueError(f"X must hold numbers: {error}. Encode text, or drop it.") from None
        raise
    _check_range(X)
    classes, codes = _classes_of(y)
    weight = None if sample_weight is None else _checked_weight(sample_weight, X)
    return Rows(X, y, codes.astype(np.int64), classes, weight)


def _check_labels(y: Any) -> None:
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


def _check_range(X: FloatArray) -> None:
    """Refuse values whose squares are no longer numbers."""
    low, high = X.min(axis=0), X.max(axis=0)
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


def _classes_of(y: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
    """The two labels, and the index of each row's label among them."""
    check_classification_targets(y)
    classes, codes = np.unique(y, return_inverse=True)
    if len(classes) > 2:
        raise ValueError(
            "Only binary classification is supported. The type of the target is "
            f"{type_of_target(y, input_name='y')}: y holds {len(classes)} classes. Choose one "
            "class against the rest, for example y == label."
        )
    return classes, codes


def _checked_weight(sample_weight: Any, X: FloatArray) -> FloatArray:
    """Weights, none negative and not all zero."""
    try:
        weight: FloatArray = _check_sample_weight(
            sample_weight, X, dtype=np.float64, ensure_non_negative=True
        )
    except ValueError as error:
        if "at least one non-zero" in str(error):  # scikit-learn 1.9 and later look for that too
            raise ValueError(ALL_ZERO) from None
        raise ValueError(f"sample_weight can't be used: {error}") from None
    if not weight.any():
        raise ValueError(ALL_ZERO)
    return weight


def _check_frame(X: Any) -> None:
    """Name the columns of a data frame that are not numbers."""
    try:
        frame = nw.from_native(X, pass_through=True)
    except nw.exceptions.DuplicateError:
        raise ValueError(
            "X has columns of the same name, so that the chosen ones could not be told apart. "
            "Rename them, or pass the values without names."
        ) from None
    if isinstance(frame, nw.LazyFrame):
        raise ValueError("X is a lazy frame; call .collect() and pass the result.")
    if not isinstance(frame, nw.DataFrame):
        return
    text = [
        name
        for name, dtype in frame.schema.items()
        if not (dtype.is_numeric() or dtype in (nw.Boolean, nw.Object, nw.Unknown))
    ]
    if text:
        listed = ", ".join(repr(name) for name in text[:5]) + (", …" if len(text) > 5 else "")
        raise ValueError(
            f"X has {len(text)} column(s) that are not numbers: {listed}. Encode them (for example "
            "with sklearn.preprocessing.OneHotEncoder) or drop them."
        )


def _check_classes(rows: Rows) -> None:
    """Two classes with two rows each; one row of weight two or more counts as two."""
    if len(rows.codes) == 0:
        raise ValueError(ALL_ZERO)
    counts = np.bincount(rows.codes, minlength=2)
    present = rows.classes[np.flatnonzero(counts)]
    if len(present) < 2:
        raise ValueError(
            f"y holds one class only, {shown(present[0])}; the classifier needs rows of 2 classes."
        )
    counts = np.maximum(counts, np.bincount(rows.codes, weights=rows.sample_weight))
    if counts.min() < 2:
        raise ValueError(
            f"y holds 1 row of class {shown(rows.classes[counts.argmin()])}; each class needs at "
            "least 2 rows, or it has no variance."
        )


def shown(label: Any) -> str:
    """A label as people write it: 1 and 'yes', not np.int64(1)."""
    return repr(label.item() if isinstance(label, np.generic) else label)


def seed_from(random_state: Any) -> int:
    """A seed for the engine out of scikit-learn's `random_state`."""
    return int(check_random_state(random_state).randint(np.iinfo(np.int32).max))


def warn_if_separated(separated: bool, size: int) -> None:
    """Say once that the unpenalised model has no finite optimum."""
    if separated:
        warnings.warn(
            f"The chosen {size} feature(s) separate the classes, completely or in part: the "
            "coefficients of an unpenalised logistic model grow without bound, and the values "
            "returned are where the fit stopped. Choose fewer features if there are several, or "
            "pass a penalised estimator, for example estimator=make_pipeline(StandardScaler(), "
            "LogisticRegression()).",
            SeparationWarning,
            stacklevel=3,
        )
