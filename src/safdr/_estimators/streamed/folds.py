"""Folds of rows that are read in passes: buckets to learn from, and buckets to score."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.exceptions import UndefinedMetricWarning
from sklearn.utils.parallel import delayed

from safdr._engine.arrays import IntArray
from safdr._engine.screened_search import AnySearch
from safdr._estimators.folds import Fold, FoldScore, as_they_come, found_in_all
from safdr._estimators.plan import SearchPlan
from safdr._estimators.streamed.data import StreamedRows
from safdr._estimators.streamed.exact import (
    Unsettled,
    Winner,
    areas,
    areas_on_sample,
    r2_scores,
    settle,
    unsettled,
)
from safdr._estimators.validation import shown
from safdr._estimators.workers import Cancellation
from safdr.errors import NoSubsetError, ParameterError

# Every fold's training part and every batch is a sum of some of these.
N_BUCKETS = 20


def n_buckets_for(cv: Any) -> int:
    """How many buckets, so that folds are of the same size."""
    if cv is None:
        return N_BUCKETS
    if isinstance(cv, bool) or not isinstance(cv, int | np.integer) or not 2 <= cv <= N_BUCKETS:
        raise ParameterError(
            "cv",
            "must be None or a whole number from 2 to {most} where rows are read in passes: folds "
            "are made of buckets of rows; got {given!r}.",
            most=N_BUCKETS,
            given=cv,
        )
    return int(cv) * -(-N_BUCKETS // int(cv))


def buckets_of_folds(cv: Any, n_buckets: int, seed: int) -> list[IntArray]:
    """Those of each fold; None stands for five times a quarter, drawn anew each time."""
    rng = np.random.default_rng([seed, n_buckets])
    if cv is None:
        return [np.sort(rng.permutation(n_buckets)[: n_buckets // 4]) for _ in range(5)]
    return [np.sort(part) for part in np.array_split(rng.permutation(n_buckets), int(cv))]


def _check_folds(rows: StreamedRows, tests: list[IntArray]) -> None:
    """Every class must be in every part of every fold."""
    classes = rows.layout.classes
    if classes is None:
        return
    for test in tests:
        for part, least in ((test, 1), (np.setdiff1d(rows.every, test), 2)):
            counts = rows.moments.counts[part].sum(axis=0)
            if counts.min() < least:
                raise ValueError(
                    f"A fold has {counts.min()} row(s) of class {shown(classes[counts.argmin()])} "
                    f"to {'score' if least == 1 else 'learn from'}: too few are spread over the "
                    f"{rows.n_buckets} buckets of {rows.source.name}. Use fewer folds (cv=3), "
                    "another random_state, or leave the class out."
                )


@dataclass(frozen=True, eq=False)
class StreamedFolds:
    """Folds of buckets: moments of all their rows, and what of the sample is in them."""

    rows: StreamedRows
    tests: list[IntArray]  # buckets
    class_weight: Any

    def __len__(self) -> int:
        return len(self.tests)

    def __getitem__(self, number: int) -> Fold:
        """One of them, made anew: they are not kept."""
        train = self._train(number)
        X, y, weight = self.rows.sampled(self.tests[number])
        if self.class_weight is not None:
            weight = weight * train.class_factor[train.target_of(y)]
        return Fold(number, train, X, y, weight, {})

    def _train(self, number: int) -> Any:
        buckets = np.setdiff1d(self.rows.every, self.tests[number])
        return self.rows.data(buckets).usable(self.class_weight)

    @property
    def n_test_rows(self) -> list[int]:
        """Of each fold."""
        return [int(self.rows.moments.counts[test].sum()) for test in self.tests]

    def score(
        self,
        plan: SearchPlan,
        search_of: Callable[[Any], AnySearch],
        sizes: list[int],
        scorer: Any,
        scoring: Any,
        n_jobs: Any,
        tell: Callable[[str], None],
    ) -> tuple[list[list[FoldScore | None]], str]:
        """Score every size on every fold, and say on which rows; None where none is found."""
        by_fold: list[list[Unsettled | None]] = [[] for _ in range(len(self))]
        for number in range(len(self)):
            train = self._train(number)
            search = search_of(train)
            for size, each in zip(
                sizes, _searched(plan, train, search, sizes, n_jobs), strict=True
            ):
                tell(f"fold {number}, {size} features")
                by_fold[number].append(each)
        places = found_in_all(sizes, by_fold)
        sizes, n_sizes = [sizes[i] for i in places], len(sizes)
        found = [each for fold in by_fold for i in places if (each := fold[i]) is not None]
        results = settle(self.rows, found)
        winners, separated = [], []
        for number in range(len(self)):
            train = self._train(number)
            for result in results[number * len(sizes) : (number + 1) * len(sizes)]:
                model, is_separated = plan.linear_winner(train, result)
                winners.append(Winner(result.subset, model))
                separated.append(is_separated)
        tests = [test for test in self.tests for _ in sizes]
        test_scores, train_scores, on = _scores(self.rows, winners, tests, scorer, scoring)
        scores = [
            FoldScore(
                test_score=float(test_scores[i]),
                train_score=float(train_scores[i]),
                loss=result.loss,
                loss_name=result.loss_name,
                separated=separated[i],
                subset=result.subset,
                model=winners[i].model,
            )
            for i, result in enumerate(results)
        ]
        table: list[list[FoldScore | None]] = [[None] * n_sizes for _ in range(len(self))]
        for i, score in enumerate(scores):
            table[i // len(sizes)][places[i % len(sizes)]] = score
        return table, on


def streamed_folds(data: Any, cv: Any, class_weight: Any, seed: int) -> StreamedFolds:
    """The folds that a `cv` asks for."""
    rows: StreamedRows = data.rows
    tests = buckets_of_folds(cv, rows.n_buckets, seed)
    _check_folds(rows, tests)
    return StreamedFolds(rows, tests, class_weight)


def _searched(
    plan: SearchPlan, train: Any, search: AnySearch, sizes: list[int], n_jobs: Any
) -> Iterator[Unsettled | None]:
    """What is found at each size on the training part of a fold, if anything is."""
    with Cancellation() as cancellation:

        def searched(size: int) -> Unsettled | None:
            with cancellation.task():
                try:
                    return unsettled(plan, train, search.run(size))
                except NoSubsetError:
                    return None

        tasks = (delayed(searched)(size) for size in sizes)
        yield from as_they_come(tasks, n_jobs, threads=True)


def _scores(
    rows: StreamedRows, winners: list[Winner], tests: list[IntArray], scorer: Any, scoring: Any
) -> tuple[Any, Any, str]:
    """Of test and of training rows, and on which the former."""
    trains = [np.setdiff1d(rows.every, test) for test in tests]
    classes = rows.layout.classes
    if scoring == "r2" and classes is None:
        return r2_scores(rows, winners, tests), r2_scores(rows, winners, trains), "all rows"
    if scoring == "roc_auc" and classes is not None and len(classes) == 2:
        found, error = areas(rows, winners, tests)
        of_training_rows = areas_on_sample(rows, winners, trains)
        return found, of_training_rows, f"all rows, right to {error:.0e}"
    of_test_rows, of_training_rows = (
        [_on_sample(rows, scorer, w, part) for w, part in zip(winners, parts, strict=True)]
        for parts in (tests, trains)
    )
    return of_test_rows, of_training_rows, f"a sample of {len(rows.X)} rows"


def _on_sample(rows: StreamedRows, scorer: Any, winner: Winner, buckets: IntArray) -> float:
    """Score of a model on weighted rows of the sample."""
    X, y, weight = rows.sampled(buckets, winner.subset)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UndefinedMetricWarning)
        try:
            return float(scorer(winner.model, X, y, sample_weight=weight))
        except TypeError as error:
            raise ValueError(
                f"Rows of a sample have weights, which {scorer!r} can't take: {error}"
            ) from error
