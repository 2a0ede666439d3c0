"""Parameter objects, allowed values of parameters, and settings of the engine."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, ClassVar, Self, TypeAlias

import numpy as np
from sklearn.utils._param_validation import HasMethods, Interval, Options, StrOptions

from safdr._engine.annealing.loop import AnnealingSettings
from safdr._engine.annealing.population import PopulationSettings

if TYPE_CHECKING:  # with an untyped base, mypy accepts any parameter of a dataclass

    class BaseEstimator:
        def get_params(self, deep: bool = True) -> dict[str, Any]: ...
        def set_params(self, **params: Any) -> Self: ...
else:
    from sklearn.base import BaseEstimator

AT_LEAST_ONE = Interval(Integral, 1, None, closed="left")
POSITIVE = Interval(Real, 0, None, closed="neither")

# Parameters of both kinds of annealing.
_SHARED: dict[str, Any] = {
    "sweeps": [POSITIVE],
    "max_steps": [AT_LEAST_ONE],
    "tol": [Interval(Real, 0, None, closed="left")],
    "n_iter_no_change": [AT_LEAST_ONE],
    "n_batches": [AT_LEAST_ONE],
    "batch_fraction": [Interval(Real, 0, 1, closed="right")],
    "screen": [None, StrOptions({"auto"}), AT_LEAST_ONE],
    "device": "no_validation",
}


@dataclass(kw_only=True, eq=False, repr=False)
class Annealing(BaseEstimator):
    """Set the annealing: replicas, temperatures, stopping, batches, screen and device.

    Pass it to a selector as ``annealing=``.

    Parameters
    ----------
    n_replicas : int, default=20
        Number of subsets that are annealed side by side.

    sweeps : float, default=0.5
        Swaps proposed to each replica at each temperature, as a multiple of the number of features.

    temperature_step : float, default=0.7
        Step of the inverse temperature, in units of 1/σ. σ is the standard deviation of the
        criterion over the random subsets at the start.

    max_steps : int, default=100
        Largest number of temperature steps.

    tol, n_iter_no_change : float, default=0.02, and int, default=3
        Annealing stops if the mean criterion over `n_iter_no_change` steps changes relatively by at
        most `tol` from that over the steps before.

    n_batches, batch_fraction : int, default=5, and float, default=0.5
        Number of random stratified batches, and share of the rows in each. At each temperature,
        each replica uses one batch, so that replicas differ. For all rows use 1 and 1.0.

    screen : "auto", int or None, default="auto"
        Number of features that are annealed: the first that enter the L1 (LARS) path of the
        criterion.

        - "auto" keeps k + 3 + n_samples // 20 features for a subset of k, and more for precise
          regression targets. It keeps all for more than two classes (up to 2000 features), with
          `feature_cost` if their matrix fits into memory, and with a callable criterion.
        - An int keeps that many, or k if that is larger.
        - None keeps all. Use it, with ``shrinkage=None``, if the difference of correlated features
          matters.

    device : str or torch.device, default=None
        Device of torch that anneals, such as "cuda". None is the CPU.

    See Also
    --------
    PopulationAnnealing : Replicas that are resampled.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from safdr import Annealing, AnnealingSelector
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> thorough = Annealing(n_replicas=100, tol=1e-3)
    >>> selector = AnnealingSelector(3, annealing=thorough, random_state=0).fit(X, y)
    >>> selector.result_.n_replicas
    100
    >>> selector.set_params(annealing__max_steps=10).annealing
    Annealing(max_steps=10, n_replicas=100, tol=0.001)
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "n_replicas": [AT_LEAST_ONE],
        "temperature_step": [POSITIVE],
        **_SHARED,
    }

    n_replicas: int = 20
    sweeps: float = 0.5
    temperature_step: float = 0.7
    max_steps: int = 100
    tol: float = 0.02
    n_iter_no_change: int = 3
    n_batches: int = 5
    batch_fraction: float = 0.5
    screen: int | str | None = "auto"
    device: Any = None


