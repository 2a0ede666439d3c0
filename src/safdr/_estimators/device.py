"""Searches on a device of torch."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import issparse

from safdr._engine.criterion import r2_columns
from safdr._engine.search import Search
from safdr.errors import ParameterError


def device_search(recipe: Any, device: Any) -> Search:
    problem = recipe.problem
    _check(recipe, device)
    from safdr._engine.device.criterion import RowsOnDevice
    from safdr._engine.device.search import DeviceSearch

    outputs = _in_units_of_r2(problem) if problem.is_regression else None
    weights = problem.relative_weight, problem.rows_a_weight
    rows = RowsOnDevice(problem.X, problem.unit_codes, outputs, *weights, device)
    criterion = rows.criterion(recipe.wanted_ridge, problem.rank)
    if not hasattr(problem.X, "tensor"):
        criterion = criterion.without(np.flatnonzero(problem.duplicates.redundant))
    return DeviceSearch(
        criterion,
        settings=recipe.settings,
        seed=recipe.seed,
        fitter=recipe.fitter(problem),
        batches=rows,
        constraints=problem.allowed,
        cost=problem.cost,
    )


def _check(recipe: Any, device: Any) -> None:
    problem = recipe.problem
    allowed = problem.allowed
    if device is None:
        raise ParameterError("device", f"must be that of X, {str(problem.X.tensor.device)!r}.")
    if recipe.function is not None:
        raise ParameterError("device", "needs a built-in criterion.")
    if problem.is_regression and problem.family is not None:
        raise ParameterError("device", "must be None for counts, amounts and survival times.")
    if not allowed.swaps_alone or allowed.conflicts is not None or allowed.signs is not None:
        raise ParameterError(
            "constraints", "with groups, at_most_one_of or signs need device=None."
        )
    if issparse(problem.X):
        raise ParameterError("device", "needs dense rows; got a sparse matrix. Use X.toarray().")


def _in_units_of_r2(problem: Any) -> Any:
    """Return outputs whose covariances with features are the D of R²."""
    outputs, weight = problem.outputs, problem.relative_weight
    variance = np.average((outputs - np.average(outputs, 0, weight)) ** 2, 0, weight)
    return r2_columns(outputs, np.ones(len(outputs)), np.sqrt(variance))
