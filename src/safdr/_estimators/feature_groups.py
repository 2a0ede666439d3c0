"""What a fitted selector tells its readers about feature groups, and about subsets not chosen."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from safdr._engine.arrays import FloatArray, IntArray
from safdr._estimators.evaluate import check_subsets, evaluate
from safdr._estimators.plan import SearchPlan
from safdr._estimators.training_data import TrainingData
from safdr.result import FeatureGroups


def feature_groups(plan: SearchPlan, seen: Any) -> FeatureGroups:
    """What counts as one feature."""
    allowed = plan.allowed(seen)
    titles = _titles(plan, seen)
    return FeatureGroups(
        columns=allowed.groups,
        titles=tuple(
            titles.get(int(columns[0])) if len(columns) > 1 else None for columns in allowed.groups
        ),
        feature_of=allowed.group_of,
        n_features=allowed.n_groups,
        max_features=max(allowed.sizes(), default=0),
    )


def random_subsets(
    plan: SearchPlan, seen: Any, size: int, n: int, random_state: Any
) -> list[IntArray]:
    """Random subsets of a size, as the constraints allow."""
    seed = check_random_state(random_state).randint(2**32, dtype="u8")
    allowed = plan.allowed(seen)
    selections = allowed.random(size, n, np.random.default_rng(seed))
    return [allowed.columns_of(selection) for selection in selections]


def measure_subsets(
    plan: SearchPlan,
    seen: Any,
    data: TrainingData,
    subsets: Any,
    n_jobs: int | None,
) -> tuple[FloatArray, FloatArray]:
    """Criterion values, less the cost, and losses of subsets that may differ in length."""
    wanted = check_subsets(subsets, plan.features(seen))
    measured = evaluate(data, wanted, plan.ridge, float(plan.C), n_jobs)
    values, losses = measured.criterion_values, measured.losses
    cost = plan.cost(seen)
    if cost is not None:
        values = values - [cost[subset[subset >= 0]].sum() for subset in wanted]
    return values, losses


def _titles(plan: SearchPlan, seen: Any) -> dict[int, str]:
    """Names of groups that have one, by their first column."""
    groups = plan.groups
    if not isinstance(groups, Mapping):
        return {}
    sets = plan.features(seen).sets(groups, "groups")
    return {int(one[0]): str(name) for name, one in zip(groups, sets, strict=True)}