@dataclass(kw_only=True, eq=False, repr=False)
class PopulationAnnealing(BaseEstimator):
    """Anneal a population: at each temperature, copy good replicas and drop bad ones.

    Pass it to a selector as ``annealing=``, if `Annealing` misses features that matter only
    together, such as a measurement and its reference.

    Parameters
    ----------
    n_replicas : int, default=200
        Number of subsets that are annealed side by side. Raise it if
        ``result_.trace.n_families`` falls to 1 well before the end.

    sweeps : float, default=1.0
        As in `Annealing`.

    target_ess : float, default=0.9
        Effective sample size after a temperature step, as a share of the replicas. It sets the
        step: a larger share is slower and more reliable.

    max_steps : int, default=200
        Largest number of temperature steps.

    tol, n_iter_no_change, n_batches, batch_fraction, screen, device
        As in `Annealing`.

    See Also
    --------
    Annealing : Independent replicas.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from safdr import AnnealingSelector, PopulationAnnealing
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> annealing = PopulationAnnealing(n_replicas=100)
    >>> selector = AnnealingSelector(3, annealing=annealing, random_state=0).fit(X, y)
    >>> int(selector.result_.trace.n_families[0])
    100
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "n_replicas": [Interval(Integral, 2, None, closed="left")],
        "target_ess": [Interval(Real, 0, 1, closed="neither")],
        **_SHARED,
    }

    n_replicas: int = 200
    sweeps: float = 1.0
    target_ess: float = 0.9
    max_steps: int = 200
    tol: float = 0.02
    n_iter_no_change: int = 3
    n_batches: int = 5
    batch_fraction: float = 0.5
    screen: int | str | None = "auto"
    device: Any = None


AnyAnnealing: TypeAlias = Annealing | PopulationAnnealing

# The annealing of the paper.
PUBLISHED = Annealing(n_replicas=50, tol=5e-3, n_iter_no_change=5, screen=None)


def engine_settings(annealing: AnyAnnealing | None) -> AnnealingSettings | PopulationSettings:
    """Return the settings of the engine, as Python numbers."""
    if annealing is None:
        return AnnealingSettings()
    # np.float32 and the like are converted.
    settings: dict[str, Any] = {
        name: int(value) if isinstance(value, Integral) else float(value)
        for name, value in annealing.get_params().items()
        if name not in ("screen", "device")
    }
    is_population = isinstance(annealing, PopulationAnnealing)
    return PopulationSettings(**settings) if is_population else AnnealingSettings(**settings)


@dataclass(kw_only=True, eq=False, repr=False)
class Constraints(BaseEstimator):
    """Limit the subsets: features in, out, together, never together, or with a sign.

    Pass it to a selector as ``constraints=``. A feature is a column name or an index; several
    features may be a mask over all columns.

    Parameters
    ----------
    always_include, never_include : feature or sequence of features, default=None
        Features of every subset, and of none. A member of a group stands for the whole group.

    groups : sequence or dict of sequences of features, or callable, default=None
        Features that enter together and count as one, such as the columns of one category. The keys
        of a dict are names for other parameters. A callable gets the names of the columns, or their
        indices, and returns the groups.

    at_most_one_of : sequence or dict of sequences of features, default=None
        Sets of mutually exclusive features, such as versions of one measurement.

    signs : dict from features to -1 or 1, or array-like of shape (n_features,), default=None
        Sign that the coefficient of a feature must have: 1 or "+" if a larger value must raise the
        prediction, -1 or "-" if it must lower it, 0 for either. It needs two classes or one output,
        and the built-in criterion and model.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from safdr import AnnealingSelector, Constraints
    >>> X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    >>> constraints = Constraints(always_include="mean radius", never_include="worst radius")
    >>> selector = AnnealingSelector(3, constraints=constraints, random_state=0).fit(X, y)
    >>> selector.get_feature_names_out().tolist()
    ['mean radius', 'worst texture', 'worst concave points']
    >>> lower = Constraints(signs=[-1] * 30)  # the second class is benign
    >>> selector = AnnealingSelector(10, constraints=lower, random_state=0).fit(X, y)
    >>> bool((selector.estimator_.coef_ <= 0).all())
    True
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {}  # checked with the names of X

    always_include: Any = None
    never_include: Any = None
    groups: Any = None
    at_most_one_of: Any = None
    signs: Any = None


# What None stands for in `set_params(annealing__n_replicas=…)`.
PARAMETER_OBJECTS: dict[str, type[BaseEstimator]] = {
    "annealing": Annealing,
    "constraints": Constraints,
}

# Parameters of all selectors, but for the names of the criterion.
PARAMETERS: dict[str, Any] = {
    "estimator": [None, HasMethods(["fit", "predict"])],
    "shrinkage": [None, StrOptions({"auto"}), Interval(Real, 0, 1, closed="left")],
    "C": [None, Interval(Real, 0, None, closed="neither"), Options(Real, {np.inf})],
    "constraints": [None, Constraints],
    "feature_cost": "no_validation",
    "annealing": [None, Annealing, PopulationAnnealing],
    "n_jobs": [None, Integral],
    "random_state": ["random_state"],
}
REGRESSOR_PARAMETERS: dict[str, Any] = PARAMETERS | {
    "family": [StrOptions({"gaussian", "poisson", "gamma"})],
    "criterion": [StrOptions({"auto", "r2"}), callable],
}
SURVIVAL_PARAMETERS: dict[str, Any] = PARAMETERS | {
    "criterion": [StrOptions({"auto", "score"}), callable],
}
CLASS_PARAMETERS: dict[str, Any] = PARAMETERS | {
    "criterion": [StrOptions({"auto", "fisher"}), callable],
    "class_weight": [None, dict, StrOptions({"balanced"})],
}
