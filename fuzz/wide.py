"""Fit problems of many columns, whose products with each other are not made."""

from __future__ import annotations

import warnings
from contextlib import AbstractContextManager, ExitStack
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from fuzz import estimators_oracles as oracle
from fuzz.estimators import fit, selector, tolerance, values
from fuzz.estimators_cases import (
    Case,
    random_columns,
    random_labels,
    random_outputs,
    random_weights,
)
from safdr import (
    Annealing,
    AnnealingRegressorSelectorCV,
    AnnealingSelectorCV,
    anneal_path,
)

ALL = 10**9

# Tens of columns are many in here, and buffers hold few of them.
SMALLER = {
    "safdr._engine.wide.WIDE": 60,
    "safdr._engine.wide.criterion.KEPT_BYTES": 2**14,
    "safdr._engine.wide.rows.BLOCK_COLUMNS": 16,
    "safdr._engine.screen.duplicates.COMPARED_BYTES": 2**12,
    "safdr._engine.screen.window.WINDOW_BYTES": 2**14,
    "safdr._engine.screen.window.N_COPIED": 5,
    "safdr._engine.screen.window.MIN_OTHERS": 4,
}


def smaller() -> ExitStack:
    """Tens of columns are many in here."""
    stack = ExitStack()
    for name, number in SMALLER.items():
        stack.enter_context(patch(name, number))
    return stack


def of_all_columns() -> AbstractContextManager[Any]:
    """No number of columns is."""
    return patch("safdr._engine.wide.WIDE", ALL)


def check(rng: np.random.Generator) -> None:
    """One random problem."""
    case = make(rng)
    with smaller(), warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        if rng.random() < 0.05:
            check_cross_validated(case, rng)
            return
        fitted = fit(selector(case), case)
        check_subsets(fitted, case)
        check_numbers(fitted, case)
        check_values(fitted, case)
        check_same_screen(fitted, case)
        if not is_screened(case):
            check_swaps(fitted, case)
        other = OTHERS[rng.integers(len(OTHERS))]
        other(fitted, case, rng)


def is_screened(case: Case) -> bool:
    """Whether some columns are left out of the search."""
    return case.parameters["annealing"].screen is not None


# ---- Problems -----------------------------------------------------------------------------------


def make(rng: np.random.Generator) -> Case:
    """More columns than are searched at once; rules allow subsets of the size."""
    n_classes = int(rng.choice([0, 0, 2, 2, 2, 3, 4]))
    n_features = int(rng.integers(61, 110))
    n_rows = int(rng.choice([6, 20, 60, 150])) + 4 * max(n_classes, 1)
    codes = rng.permutation(np.arange(n_rows) % max(n_classes, 1))
    X = random_columns(rng, codes, n_features)
    if rng.random() < 0.3:  # mere noise, with next to nothing to choose from
        X = rng.normal(size=X.shape) + 0.5 * codes[:, None] * (rng.random(n_features) < 0.1)
    if rng.random() < 0.15:
        X[:, rng.permutation(n_features)[: n_features - int(rng.integers(1, 12))]] = 0.25
    X = X.astype(np.float32).astype(np.float64)
    if not np.ptp(X, axis=0).any():
        X[:, 0] = rng.normal(size=n_rows).astype(np.float32)
    y = random_labels(rng, codes, n_classes) if n_classes else random_outputs(rng, X)
    case = Case(
        X=X,
        y=y,
        classes=n_classes,
        weight=random_weights(rng, codes),
        size=int(rng.integers(1, 8)) if rng.random() < 0.8 else int(rng.integers(8, 24)),
        container=str(rng.choice(["array", "array", "pandas", "sparse", "fortran"])),
        rules=rules(rng, n_features),
        parameters=parameters(rng, n_classes),
    )
    if case.weight is not None and not np.ptp(case.X[case.weight > 0], axis=0).any():
        case.weight = None
    if "groups" in case.rules:
        case.parameters["prove"] = None
    if n_classes and rng.random() < 0.2:
        case.class_weight = "balanced"
    case.size = max(case.size, sum(map(case.counts, included(case))))
    return case


