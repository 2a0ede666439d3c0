"""Validation of rows, weights and sources: they become a problem."""

from __future__ import annotations

from copy import deepcopy
from numbers import Integral
from os import PathLike
from typing import Any

import narwhals as nw
import numpy as np
from sklearn.base import BaseEstimator, clone, is_regressor
from sklearn.utils import check_random_state
from sklearn.utils._missing import is_pandas_na, is_scalar_nan
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, column_or_1d, validate_data

from safdr._engine import columns as sources
from safdr._engine.arrays import FloatArray
from safdr._estimators.counts import LogLinearProblem
from safdr._estimators.data import ClassProblem, Problem, RegressionProblem
from safdr._estimators.device import device_rows, is_on_device
from safdr._estimators.features import allowed_subsets, feature_cost, feature_names
from safdr.errors import ParameterError


def make_problem(selector: Any, X: Any, y: Any, sample_weight: Any = None) -> Any:
    """Return the problem of a selector's parameters; the selector does not change."""
    if hasattr(selector, "n_features_in_") and not is_source(X, y):
        validate_data(selector, X, skip_check_array=True, reset=False)
    problem = read_problem(clone(selector), X, y, sample_weight, fit_seed(selector)).usable()
    names = feature_names(selector)
    if names is not None and problem.names not in (None, names):
        raise ValueError(
            f"X must have the columns of the fit, {names[:5]} …; got {problem.names[:5]} …."
        )
    return problem


def read_problem(selector: Any, X: Any, y: Any, sample_weight: Any, seed: int) -> Any:
    """Validate rows, or read a source; set the attributes of columns and classes."""
    if selector._is_survival:
        from safdr._estimators.survival import read_survival

        return read_survival(selector, X, y, sample_weight)
    if is_source(X, y):
        from safdr._estimators.streaming import read

        return read(selector, X, y, sample_weight, seed)
    regression = selector._is_regression
    check_target(y)
    X, y = validate_rows(selector, X, y, regression=regression)
    if not regression:
        check_classification_targets(y)
    weight = None
    if sample_weight is not None:
        weight = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
        if not weight.any():
            raise ValueError("sample_weight must be positive for some rows; all are zero.")
    return problem_of(selector, X, y, weight)


def problem_of(selector: Any, X: Any, y: Any, row_weight: FloatArray | None) -> Problem:
    """Return the problem of validated rows; set `classes_`."""
    rows = {"X": X, "y": y, "row_weight": row_weight}
    if selector._is_regression and selector.family != "gaussian":
        rows["y"] = column_or_1d(y, warn=True)
        return LogLinearProblem(family_name=selector.family, **problem_fields(selector), **rows)
    if selector._is_regression:
        return RegressionProblem(**problem_fields(selector), **rows)
    selector.classes_, codes = np.unique(y, return_inverse=True)
    labels = {"codes": codes.astype(np.int64), "classes": selector.classes_}
    return ClassProblem(**problem_fields(selector), **labels, **rows)


def problem_fields(selector: Any) -> dict[str, Any]:
    """Return the fields of a problem that describe its columns and class weights."""
    names = feature_names(selector)
    fields = {
        "allowed": allowed_subsets(selector.constraints, selector.n_features_in_, names),
        "cost": feature_cost(selector, names),
        "names": names,
    }
    if not selector._is_regression:
        fields["class_weight"] = selector.class_weight
    return fields


def every_column(model: Any, X: Any, y: Any, sample_weight: Any) -> Problem:
    """Return the problem of a model on all columns; set its attributes of columns and classes."""
    is_survival, family = hasattr(model, "_is_survival"), getattr(model, "family", "gaussian")
    unfitted = _EveryColumn(regression=is_regressor(model) or is_survival, family=family)
    unfitted._is_survival = is_survival
    problem: Problem = read_problem(unfitted, X, y, sample_weight, 0).usable()
    model.__dict__.update({k: v for k, v in vars(unfitted).items() if k.endswith("_")})
    return problem


class _EveryColumn(BaseEstimator):
    """Parameters of a problem without a selector."""

    constraints = feature_cost = class_weight = None
    _is_survival = False

    def __init__(self, *, regression: bool = False, family: str = "gaussian") -> None:
        self.regression = self._is_regression = regression
        self.family = family

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.input_tags.sparse = True
        return tags


