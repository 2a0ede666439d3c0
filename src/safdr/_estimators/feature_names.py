"""Features as people name them (names, indices, masks) become column indices."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from numbers import Integral, Number, Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from safdr._engine.arrays import FloatArray, IntArray
from safdr._engine.constraints import AllowedSubsets
from safdr._estimators.parameters import Constraints, as_float, is_bool, is_int
from safdr.errors import Columns, ParameterError, meant


def names_of(seen: Any) -> NDArray[Any]:
    """Names of the columns that an estimator saw, or x0, x1, … as scikit-learn calls them."""
    unnamed = np.array([f"x{j}" for j in range(seen.n_features_in_)], dtype=object)
    return np.asarray(getattr(seen, "feature_names_in_", unnamed), dtype=object)


WAYS = "names of columns, their indices, or one mask over all of them"


class FeatureSpec:
    """The columns of a table, to be found by name, index or mask."""

    def __init__(self, n_features: int, names: NDArray[Any] | None, groups: Any = None) -> None:
        self.n_features = n_features
        self._groups: dict[str, IntArray] = {}
        self._place = {} if names is None else {str(name): j for j, name in enumerate(names)}
        self.labels = None if names is None else tuple(str(name) for name in names)
        if isinstance(groups, Mapping):
            named = zip(map(str, groups), self.sets(groups, "groups"), strict=True)
            self._groups = {name: columns for name, columns in named if name not in self._place}

    def columns(self, given: Any, parameter: str) -> IntArray:
        """Sorted column indices of what a parameter names; None is none."""
        return np.unique(self.in_order(given, parameter))

    def in_order(self, given: Any, parameter: str) -> IntArray:
        """Column indices of what a parameter names, in its order; those of a mask in theirs."""
        if given is None:
            return np.empty(0, dtype=np.int64)
        if isinstance(given, np.ndarray) and given.ndim == 0:
            given = given.item()
        if isinstance(given, str | Integral):
            given = [given]
        entries = _listed(given, parameter, f"hold {WAYS}")
        if entries and all(is_bool(entry) for entry in entries):
            return self._of_mask(np.array(entries), parameter)
        found = [j for entry in entries for j in self._indices(entry, parameter)]
        return np.array(found, dtype=np.int64)

    def sets(self, given: Any, parameter: str) -> list[IntArray]:
        """Column indices of each of several sets: a sequence of them, or a mapping by name."""
        if given is None:
            return []
        if isinstance(given, Mapping):
            given = given.values()
        shape = "be a sequence of sets of features, such as [['a', 'b']], or a dict of them"
        sets = _listed(given, parameter, shape)
        for one in sets:
            if is_single(one):
                raise ParameterError(
                    parameter,
                    "must hold sets of features; got the single feature {one!r} among them. One "
                    "set is written with two pairs of brackets: {parameter}=[[…]].",
                    one=one,
                    parameter=parameter,
                )
        return [self.columns(one, parameter) for one in sets]

    def allowed(self, limits: Constraints) -> AllowedSubsets:
        """Which subsets constraints allow."""
        return AllowedSubsets.make(
            self.n_features,
            always_include=self.columns(limits.always_include, "always_include"),
            never_include=self.columns(limits.never_include, "never_include"),
            groups=self.sets(limits.groups, "groups"),
            at_most_one_of=self.sets(limits.at_most_one_of, "at_most_one_of"),
            labels=self.labels,
            signs=self.signs(limits.signs),
        )

    def signs(self, given: Any) -> FloatArray | None:
        """Sign that the coefficient of each column must have; 0 for any."""
        if given is None:
            return None
        if hasattr(given, "items"):
            for key in given:
                if len(columns := self._indices(key, "signs")) > 1:
                    raise ParameterError(
                        "signs",
                        "must name single columns: the group {key!r} has {n}, each with a "
                        "coefficient of its own. Name those that are to have a sign.",
                        key=key,
                        n=len(columns),
                    )
        signs = self.numbers(given, "signs")
        wrong = np.flatnonzero(~np.isin(signs, [-1.0, 0.0, 1.0]))
        if wrong.size:
            raise ParameterError(
                "signs",
                "must be 1 (the more, the higher the prediction), -1 (the lower), or 0 (either); "
                "got {value:g} for {column}.",
                value=signs[wrong[0]],
                column=Columns(wrong[:1], self.labels),
            )
        return signs

    def numbers(self, given: Any, parameter: str) -> FloatArray:
        """One number a column; features that a mapping does not name get zero."""
        if hasattr(given, "items"):  # a dict, or a pandas Series
            result = self._of_pairs(given.items(), parameter)
        else:
            result = _floats(given, parameter)
        if result.shape != (self.n_features,):
            raise ParameterError(
                parameter,
                "must hold one number for each of the {n} features, or be a dict from features to "
                "numbers; got shape {shape}.",
                n=self.n_features,
                shape=result.shape,
            )
        if not np.isfinite(result).all():
            j = int(np.flatnonzero(~np.isfinite(result))[0])
            raise ParameterError(
                parameter,
                "must be finite; got {value} for {column}.",
                value=result[j],
                column=Columns([j], self.labels),
            )
        return result

    def _of_pairs(self, pairs: Iterable[tuple[Any, Any]], parameter: str) -> FloatArray:
        """Numbers of the features that are named, zero for the others."""
        result = np.zeros(self.n_features)
        paid: set[int] = set()
        for key, value in pairs:
            if not isinstance(value, Real):
                raise ParameterError(
                    parameter,
                    "must hold {what}; got {value!r} for {key!r}.",
                    what=_held(parameter),
                    value=value,
                    key=key,
                )
            # All columns of a group come together: one of them may as well pay.
            column = self._indices(key, parameter)[0]
            if column in paid:
                raise ParameterError(
                    parameter,
                    "must give each feature one number; got several for {column}, the last by the "
                    "name {key!r}.",
                    column=Columns([column], self.labels),
                    key=key,
                )
            paid.add(column)
            result[column] = as_float(value)
        return result

    def _of_mask(self, mask: NDArray[np.bool_], parameter: str) -> IntArray:
        if mask.shape != (self.n_features,):
            raise ParameterError(
                parameter,
                "is a mask of shape {shape}; it must have one entry for each of the {n} features.",
                shape=mask.shape,
                n=self.n_features,
            )
        return np.flatnonzero(mask)

    def _indices(self, entry: Any, parameter: str) -> list[int]:
        """The column of a feature, or the columns of a group."""
        if isinstance(entry, str) and entry in self._groups:
            return list(self._groups[entry].tolist())
        return [self._index(entry, parameter)]

    def _index(self, entry: Any, parameter: str) -> int:
        if isinstance(entry, str):
            return self._by_name(entry, parameter)
        if not is_int(entry):
            raise ParameterError(parameter, f"must hold {WAYS}; got {{entry!r}}.", entry=entry)
        if not -self.n_features <= int(entry) < self.n_features:
            raise ParameterError(
                parameter,
                "holds the index {entry}, but X has {n} columns, 0 to {last}.",
                entry=entry,
                n=self.n_features,
                last=self.n_features - 1,
            )
        return int(entry) % self.n_features

    def _by_name(self, name: str, parameter: str) -> int:
        if not self._place:
            raise ParameterError(
                parameter,
                "names the feature {name!r}, but X has no column names: pass a data frame, or "
                "indices.",
                name=name,
            )
        if name not in self._place:
            raise ParameterError(
                parameter,
                "names the feature {name!r}, which X lacks.{near}",
                name=name,
                near=_nearest(name, list(self._place)),
            )
        return self._place[name]


def is_single(given: Any) -> bool:
    """Whether it is one thing, and not several."""
    if isinstance(given, np.ndarray):
        return given.ndim == 0
    return isinstance(given, str | bytes) or not isinstance(given, Iterable)


def _listed(given: Any, parameter: str, must: str) -> list[Any]:
    """What a parameter holds."""
    if isinstance(given, Iterator):
        # A second look, by a second fit or a report, would find it empty.
        raise ParameterError(
            parameter,
            "must {must}; got {given!r}, which can be read only once. Pass a list.",
            must=must,
            given=given,
        )
    if is_single(given) or isinstance(given, Mapping):
        raise ParameterError(parameter, "must {must}; got {given!r}.", must=must, given=given)
    return list(given)


def _floats(given: Any, parameter: str) -> FloatArray:
    """An array of floats out of numbers, but not out of text that looks like numbers."""
    try:
        array = np.asarray(given)
        if array.dtype.kind in "biuf" or (
            array.dtype == object and all(isinstance(v, Number) for v in array.flat)
        ):
            return array.astype(np.float64)
    except (TypeError, ValueError, OverflowError):
        pass
    raise ParameterError(
        parameter, "must hold {what}; got {given!r}.", what=_held(parameter), given=given
    )


def _held(parameter: str) -> str:
    """What a parameter with a number for each feature holds."""
    return "1, -1 or 0" if parameter == "signs" else "numbers"


def _nearest(name: str, known: list[str]) -> str:
    near = meant(name, known)
    return "" if near is None else f" Did you mean {near!r}?"