def rules(rng: np.random.Generator, n_features: int) -> dict[str, Any]:
    """Constraints that don't contradict each other, and costs."""
    order = rng.permutation(n_features).tolist()
    found: dict[str, Any] = {}
    if rng.random() < 0.25:
        lengths = rng.integers(1, 5, 8)
        found["groups"] = [[order.pop() for _ in range(length)] for length in lengths]
        found["count_by"] = str(rng.choice(["group", "group", "column"]))
    if rng.random() < 0.2:
        found["always_include"] = [order.pop() for _ in range(rng.integers(1, 4))]
    if rng.random() < 0.2:
        found["never_include"] = [order.pop() for _ in range(rng.integers(1, 9))]
    if rng.random() < 0.2:
        some = rng.permutation(order[:15])
        found["at_most_one_of"] = [some[:4].tolist(), some[3:8].tolist(), some[8:10].tolist()]
    if rng.random() < 0.2:
        found["feature_cost"] = (rng.integers(0, 3, n_features) / 20).tolist()
    return found


def parameters(rng: np.random.Generator, n_classes: int) -> dict[str, Any]:
    """Of a selector."""
    quiet = rng.random() < 0.3
    annealing = Annealing(
        n_replicas=int(rng.choice([1, 5, 20])),
        sweeps=0.5,
        max_steps=15,
        n_batches=int(rng.choice([1, 3])),
        batch_fraction=1.0 if quiet else 0.5,
        screen=[None, "auto", "auto", 40][rng.integers(4)],
    )
    tree = DecisionTreeClassifier if n_classes else DecisionTreeRegressor
    estimator = tree(max_depth=2, random_state=0)
    with_model = rng.random() < 0.1
    return {
        "annealing": annealing,
        "criterion": str(rng.choice(["auto", "auto", "fisher" if n_classes else "r2"])),
        "ridge": rng.choice([1e-6, 1e-6, 1e-3, 0.1]) if rng.random() < 0.8 else "auto",
        "C": float(rng.choice([np.inf, 1.0, 0.01])),
        "estimator": estimator if with_model else None,
        "prove": 0.2 if rng.random() < 0.1 else None,
        "random_state": int(rng.integers(2**31)),
    }


def included(case: Case) -> list[tuple[int, ...]]:
    """Units that must be in."""
    must = set(case.rules.get("always_include", []))
    return [unit for unit in case.units() if must.intersection(unit)]


# ---- What must hold for every fit ---------------------------------------------------------------


def members(subset: Any) -> tuple[int, ...]:
    """Without what a row is filled up with."""
    return tuple(int(j) for j in subset if j >= 0)


def check_subsets(fitted: Any, case: Case) -> None:
    """Sizes are right and rules kept, by all candidates."""
    units = case.units()
    for subset in [fitted.subset_, *fitted.result_.subsets]:
        some = set(members(subset))
        assert case.keeps_rules(tuple(some)), f"{some} is not allowed: {case.rules}"
        size = sum(case.counts(unit) for unit in units if some.issuperset(unit))
        assert size == case.size, f"{some} counts {size}, wanted {case.size}"
    assert len(np.setdiff1d(fitted.result_.subsets, [-1])) <= fitted.result_.n_screened
    assert fitted.result_.n_screened <= case.n_features


def check_numbers(fitted: Any, case: Case) -> None:
    """Values and losses of all candidates are those that a search of all columns gives them."""
    result = fitted.result_
    for length in np.unique(np.sum(result.subsets >= 0, axis=1)):
        same = np.flatnonzero(np.sum(result.subsets >= 0, axis=1) == length)
        subsets = result.subsets[same, :length]
        here = fitted.measure_subsets(case.table(), case.y, subsets, sample_weight=case.weight)
        with of_all_columns():
            there = fitted.measure_subsets(case.table(), case.y, subsets, sample_weight=case.weight)
        close = 10 * tolerance_of(fitted, case)
        own = result.criterion_values[same]
        finite = np.isfinite(own)
        np.testing.assert_allclose(own[finite], here[0][finite], rtol=close, atol=close)
        np.testing.assert_allclose(own[finite], there[0][finite], rtol=close, atol=close)
        if case.parameters["estimator"] is not None:
            continue
        sound = ~result.separated[same] & result.converged[same]
        sound &= np.isfinite(result.losses[same])
        # Squared errors are differences of what is as large as the variance.
        rounding = 1e-9 if case.classes else 1e-9 + 1e-12 * float(np.var(case.y, axis=0).max())
        how = {"rtol": 1e-4, "atol": rounding, "err_msg": "losses"}
        for measured in (here[1], there[1]):
            np.testing.assert_allclose(result.losses[same][sound], measured[sound], **how)


