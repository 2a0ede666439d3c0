"""Substitutes of chosen features: what each replacement, and leaving out, costs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.utils._param_validation import StrOptions
from sklearn.utils.parallel import delayed
from sklearn.utils.validation import validate_data

from safdr._engine.annealing.functions import QuadraticFunction, less_cost
from safdr._engine.arrays import FloatArray, IntArray
from safdr._engine.constraints import AllowedSubsets
from safdr._engine.interrupt import look_up
from safdr._engine.nearby import Products, best_replacements
from safdr._engine.screen import find_duplicates
from safdr._engine.search import Search, fit_padded, padded
from safdr._engine.signs import signed_values, wrong_signs
from safdr._estimators.feature_names import names_of
from safdr._estimators.folds import (
    Folds,
    as_they_come,
    in_turn,
    make_folds,
    splits_of_data,
)
from safdr._estimators.parameters import (
    SELECTOR_CONSTRAINTS,
    WholeNumber,
    check_values,
    n_workers,
    seed_from,
)
from safdr._estimators.plan import SearchPlan
from safdr._estimators.rules import deviation
from safdr._estimators.screening import search_all
from safdr._estimators.training_data import ClassData, TrainingData
from safdr._estimators.validation import SeenColumns
from safdr._estimators.workers import Cancellation, Shared
from safdr._frames import kind_of, to_frame

# More replacements than asked for, since some may have coefficients of the wrong sign.
N_SPARE = 10

BoolArray = NDArray[np.bool_]

ALLOWED: dict[str, Any] = {
    "n_best": [WholeNumber(1)],
    "n_jobs": SELECTOR_CONSTRAINTS["n_jobs"],
    "backend": [None, StrOptions({"pandas", "polars", "pyarrow", "dict"})],
}


@dataclass(frozen=True, eq=False)
class Variant:
    """The chosen subset with one feature replaced or left out; -1 stands for none."""

    dropped: int
    replacement: int
    columns: IntArray
    value: float
    allowed: bool = True

    def of_all(self, columns: IntArray, groups: IntArray) -> Variant:
        """The same by numbers among all columns and groups, of which these were searched."""
        names = np.append(groups, -1)
        dropped, replacement = int(names[self.dropped]), int(names[self.replacement])
        return replace(
            self, dropped=dropped, replacement=replacement, columns=columns[self.columns]
        )


def substitutes(
    selector: Any,
    X: Any,
    y: Any,
    *,
    n_best: Any,
    sample_weight: Any,
    groups: Any,
    n_jobs: Any,
    backend: Any,
) -> Any:
    """See the selectors' method."""
    check_values("substitutes", {"n_best": n_best, "n_jobs": n_jobs, "backend": backend}, ALLOWED)
    validate_data(selector, X, reset=False, skip_check_array=True)  # are these its columns?
    params = {} if groups is None else {"groups": groups}
    splitter_params, scorer_params = selector._route(sample_weight, params)
    plan, seed, n_threads = (
        SearchPlan.of_fitted(selector),
        seed_from(selector.random_state),
        n_workers(n_jobs),
    )
    data = selector._task.validate(SeenColumns(), X, y, sample_weight)
    allowed, cost = plan.allowed(selector), plan.cost(selector)

    usable, _ = plan.usable(data)
    original = originals(usable)
    subset, columns = selector.subset_, np.arange(usable.X.shape[1])
    its_allowed, its_cost = allowed, cost
    if usable.is_wide and plan.own_criterion is None:
        products = Products.of(usable.wide_criterion(plan.ridge), subset)
        columns = best_replacements(products, allowed, cost, int(n_best) + N_SPARE)
        subset, usable = np.searchsorted(columns, subset), usable.columns(columns)
        its_allowed = allowed.among(columns)
        its_cost = None if cost is None else cost[columns]
    search = search_all(plan.plain(usable), usable, its_allowed, its_cost, seed, n_threads)
    some = list(variants(search, subset, original[columns], int(n_best), n_threads))
    losses, right = losses_of(search, some, n_threads)
    some = [replace(one, allowed=one.allowed and ok) for one, ok in zip(some, right, strict=True)]
    kept = [i for i, one in enumerate(some) if right[i] or one.replacement < 0]
    some, losses = [some[i] for i in kept], losses[kept]
    numbers = np.unique(allowed.group_of[columns])
    some = [each.of_all(columns, numbers) for each in some]
    splits = splits_of_data(getattr(selector, "cv", None), data, seed, splitter_params)
    folds = make_folds(data, splits, plan, scorer_params)
    scorers = (selector._fold_scorer(), selector._scorer())
    table = columns_of(
        some,
        losses,
        scores_of(plan, folds, some, scorers, seed, n_jobs),
        selector.feature_groups_.names(names_of(selector)),
    )
    if backend == "dict":
        return table
    kind = kind_of(X) if backend is None else backend
    return to_frame(table, kind, f"{type(selector).__name__}.substitutes")


