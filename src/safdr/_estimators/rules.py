"""Rules that choose the number of features from the scores of the folds."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils._param_validation import StrOptions

from safdr._engine.arrays import FloatArray, IntArray
from safdr._estimators.parameters import Number, WholeNumber, is_int
from safdr._estimators.scoring import counts_rows
from safdr.errors import ParameterError

BoolArray: TypeAlias = NDArray[np.bool_]

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


def _as_published(scores: FloatArray, limits: Limits) -> float:
    """The best mean less its standard deviation over folds."""
    best = scores.mean(axis=0).argmax()
    return float(scores[:, best].mean() - deviation(scores[:, best]))


def _one_sd(scores: FloatArray, limits: Limits) -> float:
    return min(_as_published(scores, limits), limits.ceiling)


def _tolerance(scores: FloatArray, limits: Limits) -> float:
    return _best(scores, limits) - SLACK * limits.tolerance


def _one_se(scores: FloatArray) -> BoolArray:
    """Compare each size with the best one on the same folds.

    A fold that is hard for one size is hard for the next, so the differences scatter much less
    than the scores; their standard error is the one that matters.
    """
    behind = scores[:, [scores.mean(axis=0).argmax()]] - scores
    if len(scores) < 2:
        return np.asarray(behind.mean(axis=0) <= 0)
    return np.asarray(behind.mean(axis=0) <= deviation(behind, ddof=1) / np.sqrt(len(scores)))


# Rules that ask for a mean score, and which. The paper's own words are "as_published".
THRESHOLDS: Mapping[str, Callable[[FloatArray, Limits], float]] = {
    "one_sd": _one_sd,
    "tolerance": _tolerance,
    "best": _best,
    "as_published": _as_published,
}
# What people are told of; "as_published" is "one_sd" but where scores are nearly perfect.
RULES = ("one_sd", "one_se", "tolerance", "best")
ALL_RULES = (*RULES, "as_published")

# Of those that choose the number of features.
CV_CONSTRAINTS: dict[str, Any] = {
    "min_features": [WholeNumber(1)],
    "max_features": [WholeNumber(1)],
    "cv": ["cv_object"],
    "scoring": [None, str, callable],
    "rule": [StrOptions(set(ALL_RULES)), callable],
    "tolerance": [Number(0, None, closed="left")],
}


def threshold(rule: Any, scores: ArrayLike, limits: Limits) -> float | None:
    """The mean score that a rule asks for; None if it asks no other than the best, or no number."""
    if not isinstance(rule, str) or rule in ("one_se", "best"):
        return None
    return THRESHOLDS[rule](np.asarray(scores, dtype=np.float64), limits)


def as_good(rule: str, scores: ArrayLike, limits: Limits) -> BoolArray:
    """Whether each size is as good as the best, by a rule."""
    table = np.asarray(scores, dtype=np.float64)
    if rule == "one_se":
        return _one_se(table)
    return np.asarray(table.mean(axis=0) >= THRESHOLDS[rule](table, limits))


def choose_size(rule: str, n_features: ArrayLike, scores: ArrayLike, limits: Limits) -> int:
    """Index of the smallest size that is as good as the best, by a rule."""
    found = np.flatnonzero(as_good(rule, scores, limits))
    return int(found[np.asarray(n_features)[found].argmin()])


def sizes_by_rule(
    rule: Any, n_features: IntArray, scores: FloatArray, limits: Limits
) -> dict[str, int]:
    """What each rule that people are told of would choose, and the one that was given."""
    rules = ALL_RULES if rule == "as_published" else RULES
    return {r: int(n_features[choose_size(r, n_features, scores, limits)]) for r in rules}


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