def tolerance_of(fitted: Any, case: Case) -> float:
    """What rounding may do."""
    return tolerance(with_ridge(fitted, case))


def with_ridge(fitted: Any, case: Case) -> Case:
    """The case, its ridge a number."""
    case.parameters["ridge"] = float(fitted.ridge_)
    return case


def check_values(fitted: Any, case: Case) -> None:
    """Values are those of the definition."""
    result, close = fitted.result_, tolerance_of(fitted, case)
    right, _ = values(case, [members(subset) for subset in result.subsets])
    finite = np.isfinite(result.criterion_values)
    np.testing.assert_allclose(
        result.criterion_values[finite], right[finite], rtol=close, atol=close, err_msg="values"
    )


def check_swaps(fitted: Any, case: Case) -> None:
    """No swap, of all that are allowed, is better than the best candidate."""
    result, close = fitted.result_, tolerance_of(fitted, case)
    best = set(members(result.subsets[np.argmax(result.criterion_values)]))
    units = case.units()
    inside = [unit for unit in units if best.issuperset(unit)]
    swapped = [
        tuple(sorted(best.difference(out).union(unit)))
        for out in inside
        for unit in units
        if not best.intersection(unit) and case.counts(unit) == case.counts(out)
    ]
    swapped = [subset for subset in swapped if case.keeps_rules(subset)]
    if not swapped:
        return
    found, clean = values(case, swapped)
    clean |= with_one_label(case, swapped, best)
    if clean.any():
        reached = float(result.criterion_values.max())
        most = int(np.argmax(np.where(clean, found, -np.inf)))
        assert found[most] <= reached + 10 * close * (1.0 + abs(reached)), (
            f"{sorted(best)} has {reached}, {swapped[most]} has {found[most]}"
        )


def check_same_screen(fitted: Any, case: Case) -> None:
    """The answer is that where the products of all columns are made."""
    if case.parameters["prove"] is not None or case.size >= len(case.X):
        return
    # With more than two classes, the number of columns decides whether there is a screen.
    if case.classes > 2 and case.parameters["annealing"].screen == "auto":
        return
    with of_all_columns():
        expected = fit(selector(case), case)
    assert fitted.result_.n_screened == expected.result_.n_screened
    close = 20 * tolerance_of(fitted, case)
    here, there = (members(one.subset_) for one in (fitted, expected))
    value = expected.criterion_value_
    same = fitted.criterion_value_ == pytest.approx(value, rel=close, abs=close)
    assert here == there or same, (here, there, fitted.criterion_value_, value)


def with_one_label(case: Case, subsets: Any, best: set[int]) -> np.ndarray:
    """Subsets that have a column that tells two classes by itself, where the best has none."""
    if case.classes != 2:
        return np.zeros(len(subsets), dtype=bool)
    weight = case.row_weights()
    rows = weight > 0
    _, B, D = oracle.matrices(case.X[rows], case.y[rows], weight[rows], True, 1.0)
    copies = set(np.flatnonzero((np.diag(B) == 0) & D.any(axis=1)).tolist())
    if not copies or best & copies:
        return np.zeros(len(subsets), dtype=bool)
    return np.array([len(copies.intersection(subset)) == 1 for subset in subsets])


# ---- What must hold for a problem that means the same -------------------------------------------


def on_two_threads(fitted: Any, case: Case, rng: np.random.Generator) -> None:
    """The same, bit for bit."""
    second = fit(selector(case, n_jobs=2), case)
    if case.parameters["prove"] is None:
        np.testing.assert_array_equal(second.result_.subsets, fitted.result_.subsets)
        np.testing.assert_array_equal(second.result_.losses, fitted.result_.losses)


