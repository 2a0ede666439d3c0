"""Selectors against the definitions, on random problems."""

from __future__ import annotations

import pickle
import warnings
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from fuzz import oracles as oracle
from fuzz.cases import Case, make_case
from fuzz.selectors import (
    cost_terms,
    evaluate,
    fit,
    loss_of_fit,
    make_search,
    make_selector,
    ridge_of,
)


def check(rng: np.random.Generator) -> None:
    """One random problem."""
    case = make_case(rng)
    with warnings.catch_warnings():
        # Separation, and fits that rounding stopped, are told: that is what is wanted of them.
        warnings.simplefilter("ignore", ConvergenceWarning)
        if rng.random() < 0.06:
            check_refused(case, rng)
        elif case.contradicts_itself() or not case.allowed():
            expect_refusal(make_selector(case), case, "no subset is allowed")
        elif rng.random() < 0.08:
            check_cross_validated(case)
        else:
            fitted = fit(make_selector(case), case)
            check_subset(fitted, case)
            check_criterion(fitted, case)
            check_loss(fitted, case)
            check_interface(fitted, case)
            check_again(fitted, case)
            other = OTHERS[rng.integers(len(OTHERS))]
            other(fitted, case, rng)


# ---- What must hold for every fit ----------------------------------------------------------------


def check_subset(fitted: Any, case: Case) -> None:
    """The size is right and the rules are kept."""
    for subset in [fitted.subset_, *fitted.result_.subsets]:
        members = tuple(int(j) for j in subset if j >= 0)
        assert members in set(case.allowed()), f"{members} is not allowed: {case.rules}"
    np.testing.assert_array_equal(np.flatnonzero(fitted.support_), fitted.subset_)
    assert fitted.n_features_ == case.size


def values(case: Case, subsets: Any) -> tuple[np.ndarray, np.ndarray]:
    """Criterion values from the definition, and whether each subset is free of collinearity."""
    ridge = ridge_of(case)
    A, B, D = oracle.matrices(*case.training_rows(), bool(case.n_classes), ridge)
    found = [oracle.value(A, D, s) - case.costs[list(s)].sum() for s in subsets]
    return np.array(found), np.array([oracle.is_clean(A, B, s, ridge) for s in subsets])


def tolerance(case: Case) -> float:
    """Digits that solving with the ridge leaves, far from zero: 1e8 spreads off, they are few."""
    ridge = ridge_of(case)
    close = 1e-7 + 100.0 * _lost_digits(case.X) / ridge + 1e-12 / ridge
    return (
        close if case.n_classes else close + 100.0 * _lost_digits(case.y.reshape(len(case.y), -1))
    )


def _lost_digits(columns: np.ndarray) -> float:
    """What rounding of the values takes from their spread."""
    varying = columns[:, np.ptp(columns, axis=0) > 0]
    return float(1e-15 * np.max(np.abs(varying).max(axis=0) / varying.std(axis=0)))


def check_criterion(fitted: Any, case: Case) -> None:
    """Values are those of the definition, and the best there is was reached."""
    result = fitted.result_
    subsets = [tuple(int(j) for j in s if j >= 0) for s in result.subsets]
    right, clean = values(case, subsets)
    close = tolerance(case)
    # Of groups, what is collinear is out of the question.
    judged = np.isfinite(result.criterion_values) | clean
    np.testing.assert_allclose(
        result.criterion_values[judged],
        right[judged],
        rtol=close,
        atol=close,
        err_msg="criterion values",
    )
    assert fitted.criterion_value_ == result.criterion_values[result.best]
    assert np.isfinite(fitted.criterion_value_), "a subset that is out of the question has won"
    # Of duplicates, which differ by rounding or next to nothing, one is searched.
    dropped = {j for pair in fitted.duplicates_ for j in pair[1:]}
    every = [subset for subset in case.allowed() if not dropped.intersection(subset)]
    every, clean = values(case, every) if every else (np.zeros(0), np.zeros(0, dtype=bool))
    if clean.any() and not is_screened(case):
        best = every[clean].max()
        reached = result.criterion_values.max()
        assert reached >= best - 10 * close * (1.0 + abs(best)), (
            f"the best value is {best}, reached was {reached}"
        )


def rounding(fitted: Any, case: Case) -> float:
    """What rounding makes of a score: much, where coefficients are large and columns far off."""
    sizes = np.abs(case.X[:, fitted.subset_]) @ np.abs(np.atleast_2d(fitted.estimator_.coef_)).T
    return 1e-15 * float(sizes.max())


