"""Scores of folds: what they are called, and the default one of two classes, counted."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse
from sklearn.metrics import get_scorer

from safdr._engine.arrays import FloatArray, IntArray
from safdr._engine.taken_rows import in_blocks

# What people call the scorers that stand for None.
SCORER_NAMES = {
    "roc_auc": "ROC AUC",
    "roc_auc_ovr": "ROC AUC, each class against the rest",
    "r2": "R²",
}
COUNTING = (
    *("accuracy", "balanced_accuracy", "roc_auc", "roc_auc_ovr", "roc_auc_ovo"),
    *("roc_auc_ovr_weighted", "roc_auc_ovo_weighted"),
)


def scorer_name(scoring: Any) -> str:
    """What the scores are, for people."""
    if isinstance(scoring, str):
        return SCORER_NAMES.get(scoring, scoring.replace("_", " "))
    # A scorer's repr says all that it scores by, and has no more to it.
    for name, words in SCORER_NAMES.items():
        if repr(scoring) == repr(get_scorer(name)):
            return words
    function = getattr(scoring, "_score_func", scoring)  # what make_scorer wraps
    return str(getattr(function, "__name__", type(function).__name__)).replace("_", " ")


def is_loss(scoring: Any) -> bool:
    """Whether the scores are those of a loss, with its sign turned around."""
    if isinstance(scoring, str):
        return scoring.startswith("neg_")
    return "greater_is_better=False" in repr(scoring)


def counts_rows(scoring: Any) -> bool:
    """Whether 1 is perfect, and one misjudged row of n costs 1/n: accuracies, areas under ROC."""
    if isinstance(scoring, str):
        return scoring in COUNTING
    return repr(scoring) in {repr(get_scorer(each)) for each in COUNTING}


def roc_auc(scores: FloatArray, positive: NDArray[np.bool_]) -> float:
    """Share of the pairs of rows of both classes in which the positive one has the higher score.

    Counted in whole numbers, it is exact but for the division, and depends on the order of the
    scores alone.
    """
    negatives, positives = np.sort(scores[~positive]), np.sort(scores[positive])
    n_pairs = len(negatives) * len(positives)
    if n_pairs == 0 or np.isnan(negatives[-1]) or np.isnan(positives[-1]):
        return np.nan
    below = np.searchsorted(negatives, positives, side="left").sum()
    not_above = np.searchsorted(negatives, positives, side="right").sum()
    return float(below + not_above) / (2.0 * n_pairs)


def cross_entropy(probability: FloatArray, codes: IntArray, weight: FloatArray | None) -> float:
    """What scikit-learn's `log_loss` gives for classes by number.

    That one takes more than a millisecond to look at its arguments, as `roc_auc_score` does.
    """
    least = np.finfo(probability.dtype).eps
    told = np.take_along_axis(probability, codes[:, None], axis=1)[:, 0]
    return float(np.average(-np.log(np.clip(told, least, 1 - least)), weights=weight))


def score_by_roc_auc(model: Any, X: Any, y: NDArray[Any], columns: IntArray | None = None) -> float:
    """What scikit-learn's scorer "roc_auc" gives for a fitted linear model of two classes.

    That one, and `decision_function`, take some 2 ms to look at their arguments again, much of what
    a size takes in all, and keep other threads waiting meanwhile. Of rows with more `columns` than
    those of the model, a few at a time are copied.
    """
    columns = np.arange(X.shape[1]) if columns is None else columns
    scores = np.concatenate([_scores(model, some) for some in in_blocks(X, columns)])
    return roc_auc(scores + model.intercept_[0], y == model.classes_[1])


class RocAucOfEachClass:
    """What scikit-learn's scorer "roc_auc_ovr" gives for a fitted model of several classes."""

    def __repr__(self) -> str:
        return repr(get_scorer("roc_auc_ovr"))

    def __call__(self, model: Any, X: Any, y: NDArray[Any]) -> float:
        """Mean area of the classes, each against the rest."""
        each = [y == label for label in model.classes_]
        if not all(own.any() for own in each):
            return float(get_scorer("roc_auc_ovr")(model, X, y))  # which says what is wrong
        probability = model.predict_proba(X)
        return float(np.mean([roc_auc(p, own) for p, own in zip(probability.T, each, strict=True)]))


def _scores(model: Any, X: Any) -> FloatArray:
    """Weighted sums of the columns."""
    slopes, X = model.coef_[0], model.clipped(X)
    # Not by BLAS: its threads would spin beside those that search.
    return X @ slopes if issparse(X) else np.einsum("ij,j->i", X, slopes)
