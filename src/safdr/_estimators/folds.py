"""One fold of a cross-validation: search on its training rows, score on its test rows."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from safdr._engine.arrays import IntArray
from safdr._engine.search import Search
from safdr._estimators.cancellation import Cancellation
from safdr._estimators.training_data import Rows
from safdr.result import AnnealingResult

NO_SUCH_METHOD = 'Choose a scoring that the estimator can serve, for example scoring="accuracy".'

# Makes the model on a found subset from the training rows and the search on them, and tells whether
# the subset separates the classes.
ModelMaker = Callable[[Rows, Search, AnnealingResult], tuple[Any, bool]]


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
    hint : str
        What to do when the fold can't be scored.
    """

    number: int
    train: Rows
    search: Search
    X_test: Any
    y_test: NDArray[Any]
    score_params: Mapping[str, Mapping[str, Any]]
    hint: str


@dataclass(frozen=True, eq=False)
class FoldScore:
    """What one size scored on one fold."""

    test_score: float
    train_score: float
    loss: float
    loss_name: str
    separated: bool
    subset: IntArray


def make_fold(
    rows: Rows,
    number: int,
    train: IntArray,
    test: IntArray,
    *,
    usable: Callable[[Rows], Rows],
    make_search: Callable[[Rows], Search],
    hint: str,
    score_params: Mapping[str, Mapping[str, Any]],
) -> Fold:
    """Cut a fold out of the rows and prepare the search on it; an error names the fold.

    Parameters
    ----------
    rows : Rows
        All rows.
    number : int
        Number of the fold, for errors.
    train, test : ndarray of int
        Row numbers.
    usable : callable
        Takes the rows to learn from, checked, out of the training rows.
    make_search : callable
        Makes the search on them.
    hint, score_params
        See `Fold`.

    Returns
    -------
    Fold
    """
    try:
        train_rows = usable(rows.take(train))
    except ValueError as error:
        raise ValueError(
            f"The training rows of fold {number} can't be searched: {error} {hint}"
        ) from None
    search = make_search(train_rows)
    return Fold(number, train_rows, search, rows.X[test], rows.y[test], score_params, hint)


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
        result = fold.search.run(size)
        model, separated = make_model(fold.train, fold.search, result)

        def score(X: Any, y: NDArray[Any], which: str) -> float:
            try:
                chosen = X[:, result.subset] if issparse(X) else X.take(result.subset, axis=1)
                return float(scorer(model, chosen, y, **fold.score_params[which]))
            except (AttributeError, TypeError, ValueError) as error:
                hint = NO_SUCH_METHOD if isinstance(error, AttributeError) else fold.hint
                raise ValueError(
                    f"The model of fold {fold.number} at {size} features can't be scored by "
                    f"{scorer!r}: {error} {hint}"
                ) from error

        test_score = score(fold.X_test, fold.y_test, "test")
        if not np.isfinite(test_score):
            n_values = len(np.unique(fold.y_test))
            raise ValueError(
                f"The score of fold {fold.number} at {size} features is {test_score}; y takes "
                f"{n_values} value(s) in its {len(fold.y_test)} test rows. {fold.hint}"
            )
        return FoldScore(
            test_score=test_score,
            train_score=score(fold.train.X, fold.train.y, "train"),
            loss=result.loss,
            loss_name=result.loss_name,
            separated=separated,
            subset=result.subset,
        )
