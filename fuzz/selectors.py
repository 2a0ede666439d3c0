"""The selectors and functions of a case: the one module that knows their parameters."""

from __future__ import annotations

from typing import Any

from fuzz.cases import Case
from safdr import (
    Annealing,
    AnnealingRegressorSelector,
    AnnealingRegressorSelectorCV,
    AnnealingSelector,
    AnnealingSelectorCV,
    Constraints,
    evaluate_subsets,
    near_optimal,
    prove,
)


def ridge_of(case: Case) -> Any:
    """Return what is added to the diagonal of the scaled criterion."""
    return case.shrinkage if case.shrinkage == "auto" else case.shrinkage / (1 - case.shrinkage)


def parameters_of(case: Case) -> dict[str, Any]:
    """Return what all selectors of a case have in common."""
    found = {
        "annealing": Annealing(**case.annealing),
        "constraints": Constraints(**case.rules),
        "feature_cost": None if case.cost is None else case.cost.tolist(),
        "shrinkage": case.shrinkage,
        "C": case.C,
        "random_state": case.seed,
    }
    return found | ({"class_weight": case.class_weight} if case.n_classes else {})


def make_selector(case: Case, **changes: Any) -> Any:
    """Return the selector of a case, not fitted."""
    kind = AnnealingSelector if case.n_classes else AnnealingRegressorSelector
    return kind(case.size, **parameters_of(case) | changes)


def make_search(case: Case, **changes: Any) -> Any:
    """Return the selector that searches all sizes up to that of the case."""
    kind = AnnealingSelectorCV if case.n_classes else AnnealingRegressorSelectorCV
    return kind(case.size, cv=2, **parameters_of(case) | changes)


def fit(selector: Any, case: Case) -> Any:
    """Fit a selector to the rows of a case."""
    return selector.fit(case.table(), case.y, sample_weight=case.weight)


def evaluate(case: Case, subsets: Any) -> Any:
    """Return values, losses, coefficients and intercepts of subsets of equal length."""
    selector = make_selector(case)
    return evaluate_subsets(selector, case.table(), case.y, subsets, sample_weight=case.weight)


def models_of(evaluation: Any) -> tuple[Any, Any, Any]:
    """Return coefficients, intercepts and separation of evaluated subsets."""
    return evaluation.coefficients, evaluation.intercepts, evaluation.separated


def cost_terms(result: Any) -> Any:
    """Return the costs of candidates in units of the loss."""
    return result.cost_terms


def loss_of_fit(selector: Any) -> float:
    """Return the loss of the selected subset."""
    return float(selector.result_.loss)


def prove_case(case: Case) -> Any:
    """Return the proof of a case without groups."""
    return prove(make_selector(case), case.X, case.y, size=case.size, time_limit=100.0)


def near_optimal_of(case: Case, rtol: float, max_subsets: int) -> tuple[Any, Any, int]:
    """Return subsets within a share of the best value, their values, and their total number."""
    found = near_optimal(
        make_selector(case),
        case.X,
        case.y,
        size=case.size,
        rtol=rtol,
        max_subsets=max_subsets,
        time_limit=100.0,
    )
    return found.subsets, found.values, found.n_total
