"""Features as users name them (names, indices, masks, groups) become column indices."""

from __future__ import annotations

from collections.abc import Mapping
from difflib import get_close_matches
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray

from safdr._engine.arrays import FloatArray, IntArray
from safdr._engine.constraints import AllowedSubsets
from safdr._memory import check_exclusions
from safdr.errors import Columns, ParameterError

Names = tuple[str, ...] | None

SIGNS = {"+": 1, "-": -1}


def feature_names(selector: Any) -> Names:
    """Return the names of the columns of the fit, if they have names."""
    names = getattr(selector, "feature_names_in_", None)
    return None if names is None else tuple(map(str, names))


def allowed_subsets(constraints: Any, n_features: int, names: Names) -> AllowedSubsets:
    """Return the subsets that constraints allow."""
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
        signs=features.signs(constraints.signs),
    )


def feature_cost(selector: Any, names: Names) -> FloatArray | None:
    """Return the cost of each column; None if nothing costs."""
    if selector.feature_cost is None:
        return None
    groups = None if selector.constraints is None else selector.constraints.groups
    features = Features(selector.n_features_in_, names, groups)
    cost = features.numbers(selector.feature_cost, "feature_cost")
    return cost if cost.any() else None


class Features:
    """Columns and groups by name, index or mask."""

    def __init__(self, n_features: int, names: Names, groups: Any = None) -> None:
        self.n_features = n_features
        self.names = names
        self._index = {} if names is None else {name: j for j, name in enumerate(names)}
        self.groups: dict[Any, IntArray] = {}
        if callable(groups):
            groups = groups(np.array(names if names is not None else range(n_features)))
        self.groups = self.sets(groups, "groups")

    def columns(self, features: Any, parameter: str) -> IntArray:
        """Return the sorted columns of one feature, of several, or of a mask."""
        if features is None:
            return np.empty(0, dtype=np.int64)
        if isinstance(features, str | Integral):
            features = [features]
        try:
            entries = list(features)
        except TypeError:
            raise ParameterError(
                parameter, f"must hold names, indices or a mask; got {features!r}."
            ) from None
        if entries and all(isinstance(entry, bool | np.bool_) for entry in entries):
            return self._of_mask(np.array(entries), parameter)
        columns = [self.of_feature(entry, parameter) for entry in entries]
        return np.unique(np.concatenate([np.empty(0, dtype=np.int64), *columns]))

    def sets(self, sets: Any, parameter: str) -> dict[Any, IntArray]:
        """Return the columns of several sets, by name or position."""
        if sets is None:
            return {}
        try:
            named = dict(sets) if isinstance(sets, Mapping) else dict(enumerate(sets))
        except TypeError:
            raise ParameterError(parameter, f"must hold sets of features; got {sets!r}.") from None
        for features in named.values():
            if isinstance(features, str | Integral):
                raise ParameterError(
                    parameter,
                    f"must hold sets of features; got {features!r}. Write [[…]] for one set.",
                )
        return {name: self.columns(features, parameter) for name, features in named.items()}

    def signs(self, signs: Any) -> FloatArray | None:
        """Return the required sign of each coefficient; 0 for either."""
        if signs is None:
            return None
        if hasattr(signs, "items"):
            signs = {key: _sign(value) for key, value in signs.items()}
        elif not np.isscalar(signs):
            signs = [_sign(value) for value in signs]
        signs = self.numbers(signs, "signs")
        wrong = np.flatnonzero(~np.isin(signs, [-1.0, 0.0, 1.0]))
        if wrong.size:
            where = Columns(wrong, self.names)
            raise ParameterError("signs", f"must be 1, -1 or 0; got {signs[wrong[0]]:g} ({where}).")
        return signs

    def numbers(self, values: Any, parameter: str) -> FloatArray:
        """Return a number for each column; 0 for columns that a mapping does not name."""
        if not hasattr(values, "items"):
            numbers = np.asarray(values, dtype=np.float64)
            if numbers.shape != (self.n_features,):
                raise ParameterError(
                    parameter,
                    f"must be a dict, or hold {self.n_features} numbers, one for each feature; got "
                    f"shape {numbers.shape}.",
                )
        else:
            numbers = np.zeros(self.n_features)
            for key, value in values.items():
                columns = self.of_feature(key, parameter)
                if parameter == "signs" and len(columns) > 1:
                    raise ParameterError(
                        parameter, f"must name columns; got the group {key!r}. Name its columns."
                    )
                numbers[columns[0]] = value  # a group pays once
        if not np.isfinite(numbers).all():
            where = Columns(np.flatnonzero(~np.isfinite(numbers)), self.names)
            raise ParameterError(parameter, f"must be finite; it is not for {where}.")
        return numbers

    def of_feature(self, entry: Any, parameter: str) -> IntArray:
        """Return the column of a feature, or the columns of a group."""
        if isinstance(entry, str):
            return self._of_name(entry, parameter)
        if not isinstance(entry, int | np.integer):
            raise ParameterError(parameter, f"must hold names, indices or a mask; got {entry!r}.")
        if not -self.n_features <= int(entry) < self.n_features:
            raise ParameterError(
                parameter,
                f"must hold indices below {self.n_features}, the number of columns; got {entry}.",
            )
        return np.array([int(entry) % self.n_features])

    def _of_name(self, name: str, parameter: str) -> IntArray:
        if name in self._index:
            return np.array([self._index[name]])
        if name in self.groups:
            return self.groups[name]
        if self.names is None:
            raise ParameterError(
                parameter,
                f"names {name!r}, but the columns of X have no names. Use indices, or call "
                "set_output(transform='pandas') on the steps before the selector.",
            )
        near = get_close_matches(name, self.names, n=1, cutoff=0.8)
        hint = f" Did you mean {near[0]!r}?" if near else ""
        raise ParameterError(parameter, f"names {name!r}, which X lacks.{hint}")

    def _of_mask(self, mask: NDArray[np.bool_], parameter: str) -> IntArray:
        if len(mask) != self.n_features:
            raise ParameterError(
                parameter,
                f"must be a mask of {self.n_features} entries, one a feature; got {len(mask)}.",
            )
        return np.flatnonzero(mask)


def _sign(value: Any) -> Any:
    """Return the number of "+" or "-"; refuse other texts."""
    if isinstance(value, str) and value not in SIGNS:
        raise ParameterError("signs", f"must be 1, -1, 0, '+' or '-'; got {value!r}.")
    return SIGNS[value] if isinstance(value, str) else value


def features_of(selector: Any, problem: Any) -> Features:
    """Return the columns and groups of a problem, by name."""
    groups = None if selector.constraints is None else selector.constraints.groups
    return Features(problem.n_features, problem.names, groups)


def group_names(selector: Any, problem: Any) -> tuple[str, ...]:
    """Return the name of each group of columns; most have one column."""
    groups = features_of(selector, problem).groups
    named = {tuple(columns): name for name, columns in groups.items() if isinstance(name, str)}
    names = problem.names or tuple(f"x{j}" for j in range(problem.n_features))
    return tuple(
        names[columns[0]]
        if len(columns) == 1
        else named.get(tuple(columns), " + ".join(names[j] for j in columns))
        for columns in problem.allowed.groups
    )
