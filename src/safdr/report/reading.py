"""What a selector knows: features, sizes, search and settings, in plain types."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from safdr._estimators.cross_validation import RULES, select_size
from safdr.display.base import read_features as features_of

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
Found = dict[str, Any]


@dataclass(frozen=True, eq=False)
class Rows:
    """Rows of numbers with their target, weights and columns to report segments by."""

    X: Any
    y: Any
    weight: Any = None
    by: Mapping[str, Any] | None = None


@dataclass(frozen=True, eq=False)
class Features:
    """Features as the selector counts them: single columns and groups."""

    names: list[str]
    columns: list[IntArray]
    of_column: IntArray
    column_names: list[str]
    selected: list[int]

    def named(self, columns: Iterable[int]) -> list[str]:
        """Return the names of the features of some columns."""
        known = dict.fromkeys(int(self.of_column[j]) for j in columns if j >= 0)
        return [self.names[i] for i in known]


def is_selector(step: Any) -> bool:
    """Return True for a fitted selector of safdr."""
    return hasattr(step, "result_") and hasattr(step, "subset_")


def read_features(selector: Any, names: Sequence[Any] | None) -> Features:
    """Return the features of a selector; `names` are those of its columns."""
    n = int(selector.n_features_in_)
    given = getattr(selector, "feature_names_in_", None) if names is None else names
    columns = [f"x{j}" for j in range(n)] if given is None else [str(name) for name in given]
    if len(columns) != n:
        raise ValueError(f"X must have the {n} columns of the fit; got {len(columns)}.")
    groups, titles = features_of(selector, columns)
    of_column = np.zeros(n, dtype=np.int64)
    for i, members in enumerate(groups):
        of_column[members] = i
    selected = list(dict.fromkeys(of_column[selector.subset_].tolist()))
    return Features(titles, groups, of_column, columns, selected)


def read_sizes(selector: Any, features: Features) -> tuple[list[Found], Found]:
    """Return the scores of each size in cross-validation, and the rule if there was a choice."""
    if not hasattr(selector, "cv_results_"):
        return [], {}
    results, n = selector.cv_results_, selector.n_splits_
    ks = np.asarray(results["n_features"])
    scores = np.array([results[f"split{i}_test_score"] for i in range(n)])
    sizes = [
        {
            "k": int(k),
            "score": results["mean_test_score"][at],
            "sd": results["std_test_score"][at],
            "splits": scores[:, at],
            "features": _shares([results[f"split{i}_support"][at] for i in range(n)], features),
        }
        for at, k in enumerate(ks)
    ]
    return sizes, _read_rule(selector, ks, scores) if len(ks) > 1 else {}


def _shares(supports: Sequence[Any], features: Features) -> dict[str, float]:
    """Return the share of splits that selected each feature, the largest first."""
    counts = np.zeros(len(features.names))
    for support in supports:
        counts[np.unique(features.of_column[np.flatnonzero(support)])] += 1
    order = np.argsort(-counts, kind="stable")
    return {features.names[j]: counts[j] / len(supports) for j in order if counts[j]}


def _read_rule(selector: Any, ks: IntArray, scores: FloatArray) -> Found:
    name, selected = name_of(selector.rule), int(selector.n_features_)
    others = {rule: _size_by(rule, ks, scores) for rule in RULES if rule != name}
    rule: Found = {"name": name, "k": selected, "others": others}
    if name in RULES and _size_by(name, ks, scores) != selected:
        # The selector accepts any score that is perfect but for half a test row.
        rule["near_perfect"] = True
    elif name in RULES and len(scores) > 2:
        without_one = (np.delete(scores, i, axis=0) for i in range(len(scores)))
        sizes = [_size_by(name, ks, rest) for rest in without_one]
        if {*sizes} != {selected}:
            rule["range"] = [min(sizes), max(sizes)]
    return rule


def _size_by(rule: str, ks: IntArray, scores: FloatArray) -> int:
    """Return the size that a built-in rule selects."""
    return select_size(rule, {"n_features": ks}, scores, np.inf)


def read_search(selector: Any) -> Found:
    """Return the criterion, its value, and how the search ended."""
    result = selector.result_
    search: Found = {
        "criterion": name_of(selector.criterion_),
        "value": selector.criterion_value_,
        "loss": {"name": result.loss_name, "value": result.loss},
        "converged": bool(result.trace.converged),
        "separated": bool(result.separated[result.best]),
        "shrinkage": selector.shrinkage_,
        "calibration_slope": getattr(selector, "calibration_slope_", None),
    }
    if result.n_screened < selector.n_features_in_:
        search["screened"] = int(result.n_screened)
    return {key: value for key, value in search.items() if value is not None}


def read_settings(selector: Any) -> Found:
    """Return the parameters that differ from their defaults, without the seed."""
    defaults = type(selector)().get_params(deep=False)
    return {
        name: value if isinstance(value, bool | int | float) else name_of(value)
        for name, value in selector.get_params(deep=False).items()
        if name != "random_state" and repr(value) != repr(defaults[name])
    }


def name_of(value: Any) -> str:
    """Return a text as it is, the name of a function, and the repr of anything else."""
    return value if isinstance(value, str) else getattr(value, "__name__", None) or repr(value)
