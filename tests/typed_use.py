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
    AnnealingSurvivalSelector,
    AnnealingSurvivalSelectorCV,
    Constraints,
    NearOptimal,
    ParameterError,
    PathDisplay,
    PopulationAnnealing,
    Proof,
    Report,
    SelectionDisplay,
    SeparationWarning,
    Stability,
    StabilityDisplay,
    Stream,
    SubsetEvaluation,
    SubstitutesDisplay,
    TableEncoder,
    Trace,
    TraceDisplay,
    WhatIf,
    anneal_path,
    evaluate_subsets,
    near_optimal,
    prove,
    stability,
    substitutes,
    what_if,
)


def select(X: NDArray[np.float64], y: NDArray[np.int64]) -> None:
    """Select features for classes."""
    search = AnnealingSelectorCV(5, random_state=0, n_jobs=2).fit(X, y)
    assert_type(search, AnnealingSelectorCV)
    assert_type(search.predict_proba(X), NDArray[np.float64])
    assert_type(search.n_features_, int)
    selector = AnnealingSelector(
        3, annealing=Annealing(n_replicas=10), constraints=Constraints(never_include=[0])
    )
    assert_type(selector.fit(X, y), AnnealingSelector)
    assert_type(selector.result_, AnnealingResult)


def questions(X: NDArray[np.float64], y: NDArray[np.int64]) -> None:
    """Ask about a selection."""
    selector = AnnealingSelector(3).fit(X, y)
    assert_type(prove(selector, X, y), Proof)
    assert_type(near_optimal(selector, X, y, rtol=0.01), NearOptimal)
    assert_type(stability(selector, X, y), Stability)
    assert_type(evaluate_subsets(selector, X, y, [[0, 1]]), SubsetEvaluation)
    assert_type(anneal_path(selector, X, y, range(1, 4)), list[AnnealingResult])
    assert_type(what_if(selector, X, y), WhatIf)
    assert_type(selector.result_.trace, Trace)
    substitutes(selector, X, y)


def regression(X: NDArray[np.float64], y: NDArray[np.float64]) -> None:
    """Select features for continuous targets, from files too."""
    search = AnnealingRegressorSelectorCV(annealing=PopulationAnnealing(n_replicas=50))
    assert_type(search.fit(X, y), AnnealingRegressorSelectorCV)
    assert_type(search.predict(X), NDArray[Any])
    selector = AnnealingRegressorSelector(3)
    assert_type(selector.fit(Stream("loans.parquet"), "amount"), AnnealingRegressorSelector)


def survival(X: NDArray[np.float64], y: NDArray[Any]) -> None:
    """Select features for survival times."""
    search = AnnealingSurvivalSelectorCV(5).fit(X, y)
    assert_type(search, AnnealingSurvivalSelectorCV)
    assert_type(AnnealingSurvivalSelector(3).fit(X, y).predict(X), NDArray[Any])


def displays(X: NDArray[np.float64], y: NDArray[np.int64]) -> None:
    """Draw results."""
    search = AnnealingSelectorCV().fit(X, y)
    assert_type(PathDisplay.from_estimator(search).plot(), PathDisplay)
    assert_type(SelectionDisplay.from_estimator(search), SelectionDisplay)
    assert_type(TraceDisplay.from_estimator(search), TraceDisplay)
    assert_type(StabilityDisplay.from_estimator(search, X, y), StabilityDisplay)
    assert_type(SubstitutesDisplay.from_estimator(search, X, y), SubstitutesDisplay)
    raised: tuple[type[Exception], ...] = (ParameterError, SeparationWarning)
    del raised


def reports(table: Any, y: NDArray[np.int64]) -> None:
    """Encode a table and describe the result."""
    encoder = TableEncoder().fit(table, y)
    assert_type(encoder, TableEncoder)
    X = encoder.transform(table)
    report = Report.from_estimator(AnnealingSelector(3).fit(X, y), X, y)
    assert_type(report, Report)
    report.save("report.html")


def mistakes(X: NDArray[np.float64], y: NDArray[np.int64]) -> None:
    """Mistakes that mypy must find."""
    AnnealingSelector(3, replicas=10)  # type: ignore[call-arg]
    AnnealingSelectorCV(5, max_features=5)  # type: ignore[call-arg]
    Constraints("alcohol")  # type: ignore[call-arg]
