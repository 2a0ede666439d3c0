"""The contract of an objective: a function of the chosen columns and the labels."""

from __future__ import annotations

import math
import pickle
import sys
from collections.abc import Callable, Collection, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from safdr._engine.arrays import FloatArray, IntArray
from safdr.testing.contract import ContractError, run_checks

# The same call may differ in the last bits (sums depend on where an array lies in memory); fits
# that stop at a tolerance differ more once the columns come in another order.
SAME_CALL = 1e-9
SAME_COLUMNS = 1e-6

N_SINGLE, N_BETWEEN = 5, 3
N_THREADS, N_CALLS = 4, 40


def check_objective(
    objective: Callable[..., float],
    X: ArrayLike,
    y: ArrayLike,
    *,
    sample_weight: ArrayLike | None = None,
    skip: Collection[str] = (),
) -> None:
    """Check that a function can serve as an objective, to be maximised over subsets.

    These are the checks, in order: `returns_a_finite_number`, `leaves_arguments_alone`,
    `same_call_same_value`, `any_column_order`, `unit_weights_are_none`, `constant_column`,
    `pickles`, `many_threads`.

    Parameters
    ----------
    objective : callable
        Called as ``objective(X_subset, y)``, with the chosen columns in increasing order as a
        float64 array; with ``sample_weight=`` as well where weights are given.
    X : array-like of shape (n_rows, n_features)
        Rows to check it on, of finite numbers; constant columns are left out. Some tens of rows
        will do.
    y : array-like of shape (n_rows,)
        Labels, or whatever the objective takes.
    sample_weight : array-like of shape (n_rows,), default=None
        Weights. None means that the objective is never given any.
    skip : collection of str, default=()
        Names of checks to leave out.

    Raises
    ------
    ContractError
        At the first check that fails: what was expected, what came, and what usually causes it.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.metrics import calinski_harabasz_score
    >>> from safdr.testing import check_objective
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> check_objective(calinski_harabasz_score, X[:100], y[:100])
    """
    run_checks(CHECKS, _case(objective, X, y, sample_weight), skip)


@dataclass(frozen=True)
class _Case:
    """An objective and the rows to check it on."""

    objective: Callable[..., float]
    X: FloatArray
    y: NDArray[Any]
    sample_weight: FloatArray | None

    def arguments(self, columns: IntArray) -> list[NDArray[Any]]:
        """Fresh arrays for one call, so that one that changes them spoils no other check."""
        arguments = [self.X[:, columns], self.y.copy()]
        return arguments if self.sample_weight is None else [*arguments, self.sample_weight.copy()]

    def value(self, columns: IntArray) -> float:
        """Value of one subset."""
        return _call(self.objective, self.arguments(columns))


def _call(objective: Callable[..., float], arguments: Sequence[NDArray[Any]]) -> float:
    """Value of the objective; the third argument is the weight."""
    X, y, *weight = arguments
    return objective(X, y, sample_weight=weight[0]) if weight else objective(X, y)


def _case(
    objective: Callable[..., float], X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None
) -> _Case:
    """The arguments of `check_objective`, once they are found fit to check anything on."""
    rows, labels = np.array(X, dtype=np.float64), np.asarray(y)
    if rows.ndim != 2 or not np.isfinite(rows).all():
        raise ValueError("X must be a table of finite numbers, one column a feature.")
    rows = rows[:, np.ptp(rows, axis=0) > 0]
    if rows.shape[1] < 2:
        raise ValueError(f"X must have at least 2 columns that vary; got {rows.shape[1]}.")
    weight = None if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
    if len(labels) != len(rows) or (weight is not None and weight.shape != (len(rows),)):
        raise ValueError(f"y and sample_weight must have one entry for each of {len(rows)} rows.")
    return _Case(objective, rows, labels, weight)


def _subsets(case: _Case) -> Iterator[IntArray]:
    """Single columns, some of the sizes between, and all."""
    rng = np.random.default_rng(0)
    n_features = case.X.shape[1]
    yield from rng.permutation(n_features)[:N_SINGLE, None]
    for size in rng.integers(1, n_features, size=N_BETWEEN) + 1:
        yield np.sort(rng.permutation(n_features)[:size])
    yield np.arange(n_features)


def returns_a_finite_number(case: _Case) -> None:
    """One number for one column, for some and for all."""
    for columns in _subsets(case):
        value: Any = case.value(columns)
        if not isinstance(value, Real):
            raise ContractError(
                "one number",
                f"{type(value).__name__} for {len(columns)} columns",
                "one score a column, a matrix of one entry, or a forgotten return",
            )
        if not math.isfinite(value):
            raise ContractError(
                "a finite number where no column is constant",
                f"{value} for {len(columns)} columns",
                "a division by zero, the logarithm of zero, or a singular matrix (too many columns "
                "for the rows?)",
            )


