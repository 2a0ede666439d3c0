"""Cross-validation: folds cut out of the training data, searched and scored."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from itertools import islice
from typing import Any, Protocol

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import NDArray
from scipy.sparse import issparse
from sklearn.exceptions import UndefinedMetricWarning
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import _check_method_params

from safdr._engine.arrays import FloatArray, IntArray
from safdr._engine.constraints import AllowedSubsets
from safdr._engine.screened_search import AnySearch
from safdr._estimators.calibration import calibration_slope
from safdr._estimators.clipping import clipped
from safdr._estimators.parameters import as_int
from safdr._estimators.plan import SearchPlan
from safdr._estimators.rules import DEFAULT_MAX_FEATURES, deviation
from safdr._estimators.scoring import score_by_roc_auc
from safdr._estimators.splits import splits_of
from safdr._estimators.training_data import ClassData, TrainingData
from safdr._estimators.workers import Cancellation, Shared
from safdr.errors import NoSubsetError, ParameterError

NO_SUCH_METHOD = 'Choose a scoring that the estimator can serve, for example scoring="accuracy".'


# Smallest calibration slope.
MIN_SLOPE = 0.01

# Moments of so many take more memory than all else that a fold needs.
MANY_FEATURES = 1000


@dataclass(frozen=True, eq=False)
class Fold:
    """Training rows and test rows."""

    number: int
    train: TrainingData
    X_test: Any
    y_test: NDArray[Any]
    # Of rows and classes together, as in training; None where neither has any.
    weight_test: FloatArray | None
    # What the scorer gets besides, for test and for train rows, by those names.
    score_params: Mapping[str, Mapping[str, Any]]


class Folds(Protocol):
    """Folds by number: each is made anew when it is asked for."""

    def __len__(self) -> int: ...

    def __getitem__(self, number: int) -> Fold: ...


@dataclass(frozen=True, eq=False)
class FoldScore:
    """What one size scored on one fold."""

    test_score: float
    train_score: float
    loss: float
    loss_name: str
    separated: bool
    subset: IntArray
    # On the features found; only if the calibration slope needs it.
    model: Any


def sizes_to_try(plan: SearchPlan, allowed: AllowedSubsets, least: int, most: int) -> list[int]:
    """The sizes in a range that constraints allow."""
    total = allowed.n_groups
    if least > most:
        raise ParameterError(
            "min_features",
            "must be at most {max_features} = {most}; got {least}.",
            most=most,
            least=least,
        )
    if least > total:
        raise ParameterError(
            "min_features",
            "must be at most {total}; got {least}.",
            total=plan.total(allowed),
            least=least,
        )
    if most > total and most != DEFAULT_MAX_FEATURES:
        warnings.warn(
            f"max_features={most} is more than the {total} feature(s) of X: "
            f"sizes up to {total} are tried.",
            UserWarning,
            stacklevel=2,
        )
    highest = min(most, total)
    sizes = [int(n) for n in allowed.sizes(highest) if n >= least]
    if not sizes:
        allowed.check_size(highest, "max_features")  # says what rules it out
    return sizes


def found_in_all(sizes: list[int], found: list[list[Any]]) -> list[int]:
    """Places of the sizes at which each fold found something."""
    kept = [i for i in range(len(sizes)) if all(fold[i] is not None for fold in found)]
    if not kept:
        raise NoSubsetError(
            "signs",
            "can't be kept with {sizes} features: no size has, in every fold, a subset whose "
            "coefficients have them. Ask for fewer signs, or try smaller sizes.",
            sizes=sizes[0] if len(sizes) == 1 else f"{sizes[0]} to {sizes[-1]}",
        )
    return kept


def tell_lost(sizes: list[int], kept: list[int]) -> None:
    """Warn of the sizes that are at no place that was kept."""
    if lost := [str(size) for i, size in enumerate(sizes) if i not in kept]:
        warnings.warn(
            f"No subset of {', '.join(lost)} features was found in every fold whose coefficients "
            "have the signs that are asked for: these sizes are left out.",
            UserWarning,
            stacklevel=2,
        )


def at_largest(sizes: list[int], run: Callable[[int], Any], *, warn: bool = False) -> Any:
    """What a search gives at the largest of some sizes at which it finds a subset."""
    for size in reversed(sizes[1:]):
        try:
            return run(size)
        except NoSubsetError as error:
            if warn:
                text = f"Fewer than {size} features are chosen: {error}"
                warnings.warn(text, UserWarning, stacklevel=2)
    return run(sizes[0])


def splits_of_data(
    cv: Any, data: TrainingData, seed: int, params: dict[str, Any]
) -> list[tuple[IntArray, IntArray]]:
    """Row numbers of each fold; training rows of weight zero count as absent."""
    if cv is None and len(data.y) < 8:
        raise ValueError(
            "cv=None splits off a quarter of the rows for testing, which needs at least 8 rows; X "
            f"has {len(data.y)}. Pass a cv, for example 2."
        )
    cv = data.default_splitter(seed) if cv is None else cv
    splits = splits_of(cv, data.X, data.y, classifier=isinstance(data, ClassData), **params)
    if data.sample_weight is None:
        return splits
    return [(train[data.sample_weight[train] > 0], test) for train, test in splits]


def make_folds(
    data: TrainingData,
    splits: list[tuple[IntArray, IntArray]],
    plan: SearchPlan,
    scorer_params: dict[str, Any],
) -> RowFolds:
    """The folds; an error names the one that can't be searched."""
    folds = RowFolds(data, splits, plan, scorer_params)
    for number in range(len(folds)):
        folds[number]
    return folds


