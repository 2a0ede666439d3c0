"""Rows, and features by name, become a problem."""

from __future__ import annotations

from collections.abc import Mapping
from copy import deepcopy
from difflib import get_close_matches
from numbers import Integral
from os import PathLike
from typing import Any

import narwhals as nw
import numpy as np
from sklearn.base import clone
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, column_or_1d, validate_data

from safdr._engine import columns as sources
from safdr._engine.arrays import FloatArray, IntArray
from safdr._engine.constraints import AllowedSubsets
from safdr._estimators.counts import LogLinearProblem
from safdr._estimators.data import ClassProblem, Problem, RegressionProblem
from safdr._memory import check_exclusions
from safdr.errors import Columns, ParameterError

Names = tuple[str, ...] | None

SIGNS: dict[Any, int] = {"+": 1, "-": -1, 1: 1, -1: -1, 0: 0}


# ---- Rows ----------------------------------------------------------------------------------------


def make_problem(selector: Any, X: Any, y: Any, sample_weight: Any = None) -> Any:
    """Return the problem of a selector's parameters; the selector does not change."""
    check_selector(selector)
    problem = read_problem(clone(selector), X, y, sample_weight, fit_seed(selector)).usable()
    names, n_features = feature_names(selector), getattr(selector, "n_features_in_", None)
    if n_features not in (None, problem.n_features) or (
        names is not None and problem.names not in (None, names)
    ):
        raise ValueError(
            f"X must have the {n_features} features of the fit; got {problem.n_features}: "
            f"{(problem.names or ())[:5]} …. Name the columns of the target and of the weights "
            "as in the fit."
        )
    return problem


def built_in_problem(selector: Any, X: Any, y: Any, sample_weight: Any) -> Problem:
    """Return the problem of a selector that has no custom criterion."""
    check_selector(selector)
    if callable(selector.criterion):
        raise ParameterError(
            "criterion",
            f"must be built-in, because a callable has no bounds; got {selector.criterion!r}.",
        )
    problem: Problem = make_problem(selector, X, y, sample_weight)
    return problem


def check_selector(selector: Any) -> None:
    """Refuse a pipeline."""
    if not hasattr(selector, "as_published"):
        raise ParameterError(
            "selector",
            f"must be a selector; got {type(selector).__name__}. Of a pipeline, pass the selector "
            "pipe[-1] and the rows pipe[:-1].transform(X).",
        )


def read_problem(selector: Any, X: Any, y: Any, sample_weight: Any, seed: int) -> Any:
    """Validate rows, or read a source; set the attributes of columns and classes."""
    if selector._is_survival:
        from safdr._estimators.survival import read_survival

        return read_survival(selector, X, y, sample_weight)
    if is_source(X, y):
        from safdr._estimators.streaming import read

        return read(selector, X, y, sample_weight, seed)
    X, y = validate_rows(selector, X, y)
    weight = None
    if sample_weight is not None:
        weight = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
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
    names, n_features = feature_names(selector), selector.n_features_in_
    # The final model, on all columns, has no such parameters.
    constraints = getattr(selector, "constraints", None)
    cost = getattr(selector, "feature_cost", None)
    if cost is not None:
        features = Features(n_features, names, constraints and constraints.groups)
        cost = features.numbers(cost, "feature_cost")
    fields = {
        "allowed": allowed_subsets(constraints, n_features, names),
        "cost": cost if np.any(cost) else None,
        "names": names,
    }
    if not selector._is_regression:
        fields["class_weight"] = getattr(selector, "class_weight", None)
    return fields


def is_source(X: Any, y: Any) -> bool:
    """Return True if rows are read from a source; then y is the name of a column."""
    is_lazy = any(hasattr(X, name) for name in ("dask", "sample_rows", "collect"))
    return is_lazy or isinstance(X, str | PathLike) or callable(X) or isinstance(y, str)


def target_values(X: Any, y: Any) -> Any:
    """Return the target, which may be the name of a column of a source."""
    if not isinstance(y, str):
        return y
    from safdr._estimators.streaming import read_column

    return read_column(X, y)


