"""Rules that choose the number of features from the scores of the folds."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from safdr._engine.arrays import FloatArray
from safdr._estimators.parameters import is_int
from safdr.errors import ParameterError

BoolArray: TypeAlias = NDArray[np.bool_]


def deviation(scores: FloatArray, ddof: int = 0) -> FloatArray:
    """Standard deviation of each column, also where scores are too large to be squared."""
    # By a power of two, so that no digit changes.
    exponent = np.frexp(np.abs(scores).max(initial=0.0))[1]
    spread: FloatArray = np.ldexp(np.ldexp(scores, -exponent).std(axis=0, ddof=ddof), exponent)
    return spread


def _best(scores: FloatArray) -> BoolArray:
    means = scores.mean(axis=0)
    return np.asarray(means >= means.max())


def _one_sd(scores: FloatArray) -> BoolArray:
    return np.asarray(scores.mean(axis=0) >= one_sd_threshold(scores))


def _one_se(scores: FloatArray) -> BoolArray:
    """Compare each size with the best one on the same folds.

    A fold that is hard for one size is hard for the next, so the differences scatter much less
    than the scores; their standard error is the one that matters.
    """
    behind = scores[:, [scores.mean(axis=0).argmax()]] - scores
    if len(scores) < 2:
        return np.asarray(behind.mean(axis=0) <= 0)
    return np.asarray(behind.mean(axis=0) <= deviation(behind, ddof=1) / np.sqrt(len(scores)))


# Each tells for every size whether its scores are as good as the best.
RULES: Mapping[str, Callable[[FloatArray], BoolArray]] = {
    "one_sd": _one_sd,
    "one_se": _one_se,
    "best": _best,
}


def one_sd_threshold(scores: ArrayLike) -> float:
    """What `one_sd` asks for: the best mean score less its standard deviation over folds."""
    scores = np.asarray(scores, dtype=np.float64)
    best = scores.mean(axis=0).argmax()
    return float(scores[:, best].mean() - deviation(scores[:, best]))


def choose_size(rule: str, n_features: ArrayLike, scores: ArrayLike) -> int:
    """Index of the smallest size that is as good as the best, by a rule."""
    as_good = np.flatnonzero(RULES[rule](np.asarray(scores, dtype=np.float64)))
    return int(as_good[np.asarray(n_features)[as_good].argmin()])


def own_choice(rule: Callable[[Any], Any], results: Mapping[str, Any]) -> int:
    """The index that a rule of the user's own returns."""
    index, last = rule(results), len(results["n_features"]) - 1
    if not is_int(index) or not 0 <= int(index) <= last:
        raise ParameterError(
            "rule",
            "must return an index into cv_results_, an int from 0 to {last}; got {index!r}.",
            last=last,
            index=index,
        )
    return int(index)
