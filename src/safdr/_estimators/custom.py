"""Custom criteria, and custom models that select among candidates by cross-validation."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from itertools import chain
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.metrics import check_scoring, get_scorer
from sklearn.model_selection import KFold, StratifiedKFold
from sklearn.utils import check_random_state
from sklearn.utils.metadata_routing import _routing_enabled

from safdr._engine.annealing.functions import CachedFunction, Evaluate, one_by_one
from safdr._engine.arrays import FloatArray, IntArray
from safdr._engine.fits.fits import Fits
from safdr._engine.interrupt import look_up
from safdr._engine.subsets import distinct
from safdr._estimators.parallel import run_tasks

N_FOLDS = 3

# Seconds of work that take longer than to start other processes on it.
MIN_SECONDS = 0.2


def custom_criterion(function: Callable[..., float], problem: Any, n_jobs: int) -> Evaluate:
    """Return a custom criterion of column indices, with its values kept."""
    weight = problem.sample_weight
    weights = {} if weight is None else {"sample_weight": weight}
    value = partial(_value, function, problem.X, problem.y, weights)
    return CachedFunction(value, partial(_values, n_jobs))


def _value(
    function: Callable[..., float], X: Any, y: Any, weights: Any, columns: IntArray, batch: int
) -> float:
    del batch  # a custom criterion uses all rows
    return function(X[:, columns], y, **weights)


def _values(n_jobs: int, function: Any, tasks: Sequence[Any]) -> Iterable[float]:
    """Return the values of the tasks; slow ones are evaluated in processes."""
    started = time.perf_counter()
    first, rest = function(*tasks[0]), tasks[1:]
    if n_jobs == 1 or (time.perf_counter() - started) * len(rest) < MIN_SECONDS:
        return [first, *one_by_one(function, rest)]
    n = -(-len(rest) // n_jobs)
    parts = ((function, rest[i : i + n]) for i in range(0, len(rest), n))
    return chain([first], *run_tasks(one_by_one, parts, n_jobs, threads=False))


class ModelFitter:
    """Fit clones of a model to subsets, and evaluate them on held-out rows."""

    def __init__(self, estimator: Any, problem: Any, seed: int) -> None:
        self.estimator = seeded(estimator, seed)
        self.problem = problem
        self._score: Any = None
        if problem.is_regression:
            self.loss_name = problem.loss_name
        elif hasattr(estimator, "predict_proba"):
            self.loss_name, self._score = "cross_entropy", get_scorer("neg_log_loss")
        else:
            self.loss_name, self._score = "negative_score", check_scoring(estimator)
        target = problem.target
        n_rows = len(target) if problem.is_regression else int(np.bincount(target).min())
        kind = KFold if problem.is_regression else StratifiedKFold
        folds = kind(min(N_FOLDS, n_rows), shuffle=True, random_state=seed)
        self._splits = list(folds.split(target, target))

    def fit(self, subsets: IntArray, *, best_only: bool = False, n_threads: int = 1) -> Fits:
        del best_only
        first, inverse = distinct(subsets)
        tasks = ((self.estimator, subset) for subset in subsets[first])
        losses = list(run_tasks(self.held_out_loss, tasks, n_threads, threads=False))
        return Fits.of_losses(np.array(losses)[inverse])

    def baseline(self) -> float:
        return self.held_out_loss(self.problem.null_model(), np.zeros(1, dtype=np.int64))

    def held_out_loss(self, estimator: Any, subset: IntArray) -> float:
        look_up()
        X, y, weight = self.problem.X[:, subset], self.problem.y, self.problem.sample_weight
        losses, sizes = [], []
        for train, test in self._splits:
            held_out = None if weight is None else weight[test]
            fit_weight = None if weight is None else weight[train]
            model = fit_model(clone(estimator), X[train], y[train], fit_weight)
            losses.append(self._loss(model, X[test], y[test], held_out))
            sizes.append(len(test) if held_out is None else held_out.sum())
        return float(np.average(losses, weights=sizes))

    def _loss(self, model: Any, X: Any, y: Any, weight: FloatArray | None) -> float:
        if self._score is None:
            return float(self.problem.held_out_loss(y, model.predict(X), weight))
        weights = {} if weight is None else {"sample_weight": weight}
        return -float(self._score(model, X, y, **weights))


def fit_model(model: Any, X: Any, y: Any, sample_weight: FloatArray | None) -> Any:
    """Fit a model, or the last step of a pipeline, with the weights of the rows."""
    if sample_weight is None:
        return model.fit(X, y)
    is_pipeline = hasattr(model, "steps") and not _routing_enabled()
    step = f"{model.steps[-1][0]}__" if is_pipeline else ""
    return model.fit(X, y, **{f"{step}sample_weight": sample_weight})


def seeded(estimator: Any, seed: int) -> Any:
    """Return a clone with a seed in place of every random_state=None."""
    model, rng = clone(estimator), check_random_state(seed)
    names = sorted(
        name
        for name, value in model.get_params(deep=True).items()
        if value is None and (name == "random_state" or name.endswith("__random_state"))
    )
    return model.set_params(**{name: int(rng.randint(2**31 - 1)) for name in names})