def validate_rows(selector: Any, X: Any, y: Any) -> tuple[Any, Any]:
    """Return X and y as arrays; an error names the columns that cannot be used."""
    check_target(y)
    regression = selector._is_regression
    checks: dict[str, Any] = {"y_numeric": True, "multi_output": True} if regression else {}
    if is_on_device(X):
        _, y = validate_data(clone(selector), np.zeros((len(X), 1)), y, **checks)
        selector.n_features_in_ = X.shape[1]
        X = device_rows(X)
    else:
        check_columns(X)
        is_wide = isinstance(X, np.ndarray) and X.ndim == 2 and X.shape[1] > sources.MAX_DENSE
        dtype: Any = [np.float64, np.float32] if is_wide else np.float64
        checks |= {"accept_sparse": "csr", "dtype": dtype, "order": "C", "ensure_min_samples": 2}
        X, y = validate_data(selector, X, y, **checks)
    if regression:
        return X, np.ascontiguousarray(y, dtype=np.float64)
    check_classification_targets(y)
    return X, y


def check_target(y: Any) -> None:
    """Raise an error if a series has missing values, which arrays may hold as labels."""
    series = nw.from_native(y, series_only=True, pass_through=True)
    if isinstance(series, nw.Series) and (n_missing := int(series.is_null().sum())):
        raise ValueError(f"y has {n_missing} missing value(s). Drop these rows.")


def check_columns(X: Any) -> None:
    """Raise an error that names columns without numbers, or with missing values."""
    frame = nw.from_native(X, eager_only=True, pass_through=True)
    if not isinstance(frame, nw.DataFrame):
        return
    columns = [column for column in frame.iter_columns() if column.dtype != nw.Object]
    if text := [c.name for c in columns if not (c.dtype.is_numeric() or c.dtype == nw.Boolean)]:
        raise ValueError(
            f"X has columns that are not numbers: {text[:5]}. Drop them, or encode them, as with "
            "TableEncoder."
        )
    if missing := [c.name for c in columns if c.is_null().any()]:
        raise ValueError(
            f"Input X contains NaN in the columns {missing[:5]}. Impute or drop them: "
            "make_pipeline(SimpleImputer(), selector)."
        )


def is_on_device(X: Any) -> bool:
    """Return True for a torch tensor in the memory of a device."""
    return type(X).__module__ == "torch" and X.device.type != "cpu"


def device_rows(X: Any) -> Any:
    """Return rows that stay on their device, checked there."""
    from safdr._engine.device.rows import DeviceRows

    if X.ndim != 2 or not X.dtype.is_floating_point or not bool(X.isfinite().all()):
        raise ValueError(
            "X on a device must be a matrix of finite floating-point numbers; got "
            f"{tuple(X.shape)}, {X.dtype}. Convert it, or impute missing values."
        )
    return DeviceRows(X)


def fit_seed(selector: Any) -> int:
    """Return the seed of the last fit, or the one that a fit would draw."""
    seed = getattr(selector, "_seed", None)
    return seed_from(deepcopy(selector.random_state)) if seed is None else int(seed)


def seed_from(random_state: Any) -> int:
    if isinstance(random_state, Integral):
        random_state = int(random_state)
    return int(check_random_state(random_state).randint(np.iinfo(np.int32).max))


# ---- Features ------------------------------------------------------------------------------------


def feature_names(selector: Any) -> Names:
    """Return the names of the columns of the fit, if they have names."""
    names = getattr(selector, "feature_names_in_", None)
    return None if names is None else tuple(map(str, names))


def allowed_subsets(constraints: Any, n_features: int, names: Names) -> AllowedSubsets:
    if constraints is None:
        return AllowedSubsets.without_limits(n_features)
    if constraints.at_most_one_of is not None:
        check_exclusions(n_features)
    features = Features(n_features, names, constraints.groups)
    return AllowedSubsets.make(
        n_features,
        always_include=features.columns(constraints.always_include, "always_include"),
        never_include=features.columns(constraints.never_include, "never_include"),
        groups=list(features.groups.values()),
        at_most_one_of=list(features.sets(constraints.at_most_one_of, "at_most_one_of").values()),
        labels=names,
        signs=None if constraints.signs is None else features.signs(constraints.signs),
    )


