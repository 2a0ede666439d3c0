"""Any function of a subset's columns as the criterion, and the classic wrapper as one of them."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from copy import copy
from numbers import Real
from typing import Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator, clone, is_classifier
from sklearn.metrics import check_scoring
from sklearn.utils import _safe_indexing, check_random_state
from sklearn.utils._param_validation import HasMethods
from sklearn.utils.metadata_routing import _routing_enabled
from sklearn.utils.validation import has_fit_parameter

from safdr._engine.arrays import FloatArray, IntArray
from safdr._estimators.parameters import as_float
from safdr._estimators.splits import splits_of
from safdr._estimators.training_data import TrainingData
from safdr._estimators.validation import LARGEST


class CrossValidatedScore(BaseEstimator):
    """The score of a model under cross-validation, as a criterion.

    Pass it as ``criterion=`` to a selector: each subset that the replicas visit is then scored by
    fitting the model to its columns. This sees what the linear criteria are blind to, and costs as
    many fits as there are subsets visited, times the folds. ``criterion=estimator`` is short for
    ``criterion=CrossValidatedScore(estimator)``.

    Parameters
    ----------
    estimator : estimator
        The model. Cloned for each fit.

    scoring : str or callable, default=None
        A scikit-learn scorer; None is the model's own `score`.

    cv : int, cross-validation generator or iterable, default=3
        How to split the rows, the same for every subset (a selector sets a random state that was
        left open). An int is the number of folds: stratified for classifiers, in the order of the
        rows.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.neighbors import KNeighborsClassifier
    >>> from safdr import Annealing, AnnealingSelector, CrossValidatedScore
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(300, 8))
    >>> y = (X[:, 2] > 0) ^ (X[:, 5] > 0)  # no linear criterion sees either of them
    >>> score = CrossValidatedScore(KNeighborsClassifier(), scoring="roc_auc")
    >>> few = Annealing(n_replicas=10)
    >>> selector = AnnealingSelector(2, annealing=few, criterion=score, random_state=0)
    >>> selector.fit(X, y).subset_.tolist()
    [2, 5]
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "estimator": [HasMethods(["fit"])],
        "scoring": [None, str, callable],
        "cv": ["cv_object"],
    }

    def __init__(self, estimator: Any, *, scoring: Any = None, cv: Any = 3) -> None:
        self.estimator = estimator
        self.scoring = scoring
        self.cv = cv

    def __call__(self, X: FloatArray, y: Any, sample_weight: FloatArray | None = None) -> float:
        """Mean score over the folds.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The columns of the subset.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            Labels, or measured outputs.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows, for fits and scores.

        Returns
        -------
        float
        """
        self._validate_params()
        scorer = check_scoring(self.estimator, scoring=self.scoring)
        scores = []
        for train, test in splits_of(self.cv, X, y, classifier=is_classifier(self.estimator)):
            model = clone(self.estimator)
            fit_weighted(model, X, y, sample_weight, train)
            how = {}
            if sample_weight is not None and _takes_weights(scorer):
                how["sample_weight"] = sample_weight[test]
            scores.append(scorer(model, _safe_indexing(X, test), _safe_indexing(y, test), **how))
        return float(np.mean(scores))


def fit_weighted(
    model: Any, X: Any, y: Any, sample_weight: FloatArray | None, rows: Any = None
) -> Any:
    """Fit a model to the rows, or to some of them, with their weights if there are any."""
    if rows is not None:
        X, y = _safe_indexing(X, rows), _safe_indexing(y, rows)
        sample_weight = None if sample_weight is None else sample_weight[rows]
    if sample_weight is None:
        return model.fit(X, y)
    return model.fit(X, y, **{_weight_parameter(model): sample_weight})


def _weight_parameter(model: Any) -> str:
    """What the weights are called in a model's fit: of a pipeline, those of its last step."""
    if has_fit_parameter(model, "sample_weight") or _routing_enabled():
        return "sample_weight"
    if hasattr(model, "steps") and has_fit_parameter(model.steps[-1][1], "sample_weight"):
        return f"{model.steps[-1][0]}__sample_weight"
    raise ValueError(
        f"Rows have weights (sample_weight or class_weight), but the fit of {model!r} takes no "
        "sample_weight. Use an estimator that does, or leave the weights out."
    )


def as_objective(criterion: Any, seed: int) -> Callable[..., float]:
    """What `criterion=` means: a function of columns and target, its randomness fixed."""
    if isinstance(criterion, CrossValidatedScore):
        return CrossValidatedScore(
            seeded(criterion.estimator, seed),
            scoring=criterion.scoring,
            cv=_fixed_splits(criterion.cv, seed),
        )
    if hasattr(criterion, "fit"):
        return CrossValidatedScore(seeded(criterion, seed))
    objective: Callable[..., float] = criterion
    return objective


def _fixed_splits(cv: Any, seed: int) -> Any:
    """Splits that are the same each time they are asked for."""
    if isinstance(cv, Iterator):
        return list(cv)
    if getattr(cv, "random_state", 0) is None:
        cv = copy(cv)
        cv.random_state = seed
    return cv


def model_of(criterion: Any) -> Any:
    """The estimator inside a criterion; None where there is none."""
    if isinstance(criterion, CrossValidatedScore):
        return criterion.estimator
    return criterion if hasattr(criterion, "fit") else None


def seeded(estimator: Any, seed: int) -> Any:
    """A clone in which every random_state that was left open is set."""
    model = clone(estimator)
    rng = check_random_state(seed)
    open_ones = sorted(
        name
        for name, value in model.get_params(deep=True).items()
        if value is None and (name == "random_state" or name.endswith("__random_state"))
    )
    return model.set_params(**{name: int(rng.randint(2**31 - 1)) for name in open_ones})


class RowsObjective:
    """A function of columns and target, as a function of column indices on training data."""

    def __init__(self, function: Callable[..., float], data: TrainingData) -> None:
        self.function = function
        self.X = data.X
        self.y = data.y
        self._how: dict[str, Any] = {}
        if data.sample_weight is not None:
            if not _takes_weights(function):
                raise ValueError(
                    f"Rows have weights (sample_weight or class_weight), but criterion="
                    f"{function!r} takes no keyword sample_weight. Add it, or leave the weights "
                    "out."
                )
            self._how = {"sample_weight": data.sample_weight}

    def __call__(self, columns: IntArray, which: int = -1) -> float:
        """Value of one subset, on all rows: there are no batches."""
        value: Any = self.function(self.X[:, columns], self.y, **self._how)
        if not isinstance(value, Real):  # NumPy's numbers are too
            raise ValueError(
                f"criterion must return one number to be maximised; {self.function!r} returned "
                f"{value!r}."
            )
        number = as_float(value)
        if LARGEST < abs(number) < np.inf:
            raise ValueError(
                f"criterion must return numbers up to {LARGEST:.0e} in size, whose squares are "
                f"numbers too; {self.function!r} returned {number:.3g}. Divide it by a constant."
            )
        return number


def _takes_weights(function: Callable[..., float]) -> bool:
    try:
        parameters = inspect.signature(function).parameters
    except (TypeError, ValueError):
        return False
    return "sample_weight" in parameters or any(
        p.kind is inspect.Parameter.VAR_KEYWORD for p in parameters.values()
    )
