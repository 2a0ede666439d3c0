"""Searches on a device of torch's: what they can't do is refused; rows become what they need."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from scipy.sparse import issparse

from safdr._engine.arrays import FloatArray
from safdr._engine.constraints import AllowedSubsets
from safdr._engine.criterion import r2_columns
from safdr._engine.screen import find_duplicates
from safdr._engine.search import Search
from safdr._estimators.training_data import ClassData
from safdr.errors import ParameterError


def check_device(plan: Any) -> None:
    """Refuse what only the compiled search can do, and devices that are not there."""
    _open(plan.device)
    if plan.own_criterion is not None:
        raise ParameterError(
            "criterion",
            "must be left out with {device}, which has the built-in criterion; got {given!r}.",
            given=plan.criterion,
        )
    if plan.prove is not None:
        raise ParameterError(
            "prove", "must be None with {device}: proofs are made by the compiled search alone."
        )


def _open(device: Any) -> None:
    """Try the device; an error says what there is instead."""
    try:
        import torch
    except ImportError:
        raise ParameterError(
            "device",
            "needs torch, which is not installed: pip install 'safdr[gpu]'. Or leave {device} "
            "out, for the compiled search.",
        ) from None
    try:
        torch.zeros(1, device=torch.device(device)).cpu()
    except (RuntimeError, AssertionError, TypeError, NotImplementedError) as error:
        said = (str(error).splitlines() or [""])[0].rstrip(".")
        raise ParameterError(
            "device",
            "must be a device that torch can use here ({there}), or None for the compiled search; "
            "got {device!r}.{why}",
            there="'cpu', 'cuda'" if torch.cuda.is_available() else "'cpu'; it sees no GPU",
            device=device,
            # What torch says; but not its list of all devices that there are anywhere.
            why=f" {said}." if said and not said.startswith("Expected one of") else "",
        ) from None


def device_search(
    plan: Any, data: Any, allowed: AllowedSubsets, cost: FloatArray | None, seed: int
) -> Search:
    """The search on a device, where all columns are weighed at once."""
    if plan.device is None:
        raise ParameterError(
            "device",
            "must be given where rows are on one: X is on device {there!r}. Pass {device}="
            "{there!r}, or X.cpu().numpy() for the compiled search.",
            there=str(data.X.tensor.device),
        )
    _check_limits(allowed)
    from safdr._engine.device.search import DeviceSearch

    fitter, rows = plan.fitter(data, None, seed), rows_on_device(data, plan.device)
    criterion = rows.criterion(plan.ridge, plan.rank(allowed, cost))
    duplicates: list[tuple[int, int]] = []
    if not hasattr(data.X, "tensor"):
        given = None if plan.constraints is None else allowed
        found = find_duplicates(data.X, data._relative_weight, constraints=given, cost=cost)
        duplicates = found.pairs
        redundant = np.union1d(criterion.redundant, np.flatnonzero(found.redundant))
        criterion = replace(criterion, redundant=redundant)
    search = DeviceSearch(
        criterion,
        noise=rows,
        settings=plan.settings(),
        seed=seed,
        fitter=fitter,
        constraints=allowed,
        cost=cost,
    )
    search.duplicates = duplicates
    return search


def in_units_of_r2(outputs: FloatArray, weight: FloatArray | None) -> FloatArray:
    """Outputs whose covariances with features are the D of R²."""
    variance = np.average((outputs - np.average(outputs, 0, weight)) ** 2, 0, weight)
    return r2_columns(outputs, np.ones(len(outputs)), np.sqrt(variance))


def _check_limits(allowed: AllowedSubsets) -> None:
    limits = {
        "groups": not allowed.swaps_alone,
        "at_most_one_of": allowed.conflicts is not None,
        "signs": allowed.signs is not None,
    }
    if any(limits.values()):
        raise ParameterError(
            "constraints",
            "must have no {limits} with {device}, where columns come and go one by one. Leave "
            "{device} out.",
            limits=" and no ".join(name for name, given in limits.items() if given),
        )


def rows_on_device(data: Any, device: Any) -> Any:
    """Return training data on a device."""
    from safdr._engine.device.criterion import RowsOnDevice

    if issparse(data.X):
        raise ParameterError("device", "needs dense rows; got sparse ones. Leave {device} out.")
    classes = isinstance(data, ClassData)
    outputs = None if classes else in_units_of_r2(data._outputs, data._relative_weight)
    return RowsOnDevice(
        data.X,
        data.codes if classes else np.zeros(len(data.y), dtype=np.int64),
        outputs,
        data._relative_weight,
        data._rows_a_weight,
        device,
    )
