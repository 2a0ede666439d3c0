"""Searches on a device of torch."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from scipy.sparse import issparse

from safdr._engine.criterion import r2_columns
from safdr._engine.search import Search
from safdr.errors import ParameterError


def device_search(
    problem: Any, device: Any, ridge: Any, C: float, fitter: Any, **search: Any
) -> Search:
    """Return the search among all columns on a device."""
    _check(device, problem)
    from safdr._engine.device.criterion import RowsOnDevice
    from safdr._engine.device.search import DeviceSearch

    regression = problem.is_regression
    codes = np.zeros(len(problem.y), dtype=np.int64) if regression else problem.codes
    outputs = _in_units_of_r2(problem) if regression else None
    weight, rows_a_weight = problem.relative_weight, problem.rows_a_weight
    rows = RowsOnDevice(problem.X, codes, outputs, weight, rows_a_weight, device)
    criterion = rows.criterion(ridge, problem.rank)
    pairs: list[tuple[int, int]] = []
    if not hasattr(problem.X, "tensor"):
        duplicates = problem.duplicates()
        pairs = duplicates.pairs
        redundant = np.union1d(criterion.redundant, np.flatnonzero(duplicates.redundant))
        criterion = replace(criterion, redundant=redundant)
    if fitter is None:  # the linear model
        fitter = problem.fitter(C)
    search |= {"noise": rows, "fitter": fitter, "constraints": problem.allowed}
    device_search = DeviceSearch(criterion, cost=problem.cost, **search)
    device_search.duplicates = pairs
    return device_search


def _check(device: Any, problem: Any) -> None:
    """Raise an error if the device is missing, or cannot search this problem."""
    allowed = problem.allowed
    if not allowed.swaps_alone or allowed.conflicts is not None or allowed.signs is not None:
        raise ParameterError(
            "constraints",
            "with groups, at_most_one_of or signs need device=None.",
        )
    if issparse(problem.X):
        raise ParameterError("device", "needs dense rows; got a sparse matrix. Use X.toarray().")
    try:
        import torch

        torch.zeros(1, device=torch.device(device)).cpu()
    except ImportError:
        raise ParameterError("device", f"{device!r} needs torch. Run: pip install torch") from None
    except (RuntimeError, AssertionError, TypeError, NotImplementedError) as error:
        reason = (str(error).splitlines() or [""])[0]
        raise ParameterError(
            "device", f"must be a device of torch; device={device!r} cannot be used: {reason}"
        ) from None


def _in_units_of_r2(problem: Any) -> Any:
    """Return outputs whose covariances with features are the D of R²."""
    outputs, weight = problem.outputs, problem.relative_weight
    variance = np.average((outputs - np.average(outputs, 0, weight)) ** 2, 0, weight)
    return r2_columns(outputs, np.ones(len(outputs)), np.sqrt(variance))
