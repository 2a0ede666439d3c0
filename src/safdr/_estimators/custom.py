"""Custom criteria, and custom models that select among candidates by cross-validation."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from numbers import Real
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from sklearn.base import clone
from sklearn.metrics import log_loss
from sklearn.model_selection import KFold, StratifiedKFold
from sklearn.utils import check_random_state
from sklearn.utils.metadata_routing import _routing_enabled
from sklearn.utils.validation import has_fit_parameter

from safdr._engine.arrays import FloatArray, IntArray
from safdr._engine.fits.fits import Fits, distinct_rows
from safdr._engine.interrupt import look_up
from safdr.errors import ParameterError

N_FOLDS = 3


class RowsObjective:
    """Turn a custom criterion into a function of column indices."""

    def __init__(self, function: Callable[..., float], problem: Any) -> None:
        self.function = function
        self.X = problem.X
        self.y = problem.y
        self._weight: dict[str, Any] = {}
        if problem.sample_weight is not None:
            if not _takes_weights(function):
                raise ParameterError(
                    "criterion",
                    "must accept the keyword sample_weight, because rows or classes have weights; "
                    f"got {function!r}.",
                )
            self._weight = {"sample_weight": problem.sample_weight}

    def __call__(self, columns: IntArray, which: int = -1) -> float:
        value: Any = self.function(self.X[:, columns], self.y, **self._weight)
        if not isinstance(value, Real):
            raise ParameterError("criterion", f"must return a number to maximise; got {value!r}.")
        return float(value)


def _takes_weights(function: Callable[..., float]) -> bool:
    try:
        parameters = inspect.signature(function).parameters
    except (TypeError, ValueError):
        return False
    kinds = [p.kind for p in parameters.values()]
    return "sample_weight" in parameters or inspect.Parameter.VAR_KEYWORD in kinds


class ModelFitter:
    """Fit clones of a model to subsets, and evaluate them on held-out rows."""

    def __init__(self, estimator: Any, problem: Any, seed: int) -> None:
        self.estimator = seeded(estimator, seed)
        self.problem = problem
        if problem.is_regression:
            self.loss_name, self._loss = problem.loss_name, self._loss_of_predictions
        elif hasattr(estimator, "predict_proba"):
            self.loss_name, self._loss = "cross_entropy", _cross_entropy
        else:
            self.loss_name, self._loss = "negative_score", _negative_score
        self._splits = _splits(problem, seed)

    def fit(self, subsets: IntArray, *, best_only: bool = False, n_threads: int = 1) -> Fits:
        del best_only
        distinct, inverse = distinct_rows(subsets)
        look_up()
        if n_threads > 1:
            tasks = (delayed(self.held_out_loss)(self.estimator, subset) for subset in distinct)
            losses = np.array(list(Parallel(n_jobs=n_threads)(tasks)))
        else:
            losses = np.empty(len(distinct))
            for i, subset in enumerate(distinct):
                look_up()
                losses[i] = self.held_out_loss(self.estimator, subset)
        return Fits.of_losses(losses[inverse])

    def baseline(self) -> float:
        """Return the loss of a model without features."""
        return self.held_out_loss(self.problem.null_model(), np.zeros(1, dtype=np.int64))

    def held_out_loss(self, estimator: Any, subset: IntArray) -> float:
        """Return the mean loss of one subset over the folds, weighted by their rows."""
        X, y, weight = self.problem.X[:, subset], self.problem.y, self.problem.sample_weight
        losses, sizes = [], []
        for train, test in self._splits:
            held_out = None if weight is None else weight[test]
            fit_weight = None if weight is None else weight[train]
            model = fit_model(clone(estimator), X[train], y[train], fit_weight)
            losses.append(self._loss(model, X[test], y[test], held_out))
            sizes.append(len(test) if held_out is None else held_out.sum())
        return float(np.average(losses, weights=sizes))

    def _loss_of_predictions(self, model: Any, X: Any, y: Any, weight: FloatArray | None) -> float:
        loss: float = self.problem.held_out_loss(y, model.predict(X), weight)
        return loss


def _cross_entropy(model: Any, X: Any, y: Any, weight: FloatArray | None) -> float:
    return float(log_loss(y, model.predict_proba(X), sample_weight=weight, labels=model.classes_))


def _negative_score(model: Any, X: Any, y: Any, weight: FloatArray | None) -> float:
    return -float(model.score(X, y, sample_weight=weight))


def _splits(problem: Any, seed: int) -> list[Any]:
    """Return the training and held-out rows of each fold."""
    if problem.is_regression:
        n_folds = min(N_FOLDS, len(problem.y))
        return list(KFold(n_folds, shuffle=True, random_state=seed).split(problem.y))
    n_folds = min(N_FOLDS, int(np.bincount(problem.codes).min()))
    if n_folds < 2:
        raise ParameterError("estimator", "needs at least 2 rows of each class; one is held out.")
    folds = StratifiedKFold(n_folds, shuffle=True, random_state=seed)
    return list(folds.split(problem.codes, problem.codes))


def fit_model(model: Any, X: Any, y: Any, sample_weight: FloatArray | None) -> Any:
    """Fit a model, or the last step of a pipeline, with the weights of the rows."""
    if sample_weight is None:
        return model.fit(X, y)
    name = "sample_weight"
    if hasattr(model, "steps") and not _routing_enabled():
        name, last = f"{model.steps[-1][0]}__sample_weight", model.steps[-1][1]
    else:
        last = model
    if not (has_fit_parameter(last, "sample_weight") or _routing_enabled()):
        raise ParameterError(
            "estimator",
            f"must accept sample_weight, because rows or classes have weights; got {model!r}.",
        )
    return model.fit(X, y, **{name: sample_weight})


def seeded(estimator: Any, seed: int) -> Any:
    """Return a clone with a seed in place of every random_state=None."""
    model = clone(estimator)
    rng = check_random_state(seed)
    names = sorted(
        name
        for name, value in model.get_params(deep=True).items()
        if value is None and (name == "random_state" or name.endswith("__random_state"))
    )
    return model.set_params(**{name: int(rng.randint(2**31 - 1)) for name in names})
