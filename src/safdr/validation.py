"""What the estimators accept: parameters, and tables of finite numbers."""

from __future__ import annotations

import sys
import warnings
from numbers import Integral, Real
from typing import Any

import narwhals as nw
import numpy as np
from scipy.sparse import issparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions
from sklearn.utils.validation import _check_sample_weight, validate_data

from safdr.moments import FloatArray

# The square of anything beyond this, or of its inverse, is no longer a number with all its digits.
LARGEST = 1e150

ALL_ZERO = "sample_weight is zero for every row; some must be above 0."

# Shared by every estimator that anneals.
ANNEALING_CONSTRAINTS: dict[str, Any] = {
    "criterion": [None, HasMethods(["fit"]), callable],
    "estimator": [None, HasMethods(["fit"])],
    "pick": [StrOptions({"auto", "linear", "criterion"})],
    "always_include": "no_validation",
    "never_include": "no_validation",
    "groups": "no_validation",
    "at_most_one_of": "no_validation",
    "count_by": [StrOptions({"group", "column"})],
    "feature_cost": "no_validation",
    "cost_strength": [Interval(Real, 0, None, closed="left")],
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

CLASS_WEIGHT_CONSTRAINT: dict[str, list[Any]] = {
    "class_weight": [None, dict, StrOptions({"balanced"})],
}


class SeparationWarning(ConvergenceWarning):
    """The chosen features separate the classes, so an unpenalised model has no finite optimum."""


def validated(estimator: Any, X: Any, y: Any, **how: Any) -> tuple[Any, Any]:
    """X and y as arrays (X as CSR, if it is sparse), checked; an error says what to do.

    Parameters
    ----------
    estimator : estimator
        Gets `n_features_in_` and `feature_names_in_`.
    X, y : array-like
        As given to `fit`.
    **how
        For scikit-learn's `validate_data`.

    Returns
    -------
    X, y
    """
    _check_frame(X)
    try:
        X, y = validate_data(
            estimator,
            X,
            y,
            accept_sparse="csr",
            dtype=np.float64,
            order="C",
            ensure_min_samples=2,
            **how,
        )
    except ValueError as error:
        if "Complex data" in str(error):
            raise ValueError("X must hold real numbers. Complex data not supported.") from None
        if "could not convert" in str(error):
            raise ValueError(f"X must hold numbers: {error}. Encode text, or drop it.") from None
        raise
    _check_range(X)
    return X, y


def extremes(X: Any) -> tuple[FloatArray, FloatArray]:
    """Smallest and largest value of each column."""
    if issparse(X):
        return X.min(axis=0).toarray().ravel(), X.max(axis=0).toarray().ravel()
    return X.min(axis=0), X.max(axis=0)


def _check_range(X: Any) -> None:
    """Refuse values whose squares are no longer numbers."""
    low, high = extremes(X)
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


def checked_weight(sample_weight: Any, X: Any) -> FloatArray:
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
            'LogisticRegression()), pick="linear". Where another model predicts in the end, this '
            "does not matter.",
            SeparationWarning,
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
