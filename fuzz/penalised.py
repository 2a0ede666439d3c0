"""Penalised models of the recipe, against Newton's method on one subset at a time."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from fuzz.estimators import check_interface, fit, selector
from fuzz.estimators_cases import Case, random_rules
from fuzz.fits import random_rows
from fuzz.penalised_optimum import PenalisedOptimum
from safdr import Annealing, evaluate_subsets
from safdr._estimators.plan import SearchPlan
from safdr._estimators.screening import make_search
from safdr._estimators.training_data import ClassData
from safdr._estimators.validation import SeenColumns

# What a loss may be off.
CLOSE = 1e-6
PENALTIES = (0.01, 0.1, 1.0, 10.0, 100.0)
# With more columns there are no rules: all subsets would be tried for one that is allowed.
MOST_FOR_RULES = 9


def check(rng: np.random.Generator) -> None:
    """One random problem."""
    case = make(rng)
    if case.rules and (case.contradicts_itself() or not case.allowed()):
        return
    with warnings.catch_warnings():
        # Features much alike, separation, and fits that rounding stopped, are told.
        warnings.simplefilter("ignore", ConvergenceWarning)
        warnings.simplefilter("ignore", UserWarning)
        try:
            fitted = fit(selector(case), case)
        except ValueError as error:
            if "which these" not in str(error):  # too few rows to hold some out
                raise
            return
        check_parameters(fitted, case)
        check_subsets(fitted, case)
        check_interface(fitted, case)
        check_same_answer(fitted, case)
        optimum = PenalisedOptimum(case, fitted.C)
        check_winner(fitted, case, optimum)
        check_given_subsets(fitted, case, optimum, rng)
        if case.classes:
            check_ends(fitted, case, rng)
        if fitted.criterion == "auto" and case.classes == 2 and "groups" not in case.rules:
            check_forward(fitted, case, optimum)


def make(rng: np.random.Generator) -> Case:
    """Nasty rows of two to five classes, or with outputs; some rules; what to search by."""
    X, codes, weight = random_rows(rng)
    C = _penalty(rng)
    X = _with_relatives(rng, X, penalised=np.inf != C)
    if not np.ptp(X, axis=0).any():
        X[:, 0] = rng.normal(size=len(X))
    classes = int(codes.max()) + 1
    y: Any = np.array(["no", "yes", "maybe", "ä", "z"])[codes]
    if rng.random() < 0.15:
        classes, y = 0, codes[:, None] + rng.normal(size=(len(X), int(rng.integers(1, 3))))
    case = Case(
        X=X,
        y=y,
        classes=classes,
        weight=None if np.all(weight == 1.0) else weight,
        size=1,
        container=str(rng.choice(["array", "array", "sparse", "pandas"])),
        rules=random_rules(rng, X.shape[1]) if X.shape[1] <= MOST_FOR_RULES else {},
        parameters=_parameters(rng, classes) | {"C": C},
    )
    if classes and rng.random() < 0.15:
        case.class_weight = "balanced"
    case.size = int(rng.integers(1, min(6, sum(map(case.counts, case.units()))) + 1))
    return case


def _penalty(rng) -> float:
    if rng.random() < 0.1:
        return np.inf
    return float(rng.choice(PENALTIES))


def _with_relatives(rng, X, *, penalised: bool):
    """Some more columns: near copies of others, constants, noise.

    What is below 1e-6 of a column's size is not fitted without a penalty.
    """
    n_rows, n_columns = X.shape
    more = []
    if rng.random() < 0.3:
        more.append(
            X[:, rng.integers(n_columns)] * rng.choice([1.0, -3.0]) + rng.choice([0.0, 5.0])
        )
    if rng.random() < 0.3:
        near, noise = X[:, rng.integers(n_columns)], rng.choice([1e-9, 1e-6, 1e-3])
        noise = max(noise, 1e-3 * (not penalised)) * near.std()
        more.append(near + noise * rng.normal(size=n_rows))
    if rng.random() < 0.2:
        more.append(np.full(n_rows, rng.choice([0.0, 0.1, -7.0])))
    if rng.random() < 0.1:
        more.extend(rng.normal(size=(min(n_rows + 5, 60), n_rows)))
    return np.column_stack([X, *more])


def _parameters(rng, classes) -> dict[str, Any]:
    screen = [None, "auto", "auto", 5][rng.integers(4)]
    return {
        "annealing": Annealing(n_replicas=int(rng.choice([1, 6, 12])), max_steps=15, screen=screen),
        "criterion": str(rng.choice(["auto", "auto", "auto", "fisher" if classes else "r2"])),
        "ridge": "auto" if rng.random() < 0.5 else float(rng.choice([1e-6, 1e-3])),
        "random_state": int(rng.integers(2**31)),
    }


def check_parameters(fitted: Any, case: Case) -> None:
    """What was left open is a number or a name then."""
    assert fitted.criterion_ == ("fisher" if case.classes else "r2")
    assert 0 <= fitted.ridge_ < np.inf
    assert case.parameters["ridge"] in ("auto", fitted.ridge_)


def check_subsets(fitted: Any, case: Case) -> None:
    """The size is right and the rules are kept."""
    np.testing.assert_array_equal(np.flatnonzero(fitted.support_), fitted.subset_)
    assert fitted.n_features_ == case.size
    for subset in candidates(fitted):
        assert case.keeps_rules(subset), f"{subset} is not allowed: {case.rules}"
        inside = sum(case.counts(unit) for unit in case.units() if set(unit) <= set(subset))
        assert inside == case.size, f"{subset} counts {inside}, not {case.size}"


def candidates(fitted: Any) -> set[tuple[int, ...]]:
    """All that could have won."""
    return {tuple(sorted(j for j in s if j >= 0)) for s in fitted.result_.subsets.tolist()}


def check_same_answer(fitted: Any, case: Case) -> None:
    """From a clone on two threads."""
    second = fit(clone(fitted).set_params(n_jobs=2), case)
    for name in ("subsets", "criterion_values", "losses", "coefficients", "intercepts"):
        mine, other = getattr(fitted.result_, name), getattr(second.result_, name)
        np.testing.assert_array_equal(other, mine, err_msg=name)
    np.testing.assert_array_equal(second.estimator_.coef_, fitted.estimator_.coef_)


def check_winner(fitted: Any, case: Case, optimum: PenalisedOptimum) -> None:
    """Its loss is that of its coefficients, the least that it can be, and that of no other less."""
    result, model = fitted.result_, fitted.estimator_
    separated = bool(result.separated[result.best])
    assert not (separated and np.isfinite(fitted.C)), "separated under a penalty"
    loss = fitted.loss_
    optimum.compare(fitted.subset_, loss, separated)
    optimum.check_coefficients(fitted.subset_, loss, model.coef_, model.intercept_)
    if "feature_cost" not in case.rules:
        losses = {subset: optimum.loss(subset) for subset in candidates(fitted)}
        other = min(losses, key=lambda subset: losses[subset])
        assert loss <= losses[other] + CLOSE, (
            f"{other} has {losses[other]}, the winner {fitted.subset_} {loss}"
        )


def task_of(case: Case) -> str:
    """As evaluate_subsets takes it."""
    return "classification" if case.classes else "regression"


def check_given_subsets(fitted, case, optimum, rng) -> None:
    """Losses of any subsets are right, and don't change with order and units of the columns."""
    size = len(fitted.subset_)
    some = [rng.permutation(case.n_features)[:size].tolist() for _ in range(4)]
    how = {
        "task": task_of(case),
        "sample_weight": case.row_weights(),
        "C": fitted.C,
    }
    fits = evaluate_subsets(case.table(), case.y, some, **how).fits
    for i, subset in enumerate(some):
        optimum.compare(subset, fits.losses[i], bool(fits.separated[i]))
        rest = fits.losses[i], fits.coefficients[i], fits.intercepts[i]
        optimum.check_coefficients(subset, *rest)
    if np.isfinite(fitted.C):
        order = rng.permutation(case.n_features)
        units = 2.0 ** rng.integers(-10, 11, case.n_features)
        moved = case.table((case.X * units)[:, order])
        places = np.argsort(order)[np.array(some)]
        others = evaluate_subsets(moved, case.y, places, **how).losses
        np.testing.assert_allclose(others, fits.losses, rtol=0, atol=CLOSE * optimum.unit)


