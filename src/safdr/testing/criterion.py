"""The contract of a quadratic criterion: what the compiled core takes for granted."""

from __future__ import annotations

import pickle
from collections.abc import Collection

import numpy as np

from safdr._engine.annealing.swap_chains import random_subsets, subset_values
from safdr._engine.arrays import FloatArray, IntArray
from safdr._engine.criterion import Criterion
from safdr.testing.contract import ContractError, run_checks

# Rounding grows with the condition of A, which a ridge of 1e-9 holds below 1e9.
TOLERANCE = 1e-6
SYMMETRY = 1e-10

N_SUBSETS, MAX_SIZE = 20, 30


def check_criterion(criterion: Criterion, *, skip: Collection[str] = ()) -> None:
    """Check that a quadratic criterion is what the compiled core takes for granted.

    These are the checks, in order: `shapes`, `finite`, `symmetric`, `positive_definite`,
    `any_order`, `value_is_the_core_s`, `never_falls`, `pickles`.

    Parameters
    ----------
    criterion : Criterion
        With the matrices A and D, however they were made.
    skip : collection of str, default=()
        Names of checks to leave out.

    Raises
    ------
    ContractError
        At the first check that fails: what was expected, what came, and what usually causes it.

    Examples
    --------
    >>> # The share of the variance of a target that features explain.
    >>> import numpy as np
    >>> from safdr._engine.criterion import Criterion
    >>> from safdr.testing import check_criterion
    >>> rows = np.random.default_rng(0).normal(size=(50, 5))
    >>> correlation = np.corrcoef(rows.T)
    >>> check_criterion(Criterion(correlation[:4, :4].copy(), correlation[:4, 4:].copy(),
    ...                           scale=np.ones(4), ridge=0.0))
    """
    run_checks(CHECKS, criterion, skip)


def shapes(criterion: Criterion) -> None:
    """Arrays of the right shape, type and layout: the core reads their memory as it is."""
    K = len(criterion.A)
    _require_shape("A", criterion.A, (K, K))
    _require_shape("D", criterion.D, (K, *criterion.D.shape[1:2]) if criterion.D.ndim == 2 else ())
    _require_shape("scale", criterion.scale, (K,))
    redundant = criterion.redundant
    if redundant.size and (redundant.min() < 0 or redundant.max() >= K):
        raise ContractError(
            f"redundant features from 0 to {K - 1}", f"{redundant.tolist()}", "a mask, not indices"
        )


def _require_shape(name: str, array: FloatArray, shape: tuple[int, ...]) -> None:
    """Float64, C-contiguous and of that shape; an empty shape says that D has no columns."""
    if array.dtype != np.float64 or array.shape != shape or not array.flags.c_contiguous:
        layout = "C" if array.flags.c_contiguous else "not C"
        raise ContractError(
            f"{name} float64, C-contiguous, of shape {shape or '(n_features, n_columns)'}",
            f"{array.dtype}, {layout}-contiguous, of shape {array.shape}",
            "a vector where one column is meant (d[:, None]), a transpose or a slice "
            "(np.ascontiguousarray)",
        )


def finite(criterion: Criterion) -> None:
    """No NaN, no infinity."""
    for name in ("A", "D", "scale", "ridge"):
        if not np.isfinite(getattr(criterion, name)).all():
            raise ContractError(
                f"finite numbers in {name}",
                "NaN or infinity",
                "a constant feature divided by its deviation, which is zero",
            )


def symmetric(criterion: Criterion) -> None:
    """A is its own transpose."""
    A = criterion.A
    size = np.abs(A) + np.sqrt(np.abs(np.outer(np.diag(A), np.diag(A))))
    apart = np.abs(A - A.T) > SYMMETRY * size
    if apart.any():
        i, j = np.argwhere(apart)[0]
        raise ContractError(
            "A symmetric",
            f"A[{i}, {j}] = {A[i, j]:.10g} and A[{j}, {i}] = {A[j, i]:.10g}",
            "rows and columns scaled differently, or one triangle left unfilled",
        )


def positive_definite(criterion: Criterion) -> None:
    """Every subset has an inverse. The scale of the features is taken out first."""
    diagonal = np.diag(criterion.A)
    cause = "features that are copies or outnumber the rows; add a ridge to the diagonal"
    if diagonal.min() <= 0:
        got = f"A[{diagonal.argmin()}, {diagonal.argmin()}] = {diagonal.min():g}"
        raise ContractError("A positive definite", got, cause)
    eigenvalues = np.linalg.eigvalsh(criterion.A / np.sqrt(np.outer(diagonal, diagonal)))
    if eigenvalues[0] <= len(diagonal) * np.finfo(float).eps * eigenvalues[-1]:
        got = f"an eigenvalue of {eigenvalues[0]:g} (features scaled to one)"
        raise ContractError("A positive definite", got, cause)


def any_order(criterion: Criterion) -> None:
    """A subset is a set: its value does not depend on the order of its members."""
    for subset in _subsets(criterion):
        value, turned = criterion.value(subset), criterion.value(subset[::-1])
        if not np.isclose(value, turned, rtol=TOLERANCE, atol=0):
            raise ContractError(
                f"the same value for {subset.tolist()} in any order",
                f"{value:.10g} and {turned:.10g}",
                "a `value` of your own that treats members apart",
            )


def value_is_the_core_s(criterion: Criterion) -> None:
    """`value` is what the compiled core computes from A and D."""
    for subset in _subsets(criterion):
        value, compiled = criterion.value(subset), subset_values(criterion, subset[None])[0]
        if not np.isclose(value, compiled, rtol=TOLERANCE, atol=0):
            raise ContractError(
                f"trace(D_S' A_SS^-1 D_S) = {compiled:.10g} for {subset.tolist()}",
                f"value(subset) = {value:.10g}",
                "a `value` of your own that adds something; the core knows A and D alone",
            )


def never_falls(criterion: Criterion) -> None:
    """A feature more never lowers the value."""
    rng = np.random.default_rng(1)
    for _ in range(N_SUBSETS):
        order = rng.permutation(criterion.n_features)[:MAX_SIZE]
        values = np.array([criterion.value(order[:n]) for n in range(1, len(order) + 1)])
        fall = np.diff(values) < -TOLERANCE * np.abs(values[1:])
        if fall.any():
            n = int(fall.argmax())
            raise ContractError(
                "a value that never falls when a feature is added",
                f"{values[n]:.10g}, then {values[n + 1]:.10g} with feature {order[n + 1]}",
                "A is not positive definite, or a penalty on the size in `value`",
            )


def pickles(criterion: Criterion) -> None:
    """A copy by pickle, as processes get one, gives the same values."""
    twin = pickle.loads(pickle.dumps(criterion))
    for subset in _subsets(criterion):
        if twin.value(subset) != criterion.value(subset):
            raise ContractError(
                f"value(subset) = {criterion.value(subset):.10g} of a copy by pickle",
                f"{twin.value(subset):.10g}",
                "__getstate__ leaves out something that the value hangs on",
            )


def _subsets(criterion: Criterion) -> list[IntArray]:
    """Random subsets of several sizes, without collinear members where there is a choice."""
    rng = np.random.default_rng(0)
    sizes = rng.integers(1, min(criterion.n_features, MAX_SIZE), size=N_SUBSETS, endpoint=True)
    return [random_subsets(criterion, int(size), 1, rng)[0] for size in sizes]


CHECKS = (
    shapes,
    finite,
    symmetric,
    positive_definite,
    any_order,
    value_is_the_core_s,
    never_falls,
    pickles,
)
