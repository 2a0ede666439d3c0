"""The features that matter, and what subsets of them are worth, against rows and simulations."""

from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_breast_cancer
from sklearn.metrics import roc_auc_score

from safdr import (
    Annealing,
    AnnealingRegressorSelector,
    AnnealingSelector,
    AnnealingSelectorCV,
    Constraints,
    ParameterError,
    what_if,
)

QUICK = {"annealing": Annealing(n_replicas=8, max_steps=10), "random_state": 0}
UNSCREENED = QUICK | {"annealing": Annealing(n_replicas=8, max_steps=10, screen=None)}


def some_rows(n_columns=12, n_classes=2, n=300, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.integers(n_classes, size=n)
    X = rng.normal(size=(n, n_columns)) @ (np.eye(n_columns) + 0.3 * rng.normal(size=n_columns))
    X[:, :4] += np.outer(y, [0.9, 0.6, -0.5, 0.3])
    return X, y


def random_subsets(ask, rng, n=30):
    for _ in range(n):
        inside = rng.random(len(ask.names)) < 0.4
        yield np.concatenate([[], *(ask.columns[i] for i in np.flatnonzero(inside))]).astype(int)


GROUPS = Constraints(groups={"a": [0, 5, 6], "b": [7, 8]})
WEIGHTS = np.random.default_rng(5).uniform(0.2, 3.0, 300)
CASES = {
    "two classes": (AnnealingSelector(3, **QUICK), 2, None),
    "with weights": (AnnealingSelector(3, class_weight="balanced", **QUICK), 2, WEIGHTS),
    "one criterion": (AnnealingSelector(3, criterion="fisher", **QUICK), 2, None),
    "clipped": (AnnealingSelector(3, clip=0.05, ridge="auto", **QUICK), 2, None),
    "classes": (AnnealingSelector(3, **QUICK), 4, WEIGHTS),
    "groups": (AnnealingSelector(3, constraints=GROUPS, **QUICK), 3, None),
    "costs": (AnnealingSelector(3, feature_cost={1: 0.02, 4: -0.01}, **QUICK), 2, None),
    "regression": (AnnealingRegressorSelector(3, **QUICK), 50, WEIGHTS),
}


@pytest.mark.parametrize("case", CASES)
def test_values_are_those_of_rows(case):
    selector, n_classes, weight = CASES[case]
    X, y = some_rows(n_classes=n_classes)
    selector.fit(X, y, sample_weight=weight)
    before = dict(vars(selector))
    ask = what_if(selector, X, y, sample_weight=weight)
    assert vars(selector) == before
    assert ask.value(selector.subset_) == pytest.approx(selector.criterion_value_, rel=1e-9)
    subsets = [s for s in random_subsets(ask, np.random.default_rng(1)) if len(s)]
    values, _ = selector.measure_subsets(X, y, subsets, sample_weight=weight)
    assert [ask.value(subset) for subset in subsets] == pytest.approx(values.tolist(), rel=1e-8)
    assert ask.value([]) == 0.0


def test_many_columns_are_measured_as_few():
    X, y = some_rows(2100, n=80)
    selector = AnnealingSelector(3, **QUICK).fit(X, y)
    ask = what_if(selector, X, y, n_features=20)
    assert len(ask.names) == 20
    subsets = [s for s in random_subsets(ask, np.random.default_rng(1), 8) if len(s)]
    values, _ = selector.measure_subsets(X, y, subsets)
    assert [ask.value(subset) for subset in subsets] == pytest.approx(values.tolist(), rel=1e-7)


def test_rows_of_a_source_are_asked_in_passes(tmp_path, monkeypatch):
    monkeypatch.setattr("safdr._estimators.streamed.reading.fits_in_memory", lambda found: False)
    X, y = some_rows()
    frame = pd.DataFrame(X, columns=[f"f{j}" for j in range(12)]).assign(y=y, w=WEIGHTS)
    frame.to_parquet(tmp_path / "rows.parquet")
    source = (tmp_path / "rows.parquet", "y")
    selector = AnnealingSelector(3, **QUICK).fit(*source, sample_weight="w")
    assert selector.streamed_["n_rows"] == 300
    ask = what_if(selector, *source, sample_weight="w")
    again = what_if(selector, frame.drop(columns=["y", "w"]), y, sample_weight=WEIGHTS)
    assert ask.value(selector.subset_) == pytest.approx(selector.criterion_value_, rel=1e-9)
    assert ask.value(["f1", "f7"]) == pytest.approx(again.value(["f1", "f7"]), rel=1e-9)


# ---- What a value means -------------------------------------------------------------------------


def normal_rows(means, spreads, n, seed=0):
    """Normal classes: rows and labels."""
    rng = np.random.default_rng(seed)
    parts = [
        rng.normal(size=(size, len(mean))) @ spread + mean
        for mean, spread, size in zip(means, spreads, n, strict=True)
    ]
    return np.vstack(parts), np.repeat(np.arange(len(means)), n)


def test_of_normal_classes_the_score_is_the_area_under_the_curve():
    rng = np.random.default_rng(3)
    spreads = [np.eye(4) + 0.4 * rng.normal(size=(4, 4)) for _ in range(2)]
    X, y = normal_rows([[0] * 4, [0.8, -0.4, 0.3, 0.1]], spreads, [30_000, 10_000])
    ask = what_if(AnnealingSelector(2, **QUICK).fit(X[::20], y[::20]), X, y)
    for subset in ([0], [0, 1], [1, 2, 3]):
        some = X[:, subset]
        covariances = np.cov(some[y == 0].T) + np.cov(some[y == 1].T)
        difference = some[y == 1].mean(axis=0) - some[y == 0].mean(axis=0)
        direction = np.linalg.solve(np.atleast_2d(covariances), difference)
        assert ask.score(subset) == pytest.approx(roc_auc_score(y, some @ direction), abs=0.004)


def test_of_more_normal_classes_it_is_the_mean_over_classes_against_rows_of_others():
    spread = np.array([[1, 0.5, 0], [0, 1, 0.3], [0, 0, 1.0]])
    means, sizes = [[0, 0, 0], [1, 0.2, 0], [0.3, 1.5, -0.5]], [20_000, 8_000, 4_000]
    X, y = normal_rows(means, [spread] * 3, sizes)
    ask = what_if(AnnealingSelector(2, ridge=1e-6, **QUICK).fit(X[::20], y[::20]), X, y)
    inverse = np.linalg.inv(spread.T @ spread)
    wanted, shares = 0.0, np.array(sizes) / sum(sizes)
    for a, b in combinations(range(3), 2):
        between = (y == a) | (y == b)
        direction = inverse @ np.subtract(means[b], means[a])
        area = roc_auc_score(y[between] == b, X[between] @ direction)
        wanted += area * (shares[b] / (1 - shares[a]) + shares[a] / (1 - shares[b])) / 3
    assert ask.score([0, 1, 2]) == pytest.approx(wanted, abs=0.004)


# ---- Which features -----------------------------------------------------------------------------


def test_constraints_come_along():
    X, y = some_rows()
    X[:, 11] = 1.0  # never changes
    limits = Constraints(
        always_include=9, never_include=[10], at_most_one_of=[[0, 1]], groups={"g": [2, 3, 4]}
    )
    selector = AnnealingSelector(3, constraints=limits, **QUICK).fit(X, y)
    ask = what_if(selector, X, y)
    assert ask.columns[0].tolist() == [2, 3, 4]
    first = [int(columns[0]) for columns in ask.columns]
    assert sorted(first) == [0, 1, 2, 5, 6, 7, 8, 9]
    assert [j for j, required in zip(first, ask.required, strict=True) if required] == [9]
    pairs = {(first[i], first[j]) for i, j in np.argwhere(ask.rivals)}
    assert pairs == {(0, 1), (1, 0)}
    assert ask.names[0] == "g"
    assert ask.value("g") == ask.value([2]) == ask.value([2, 3, 4])


def test_few_features_are_those_that_serve():
    X, y = some_rows(60)
    search = AnnealingSelectorCV(max_features=3, **UNSCREENED).fit(X, y)
    ask = what_if(search, X, y, n_features=25, also=[59])
    carried = set(np.concatenate(ask.columns).tolist())
    assert len(carried) == 25
    assert set(search.subset_) <= carried
    assert 59 in carried
    assert set(ask.reasons) >= {"chosen", "asked for", "replacement", "addition", "alone"}
    instead = search.substitutes(X, y, n_best=1, backend="dict")["replacement"]
    best = {int(name[1:]) for name in instead if name is not None}
    assert best <= carried


def test_what_was_chosen_is_there_however_much():
    X, y = some_rows(200)
    selector = AnnealingSelector(170, **QUICK).fit(X, y)
    chosen = selector.get_feature_names_out().tolist()
    assert sorted(what_if(selector, X, y).names) == sorted(chosen)


def test_errors_say_what_to_do():
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    selector = AnnealingSelector(2, **QUICK).fit(X, y)
    with pytest.raises(ParameterError, match="selector must be a fitted AnnealingSelector"):
        what_if("selector", X, y)
    with pytest.raises(ParameterError, match="n_features"):
        what_if(selector, X, y, n_features=0)
    ask = what_if(selector, X, y, n_features=4)
    other = next(name for name in X if name not in ask.names)
    with pytest.raises(ParameterError, match=rf"{other}.* is not. Ask for it"):
        ask.value([other])
    own = AnnealingSelector(1, criterion=lambda X, y: float(X[0, 0]), **QUICK)
    with pytest.raises(ParameterError, match="criterion of ours"):
        what_if(own.fit(X.iloc[:, :3], y), X.iloc[:, :3], y)
