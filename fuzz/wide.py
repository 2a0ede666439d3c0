"""Problems of many columns, whose products with each other are not computed."""

from __future__ import annotations

import warnings
from contextlib import ExitStack
from dataclasses import replace
from typing import Any
from unittest.mock import patch

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from fuzz.cases import Case, make_case, random_columns
from fuzz.estimators import tolerance, values
from fuzz.selectors import evaluate, fit, make_search, make_selector

# Buffers so small that tens of columns are many.
SMALLER = {
    "safdr._engine.columns.MAX_DENSE": 60,
    "safdr._engine.columns.KEPT_BYTES": 2**14,
    "safdr._engine.centred_rows.BLOCK_COLUMNS": 16,
    "safdr._engine.screen.duplicates.COMPARED_BYTES": 2**12,
}


def check(rng: np.random.Generator) -> None:
    """One random problem."""
    case = make(rng)
    with ExitStack() as stack, warnings.catch_warnings():
        for name, number in SMALLER.items():
            stack.enter_context(patch(name, number))
        warnings.simplefilter("ignore", ConvergenceWarning)
        if rng.random() < 0.05:
            check_cross_validated(case)
            return
        fitted = fit(make_selector(case), case)
        check_subsets(fitted, case)
        check_values(fitted, case)
        if case.annealing["screen"] is None:
            check_swaps(fitted, case)
        check_all_columns(fitted, case)
        check_threads(fitted, case)


def make(rng: np.random.Generator) -> Case:
    """Return a case with more columns than are searched at once, whose rules allow subsets."""
    case = make_case(rng, n_features=4)
    n_features = int(rng.integers(61, 110))
    codes = np.zeros(len(case.y), dtype=int)
    if case.n_classes:
        codes = np.unique(case.y, return_inverse=True)[1]
    X = random_columns(rng, codes, n_features)
    if rng.random() < 0.3:  # noise, with a few signals
        X = rng.normal(size=X.shape) + 0.5 * codes[:, None] * (rng.random(n_features) < 0.1)
    if rng.random() < 0.15:  # nearly all columns are constant
        X[:, rng.permutation(n_features)[: n_features - int(rng.integers(1, 12))]] = 0.25
    X = X.astype(np.float32).astype(np.float64)
    if not np.ptp(X, axis=0).any() or (
        case.weight is not None and not np.ptp(X[case.weight > 0], axis=0).any()
    ):
        X[:, 0] = rng.normal(size=len(X)).astype(np.float32)
    screens = [None, "auto", "auto", 40]
    return replace(
        case,
        X=X,
        size=int(rng.integers(4, 9)),
        rules=random_rules(rng, n_features),
        cost=rng.integers(0, 3, n_features) / 20 if rng.random() < 0.2 else None,
        C=float(rng.choice([np.inf, 1.0, 0.01])),
        annealing={
            "n_replicas": int(rng.choice([1, 5, 20])),
            "max_steps": 15,
            "screen": screens[rng.integers(len(screens))],
        },
    )


def random_rules(rng: np.random.Generator, n_features: int) -> dict[str, Any]:
    """Return constraints that do not contradict each other."""
    order = rng.permutation(n_features).tolist()
    found: dict[str, Any] = {}
    if rng.random() < 0.25:
        lengths = rng.integers(1, 5, 8)
        found["groups"] = [[order.pop() for _ in range(length)] for length in lengths]
    if rng.random() < 0.2:
        found["always_include"] = [order.pop() for _ in range(rng.integers(1, 4))]
    if rng.random() < 0.2:
        found["never_include"] = [order.pop() for _ in range(rng.integers(1, 9))]
    if rng.random() < 0.2:
        some = rng.permutation(order[:15])
        found["at_most_one_of"] = [some[:4].tolist(), some[3:8].tolist(), some[8:10].tolist()]
    return found


def members(subset: Any) -> tuple[int, ...]:
    """Return a subset without its padding."""
    return tuple(int(j) for j in subset if j >= 0)


