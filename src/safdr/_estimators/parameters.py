"""What values the parameters of estimators allow, and the plain numbers that they stand for."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any

import numpy as np
from joblib import effective_n_jobs
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import (
    HasMethods,
    Interval,
    InvalidParameterError,
    StrOptions,
    validate_parameter_constraints,
)

from safdr.errors import ParameterError

# Bounds against slips of the pen (a seed in the place of a number): what lies beyond takes days or
# all memory, and is no better for it.
MOST_REPLICAS = 1_000_000
MOST_STEPS = 1_000_000
MOST_SWEEPS = 1e6
# A replica that draws from a hundred batches can't tell them from a thousand.
MOST_BATCHES = 10_000
# A thread pool starts as many as it is told at once.
MOST_JOBS = 4096
# Steps of a thousand already freeze the replicas at once; beta = step / σ must stay a number.
LARGEST_TEMPERATURE_STEP = 1e6
# The criterion keeps its first four digits beside a cost of this size.
LARGEST_COST = 1e12
# From here on correlations no longer count, and the criterion only shrinks.
LARGEST_RIDGE = 1e6


def is_bool(value: Any) -> bool:
    """Whether it is a truth value, which Python takes for a number."""
    return isinstance(value, bool | np.bool_)


def is_int(value: Any) -> bool:
    """Whether it is an int of any type, but no bool."""
    return isinstance(value, Integral) and not is_bool(value)


def as_float(value: Any) -> float:
    """A real number of any type as a float; infinite where it is too large for one."""
    try:
        return float(value)
    except OverflowError:
        return np.inf if value > 0 else -np.inf


class WholeNumber(Interval):
    """An int of any type in a closed range, but no bool."""

    def __init__(self, low: int, high: int | None = None) -> None:
        super().__init__(Integral, low, high, closed="left" if high is None else "both")

    def is_satisfied_by(self, val: Any) -> bool:
        """Whether the value is allowed."""
        return is_int(val) and bool(super().is_satisfied_by(val))


class Number(Interval):
    """A finite real number of any type in a range, but no bool."""

    def __init__(self, low: float, high: float | None = None, *, closed: str) -> None:
        super().__init__(Real, low, high, closed=closed)

    def is_satisfied_by(self, val: Any) -> bool:
        """Whether the value is allowed."""
        if is_bool(val) or not isinstance(val, Real):
            return False
        return bool(super().is_satisfied_by(as_float(val)))


# Shared by every estimator that anneals.
ANNEALING_CONSTRAINTS: dict[str, Any] = {
    "criterion": [None, HasMethods(["fit"]), callable],
    "estimator": [None, HasMethods(["fit"])],
    "pick": [StrOptions({"auto", "linear", "criterion"})],
    "always_include": "no_validation",
    "never_include": "no_validation",
    "groups": "no_validation",
    "at_most_one_of": "no_validation",
    "count_by": [StrOptions({"group", "column"})],
    "feature_cost": "no_validation",
    "cost_strength": [Number(0, None, closed="left")],
    "n_replicas": [WholeNumber(1, MOST_REPLICAS)],
    "sweeps": [Number(0, MOST_SWEEPS, closed="right")],
    "temperature_step": [Number(0, LARGEST_TEMPERATURE_STEP, closed="right")],
    "max_steps": [WholeNumber(1, MOST_STEPS)],
    "tol": [Number(0, None, closed="left")],
    "n_iter_no_change": [WholeNumber(1)],
    "n_batches": [WholeNumber(1, MOST_BATCHES)],
    "batch_fraction": [Number(0, 1, closed="right")],
    "batch_draw": [StrOptions({"step", "proposal"})],
    "moves": [StrOptions({"metropolis"})],
    "ridge": [Number(1e-12, LARGEST_RIDGE, closed="both")],
    "n_jobs": [None, WholeNumber(-MOST_JOBS, -1), WholeNumber(1, MOST_JOBS)],
    "random_state": [None, WholeNumber(0, 2**32 - 1), np.random.RandomState],
}

CLASS_WEIGHT_CONSTRAINT: dict[str, list[Any]] = {
    "class_weight": [None, dict, StrOptions({"balanced"})],
}


class WrongValueError(ParameterError, InvalidParameterError):
    """A value out of range, told as scikit-learn does, whose checks ask for that."""

    def __str__(self) -> str:
        return f"The {self.parameter!r} parameter of {self._values['owner']} {self._values['must']}"


def check_parameters(owner: Any) -> None:
    """Refuse values that no rows would allow."""
    name = type(owner).__name__
    for parameter, value in owner.get_params(deep=False).items():
        try:
            validate_parameter_constraints(owner._parameter_constraints, {parameter: value}, name)
        except InvalidParameterError as error:
            must = str(error).removeprefix(f"The {parameter!r} parameter of {name} ")
            raise WrongValueError(parameter, "{must}", must=must, owner=name) from None


def n_workers(n_jobs: Any) -> int:
    """How many at the same time, out of scikit-learn's `n_jobs`."""
    return int(effective_n_jobs(as_int(n_jobs)))


def as_int(value: Any) -> int | None:
    """An int of any type as Python's, which never overflows; None stays."""
    return None if value is None else int(value)


def seed_from(random_state: Any) -> int:
    """A seed for the engine out of scikit-learn's `random_state`."""
    if isinstance(random_state, Integral):
        random_state = int(random_state)
    return int(check_random_state(random_state).randint(np.iinfo(np.int32).max))
