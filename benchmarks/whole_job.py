"""The whole job: choose the size from 1 to 30 by cross-validation and fit the model."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.feature_selection import RFECV
from sklearn.linear_model import LinearRegression, LogisticRegression, LogisticRegressionCV

from benchmarks import problems
from benchmarks.blocks import Problem
from benchmarks.rows import seconds_of, take_turns, write
from experiments import methods
from safdr import AnnealingRegressorSelectorCV, AnnealingSelectorCV

WIDE = ("wide_70x1000", "wide_100x2000", "wide_120x800")
LARGEST = 30
ROUNDS = 5
# Peers that take longer are run once.
LONG = 60.0


def main() -> None:
    """Write one row for each data set: seconds of each method, and of two threads."""
    warnings.simplefilter("ignore", ConvergenceWarning)
    rows = []
    jobs = [*problems.available(), *WIDE, "diabetes"]
    for problem in (*(problems.whole(name) for name in jobs), problems.digits()):
        contestants = _contestants(problem)
        contestants["safdr"]()  # the first call loads modules
        slow = {}
        for name in ("rfecv", "l1cv"):
            if name in contestants:
                seconds = seconds_of(contestants[name])
                if seconds > LONG:
                    slow[name] = seconds
                    del contestants[name]
        found = take_turns(contestants, ROUNDS) | slow
        wall = take_turns({str(n): _safdr(problem, n) for n in (1, 2)}, ROUNDS, cpu=False)
        rows.append(
            {
                "data": problem.name,
                "rows": problem.X.shape[0],
                "features": problem.X.shape[1],
                **{f"{name}_s": round(found.get(name, np.nan), 3) for name in NAMES},
                "safdr_over_abess": round(found["safdr"] / found["abess"], 3),
                "safdr_over_rfecv": round(found["safdr"] / found["rfecv"], 3),
                "two_threads": round(wall["1"] / wall["2"], 2),
            }
        )
    write("whole_job", rows)


NAMES = ("safdr", "abess", "rfecv", "l1cv")


def _contestants(problem: Problem) -> dict[str, Callable[[], object]]:
    found = {"safdr": _safdr(problem, 1), "abess": _abess(problem), "rfecv": _rfecv(problem)}
    if not methods.is_regression(problem.y):
        found["l1cv"] = _l1(problem)
    return found


def _safdr(problem: Problem, n_jobs: int) -> Callable[[], object]:
    regression = methods.is_regression(problem.y)
    kind = AnnealingRegressorSelectorCV if regression else AnnealingSelectorCV
    return lambda: kind(LARGEST, n_jobs=n_jobs, random_state=0).fit(problem.X, problem.y)


def _abess(problem: Problem) -> Callable[[], object]:
    import abess.linear as models

    X, y = problem.X, problem.y
    # abess does not take constant columns.
    X = X[:, np.ptp(X, axis=0) > 0]
    kind: Any = models.LogisticRegression
    if methods.is_regression(y):
        kind = models.LinearRegression
    elif y.max() > 1:
        kind, y = models.MultinomialRegression, np.eye(y.max() + 1)[y]
    sizes = range(1, min(LARGEST, X.shape[1]) + 1)
    return lambda: kind(support_size=sizes, cv=5, thread=1).fit(X, y)


def _rfecv(problem: Problem) -> Callable[[], object]:
    model = LinearRegression() if methods.is_regression(problem.y) else LogisticRegression()
    return lambda: RFECV(model, cv=5).fit(problem.X, problem.y)


def _l1(problem: Problem) -> Callable[[], object]:
    model = LogisticRegressionCV(
        l1_ratios=(1.0,),
        solver="saga",
        cv=5,
        scoring="neg_log_loss",
        use_legacy_attributes=False,
    )
    return lambda: model.fit(problem.X, problem.y)
