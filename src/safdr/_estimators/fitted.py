"""What the functions read of a selector: names of its features, and its criterion."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from safdr._estimators.data import Problem
from safdr._estimators.features import Features
from safdr._estimators.search import Recipe


def features_of(selector: Any, problem: Problem) -> Features:
    """Return the columns and groups of a problem, found by name."""
    groups = None if selector.constraints is None else selector.constraints.groups
    return Features(problem.n_features, problem.names, groups)


def group_names(selector: Any, problem: Problem) -> tuple[str, ...]:
    """Return the name of each feature: of a group, or of a column."""
    groups = features_of(selector, problem).groups
    titles = {int(columns[0]): name for name, columns in groups.items() if isinstance(name, str)}
    names = problem.names or tuple(f"x{j}" for j in range(problem.n_features))
    joined = [" + ".join(names[j] for j in columns) for columns in problem.allowed.groups]
    return tuple(
        titles.get(int(columns[0]), name) if len(columns) > 1 else name
        for name, columns in zip(joined, problem.allowed.groups, strict=True)
    )


def fit_ridge(selector: Any, problem: Problem) -> float:
    """Return the ridge of the criterion: that of the fit, if there is one."""
    shrinkage = getattr(selector, "shrinkage_", None)
    if shrinkage is None:
        return Recipe.make(selector, problem, 0).ridge
    return float(shrinkage / (1 - shrinkage))


def full_criterion(selector: Any, problem: Problem) -> Any:
    """Return the criterion of all columns; if fits look for duplicates, they are redundant."""
    recipe = Recipe.make(selector, problem, 0)
    criterion = problem.criterion(fit_ridge(selector, problem))
    if not recipe.screens:
        return criterion
    return replace(criterion, redundant=np.union1d(criterion.redundant, recipe.duplicate_columns))
