"""Parameter objects, what values parameters allow, and the plain numbers that they stand for."""

from __future__ import annotations

import re
from collections.abc import Mapping
from numbers import Integral, Real
from typing import Any, ClassVar, TypeAlias

import numpy as np
from joblib import effective_n_jobs
from sklearn.base import BaseEstimator
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
# A penalty this strong leaves no slope to speak of on ten million rows.
SMALLEST_C = 1e-9
# What is left to the data.
AUTO = "auto"


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


# Of all dynamics: when they stop, and what batches they see.
STOP_AND_BATCH_CONSTRAINTS: dict[str, Any] = {
    "tol": [Number(0, None, closed="left")],
    "n_iter_no_change": [WholeNumber(1)],
    "n_batches": [WholeNumber(1, MOST_BATCHES)],
    "batch_fraction": [Number(0, 1, closed="right")],
    "batch_draw": [StrOptions({"step", "proposal"})],
    "screen": [None, StrOptions({AUTO}), WholeNumber(1)],
}


class Annealing(BaseEstimator):
    """How to anneal: replicas, temperatures, when to stop, and noise.

    Pass it to a selector or to `anneal_path` as ``annealing=``; None there means these defaults.

    Parameters
    ----------
    n_replicas : int, default=50
        Number of subsets that are annealed side by side.

    sweeps : float, default=0.5
        Swaps proposed to each replica at each temperature, as a multiple of the number of features.

    temperature_step : float, default=0.7
        Step of the inverse temperature, in units of 1/σ, where σ is the standard deviation of the
        criterion over the random subsets at the start.

    max_steps : int, default=100
        Largest number of temperature steps.

    tol : float, default=5e-3
        Annealing stops when the mean criterion value, averaged over `n_iter_no_change` steps,
        has changed relatively by no more than this from the average over as many steps before.

    n_iter_no_change : int, default=5
        Number of steps averaged over by `tol`. The replicas are looked at every five steps.

    n_batches : int, default=5
        Number of random stratified batches of the rows. At each temperature step each replica
        sweeps on the criterion of one of them, drawn at random. This noise keeps the replicas from
        all ending in the same subset. ``n_batches=1, batch_fraction=1.0`` is no noise. At most
        10 000, and fewer where the matrices of so many features would fill the memory.

    batch_fraction : float, default=0.5
        Share of each class that is in a batch. It is raised, up to 1, where a batch would have
        fewer than two rows for each feature of a subset.

    batch_draw : {"step", "proposal"}, default="step"
        Whether a replica draws its batch for each temperature step or for each proposed swap. The
        latter is several times slower.

    screen : "auto", int or None, default="auto"
        Number of features that are annealed, for a subset of k features. They are the first that
        enter the L1 (LARS) path of the criterion.

        - "auto" keeps k + 3 + n_samples // 20 features; for regression more, if the targets are
          precise. It keeps all features for more than two classes (up to 2000 features), and with
          `feature_cost` while their matrix fits into memory, since the path ignores costs.
        - An int keeps that many, or k if that is larger.
        - None keeps all. Use it, with ``ridge=1e-6``, if the difference of correlated features
          matters: no path sees such pairs.

        A callable criterion is screened only by an int.

    See Also
    --------
    PopulationAnnealing : Replicas that copy the good ones among them.
    Constraints : Which subsets are allowed.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from safdr import Annealing, AnnealingSelector
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> quick = Annealing(n_replicas=20, max_steps=40)
    >>> selector = AnnealingSelector(3, annealing=quick, random_state=0).fit(X, y)
    >>> selector.result_.n_replicas
    20
    >>> selector.set_params(annealing__max_steps=10).annealing
    Annealing(max_steps=10, n_replicas=20)
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "n_replicas": [WholeNumber(1, MOST_REPLICAS)],
        "sweeps": [Number(0, MOST_SWEEPS, closed="right")],
        "temperature_step": [Number(0, LARGEST_TEMPERATURE_STEP, closed="right")],
        "max_steps": [WholeNumber(1, MOST_STEPS)],
        **STOP_AND_BATCH_CONSTRAINTS,
    }

    def __init__(
        self,
        *,
        n_replicas: int = 50,
        sweeps: float = 0.5,
        temperature_step: float = 0.7,
        max_steps: int = 100,
        tol: float = 5e-3,
        n_iter_no_change: int = 5,
        n_batches: int = 5,
        batch_fraction: float = 0.5,
        batch_draw: str = "step",
        screen: int | str | None = AUTO,
    ) -> None:
        self.n_replicas = n_replicas
        self.sweeps = sweeps
        self.temperature_step = temperature_step
        self.max_steps = max_steps
        self.tol = tol
        self.n_iter_no_change = n_iter_no_change
        self.n_batches = n_batches
        self.batch_fraction = batch_fraction
        self.batch_draw = batch_draw
        self.screen = screen


class PopulationAnnealing(BaseEstimator):
    """Anneal a population: at each temperature good replicas are copied and bad ones dropped.

    Pass it to a selector or to `anneal_path` as ``annealing=``, in place of `Annealing`. It is for
    features that count only together, such as a measurement and its reference, beside many that
    count a little each on their own: there it finds better subsets in less time. Where plain
    annealing is sure of the best subset it only takes longer.

    Parameters
    ----------
    population : int, default=200
        Number of subsets that are annealed side by side.

    sweeps : float, default=1.0
        Swaps proposed to each replica at each temperature, as a multiple of the number of features.

    overlap : float, default=0.9
        Share of the population that still counts after a step of the temperature (the effective
        sample size, once replicas are weighed for the new one). It sets the step: larger is slower
        and surer. No step is longer than one over the criterion's spread in the population.

    max_steps : int, default=200
        Largest number of temperature steps.

    tol, n_iter_no_change, n_batches, batch_fraction, batch_draw, screen
        As in `Annealing`.

    See Also
    --------
    Annealing : Replicas that know nothing of each other.

    Notes
    -----
    ``result_.trace`` holds how many families are left, and how large they are: `n_families` and
    `family_size`. Where one family is left well before the end, the population was too small.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from safdr import AnnealingSelector, PopulationAnnealing
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> annealing = PopulationAnnealing(population=100)
    >>> selector = AnnealingSelector(3, annealing=annealing, random_state=0).fit(X, y)
    >>> int(selector.result_.trace.n_families[0])
    50
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "population": [WholeNumber(2, MOST_REPLICAS)],
        "sweeps": [Number(0, MOST_SWEEPS, closed="right")],
        "overlap": [Number(0, 1, closed="neither")],
        "max_steps": [WholeNumber(1, MOST_STEPS)],
        **STOP_AND_BATCH_CONSTRAINTS,
    }

    def __init__(
        self,
        *,
        population: int = 200,
        sweeps: float = 1.0,
        overlap: float = 0.9,
        max_steps: int = 200,
        tol: float = 5e-3,
        n_iter_no_change: int = 5,
        n_batches: int = 5,
        batch_fraction: float = 0.5,
        batch_draw: str = "step",
        screen: int | str | None = AUTO,
    ) -> None:
        self.population = population
        self.sweeps = sweeps
        self.overlap = overlap
        self.max_steps = max_steps
        self.tol = tol
        self.n_iter_no_change = n_iter_no_change
        self.n_batches = n_batches
        self.batch_fraction = batch_fraction
        self.batch_draw = batch_draw
        self.screen = screen


