"""Counts, amounts and survival times: rows with planted features, and quick selectors."""

import numpy as np

from helpers.selectors import QUICK
from safdr import (
    AnnealingRegressorSelector,
    AnnealingRegressorSelectorCV,
    AnnealingSurvivalSelector,
    AnnealingSurvivalSelectorCV,
)

TASKS = ("poisson", "gamma", "survival")
PLANTED = [1, 4, 6]


def make_rows(task, n_rows=240, n_features=8, seed=0):
    """Correlated features, three of which carry the target; times have ties."""
    rng = np.random.default_rng([seed, TASKS.index(task)])
    X = rng.normal(size=(n_rows, n_features)) + 0.4 * rng.normal(size=(n_rows, 1))
    eta = X[:, PLANTED] @ [0.7, -0.6, 0.5]
    if task == "poisson":
        return X, rng.poisson(np.exp(eta)).astype(float)
    if task == "gamma":
        return X, rng.gamma(2.0, np.exp(eta)) + 1e-9
    time, censored = rng.exponential(np.exp(-eta)), rng.exponential(3.0, n_rows)
    return X, survival(time <= censored, np.round(np.minimum(time, censored), 1) + 0.1)


def survival(event, time):
    return np.rec.fromarrays([event, time], names="event,time")


def of_size(size=3, task="poisson", **parameters):
    parameters = {"annealing": QUICK, "random_state": 0} | parameters
    if task == "survival":
        return AnnealingSurvivalSelector(size, **parameters)
    return AnnealingRegressorSelector(size, family=task, **parameters)


def over_sizes(sizes=4, task="poisson", **parameters):
    parameters = {"annealing": QUICK, "random_state": 0} | parameters
    if task == "survival":
        return AnnealingSurvivalSelectorCV(sizes, **parameters)
    return AnnealingRegressorSelectorCV(sizes, family=task, **parameters)
