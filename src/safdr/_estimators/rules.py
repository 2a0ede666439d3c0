"""Rules that choose the number of features from the scores of the folds."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils._param_validation import StrOptions

from safdr._engine.arrays import FloatArray, IntArray
from safdr._estimators.parameters import Number, WholeNumber, is_int
from safdr._estimators.scoring import counts_rows
from safdr.errors import ParameterError

# A score that is as far below as it may be passes, however the last digit was rounded.
SLACK = 1.0 + 1e-12
# In a fold of fewer rows (one, where each is left out in turn) half a row would be no small thing.
FEWEST_ROWS = 10


def deviation(scores: FloatArray, ddof: int = 0) -> FloatArray:
    """Standard deviation of each column, also where scores are too large to be squared."""
    # By a power of two, so that no digit changes.
    exponent = np.frexp(np.abs(scores).max(initial=0.0))[1]
    spread: FloatArray = np.ldexp(np.ldexp(scores, -exponent).std(axis=0, ddof=ddof), exponent)
    return spread


@dataclass(frozen=True)
class Limits:
    """What a rule may ask besides the scores."""

    tolerance: float = 0.005
    # A mean score that counts as perfect; see `ceiling_of`.
    ceiling: float = np.inf


def ceiling_of(scoring: Any, n_test_rows: Sequence[int]) -> float:
    """The mean score from which on sizes can't be told apart: half a test row a fold from perfect.

    There the number of misjudged rows rounds to none. Most folds then score the same, and their
    spread says nothing of what other rows would do. A row is worth 1/n of an accuracy, and of an
    AUC: at a random rank among the rows of the other class it costs 1/(2 n+) or 1/(2 n-), by the
    class that it is of, which is 1/n on average over the n+ and n- rows; and so it is for means
    over classes. Losses and R² have no such step: they tell good from better up to the end.
    """
    if not counts_rows(scoring):
        return np.inf
    return 1.0 - SLACK * float(np.mean([0.5 / max(n, FEWEST_ROWS) for n in n_test_rows]))


def _best(scores: FloatArray, limits: Limits) -> float:
    return float(scores.mean(axis=0).max())


def _one_sd(scores: FloatArray, limits: Limits) -> float:
    """Return the best mean less the standard deviation of the best size over the splits."""
    best = scores.mean(axis=0).argmax()
    return float(scores[:, best].mean() - deviation(scores[:, best]))


def _one_se(scores: FloatArray, limits: Limits) -> float:
    """Return the best mean less its standard error, but no more than a perfect score."""
    if len(scores) < 2:
        return _best(scores, limits)
    best = scores.mean(axis=0).argmax()
    error = deviation(scores[:, best], ddof=1) / np.sqrt(len(scores))
    return min(float(scores[:, best].mean() - error), limits.ceiling)


def _tolerance(scores: FloatArray, limits: Limits) -> float:
    return _best(scores, limits) - SLACK * limits.tolerance


# The mean score that each rule requires.
THRESHOLDS: Mapping[str, Callable[[FloatArray, Limits], float]] = {
    "one_se": _one_se,
    "one_sd": _one_sd,
    "tolerance": _tolerance,
    "best": _best,
}
RULES = tuple(THRESHOLDS)

# A default that exceeds the number of features is no mistake of the user.
DEFAULT_MAX_FEATURES = 30

# Of those that choose the number of features.
CV_CONSTRAINTS: dict[str, Any] = {
    "min_features": [WholeNumber(1)],
    "max_features": [WholeNumber(1)],
    "cv": ["cv_object"],
    "scoring": [None, str, callable],
    # A set would name the rules in another order each time.
    "rule": [StrOptions(THRESHOLDS.keys()), callable],
    "tolerance": [Number(0, None, closed="left")],
}


def threshold(rule: Any, scores: ArrayLike, limits: Limits) -> float | None:
    """Return the mean score that a rule requires; None for a callable."""
    if not isinstance(rule, str):
        return None
    return THRESHOLDS[rule](np.asarray(scores, dtype=np.float64), limits)


def choose_size(rule: str, n_features: ArrayLike, scores: ArrayLike, limits: Limits) -> int:
    """Index of the smallest size that is as good as the best, by a rule."""
    table = np.asarray(scores, dtype=np.float64)
    found = np.flatnonzero(table.mean(axis=0) >= THRESHOLDS[rule](table, limits))
    return int(found[np.asarray(n_features)[found].argmin()])


def sizes_by_rule(n_features: IntArray, scores: FloatArray, limits: Limits) -> dict[str, int]:
    """Return the size that each rule selects."""
    return {r: int(n_features[choose_size(r, n_features, scores, limits)]) for r in RULES}


def own_size(rule: Callable[[Any], Any], results: Mapping[str, Any]) -> int:
    """The size at the index that a rule of the user's own returns."""
    index, last = rule(results), len(results["n_features"]) - 1
    if not is_int(index) or not 0 <= int(index) <= last:
        raise ParameterError(
            "rule",
            "must return an index into cv_results_, an int from 0 to {last}; got {index!r}.",
            last=last,
            index=index,
        )
    return int(results["n_features"][index])