def leaves_arguments_alone(case: _Case) -> None:
    """What it is given is the same afterwards, and may be read-only."""
    cause = "an in-place step such as X -= X.mean(axis=0); write X = X - X.mean(axis=0)"
    columns = np.arange(case.X.shape[1])
    before, after = case.arguments(columns), case.arguments(columns)
    _call(case.objective, after)
    for name, old, new in zip(("X", "y", "sample_weight"), before, after, strict=False):
        if not np.array_equal(old, new):
            raise ContractError(f"{name} left as it was", f"another {name} after the call", cause)
    for array in before:
        array.flags.writeable = False
    try:
        _call(case.objective, before)
    except ValueError as error:
        raise ContractError("read-only arrays to do", f"ValueError: {error}", cause) from error


def same_call_same_value(case: _Case) -> None:
    """The value is that of the columns, and of no call before."""
    subsets = list(_subsets(case))
    for columns, first in zip(subsets, [case.value(s) for s in subsets], strict=True):
        again = case.value(columns)
        if not math.isclose(first, again, rel_tol=SAME_CALL):
            raise ContractError(
                "the same value for the same columns",
                f"{first:.10g} and then {again:.10g}",
                "random numbers without a fixed seed, or something kept from the call before",
            )


def any_column_order(case: _Case) -> None:
    """A subset is a set: its value does not depend on the order of the columns."""
    subsets = [columns for columns in _subsets(case) if len(columns) > 1]
    values = [case.value(columns) for columns in subsets]
    near_zero = SAME_COLUMNS * float(np.abs(values).max())
    for columns, value in zip(subsets, values, strict=True):
        turned = case.value(columns[::-1])
        if not math.isclose(value, turned, rel_tol=SAME_COLUMNS, abs_tol=near_zero):
            raise ContractError(
                f"the same value for the columns in another order, within {SAME_COLUMNS:g}",
                f"{value:.10g} and {turned:.10g}",
                "one column treated apart, a fit that stops early, or random numbers a column",
            )


def unit_weights_are_none(case: _Case) -> None:
    """Weights of one are no weights; only checked where weights are given."""
    if case.sample_weight is None:
        return
    columns = np.arange(case.X.shape[1])
    without = _call(case.objective, case.arguments(columns)[:2])
    ones = _call(case.objective, [*case.arguments(columns)[:2], np.ones(len(case.X))])
    if not math.isclose(without, ones, rel_tol=SAME_COLUMNS):
        raise ContractError(
            "the same value with weights of one as without weights",
            f"{ones:.10g} with and {without:.10g} without",
            "weights used in one place and forgotten in another, or sums where means are meant",
        )


def constant_column(case: _Case) -> None:
    """A constant column, as the rows of a fold may have one, is no accident."""
    for constant in (0.0, 1.0):
        column = np.full((len(case.X), 1), constant)
        for others in (case.X[:, :0], case.X[:, :1]):
            value = _call(case.objective, [np.hstack([others, column]), *_without_X(case)])
            if math.isnan(value) or value == math.inf:
                raise ContractError(
                    "a number, or -inf, where a column is constant",
                    f"{value}",
                    "a division by its deviation, which is zero; give it no weight, or return -inf",
                )


def _without_X(case: _Case) -> list[NDArray[Any]]:
    """Labels and weights for one call."""
    return case.arguments(np.arange(1))[1:]


def pickles(case: _Case) -> None:
    """A copy by pickle, as processes get one, gives the same value."""
    columns = np.arange(case.X.shape[1])
    cause = "a lambda or a function within a function; define it at the top of a module"
    try:
        twin = pickle.loads(pickle.dumps(case.objective))
    except Exception as error:
        got = f"{type(error).__name__}: {error}"
        raise ContractError("an objective that pickle can copy", got, cause) from error
    value, copied = case.value(columns), _call(twin, case.arguments(columns))
    if not math.isclose(value, copied, rel_tol=SAME_CALL):
        raise ContractError(
            "the same value of a copy by pickle",
            f"{copied:.10g} instead of {value:.10g}",
            "__getstate__ leaves out something that the value hangs on",
        )


def many_threads(case: _Case) -> None:
    """Calls from several threads at once give what they give one by one."""
    subsets = list(_subsets(case))
    alone = [case.value(columns) for columns in subsets]
    with _busy_switching(), ThreadPoolExecutor(N_THREADS) as pool:
        together = list(pool.map(case.value, subsets * N_CALLS))
    for value, expected in zip(together, alone * N_CALLS, strict=True):
        if not math.isclose(value, expected, rel_tol=SAME_CALL):
            raise ContractError(
                "the same value from several threads at once as from one",
                f"{value:.10g} instead of {expected:.10g}",
                "scratch arrays or counters shared between calls, in self or a global",
            )


@contextmanager
def _busy_switching() -> Iterator[None]:
    """Let Python change threads often, so that calls that disturb each other meet."""
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        yield
    finally:
        sys.setswitchinterval(interval)


CHECKS = (
    returns_a_finite_number,
    leaves_arguments_alone,
    same_call_same_value,
    any_column_order,
    unit_weights_are_none,
    constant_column,
    pickles,
    many_threads,
)
