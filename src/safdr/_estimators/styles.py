"""Criterion, shrinkage and penalty chosen once a data set, by the loss on rows held out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.parallel import delayed

from safdr._engine.arrays import FloatArray
from safdr._engine.constraints import AllowedSubsets
from safdr._engine.shrinkage import SMALLEST_AUTO
from safdr._engine.wide.search import AnySearch
from safdr._estimators.folds import (
    Folds,
    as_they_come,
    in_turn,
    make_folds,
    searched,
    splits_of_data,
)
from safdr._estimators.l1_search import PATHS, off_path
from safdr._estimators.parameters import AUTO
from safdr._estimators.plan import STYLE, SearchPlan
from safdr._estimators.rules import deviation
from safdr._estimators.training_data import TrainingData
from safdr._estimators.workers import Cancellation, Shared
from safdr.errors import NoSubsetError

# What C="auto" chooses from. Weaker ones change a model only where classes are separated.
PENALTIES = (0.1, 1.0, 10.0, 100.0)
# The one that candidates are compared with until it is known: seldom far from the best.
MIDDLE = 1.0
# So many sizes tell which style is better: the choice is one for all.
N_SIZES = 3
# The first style is left where another is better by more standard errors than this, or has no more
# than this share of its badness: of precise outputs one split may have all the error.
N_ERRORS = 1.0
FAR_LESS = 0.5


@dataclass(frozen=True, eq=False)
class Comparison:
    """Styles and penalties that were compared, and their losses."""

    plans: list[SearchPlan]
    sizes: list[int]
    # By plan, fold and size; what is out of order is 1 - AUC, or not a number.
    losses: FloatArray
    disorder: FloatArray
    # So many plans, one after the other, are one style.
    n_penalties: int = 1

    @property
    def best(self) -> SearchPlan:
        """The plan of the least badness, where it is clearly better; else of the first style."""
        badness = self._badness()
        means = np.nan_to_num(badness.mean(axis=1), nan=np.inf)
        best = int(means.argmin())
        usual = int(means[: self.n_penalties].argmin())
        if badness.shape[1] < 2 or not np.isfinite(means[usual]):
            return self.plans[best]
        gained = badness[usual] - badness[best]
        error = gained.std(ddof=1) / np.sqrt(len(gained))
        is_clear = gained.mean() > N_ERRORS * error or means[best] <= FAR_LESS * means[usual]
        return self.plans[best if is_clear else usual]

    def _badness(self) -> FloatArray:
        """By plan and fold: the loss, and what is out of order, each in units of its mean."""
        badness = np.zeros(self.losses.shape[:2])
        for part in (self.losses, self.disorder):
            mean = np.nanmean(part) if np.isfinite(part).any() else 0.0
            if part is self.losses or (mean > 0 and np.isfinite(part).all()):
                badness += part.mean(axis=2) / (mean or 1.0)
        return badness

    def results(self) -> dict[str, NDArray[Any]]:
        """A row for each plan and size, in the columns of `cv_results_`."""
        n_sizes = len(self.sizes)
        results: dict[str, NDArray[Any]] = {
            name: np.repeat(_column([getattr(plan, name) for plan in self.plans]), n_sizes)
            for name in STYLE
        }
        results["n_features"] = np.tile(self.sizes, len(self.plans))
        for name, part in {"loss": self.losses, "disorder": self.disorder}.items():
            by_fold = part.swapaxes(0, 1).reshape(part.shape[1], -1)
            results[f"mean_test_{name}"] = by_fold.mean(0)
            results[f"std_test_{name}"] = deviation(by_fold)
            results.update({f"split{i}_test_{name}": row for i, row in enumerate(by_fold)})
        return results


def _column(values: list[Any]) -> NDArray[Any]:
    """Any objects, also such as look like sequences."""
    column = np.empty(len(values), dtype=object)
    for i, value in enumerate(values):
        column[i] = value
    return column


def only_choice(plan: SearchPlan, data: TrainingData) -> SearchPlan:
    """The plan without what it leaves open, where there is nothing to choose from."""
    styles = _styles(plan, data) if plan.is_open else []
    return styles[0] if len(styles) == 1 and plan.C != AUTO else plan


def n_comparisons(plan: SearchPlan, data: TrainingData, n_folds: int, sizes: list[int]) -> int:
    """How many searches it takes."""
    return len(_styles(plan, data)) * n_folds * len(_few(sizes)) if plan.is_open else 0


def compare_styles(
    plan: SearchPlan,
    data: TrainingData,
    folds: Folds,
    sizes: list[int],
    search_of: Callable[[SearchPlan, TrainingData], AnySearch],
    n_jobs: Any,
    tell: Callable[[str], None] = lambda task: None,
) -> Comparison:
    """Compare what a plan leaves open for all rows, on folds and a few of the sizes."""
    styles, few = _styles(plan, data), _few(sizes)
    penalties = PENALTIES if plan.C == AUTO else (float(plan.C),)
    plans = [[replace(style, C=C) for C in penalties] for style in styles]
    threads = plan.only_ours
    with Cancellation() as cancellation:
        tasks = (
            delayed(_losses)(turn, size, with_penalties, cancellation)
            for fold in in_turn(folds, len(styles))
            for style, with_penalties in zip(styles, plans, strict=True)
            for turn in [searched(fold, partial(search_of, style), len(few), threads=threads)]
            for size in few
        )
        found = []
        for some in as_they_come(tasks, n_jobs, threads=threads):
            tell("styles")
            found.append(some)
    shape = (len(folds), len(styles), len(few), len(penalties), 2)
    # Loss and disorder, each by style, penalty, fold and size.
    by_plan = np.reshape(found, shape).transpose(4, 1, 3, 0, 2)
    losses, disorder = by_plan.reshape(2, -1, len(folds), len(few))
    flat = [each for some in plans for each in some]
    return Comparison(flat, few, losses, disorder, len(penalties))


def compare_on_default_splits(
    plan: SearchPlan,
    data: TrainingData,
    allowed: AllowedSubsets,
    cost: FloatArray | None,
    sizes: list[int],
    seed: int,
    n_jobs: Any,
) -> Comparison:
    """The same where there are no folds yet."""
    try:
        # The weights of usable rows are those of rows and classes together.
        folds: Any
        if data.in_passes:
            from safdr._estimators.streamed.folds import streamed_folds

            folds = streamed_folds(data, None, plan.class_weight, seed)
        else:
            done = replace(plan, class_weight=None, clip=None)
            folds = make_folds(data, splits_of_data(None, data, seed, {}), done, {})
    except ValueError:
        raise ValueError(
            'What is "auto" is chosen on five splits, a quarter of the rows held out of each, for '
            f"which these {len(data.y)} rows are too few: give criterion and C a value."
        ) from None

    def search_of(style: SearchPlan, train: TrainingData) -> AnySearch:
        return style.search(train, allowed, cost, seed).prepare(sizes[-1])

    return compare_styles(plan, data, folds, sizes, search_of, n_jobs)


def _styles(plan: SearchPlan, data: TrainingData) -> list[SearchPlan]:
    """Plans that leave nothing open but the penalty."""
    plan = replace(plan, C=MIDDLE if plan.C == AUTO else plan.C)
    if plan.criterion != AUTO:
        return [plan]
    styles = [
        replace(plan, criterion=name)
        for name in data.compared
        if name not in PATHS or not off_path(plan)
    ]
    if plan.ridge != AUTO:
        return styles
    # Where differences of features that are much alike tell the classes, shrinkage hides them.
    # With few rows it seldom does, so there the search without is the other one.
    plain = next(style for style in styles if style.criterion == data.criteria[0])
    bare = _published(replace(plain, ridge=SMALLEST_AUTO), data)
    if not data.is_short:
        return [bare, *styles]
    usual = styles[0]
    if usual.criterion == "reference":
        # Its path has a ridge of its own: another would only shrink the values that are told.
        usual = replace(usual, ridge=SMALLEST_AUTO)
    return [usual, bare]


def _published(plan: SearchPlan, data: TrainingData) -> SearchPlan:
    """The same with models that are not penalised where they choose, if it is up to us."""
    signs = plan.constraints is not None and plan.constraints.signs is not None
    ours = plan.pick == "auto" and plan.model is None and not signs and not data.in_passes
    return replace(plan, pick="unpenalised") if ours and np.isfinite(float(plan.C)) else plan


def _few(sizes: list[int]) -> list[int]:
    """Sizes that stand for all of them: the largest, and others in equal ratios."""
    wanted = np.geomspace(sizes[0], sizes[-1], N_SIZES + 1)[1:]
    return sorted({min(sizes, key=lambda size: abs(size - each)) for each in wanted})


def _losses(
    turn: Shared, size: int, plans: list[SearchPlan], cancellation: Cancellation
) -> list[tuple[float, float]]:
    """Loss and disorder on the test rows of each plan's linear model, on the subset found."""
    with cancellation.task(), turn.use() as (fold, search):
        try:
            subset = search.run(size).subset
        except NoSubsetError:
            return [(np.nan, np.nan)] * len(plans)
        X_test = fold.X_test[:, subset]
        models = (next(plan.linear_models(fold.train, search, [subset])) for plan in plans)
        rows = (X_test, fold.y_test, fold.weight_test)
        return [fold.train.held_out(model, *rows) for model in models]