# What `annealing=` takes.
AnyAnnealing: TypeAlias = Annealing | PopulationAnnealing


class Constraints(BaseEstimator):
    """Which subsets are allowed: features in, out, together, or never together.

    Pass it to a selector or to `anneal_path` as ``constraints=``; None there allows all subsets. A
    feature is named by its column name, its index, or a mask over all columns.

    Parameters
    ----------
    always_include, never_include : feature or sequence of features, default=None
        Features that every subset has, or none. One feature of a group brings in the whole group.

    groups : sequence of sequences of features, or dict of them, default=None
        Features that enter together or not at all, such as the columns of one category. A feature
        is in one group at most; those in none are on their own. The keys of a dict can be used as
        names of features in other parameters. (Groups of rows, for a splitter, go to the `fit` of
        `AnnealingSelectorCV`.)

    at_most_one_of : sequence of sequences of features, or dict of them, default=None
        Sets of features of which a subset has one at most, such as versions of one measurement.

    count_by : {"group", "column"}, default="group"
        Whether a group counts as one feature, or each of its columns.

    signs : dict from features to -1 or 1, or array-like of shape (n_features,), default=None
        Sign that the coefficient of a feature must have in the model: with 1 a larger value raises
        the log-odds of the second class, or the predicted output, and with -1 it lowers them. Other
        features (0 in an array) may have either; a coefficient of zero is right in any case. For
        two classes, or one output, and the built-in criteria and models.

    See Also
    --------
    Annealing : How to anneal.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from safdr import AnnealingSelector, Constraints
    >>> X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    >>> constraints = Constraints(always_include="mean radius", never_include="worst radius")
    >>> selector = AnnealingSelector(3, constraints=constraints, random_state=0).fit(X, y)
    >>> selector.get_feature_names_out().tolist()
    ['mean radius', 'worst texture', 'worst concave points']

    Of this data the second class is benign: no coefficient may speak for it.

    >>> lower = Constraints(signs=[-1] * 30)
    >>> selector = AnnealingSelector(10, constraints=lower, random_state=0).fit(X, y)
    >>> bool((selector.estimator_.coef_ <= 0).all())
    True
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "always_include": "no_validation",
        "never_include": "no_validation",
        "groups": "no_validation",
        "at_most_one_of": "no_validation",
        "count_by": [StrOptions({"group", "column"})],
        "signs": "no_validation",
    }

    def __init__(
        self,
        *,
        always_include: Any = None,
        never_include: Any = None,
        groups: Any = None,
        at_most_one_of: Any = None,
        count_by: str = "group",
        signs: Any = None,
    ) -> None:
        self.always_include = always_include
        self.never_include = never_include
        self.groups = groups
        self.at_most_one_of = at_most_one_of
        self.count_by = count_by
        self.signs = signs


# What None stands for, by the name of the parameter.
PARAMETER_OBJECTS: dict[str, type[BaseEstimator]] = {
    "annealing": Annealing,
    "constraints": Constraints,
}

# A penalty that is known; infinite where there is none.
C_NUMBER = Number(SMALLEST_C, None, closed="both")

# Shared by every estimator that anneals.
SELECTOR_CONSTRAINTS: dict[str, Any] = {
    "annealing": [None, Annealing, PopulationAnnealing],
    "constraints": [None, Constraints],
    "criterion": [StrOptions({AUTO, "fisher"}), HasMethods(["fit"]), callable],
    "estimator": [None, HasMethods(["fit"])],
    "feature_cost": "no_validation",
    "cost_strength": [Number(0, None, closed="left")],
    "class_weight": [None, dict, StrOptions({"balanced"})],
    "ridge": [Number(1e-12, LARGEST_RIDGE, closed="both"), StrOptions({AUTO})],
    "C": [C_NUMBER],
    "clip": [None, Number(0, 0.5, closed="neither")],
    "prove": [None, Number(0, None, closed="left")],
    "device": "no_validation",
    "n_jobs": [None, WholeNumber(-MOST_JOBS, -1), WholeNumber(1, MOST_JOBS)],
    "random_state": [None, WholeNumber(0, 2**32 - 1), np.random.RandomState],
}

# Of those whose target has no classes.
REGRESSOR_CONSTRAINTS = {
    **{k: v for k, v in SELECTOR_CONSTRAINTS.items() if k != "class_weight"},
    "criterion": [StrOptions({AUTO, "r2"}), HasMethods(["fit"]), callable],
}


# What to do, where the range that is allowed does not say.
NEXT_STEP = {
    "prove": "It is a time in seconds, such as 10; leave it out for no proof.",
    "n_jobs": "1 does one thing at a time, and -1 takes all processors.",
}


class WrongValueError(ParameterError, InvalidParameterError):
    """A value out of range, told as scikit-learn does, whose checks ask for that."""

    def in_words(self, names: Mapping[str, str], column_names: Any = None) -> str:
        """Where parameters are called otherwise nobody can write None: it is leaving them out."""
        text = super().in_words(names, column_names)
        return re.sub("must be None(,| or) ", "must be ", text) if names else text

    def __str__(self) -> str:
        return f"The {self.parameter!r} parameter of {self._values['owner']} {self._values['must']}"


def check_values(
    owner: str, values: Mapping[str, Any], allowed: Mapping[str, Any] = SELECTOR_CONSTRAINTS
) -> None:
    """Refuse values that no rows would allow, those of parameter objects too."""
    for parameter, value in values.items():
        try:
            validate_parameter_constraints(allowed, {parameter: value}, owner)
        except InvalidParameterError as error:
            must = str(error).removeprefix(f"The {parameter!r} parameter of {owner} ")
            # Classes are called as people import them.
            must = re.sub(r"'safdr\._[\w.]*\.(?=\w+')", "'safdr.", must)
            must = f"{must} {NEXT_STEP.get(parameter, '')}".rstrip()
            raise WrongValueError(parameter, "{must}", must=must, owner=owner) from None
        if isinstance(value, AnyAnnealing | Constraints):
            within = value.get_params(deep=False)
            check_values(type(value).__name__, within, value._parameter_constraints)


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