@dataclass(frozen=True, eq=False)
class RowFolds:
    """Folds of rows in memory."""

    data: TrainingData
    splits: list[tuple[IntArray, IntArray]]
    plan: SearchPlan
    scorer_params: dict[str, Any]

    def __len__(self) -> int:
        return len(self.splits)

    def __getitem__(self, number: int) -> Fold:
        """One of them, made anew: they are not kept."""
        data, (train, test) = self.data, self.splits[number]
        rows, held_out = data.take(train), data.take(test)
        try:
            usable, limits = self.plan.usable(rows)
        except ValueError as error:
            raise ValueError(
                f"The training rows of fold {number} can't be searched: {error} {data.fold_hint}"
            ) from None
        score_params = {
            "test": _check_method_params(data.X, self.scorer_params, indices=test),
            "train": _check_method_params(data.X, self.scorer_params, indices=train),
        }
        weight = _test_weight(rows, usable, held_out)
        X_test = held_out.X if limits is None else clipped(held_out.X, limits)
        return Fold(number, usable, X_test, held_out.y, weight, score_params)


def in_turn(folds: Folds, n_uses: int = 1) -> Iterator[Shared]:
    """Each fold, made when its turn comes, for so many uses."""
    for number in range(len(folds)):
        yield Shared(partial(folds.__getitem__, number), n_uses)


def searched(
    fold: Shared, search_of: Callable[[TrainingData], AnySearch], n_tasks: int, *, threads: bool
) -> Shared:
    """A fold with a search of it, for so many tasks."""

    def make() -> tuple[Fold, AnySearch]:
        with fold.use() as made:
            return made, search_of(made.train)

    turn = Shared(make, n_tasks)
    if not threads:
        turn.made()  # while it is sent, an error would be one of sending
    return turn


def score_folds(
    plan: SearchPlan,
    folds: RowFolds,
    search_of: Callable[[TrainingData], AnySearch],
    sizes: list[int],
    scorer: Callable[..., float],
    n_jobs: Any,
    tell: Callable[[str], None],
) -> list[list[FoldScore | None]]:
    """Score every size on every fold, in parallel, and tell of each; None where none is found."""
    # The core releases the GIL, so threads serve it; models of others may not.
    threads = plan.only_ours
    scores: list[list[FoldScore | None]] = [[] for _ in range(len(folds))]
    with warnings.catch_warnings(), Cancellation() as cancellation:
        # A fold that can't be scored is an error, and says so.
        warnings.simplefilter("ignore", UndefinedMetricWarning)
        groups = (
            (
                delayed(score_size)(turn, size, plan, scorer, cancellation)
                for fold in group
                for turn in [searched(fold, search_of, len(sizes), threads=threads)]
                for size in sizes
            )
            for group in _groups(folds, n_jobs, len(sizes))
        )
        for number, score in enumerate(one_by_one(groups, n_jobs, threads=threads)):
            place, position = divmod(number, len(sizes))
            tell(f"fold {place}, {sizes[position]} features")
            scores[place].append(score)
    return scores


