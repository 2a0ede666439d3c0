"""One fold of a cross-validation: search on its training rows, score on its test rows."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from safdr.annealing.anneal import AnnealingSettings
from safdr.cancellation import Cancellation
from safdr.moments import FloatArray, IntArray
from safdr.result import AnnealingResult
from safdr.search import Search
from safdr.validation import Rows

BOTH_CLASSES = (
    "Use a cv that keeps both classes in every fold, such as StratifiedKFold, or fewer splits."
)

# Makes the model on a found subset from the training rows.
ModelMaker = Callable[[Rows, AnnealingResult], Any]


@dataclass(frozen=True, eq=False)
class Fold:
    """Training rows ready to be searched, and test rows.

    Attributes
    ----------
    number : int
        Which fold it is.
    train : Rows
        What the search and the model see.
    search : Search
        The search on them.
    X_test, y_test : ndarray
        What the model is scored on.
    score_params : mapping
        What the scorer gets besides, for test and for train rows, by those names.
    """

    number: int
    train: Rows
    search: Search
    X_test: FloatArray
    y_test: NDArray[Any]
    score_params: Mapping[str, Mapping[str, Any]]


@dataclass(frozen=True, eq=False)
class FoldScore:
    """What one size scored on one fold."""

    test_score: float
    train_score: float
    cross_entropy: float
    separated: bool
    subset: IntArray


def make_fold(
    rows: Rows,
    number: int,
    train: IntArray,
    test: IntArray,
    *,
    size: int,
    settings: AnnealingSettings,
    seed: int,
    score_params: Mapping[str, Mapping[str, Any]],
) -> Fold:
    """Cut a fold out of the rows and compute its moments; an error names the fold.

    Parameters
    ----------
    rows : Rows
        All rows.
    number : int
        Number of the fold, for errors.
    train, test : ndarray of int
        Row numbers.
    size : int
        The first size that will be searched.
    settings : AnnealingSettings
        How to anneal.
    seed : int
        Source of randomness.
    score_params : mapping
        See `Fold`.

    Returns
    -------
    Fold
    """
    try:
        train_rows = rows.take(train).usable()
    except ValueError as error:
        raise ValueError(
            f"The training rows of fold {number} can't be searched: {error} {BOTH_CLASSES}"
        ) from None
    search = Search(
        train_rows.X, train_rows.codes, train_rows.sample_weight, settings=settings, seed=seed
    )
    return Fold(number, train_rows, search.prepare(size), rows.X[test], rows.y[test], score_params)


def score_size(
    fold: Fold,
    size: int,
    make_model: ModelMaker,
    scorer: Callable[..., float],
    cancellation: Cancellation,
) -> FoldScore:
    """Search one fold at one size, and score the model on what was found.

    Parameters
    ----------
    fold : Fold
        Where to search.
    size : int
        Number of features.
    make_model : callable
        Makes the model on the found subset.
    scorer : callable
        A scikit-learn scorer.
    cancellation : Cancellation
        Stops the search when nobody waits for it any more.

    Returns
    -------
    FoldScore
    """
    with cancellation.task():
        result = fold.search.run(size, checkpoint=cancellation.check)
        model = make_model(fold.train, result)

        def score(X: FloatArray, y: NDArray[Any], which: str) -> float:
            return float(scorer(model, X[:, result.subset], y, **fold.score_params[which]))

        test_score = score(fold.X_test, fold.y_test, "test")
        if not np.isfinite(test_score):
            raise ValueError(
                f"The score of fold {fold.number} at {size} features is {test_score}; its "
                f"{len(fold.y_test)} test rows hold {len(np.unique(fold.y_test))} class(es). "
                f"{BOTH_CLASSES}"
            )
        return FoldScore(
            test_score=test_score,
            train_score=score(fold.train.X, fold.train.y, "train"),
            cross_entropy=result.cross_entropy,
            separated=bool(result.separated[result.best]),
            subset=result.subset,
        )
