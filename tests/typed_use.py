"""Code such as users write, for mypy: what it gets is typed, and what is wrong is seen.

Checked by `make lint`, and by `make release` against the installed wheel. An ignored error that
mypy no longer finds is an error too. Nothing here runs.
"""

from typing import Any, assert_type

import numpy as np
from numpy.typing import NDArray

from safdr import (
    Annealing,
    AnnealingRegressorSelector,
    AnnealingRegressorSelectorCV,
    AnnealingResult,
    AnnealingSelector,
    AnnealingSelectorCV,
    Constraints,
    CrossValidatedScore,
    DiscriminantDisplay,
    FeatureGroups,
    Moments,
    NearTies,
    PathDisplay,
    PopulationAnnealing,
    Proof,
    ProxyDisplay,
    Scorecard,
    SelectionDisplay,
    SelectionReport,
    Stability,
    StabilityDisplay,
    Stream,
    SubsetEvaluation,
    SubstitutesDisplay,
    Trace,
    TraceDisplay,
    WhatIf,
    anneal_path,
    evaluate_subsets,
    near_ties,
    prove,
    stability,
    what_if,
)


def select(X: NDArray[np.float64], y: NDArray[np.int64]) -> None:
    """What people do first."""
    search = AnnealingSelectorCV(max_features=5, random_state=0, n_jobs=2).fit(X, y)
    assert_type(search, AnnealingSelectorCV)
    assert_type(search.predict_proba(X), NDArray[np.float64])
    assert_type(search.n_features_, int)
    assert_type(search.rule_note_, str)
    assert_type(search.n_features_by_rule_, dict[str, int])
    selector = AnnealingSelector(
        3, annealing=Annealing(n_replicas=10), constraints=Constraints(never_include=[0])
    )
    assert_type(selector.fit(X, y), AnnealingSelector)
    assert_type(selector.result_, AnnealingResult)


def certainty(X: NDArray[np.float64], y: NDArray[np.int64]) -> None:
    """Functions beside the selectors."""
    moments = Moments.from_rows(X, y)
    assert_type(moments, Moments)
    assert_type(moments + moments, Moments)
    assert_type(prove(moments, 3), Proof)
    assert_type(near_ties(moments, 3, within=0.01), NearTies)
    assert_type(stability(AnnealingSelector(3), X, y), Stability)
    assert_type(evaluate_subsets(X, y, [[0, 1]]), SubsetEvaluation)
    assert_type(anneal_path(X, y, range(1, 4)), list[AnnealingResult])
    selector = AnnealingSelector(3).fit(X, y)
    assert_type(what_if(selector, X, y), WhatIf)
    assert_type(selector.result_.trace, Trace)


def quantities(X: NDArray[np.float64], y: NDArray[np.float64]) -> None:
    """Regression, rows in passes, and other ways to search."""
    search = AnnealingRegressorSelectorCV(annealing=PopulationAnnealing(population=50))
    assert_type(search.fit(X, y), AnnealingRegressorSelectorCV)
    assert_type(search.predict(X), NDArray[Any])
    assert_type(search.feature_groups_, FeatureGroups)
    selector = AnnealingRegressorSelector(3, criterion=CrossValidatedScore(None))
    assert_type(selector.fit(Stream("loans.parquet"), "amount"), AnnealingRegressorSelector)


def pictures(X: NDArray[np.float64], y: NDArray[np.int64]) -> None:
    """What readers get."""
    search = AnnealingSelectorCV().fit(X, y)
    assert_type(PathDisplay.from_estimator(search).plot(), PathDisplay)
    assert_type(SelectionDisplay.from_estimator(search), SelectionDisplay)
    assert_type(TraceDisplay.from_estimator(search), TraceDisplay)
    assert_type(ProxyDisplay.from_estimator(search, X, y), ProxyDisplay)
    assert_type(DiscriminantDisplay.from_estimator(search, X, y), DiscriminantDisplay)
    assert_type(StabilityDisplay.from_estimator(search, X, y), StabilityDisplay)
    assert_type(SubstitutesDisplay.from_estimator(search, X, y), SubstitutesDisplay)
    assert_type(SelectionReport.from_estimator(search, X, y).to_html(), str)
    assert_type(Scorecard.from_estimator(search, X), Scorecard)


def mistakes(X: NDArray[np.float64], y: NDArray[np.int64]) -> None:
    """What mypy must see."""
    AnnealingSelector(3, replicas=10)  # type: ignore[call-arg]
    AnnealingSelectorCV(5, max_features=5)  # type: ignore[call-arg]
    prove(X, 3)  # type: ignore[arg-type]
    Constraints("alcohol")  # type: ignore[call-arg]