def _groups(folds: RowFolds, n_jobs: Any, n_tasks: int) -> Iterator[list[Shared]]:
    """Folds that are searched at the same time, each by so many tasks."""
    turns, at_once = in_turn(folds), len(folds)
    if folds.data.X.shape[1] >= MANY_FEATURES:
        # Jobs at the end of a fold wait for each other, but share its moments until then.
        at_once = -(-effective_n_jobs(as_int(n_jobs)) // n_tasks)
    while group := list(islice(turns, at_once)):
        yield group


def _test_weight(train: Any, usable: Any, test: Any) -> FloatArray | None:
    """Weights of the test rows, those of their classes as in training."""
    if usable.sample_weight is None or (
        test.sample_weight is not None and not test.sample_weight.any()
    ):
        return None
    weight = np.ones(len(test.y)) if test.sample_weight is None else test.sample_weight
    if isinstance(train, ClassData):
        given, used = (
            np.bincount(rows.codes, rows.sample_weight, len(train.classes))
            for rows in (train, usable)
        )
        weight = weight * (used / given)[test.codes]
    return weight


def score_size(
    turn: Shared,
    size: int,
    plan: SearchPlan,
    scorer: Callable[..., float],
    cancellation: Cancellation,
) -> FoldScore | None:
    """Search one fold at one size, and score the model on what was found, if anything was."""
    with cancellation.task(), turn.use() as (fold, search):
        try:
            result = search.run(size)
        except NoSubsetError:
            return None
        model, separated = plan.final_model(fold.train, result, search.seed)

        def score(X: Any, y: NDArray[Any], which: str) -> float:
            if scorer is score_by_roc_auc:
                return score_by_roc_auc(model, X, y, result.subset)
            try:
                chosen = X[:, result.subset] if issparse(X) else X.take(result.subset, axis=1)
                return float(scorer(model, chosen, y, **fold.score_params[which]))
            except (AttributeError, TypeError, ValueError) as error:
                hint = NO_SUCH_METHOD if isinstance(error, AttributeError) else fold.train.fold_hint
                raise ValueError(
                    f"The model of fold {fold.number} at {size} features can't be scored by "
                    f"{scorer!r}: {error} {hint}"
                ) from error

        test_score = score(fold.X_test, fold.y_test, "test")
        if not np.isfinite(test_score):
            n_values = len(np.unique(fold.y_test))
            raise ValueError(
                f"The score of fold {fold.number} at {size} features is {test_score}; y takes "
                f"{n_values} value(s) in its {len(fold.y_test)} test rows. {fold.train.fold_hint}"
            )
        return FoldScore(
            test_score=test_score,
            train_score=score(fold.train.X, fold.train.y, "train"),
            loss=result.loss,
            loss_name=result.loss_name,
            separated=separated,
            subset=result.subset,
            model=model if plan.calibrates else None,
        )


def slope_of_folds(data: TrainingData, folds: Folds, scores: list[FoldScore]) -> float:
    """Return the calibration slope of the out-of-fold predictions of one size.

    It is not quite zero, so that the model still ranks rows.
    """
    parts = [_predictions(folds[number], score) for number, score in enumerate(scores)]
    predictions, targets, weights, n_train = zip(*parts, strict=True)
    slope = calibration_slope(
        np.concatenate(predictions),
        data.target_of(np.concatenate(targets)),
        np.concatenate(weights),
        regression=not isinstance(data, ClassData),
        train_share=float(np.mean(n_train)) / data.n_rows,
    )
    return max(slope, MIN_SLOPE)


def _predictions(fold: Fold, score: FoldScore) -> tuple[Any, ...]:
    """Linear predictors of the test rows, their target and weights, and the training rows' weight.

    The fold is released here, so that one is in memory at a time.
    """
    X, subset = fold.X_test, score.subset
    rows = X[:, subset] if issparse(X) else X.take(subset, axis=1)
    weight = np.ones(len(fold.y_test)) if fold.weight_test is None else fold.weight_test
    return score.model.linear_predictor(rows), fold.y_test, weight, fold.train.n_rows


def as_they_come(tasks: Iterator[Any], n_jobs: Any, *, threads: bool) -> Iterator[Any]:
    """Results of tasks in their order, each as soon as it is there."""
    return one_by_one([tasks], n_jobs, threads=threads)


def one_by_one(groups: Iterable[Iterator[Any]], n_jobs: Any, *, threads: bool) -> Iterator[Any]:
    """The same of groups of tasks, each of which begins when the one before is done."""
    how: dict[str, Any] = {
        "n_jobs": as_int(n_jobs),
        "prefer": "threads" if threads else "processes",
        # Larger batches leave one thread idle at the end. To another process a fold is sent with
        # each of them.
        "batch_size": 1 if threads else "auto",
    }
    try:
        parallel = Parallel(**how, return_as="generator")
    except ValueError:
        # Some backends (multiprocessing, Ray) hand over everything at the end.
        parallel = Parallel(**how)
    # The same threads for all groups: each has memory of its own, which it keeps.
    with parallel:
        for tasks in groups:
            yield from parallel(tasks)


def cv_results(sizes: list[int], scores: list[list[FoldScore]], n_features: int) -> dict[str, Any]:
    """Collect the scores as RFECV does."""
    results: dict[str, Any] = {"n_features": np.array(sizes)}
    loss_name = scores[0][0].loss_name
    for name, attribute in {"test_score": "", "train_score": "", loss_name: "loss"}.items():
        table = np.array([[getattr(score, attribute or name) for score in fold] for fold in scores])
        results[f"mean_{name}"] = table.mean(axis=0)
        results[f"std_{name}"] = deviation(table)
        results.update({f"split{i}_{name}": row for i, row in enumerate(table)})
    for i, fold in enumerate(scores):
        results[f"split{i}_separated"] = np.array([score.separated for score in fold])
        support = np.zeros((len(sizes), n_features), dtype=bool)
        for row, score in zip(support, fold, strict=True):
            row[score.subset] = True
        # A list, so that a data frame takes it for one column: masks as its cells.
        results[f"split{i}_support"] = list(support)
    return results
