"""Any estimator as the judge of the candidates: by its own loss on held-out rows."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from sklearn.base import clone
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.metrics import (
    log_loss,
    mean_absolute_error,
    mean_gamma_deviance,
    mean_pinball_loss,
    mean_poisson_deviance,
    mean_squared_error,
    mean_tweedie_deviance,
)
from sklearn.model_selection import KFold, StratifiedKFold

from safdr._engine.arrays import FloatArray, IntArray
from safdr._engine.fits.fits import Fits, distinct_rows
from safdr._engine.interrupt import look_up
from safdr._estimators.training_data import ClassData, TrainingData
from safdr._estimators.user_criterion import fit_weighted, seeded
from safdr._estimators.workers import watched

# Held out in turn: a model that remembers its training rows would like every subset.
N_FOLDS = 3

# Losses by the words that scikit-learn's regressors have for them.
REGRESSION_LOSSES: dict[str, Callable[..., float]] = {
    "squared_error": mean_squared_error,
    "absolute_error": mean_absolute_error,
    "poisson": mean_poisson_deviance,
    "gamma": mean_gamma_deviance,
}


class ModelPick:
    """Fits clones of an estimator to subsets, and measures their loss on rows held out.

    The loss is the estimator's own: the cross-entropy of a classifier with `predict_proba`; of a
    regressor the one named by its parameter `loss` or `criterion` (or that its family has, such as
    the Poisson deviance), else the squared error. A classifier that gives no probabilities is
    judged by its `score`.
    """

    def __init__(self, estimator: Any, data: TrainingData, seed: int) -> None:
        self.estimator = seeded(estimator, seed)
        self.data = data
        self.loss_name, self._loss = own_loss(estimator, labels=isinstance(data, ClassData))
        self._splits = _splits(data, seed)

    def fit(
        self,
        subsets: IntArray,
        *,
        best_only: bool = False,
        n_threads: int = 1,
    ) -> Fits:
        """Mean loss of each subset over the folds; equal subsets are fitted once."""
        del best_only  # each loss is computed to the end
        distinct, inverse = distinct_rows(subsets)
        look_up()
        if n_threads > 1:
            loss = delayed(watched(self.held_out_loss))
            tasks = (loss(self.estimator, some) for some in distinct)
            losses = np.array(list(Parallel(n_jobs=n_threads)(tasks)))
        else:
            losses = np.empty(len(distinct))
            for i, some in enumerate(distinct):
                look_up()
                losses[i] = self.held_out_loss(self.estimator, some)
        return Fits.of_losses(losses[inverse])

    def baseline(self) -> float:
        """Loss of a model that sees no features."""
        dummy = DummyClassifier() if isinstance(self.data, ClassData) else DummyRegressor()
        return self.held_out_loss(dummy, np.zeros(1, dtype=np.int64))

    def held_out_loss(self, estimator: Any, subset: IntArray) -> float:
        """Mean loss of one subset over the folds, weighted by their rows."""
        X, y, weight = self.data.X[:, subset], self.data.y, self.data.sample_weight
        losses, sizes = [], []
        for train, test in self._splits:
            model = fit_weighted(clone(estimator), X, y, weight, train)
            its_weight = None if weight is None else weight[test]
            losses.append(self._loss(model, X[test], y[test], its_weight))
            sizes.append(len(test) if its_weight is None else its_weight.sum())
        return float(np.average(losses, weights=sizes))


def own_loss(estimator: Any, *, labels: bool) -> tuple[str, Callable[..., float]]:
    """Name and function of an estimator's own loss: of a fitted model, X, y and weights."""
    if labels:
        if hasattr(estimator, "predict_proba"):
            return "cross_entropy", _cross_entropy
        return "negative_score", _negative_score
    while hasattr(estimator, "steps"):  # a pipeline learns by its last step
        estimator = estimator.steps[-1][1]
    power = getattr(estimator, "power", None)
    if power is not None:
        deviance = partial(mean_tweedie_deviance, power=power)
        return "tweedie_deviance", partial(_of_predictions, deviance)
    quantile = getattr(estimator, "quantile", None)
    if quantile is None and getattr(estimator, "loss", None) == "quantile":
        quantile = estimator.alpha
    if quantile is not None:
        return "pinball", partial(_of_predictions, partial(mean_pinball_loss, alpha=quantile))
    name = _loss_word(estimator)
    return name, partial(_of_predictions, REGRESSION_LOSSES[name])


def _loss_word(estimator: Any) -> str:
    """What a regressor minimises, in the words of REGRESSION_LOSSES."""
    family = type(estimator).__name__.removesuffix("Regressor").lower()
    for word in (family, getattr(estimator, "loss", None), getattr(estimator, "criterion", None)):
        if isinstance(word, str) and word in REGRESSION_LOSSES:
            return word
    return "squared_error"


def _cross_entropy(model: Any, X: Any, y: Any, weight: FloatArray | None) -> float:
    return float(log_loss(y, model.predict_proba(X), sample_weight=weight, labels=model.classes_))


def _negative_score(model: Any, X: Any, y: Any, weight: FloatArray | None) -> float:
    return -float(model.score(X, y, sample_weight=weight))


def _of_predictions(
    loss: Callable[..., float], model: Any, X: Any, y: Any, weight: FloatArray | None
) -> float:
    predicted = model.predict(X)
    if y.ndim == 1:
        return float(loss(y, predicted, sample_weight=weight))
    # Not every loss takes several outputs at once, and not every model gives one as a column.
    pairs = zip(y.T, np.reshape(predicted, y.shape).T, strict=True)
    return float(np.mean([loss(one, its, sample_weight=weight) for one, its in pairs]))


def _splits(data: TrainingData, seed: int) -> list[tuple[IntArray, IntArray]]:
    """Training and held-out rows of each fold."""
    if isinstance(data, ClassData):
        n_folds = min(N_FOLDS, int(np.bincount(data.codes).min()))
        if n_folds < 2:
            raise ValueError(
                "estimator is judged on rows that are held out, so each class needs at least 2 "
                "rows; one has 1. Drop that class, or leave {estimator} out."
            )
        splitter: Any = StratifiedKFold(n_folds, shuffle=True, random_state=seed)
        return list(splitter.split(data.codes, data.codes))
    n_folds = min(N_FOLDS, len(data.y))
    return list(KFold(n_folds, shuffle=True, random_state=seed).split(data.y))