def check_loss(fitted: Any, case: Case) -> None:
    """The loss is that of the coefficients, no worse than without features, and the least."""
    weight, result = case.row_weights(), fitted.result_
    rows, loss = weight > 0, loss_of_fit(fitted)
    null = oracle.loss_without_features(case.y[rows], weight[rows], bool(case.n_classes))
    penalised = result.losses + cost_terms(result)
    if case.cost is None:
        assert loss <= np.nanmin(penalised) + 1e-9 * null
    assert loss <= null * (1 + 1e-9), f"loss {loss} above {null}, without features"
    if case.n_classes:
        if not result.separated[result.best]:
            scores = fitted.decision_function(case.table())[rows]
            own = oracle.cross_entropy(scores, case.y[rows], weight[rows])
            close = 1e-6 * null + rounding(fitted, case)
            assert abs(own - loss) <= close, f"loss {loss}, of the model {own}"
        return
    model = fitted.estimator_
    unclipped = case.X[:, fitted.subset_] @ model.coef_.T + model.intercept_
    low, high = case.y[rows].min(axis=0), case.y[rows].max(axis=0)
    at_most = 1e-9 * np.ptp(case.y) + rounding(fitted, case)
    expected = np.clip(unclipped, low, high)
    np.testing.assert_allclose(fitted.predict(case.table()), expected, rtol=0, atol=at_most)
    own = oracle.squared_error(unclipped[rows], case.y[rows], weight[rows])
    chosen = case.X[rows][:, fitted.subset_]
    # Slopes along a direction of little variance have few digits.
    close = tolerance(case) + 1e-14 / oracle.least_variance(chosen, weight[rows])
    close = (close + 1e-14 * np.abs(case.y).max() / np.sqrt(null)) * null
    assert abs(own - loss) <= close, f"loss {loss}, of the model {own}"
    least = oracle.least_squared_error(chosen, case.y[rows], weight[rows])
    assert loss <= least + close, f"loss {loss}, least squares {least}"


def check_interface(fitted: Any, case: Case) -> None:
    """Methods agree with each other, and with a copy."""
    table = case.table()
    reduced = fitted.transform(table)
    reduced = reduced.toarray() if case.container == "sparse" else np.asarray(reduced)
    np.testing.assert_array_equal(reduced, case.X[:, fitted.subset_])
    stem = "f" if case.container in ("pandas", "polars") else "x"
    names = [f"{stem}{j}" for j in fitted.subset_]
    assert list(fitted.get_feature_names_out()) == names
    predicted = fitted.predict(table)
    assert predicted.shape == case.y.shape
    if case.n_classes:
        chances = fitted.predict_proba(table)
        own = chances[np.arange(len(chances)), np.searchsorted(fitted.classes_, predicted)]
        assert np.all(own >= chances.max(axis=1) - 1e-9), "another class is more likely"
        np.testing.assert_allclose(chances.sum(axis=1), 1.0, rtol=1e-9)
    again = pickle.loads(pickle.dumps(fitted))
    np.testing.assert_array_equal(again.predict(table), predicted)


def check_again(fitted: Any, case: Case) -> None:
    """The same answer from a clone, on two threads, and from `evaluate_subsets`."""
    second = fit(clone(fitted).set_params(n_jobs=2), case)
    np.testing.assert_array_equal(second.result_.subsets, fitted.result_.subsets)
    np.testing.assert_array_equal(second.result_.losses, fitted.result_.losses)
    np.testing.assert_array_equal(second.predict(case.table()), fitted.predict(case.table()))
    evaluation = evaluate(case, [fitted.subset_])
    np.testing.assert_allclose(
        evaluation.criterion_values[0], fitted.criterion_value_, rtol=1e-7, atol=1e-7
    )


# ---- What must hold for a problem that means the same --------------------------------------------


def best_value(case: Case) -> float:
    """The largest criterion value that a search reaches."""
    return float(fit(make_selector(case), case).result_.criterion_values.max())


def is_screened(case: Case) -> bool:
    """Whether some columns are left out of the search."""
    return case.annealing["screen"] is not None


def assert_as_good(case: Case, fitted: Any, what: str) -> None:
    """A problem that means the same must be solved as well."""
    before, now = float(fitted.result_.criterion_values.max()), best_value(case)
    close = 20 * tolerance(case)
    assert abs(now - before) <= close * (1.0 + abs(before)), f"{what}: {before} became {now}"


def scaled_and_shifted(fitted: Any, case: Case, rng: np.random.Generator) -> None:
    """Units of the columns don't matter."""
    factor = rng.choice([-1e-3, 1.0, 1e4], case.n_features)
    spread = np.ptp(case.X, axis=0)
    shift = np.where(spread > 0, rng.choice([0.0, 10.0, -100.0], case.n_features) * spread, 0.0)
    case.X = case.X * factor + shift * np.abs(factor)
    assert_as_good(case, fitted, "scaled and shifted")