class Features:
    """Columns and groups by name, index or mask."""

    def __init__(self, n_features: int, names: Names, groups: Any = None) -> None:
        self.n_features = n_features
        self.names = names
        self.groups: dict[Any, IntArray] = {}
        self._index = {name: j for j, name in enumerate(names or ())}
        if callable(groups):
            groups = groups(np.array(names if names is not None else range(n_features)))
        self.groups = self.sets(groups, "groups")

    def columns(self, features: Any, parameter: str) -> IntArray:
        """Return the sorted columns of one feature, of several, or of a mask."""
        if features is None:
            features = []
        single = isinstance(features, str | Integral)
        entries: list[Any] = [features] if single else list(features)
        if entries and all(isinstance(entry, bool | np.bool_) for entry in entries):
            if len(entries) != self.n_features:
                raise ParameterError(
                    parameter,
                    f"must be a mask of {self.n_features} entries, one a feature; got "
                    f"{len(entries)}.",
                )
            entries = list(np.flatnonzero(entries))
        columns = [self.of_feature(entry, parameter) for entry in entries]
        return np.unique(np.concatenate([np.empty(0, dtype=np.int64), *columns]))

    def sets(self, sets: Any, parameter: str) -> dict[Any, IntArray]:
        """Return the columns of several sets, by name or position."""
        if sets is None:
            return {}
        named = sets if isinstance(sets, Mapping) else dict(enumerate(sets))
        for features in named.values():
            if isinstance(features, str | Integral):
                raise ParameterError(
                    parameter,
                    f"must hold sets of features; got {features!r}. Write [[…]] for one set.",
                )
        return {name: self.columns(features, parameter) for name, features in named.items()}

    def signs(self, signs: Any) -> FloatArray:
        """Return the required sign of each coefficient; 0 for either."""
        values = list(signs.values() if isinstance(signs, Mapping) else signs)
        if wrong := [value for value in values if value not in SIGNS]:
            raise ParameterError("signs", f"must be 1, -1, 0, '+' or '-'; got {wrong[0]!r}.")
        numbers = [SIGNS[value] for value in values]
        named = hasattr(signs, "keys")
        return self.numbers(
            dict(zip(signs.keys(), numbers, strict=True)) if named else numbers, "signs"
        )

    def numbers(self, values: Any, parameter: str) -> FloatArray:
        """Return a number for each column; 0 for columns that a mapping does not name."""
        if hasattr(values, "items"):
            numbers = np.zeros(self.n_features)
            for key, value in values.items():
                columns = self.of_feature(key, parameter)
                numbers[columns if parameter == "signs" else columns[:1]] = value  # paid once
        else:
            numbers = np.asarray(values, dtype=np.float64)
        if numbers.shape != (self.n_features,):
            raise ParameterError(
                parameter,
                f"must be a dict, or hold {self.n_features} numbers, one for each feature; got "
                f"shape {numbers.shape}.",
            )
        if not np.isfinite(numbers).all():
            where = Columns(np.flatnonzero(~np.isfinite(numbers)), self.names)
            raise ParameterError(parameter, f"must be finite; it is not for {where}.")
        return numbers

    def of_feature(self, entry: Any, parameter: str) -> IntArray:
        """Return the column of a feature, or the columns of a group."""
        if isinstance(entry, str) and entry in self._index:
            return np.array([self._index[entry]])
        if isinstance(entry, str) and entry in self.groups:
            return self.groups[entry]
        n = self.n_features
        if isinstance(entry, Integral) and -n <= int(entry) < n:
            return np.array([int(entry) % n])
        if not isinstance(entry, str):
            raise ParameterError(
                parameter, f"must hold names, indices below {n}, or a mask; got {entry!r}."
            )
        if self.names is None:
            raise ParameterError(
                parameter,
                f"names {entry!r}, but the columns of X have no names. Use indices, or call "
                "set_output(transform='pandas') on the steps before the selector.",
            )
        near = get_close_matches(entry, self.names, n=1, cutoff=0.8)
        hint = f" Did you mean {near[0]!r}?" if near else ""
        raise ParameterError(parameter, f"names {entry!r}, which X lacks.{hint}")


def features_of(selector: Any, problem: Any) -> Features:
    groups = None if selector.constraints is None else selector.constraints.groups
    return Features(problem.n_features, problem.names, groups)


def group_names(selector: Any, problem: Any) -> tuple[str, ...]:
    """Return the name of each group of columns; most have one column."""
    groups = features_of(selector, problem).groups
    named = {tuple(columns): name for name, columns in groups.items() if isinstance(name, str)}
    names = problem.names or tuple(f"x{j}" for j in range(problem.n_features))
    return tuple(
        named.get(tuple(columns), " + ".join(names[j] for j in columns))
        for columns in problem.allowed.groups
    )