def check_subsets(fitted: Any, case: Case) -> None:
    """All candidates have the size and keep the rules."""
    for subset in map(members, [fitted.subset_, *fitted.result_.subsets]):
        assert case.is_allowed(subset), f"{subset} is not allowed: {case.rules}"
        assert case.size_of(subset) == case.size, f"{subset} has not {case.size} features"
    searched = np.setdiff1d(fitted.result_.subsets, [-1])
    assert len(searched) <= fitted.result_.n_screened <= case.n_features


def check_values(fitted: Any, case: Case) -> None:
    """Values are those of the definition, and losses those of given subsets."""
    result, close = fitted.result_, tolerance(case)
    right, _ = values(case, map(members, result.subsets))
    finite = np.isfinite(result.criterion_values)
    np.testing.assert_allclose(
        result.criterion_values[finite], right[finite], rtol=close, atol=close, err_msg="values"
    )
    evaluation = evaluate(case, [fitted.subset_])
    if result.separated[result.best] or not result.converged[result.best]:
        return
    # Squared errors are differences of numbers as large as the variance.
    rounding = 1e-9 if case.n_classes else 1e-9 + 1e-12 * float(np.var(case.y, axis=0).max())
    np.testing.assert_allclose(
        result.losses[result.best], evaluation.losses[0], rtol=1e-4, atol=rounding
    )


def check_swaps(fitted: Any, case: Case) -> None:
    """No allowed swap improves the best candidate."""
    result, close = fitted.result_, tolerance(case)
    best = set(members(result.subsets[np.argmax(result.criterion_values)]))
    dropped = {j for pair in fitted.duplicates_ for j in pair[1:]}
    units = [unit for unit in case.units() if not dropped.intersection(unit)]
    swapped = [
        tuple(sorted(best.difference(out).union(unit)))
        for out in units
        for unit in units
        if best.issuperset(out) and not best.intersection(unit)
    ]
    swapped = [subset for subset in swapped if case.is_allowed(subset)]
    if not swapped:
        return
    found, clean = values(case, swapped)
    if clean.any():
        reached = float(result.criterion_values.max())
        most = int(np.argmax(np.where(clean, found, -np.inf)))
        assert found[most] <= reached + 10 * close * (1.0 + abs(reached)), (
            f"{sorted(best)} has {reached}, {swapped[most]} has {found[most]}"
        )


def check_all_columns(fitted: Any, case: Case) -> None:
    """The result is as good as that of a search that computes all products."""
    # With more than two classes, the number of columns decides whether there is a screen.
    by_columns = case.n_classes > 2 and case.annealing["screen"] == "auto"
    if by_columns or case.size >= len(case.X):
        return
    with patch("safdr._engine.columns.MAX_DENSE", 10**9):
        expected = fit(make_selector(case), case)
    assert fitted.result_.n_screened == expected.result_.n_screened
    close = 20 * tolerance(case)
    here, there = fitted.criterion_value_, expected.criterion_value_
    same = abs(here - there) <= close * (1.0 + abs(there))
    assert same or members(fitted.subset_) == members(expected.subset_), (here, there)


def check_threads(fitted: Any, case: Case) -> None:
    """Two threads give the same result, bit for bit."""
    second = fit(make_selector(case, n_jobs=2), case)
    np.testing.assert_array_equal(second.result_.subsets, fitted.result_.subsets)
    np.testing.assert_array_equal(second.result_.losses, fitted.result_.losses)


def check_cross_validated(case: Case) -> None:
    """Two jobs give the result of one."""
    found = []
    for n_jobs in (1, 2):
        try:
            found.append(fit(make_search(case, n_jobs=n_jobs), case))
        except ValueError as error:
            if not any(
                word in str(error) for word in ("Fold", "fold", "max_features", "n_features")
            ):
                raise
            return
    one, two = found
    np.testing.assert_array_equal(one.subset_, two.subset_)
    for name, numbers in one.cv_results_.items():
        np.testing.assert_array_equal(numbers, two.cv_results_[name])