# ---- Which ones ---------------------------------------------------------------------------------


def originals(data: TrainingData) -> IntArray:
    """Return for each column the first one that it duplicates: itself, if it is no duplicate."""
    original = np.arange(data.X.shape[1])
    if not hasattr(data.X, "tensor"):
        for kept, dropped in find_duplicates(data.X, data._relative_weight).pairs:
            original[dropped] = kept
    return original


def variants(
    search: Search, subset: IntArray, original: IntArray, n_best: int, n_threads: int
) -> Iterator[Variant]:
    """The subset itself; then for each feature in it the best replacements, and it left out."""
    allowed, values = search.constraints, _Values(search, n_threads)
    chosen, useful = allowed.selection_of(subset), _useful(search)
    yield Variant(-1, -1, subset, values.of(chosen[None])[0])
    for dropped in np.flatnonzero(chosen):
        look_up()
        rest = chosen.copy()
        rest[dropped] = False
        replacements, swapped = _swaps(allowed, useful & ~rest, rest, int(dropped))
        found = values.of(swapped)
        found[values.wrong_signs(swapped)] = -np.inf
        # Duplicates of features that stay: with much shrinkage they would look useful.
        staying = original[allowed.columns_of(rest)]
        for i, replacement in enumerate(replacements):
            if np.isin(original[allowed.groups[replacement]], staying).any():
                found[i] = -np.inf
        best = np.argsort(-found, kind="stable")[:n_best]
        for i in best[found[best] > -np.inf]:
            columns = allowed.columns_of(swapped[i])
            yield Variant(int(dropped), int(replacements[i]), columns, found[i])
        columns, value = allowed.columns_of(rest), values.of(rest[None])[0]
        yield Variant(int(dropped), -1, columns, value, allowed.allows(rest))


def _useful(search: Search) -> BoolArray:
    """Features that the search takes into account: not those that never change, and the like."""
    allowed = search.constraints
    if search.criterion is not None:
        allowed = allowed.without(search.criterion.redundant)
    useful = np.ones(allowed.n_groups, dtype=bool)
    useful[allowed.exclude] = False
    return useful


def _swaps(
    allowed: AllowedSubsets, outside: BoolArray, rest: BoolArray, dropped: int
) -> tuple[IntArray, BoolArray]:
    """Features that may take the place of one, and the selections with them; sizes stay."""
    outside[dropped] = False
    others = np.flatnonzero(outside)
    swapped = np.repeat(rest[None], len(others), axis=0)
    swapped[np.arange(len(others)), others] = True
    keep = allowed.allows_each(swapped)
    return others[keep], swapped[keep]


class _Values:
    """Criterion values of selections, less their cost, as the search has them."""

    def __init__(self, search: Search, n_threads: int) -> None:
        self._allowed, self._criterion = search.constraints, search.criterion
        self._quadratic: QuadraticFunction | None = None
        function = search.function
        if function is None:
            function = self._quadratic = QuadraticFunction(search.criterion, n_threads)
        self._evaluate = less_cost(function, search.cost)

    def wrong_signs(self, selections: BoolArray) -> BoolArray:
        """Which have coefficients of other signs than asked for, by the criterion."""
        if self._allowed.signs is None or not len(selections):
            return np.zeros(len(selections), dtype=bool)
        subsets = self._subsets(selections)
        return signed_values(self._criterion, subsets, self._allowed.signs)[1] > 0

    def _subsets(self, selections: BoolArray) -> IntArray:
        widths = selections[:, self._allowed.group_of].sum(axis=1)
        return self._allowed.subsets_of(selections, int(widths.max(initial=0)))

    def of(self, selections: BoolArray) -> FloatArray:
        """Minus infinity for what is refused; no features have the value 0, or none."""
        subsets = self._subsets(selections)
        if subsets.size == 0:
            return np.full(len(subsets), np.nan if self._quadratic is None else 0.0)
        values = self._evaluate(subsets, np.full(len(subsets), -1))
        return np.where(np.isnan(values), -np.inf, values)