def rows_in_another_order(fitted: Any, case: Case, rng: np.random.Generator) -> None:
    """The order of the rows doesn't matter."""
    order = rng.permutation(len(case.y))
    case.X, case.y = case.X[order], case.y[order]
    case.weight = None if case.weight is None else case.weight[order]
    assert_as_good(case, fitted, "rows in another order")


def columns_in_another_order(fitted: Any, case: Case, rng: np.random.Generator) -> None:
    """The order of the columns doesn't matter."""
    every, clean = values(case, case.allowed())
    if fitted.duplicates_ or ("groups" in case.rules and not clean[every.argmax()]):
        return  # which duplicates and collinear subsets are dropped depends on the order
    order = rng.permutation(case.n_features)
    place = np.argsort(order)
    case.X = case.X[:, order]
    rules = dict(case.rules)
    for name in ("always_include", "never_include"):
        if name in rules:
            rules[name] = place[rules[name]].tolist()
    for name in ("groups", "at_most_one_of"):
        if name in rules:
            rules[name] = [place[one].tolist() for one in rules[name]]
    case.cost = None if case.cost is None else case.cost[order]
    case.rules = rules
    assert_as_good(case, fitted, "columns in another order")


def repeated_rows(fitted: Any, case: Case, rng: np.random.Generator) -> None:
    """A weight of 2 is two rows, and a weight of 0 none."""
    if case.weight is None or case.weight.dtype.kind != "i":
        return
    case.X, case.y = np.repeat(case.X, case.weight, axis=0), np.repeat(case.y, case.weight, axis=0)
    case.weight = None
    assert_as_good(case, fitted, "repeated rows")


def other_container(fitted: Any, case: Case, rng: np.random.Generator) -> None:
    """Rows mean the same however they are kept."""
    case.container = "array" if case.container != "array" else "sparse"
    assert_as_good(case, fitted, f"as {case.container}")


OTHERS = [
    scaled_and_shifted,
    rows_in_another_order,
    columns_in_another_order,
    repeated_rows,
    other_container,
]


# ---- Cross-validation, and what must be refused --------------------------------------------------


def check_cross_validated(case: Case) -> None:
    """Sizes, rules and the last search are what they say."""
    search = make_search(case, rule="one_sd")
    try:
        fit(search, case)
    except ValueError as error:
        if "fold" not in str(error).lower():  # too few rows of a class, or all constant
            raise
        return
    results = search.cv_results_
    scores = np.array([results[f"split{i}_test_score"] for i in range(search.n_splits_)])
    np.testing.assert_allclose(results["mean_test_score"], scores.mean(axis=0), rtol=1e-12)
    best = scores.mean(axis=0).argmax()
    enough = scores.mean(axis=0) >= scores[:, best].mean() - scores[:, best].std()
    assert search.n_features_ == results["n_features"][enough].min()
    case.size = int(search.n_features_)
    case.class_weight = None
    alone = fit(make_selector(case), case)
    np.testing.assert_array_equal(search.subset_, alone.subset_)
    allowed = set(case.allowed())
    assert tuple(search.subset_.tolist()) in allowed


def expect_refusal(estimator: Any, case: Case, why: str) -> None:
    """A ValueError in words, and nothing else."""
    try:
        fit(estimator, case)
    except ValueError:
        return
    raise AssertionError(f"{why}, and yet it was fitted: {case.rules}, size {case.size}")


def check_refused(case: Case, rng: np.random.Generator) -> None:
    """Ill-posed problems are refused."""
    spoil = SPOILERS[rng.integers(len(SPOILERS))]
    estimator = make_selector(case)
    why = spoil(case, rng)
    expect_refusal(estimator, case, why)


def _not_finite(case: Case, rng: np.random.Generator) -> str:
    case.X[0, 0] = rng.choice([np.nan, np.inf])
    return "X is not finite"


def _nothing_varies(case: Case, rng: np.random.Generator) -> str:
    case.X[:] = case.X[0]
    return "X is constant"


def _one_target(case: Case, rng: np.random.Generator) -> str:
    case.y[:] = case.y[0]
    return "y is constant"


def _negative_weight(case: Case, rng: np.random.Generator) -> str:
    case.weight = np.where(np.arange(len(case.y)) == 0, -1e-14, 1.0)
    return "a weight is negative"


def _too_many(case: Case, rng: np.random.Generator) -> str:
    case.weight = np.ones(len(case.y) + 1)
    return "weights are too many"


SPOILERS = [_not_finite, _nothing_varies, _one_target, _negative_weight, _too_many]
