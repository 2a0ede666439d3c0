"""What a fitted selector tells its readers about feature groups, and about subsets not chosen."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils import check_random_state

from safdr._engine.arrays import FloatArray, IntArray
from safdr.result import FeatureGroups


def feature_groups(selector: Any) -> FeatureGroups:
    """The features of a fitted selector."""
    allowed = selector._constraints()
    titles = _titles(selector)
    return FeatureGroups(
        columns=allowed.units,
        titles=tuple(
            titles.get(int(columns[0])) if len(columns) > 1 else None for columns in allowed.units
        ),
        feature_of=allowed.unit_of,
        n_features=int(allowed.counts.sum()),
        max_features=max(allowed.sizes(), default=0),
    )


def random_subsets(selector: Any, n: int, random_state: Any) -> list[IntArray]:
    """Random subsets of the chosen size, as the constraints allow."""
    seed = check_random_state(random_state).randint(2**32, dtype="u8")
    allowed = selector._constraints()
    selections = allowed.random(int(selector.n_features_), n, np.random.default_rng(seed))
    return [allowed.columns_of(selection) for selection in selections]


def measure_subsets(
    selector: Any, X: Any, y: Any, subsets: Sequence[IntArray], sample_weight: Any, n_jobs: Any
) -> tuple[FloatArray, FloatArray]:
    """Criterion values, less the cost, and losses of subsets that may differ in length."""
    from safdr._estimators.evaluate import evaluate_subsets

    how = {
        "task": "classification" if hasattr(selector, "classes_") else "regression",
        "sample_weight": _row_weights(selector, X, y, sample_weight),
        "ridge": selector.ridge,
        "n_jobs": n_jobs,
    }
    lengths = np.array([len(subset) for subset in subsets])
    values, losses = np.empty((2, len(subsets)))
    for length in np.unique(lengths):
        same = np.flatnonzero(lengths == length).tolist()
        measured = evaluate_subsets(X, y, np.array([subsets[i] for i in same]), **how)
        values[same], losses[same] = measured.criterion_values, measured.losses
    cost = selector._cost()
    if cost is not None:
        values -= [cost[subset].sum() for subset in subsets]
    return values, losses


def _row_weights(selector: Any, X: Any, y: Any, sample_weight: Any) -> Any:
    """Weights of rows as the selector saw them: those given, times those of the classes."""
    class_weight = getattr(selector, "class_weight", None)
    if class_weight is None:
        return sample_weight
    # The check of rows writes to the selector, so that a copy does it.
    rows = clone(selector)._validate_rows(X, y, sample_weight)
    return rows.weighted(class_weight).sample_weight


def _titles(selector: Any) -> dict[int, str]:
    """Names of groups that have one, by their first column."""
    groups = selector._limits().groups
    if not isinstance(groups, Mapping):
        return {}
    sets = selector._features().sets(groups, "groups")
    return {int(one[0]): str(name) for name, one in zip(groups, sets, strict=True)}