# ---- What they are worth ------------------------------------------------------------------------


def losses_of(search: Search, some: list[Variant], n_threads: int) -> tuple[FloatArray, BoolArray]:
    """Loss of each, as `loss_` is, and whether coefficients have the signs asked for."""
    right, signs = np.ones(len(some), dtype=bool), search.constraints.signs
    if search.fitter is None:
        return -np.array([each.value for each in some]), right
    losses = np.array([search.fitter.baseline() if len(v.columns) == 0 else 0.0 for v in some])
    full = np.flatnonzero([len(each.columns) for each in some])
    subsets = padded([some[i].columns for i in full])
    fits = fit_padded(search.fitter, subsets, best_only=False, n_threads=n_threads)
    losses[full] = fits.losses
    if signs is not None:
        right[full] = ~wrong_signs(subsets, fits.coefficients, signs).any(axis=1)
    return losses, right


def scores_of(
    plan: SearchPlan,
    folds: Folds,
    some: list[Variant],
    scorers: tuple[Callable[..., float], Callable[..., float]],
    seed: int,
    n_jobs: Any,
) -> FloatArray:
    """Held-out score of each on each fold: (n_folds, n_variants)."""
    subsets, threads = [each.columns for each in some], plan.only_ours
    with Cancellation() as cancellation:
        tasks = (
            delayed(_fold_scores)(plan, fold, subsets, scorers, seed, cancellation)
            for fold in in_turn(folds)
        )
        return np.array(list(as_they_come(tasks, n_jobs, threads=threads)))


def _fold_scores(
    plan: SearchPlan,
    turn: Shared,
    subsets: list[IntArray],
    scorers: tuple[Callable[..., float], Callable[..., float]],
    seed: int,
    cancellation: Cancellation,
) -> list[float]:
    """Score models that are fitted to the training rows, on the test rows."""
    of_models, of_any = scorers
    with cancellation.task(), turn.use() as fold:
        params = fold.score_params["test"]
        models = plan.models(fold.train, [some for some in subsets if len(some)], seed)
        scores = []
        for subset in subsets:
            look_up()
            if len(subset) == 0:
                blind = _blind_model(fold.train)
                scores.append(of_any(blind, fold.X_test[:, :1], fold.y_test, **params))
            else:
                scores.append(
                    of_models(next(models), fold.X_test[:, subset], fold.y_test, **params)
                )
        return scores


def _blind_model(train: TrainingData) -> Any:
    """A model that sees no features."""
    dummy = DummyClassifier() if isinstance(train, ClassData) else DummyRegressor()
    return dummy.fit(train.X[:, :1], train.y, sample_weight=train.sample_weight)


# ---- What is told -------------------------------------------------------------------------------


def columns_of(
    some: list[Variant], losses: FloatArray, scores: FloatArray, titles: list[str]
) -> dict[str, Any]:
    """Columns of the frame: a row for each variant but the first, which they are compared to."""
    values = np.array([each.value for each in some])
    mean, behind = scores.mean(axis=0), scores - scores[:, :1]
    columns: dict[str, Any] = {
        "chosen": [titles[each.dropped] for each in some[1:]],
        "replacement": [
            None if each.replacement < 0 else titles[each.replacement] for each in some[1:]
        ],
        "allowed": np.array([each.allowed for each in some[1:]]),
    }
    for name, numbers in {"criterion_value": values, "loss": losses, "score": mean}.items():
        columns[name] = numbers[1:]
        columns[f"{name}_difference"] = (numbers - numbers[0])[1:]
    columns["score_difference_std"] = deviation(behind)[1:]
    return columns