def as_single_precision(fitted: Any, case: Case, rng: np.random.Generator) -> None:
    """Numbers that single precision holds mean the same in it, and in sparse rows."""
    how = {"sample_weight": case.weight}
    if case.parameters["prove"] is not None or case.size >= len(case.X):
        return  # of more features than rows all subsets explain all but rounding
    if case.parameters["annealing"].n_replicas == 1:
        return  # one walker ends elsewhere where the last digit decides a proposal
    for rows in (case.X, case.X.astype(np.float32), sparse.csr_array(case.X)):
        other = selector(case).fit(rows, case.y, **how)
        close = 20 * tolerance_of(fitted, case)
        best = [one.result_.criterion_values.max() for one in (fitted, other)]
        # A large one is a small variance, of which rounding leaves fewer digits.
        relative = close + 1e-13 * max(best)
        np.testing.assert_allclose(best[1], best[0], rtol=relative, atol=close)


def repeated_rows(fitted: Any, case: Case, rng: np.random.Generator) -> None:
    """A weight of 2 is two rows, and a weight of 0 none."""
    if case.weight is None or case.weight.dtype.kind != "i":
        return
    subsets = fitted.result_.subsets
    subsets = subsets[(subsets >= 0).all(axis=1)]
    if not len(subsets):
        return
    X, y = (np.repeat(rows, case.weight, axis=0) for rows in (case.X, case.y))
    one = fitted.measure_subsets(case.X, case.y, subsets, sample_weight=case.weight)
    two = fitted.measure_subsets(X, y, subsets)
    np.testing.assert_allclose(two[0], one[0], rtol=1e-6, atol=tolerance_of(fitted, case))


def replaced(fitted: Any, case: Case, rng: np.random.Generator) -> None:
    """Substitutes are those of a search of all columns."""
    if case.classes == 1 or case.size > 6:
        return
    how = {"n_best": 2, "backend": "dict", "sample_weight": case.weight}
    try:
        here = fitted.substitutes(case.table(), case.y, **how)
    except ValueError as error:
        if "fold" not in str(error):
            raise
        return
    with of_all_columns():
        there = fitted.substitutes(case.table(), case.y, **how)
    close = 20 * tolerance_of(fitted, case)
    assert list(here["chosen"]) == list(there["chosen"])
    np.testing.assert_allclose(
        here["criterion_value"], there["criterion_value"], rtol=close, atol=close
    )


def along_a_path(fitted: Any, case: Case, rng: np.random.Generator) -> None:
    """A size has the same answer among others."""
    if case.class_weight is not None or case.parameters["prove"] is not None:
        return
    settings = case.parameters | case.limits
    sizes = [case.size]
    results = anneal_path(
        case.table(),
        case.y,
        sizes,
        task="classification" if case.classes else "regression",
        sample_weight=case.weight,
        **{name: value for name, value in settings.items() if name not in ("prove", "estimator")},
    )
    if case.parameters["estimator"] is None:
        np.testing.assert_array_equal(results[0].subsets, fitted.result_.subsets)


OTHERS = [on_two_threads, as_single_precision, repeated_rows, replaced, along_a_path]


def check_cross_validated(case: Case, rng: np.random.Generator) -> None:
    """Two jobs find what one finds."""
    kind = AnnealingSelectorCV if case.classes else AnnealingRegressorSelectorCV
    # Others' models are fitted in processes, where tens of columns are few.
    settings = case.parameters | case.limits | {"prove": None, "estimator": None}
    found = []
    for n_jobs in (1, 2):
        search = kind(max_features=min(case.size, 6), cv=2, n_jobs=n_jobs, **settings)
        try:
            found.append(fit(search, case))
        except ValueError as error:
            if not any(word in str(error) for word in ("fold", "max_features", "n_features")):
                raise
            return
    one, two = found
    np.testing.assert_array_equal(one.subset_, two.subset_)
    for name, numbers in one.cv_results_.items():
        np.testing.assert_array_equal(numbers, two.cv_results_[name])