def is_source(X: Any, y: Any) -> bool:
    """Return True if rows are read from a source; then y is the name of a column."""
    is_path = isinstance(X, str | PathLike) or callable(X)
    return is_path or isinstance(y, str) or hasattr(X, "dask") or hasattr(X, "sample_rows")


def check_scored(y: Any) -> None:
    """Raise an error for the name of a column: a score needs its values."""
    if isinstance(y, str):
        raise ParameterError(
            "y",
            f"must hold the target of each row for a score; got the name {y!r}. Read that column "
            "of the source, and pass its values.",
        )


def validate_rows(selector: Any, X: Any, y: Any, *, regression: bool) -> tuple[Any, Any]:
    """Return X and y as arrays; an error names the columns that cannot be used."""
    checks: dict[str, Any] = {"y_numeric": True, "multi_output": True} if regression else {}
    if is_on_device(X):
        _, y = validate_data(clone(selector), np.zeros((len(X), 1)), y, **checks)
        selector.n_features_in_ = X.shape[1]
        return device_rows(X), y
    check_columns(X)
    wide_array = isinstance(X, np.ndarray) and X.ndim == 2 and X.shape[1] > sources.MAX_DENSE
    dtype: Any = [np.float64, np.float32] if wide_array else np.float64
    checks |= {"accept_sparse": "csr", "dtype": dtype, "order": "C", "ensure_min_samples": 2}
    X, y = validate_data(selector, X, y, **checks)
    return X, np.ascontiguousarray(y, dtype=np.float64) if regression else y


def check_target(y: Any) -> None:
    """Raise an error that counts missing values of the target, of any type."""
    kind = object if isinstance(y, list) else None  # NaN in a list of texts would become a text
    values = np.atleast_1d(np.asarray([] if y is None else y, dtype=kind))
    missing: Any = np.isnan(values) if values.dtype.kind == "f" else np.zeros(1)
    if values.dtype.kind == "O":
        each = [v is None or is_pandas_na(v) or is_scalar_nan(v) for v in values.flat]
        missing = np.reshape(each, values.shape)
    if missing.any():
        raise ValueError(
            f"y has {missing.sum()} missing value(s) (first: row {np.argwhere(missing)[0, 0]}). "
            "Drop these rows."
        )


def check_columns(X: Any) -> None:
    """Raise an error that names columns without numbers, or with missing values."""
    try:
        frame = nw.from_native(X, pass_through=True)
    except nw.exceptions.DuplicateError as error:
        raise ValueError(f"X has columns of the same name: {error}") from None
    if isinstance(frame, nw.LazyFrame):
        raise ValueError(
            "X is a lazy frame. Pass the name of the target column as y, or collect()."
        )
    if not isinstance(frame, nw.DataFrame):
        return
    kinds = frame.schema.items()
    text = [
        name for name, kind in kinds if not (kind.is_numeric() or kind in (nw.Boolean, nw.Object))
    ]
    if text:
        raise ValueError(
            f"X has columns that are not numbers: {text[:5]}. Drop them, or encode them, as with "
            "TableEncoder."
        )
    missing = [
        name
        for j, (name, kind) in enumerate(kinds)
        if kind != nw.Object and _has_missing(frame[:, j])
    ]
    if missing:
        raise ValueError(
            f"Input X contains NaN in the columns {missing[:5]}. Impute or drop them: "
            "make_pipeline(SimpleImputer(), selector)."
        )


def _has_missing(column: Any) -> bool:
    return bool(column.is_null().any()) or (column.dtype.is_float() and bool(column.is_nan().any()))


def fit_seed(selector: Any) -> int:
    """Return the seed of the last fit, or the one that a fit would draw."""
    seed = getattr(selector, "_seed", None)
    return seed_from(deepcopy(selector.random_state)) if seed is None else int(seed)


def seed_from(random_state: Any) -> int:
    """Return a seed for the engine."""
    if isinstance(random_state, Integral):
        random_state = int(random_state)
    return int(check_random_state(random_state).randint(np.iinfo(np.int32).max))