def check_ends(fitted: Any, case: Case, rng: np.random.Generator) -> None:
    """To a penalised model a value beyond all others is the nearest of them."""
    rows = case.row_weights() > 0
    low, high = case.X[rows].min(axis=0), case.X[rows].max(axis=0)
    far = case.X.copy()
    some = rng.random(far.shape) < 0.3
    far[some] = rng.choice([-1e300, 1e300, -1e30, 1e9, 0.0], size=some.sum())
    near = np.clip(far, low, high)
    if np.isfinite(fitted.C):
        given, wanted = (fitted.predict_proba(case.table(X)) for X in (far, near))
        np.testing.assert_array_equal(given, wanted)
    assert np.isfinite(fitted.predict_proba(case.table(near))).all()


def check_forward(fitted: Any, case: Case, optimum: PenalisedOptimum) -> None:
    """Each step of forward selection is the best one, and the winner no worse than its end."""
    data = ClassData.validate(SeenColumns(), case.table(), case.y, case.weight)
    plan = SearchPlan.of_fitted(fitted)
    allowed = plan.allowed(fitted)
    usable, cost = data.usable(case.class_weight), plan.cost(fitted)
    search: Any = make_search(plan, usable, allowed, cost, seed=0)
    forward = search.prepare(case.size)._last[1].also[-1]._forward
    path = forward._path_to(case.size)
    for k in range(len(allowed.include), len(path)):
        known = forward._with_residuals(path[:k])
        losses = {j: optimum.loss([*path[:k], j]) for j in forward._promising(known).tolist()}
        best = min(losses, key=lambda j: losses[j])
        assert losses[path[k]] <= losses[best] + CLOSE, f"after {path[:k]}: {path[k]}, not {best}"
    if len(path) >= case.size and "feature_cost" not in case.rules:
        end = optimum.loss(path[: case.size])
        assert fitted.loss_ <= end + CLOSE, f"forward selection has {end}, {fitted.loss_} has won"
