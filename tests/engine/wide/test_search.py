"""Where A of all columns is never formed, results are those of a search that forms it."""

import numpy as np
import pytest
from scipy import sparse

from safdr import (
    Annealing,
    AnnealingRegressorSelector,
    AnnealingSelector,
    AnnealingSelectorCV,
    Constraints,
    anneal_path,
)
from safdr._engine import wide

ALL = 10**9


@pytest.fixture(autouse=True)
def _lower_threshold(monkeypatch):
    monkeypatch.setattr(wide, "WIDE", 300)


def planted(seed, *, n_rows=120, n_columns=600, n_classes=2):
    """Some columns that tell the classes, a pair that does so only together, and noise."""
    rng = np.random.default_rng(seed)
    y = np.arange(n_rows) % n_classes
    X, shared = rng.normal(size=(n_rows, n_columns)), rng.normal(size=n_rows)
    X[:, 3:9] += 0.5 * (y[:, None] == rng.integers(0, n_classes, 6))
    X[:, 100] = shared + 0.3 * rng.normal(size=n_rows)
    X[:, 500] = shared + 0.3 * rng.normal(size=n_rows) + 0.7 * (y > 0)
    return X, y


@pytest.mark.parametrize(
    ("task", "screen"),
    [("two classes", "auto"), ("regression", "auto")]
    + [(task, 40) for task in ("two classes", "three classes", "regression")],
)
def test_results_are_those_of_the_search_with_all_products(monkeypatch, task, screen):
    X, y = planted(0, n_classes=3 if task == "three classes" else 2)
    how = {"annealing": Annealing(screen=screen), "random_state": 0}
    if task == "regression":
        y = X[:, 3] - X[:, 100] + X[:, 500] + 0.5 * np.random.default_rng(0).normal(size=len(X))
        how["task"] = "regression"
    found = anneal_path(X, y, [2, 5], **how)
    monkeypatch.setattr(wide, "WIDE", ALL)
    for here, there in zip(found, anneal_path(X, y, [2, 5], **how), strict=True):
        assert here.n_screened == there.n_screened < 100
        assert here.subset.tolist() == there.subset.tolist()
        assert here.loss == pytest.approx(there.loss, rel=1e-9)
        assert here.ridge == pytest.approx(there.ridge, rel=1e-9)
        np.testing.assert_array_equal(here.subsets, there.subsets)


def test_a_search_of_all_columns_is_one_word_away():
    X, y = planted(1)
    result = anneal_path(X, y, [4], annealing=Annealing(screen=None), random_state=0)[0]
    assert result.n_screened == X.shape[1]


def test_the_answer_hangs_neither_on_the_form_of_the_rows_nor_on_threads():
    X, y = planted(0)
    X = X.astype(np.float32)
    rows = [X.astype(np.float64), X, sparse.csr_array(X.astype(np.float64))]
    found = [AnnealingSelector(5, random_state=0).fit(some, y) for some in rows]
    found.append(AnnealingSelector(5, random_state=0, n_jobs=2).fit(X, y))
    for other in found[1:]:
        np.testing.assert_array_equal(other.subset_, found[0].subset_)
        assert other.loss_ == pytest.approx(found[0].loss_, rel=1e-9)
    one, two = (
        AnnealingSelectorCV(max_features=3, cv=2, random_state=0, n_jobs=n).fit(X, y)
        for n in (1, 2)
    )
    for name, values in one.cv_results_.items():
        np.testing.assert_array_equal(values, two.cv_results_[name])


def test_sizes_are_searched_in_any_order():
    X, y = planted(1)
    together = anneal_path(X, y, [2, 6, 4], random_state=0)
    alone = anneal_path(X, y, [4], random_state=0)[0]
    np.testing.assert_array_equal(together[2].subsets, alone.subsets)
    assert together[2].n_screened == alone.n_screened


def test_constraints_costs_and_weights_hold():
    X, y = planted(0)
    limits = Constraints(
        always_include=[17], never_include=[3], at_most_one_of=[[4, 5, 6], [500, 7]]
    )
    chosen = set(AnnealingSelector(5, constraints=limits, random_state=0).fit(X, y).subset_)
    assert 17 in chosen
    assert 3 not in chosen
    assert len(chosen & {4, 5, 6}) <= 1
    assert len(chosen & {500, 7}) <= 1
    cost = np.zeros(X.shape[1])
    cost[[100, 500]] = 10.0
    dear = AnnealingSelector(5, feature_cost=cost, random_state=0).fit(X, y)
    assert not {100, 500} & set(dear.subset_.tolist())
    weight = (y == 0) * 1e-9 + (np.arange(len(y)) < 60)
    half = AnnealingSelector(3, random_state=0).fit(X, y, sample_weight=weight > 0.5)
    few = AnnealingSelector(3, random_state=0).fit(X[:60], y[:60])
    np.testing.assert_array_equal(half.subset_, few.subset_)


def test_an_automatic_ridge_is_that_of_all_columns(monkeypatch):
    X, y = planted(0)
    here = AnnealingSelector(3, ridge="auto", random_state=0).fit(X, y)
    monkeypatch.setattr(wide, "WIDE", ALL)
    there = AnnealingSelector(3, ridge="auto", random_state=0).fit(X, y)
    assert here.ridge_ == pytest.approx(there.ridge_, rel=1e-9)


def test_a_proof_is_of_all_columns():
    X, y = planted(0, n_rows=700, n_columns=501)
    selector = AnnealingSelector(1, random_state=0, prove=30).fit(X, y)
    assert selector.proof_.optimal
    assert selector.result_.n_screened < 501
    best = selector.measure_subsets(X, y, np.arange(501)[:, None])[0].max()
    assert selector.proof_.value == pytest.approx(best, rel=1e-9)


def test_what_reads_a_fitted_selector_works_on_many_columns(monkeypatch):
    X, y = planted(0)
    selector = AnnealingSelector(3, random_state=0).fit(X, y)
    frame = selector.substitutes(X, y, n_best=2, backend="dict")
    values, losses = selector.measure_subsets(X, y, [selector.subset_, [0, 1]])
    assert losses[0] == pytest.approx(selector.loss_, rel=1e-9)
    monkeypatch.setattr(wide, "WIDE", ALL)
    expected = selector.substitutes(X, y, n_best=2, backend="dict")
    assert list(frame["replacement"]) == list(expected["replacement"])
    for name in ("criterion_value", "loss", "score"):
        np.testing.assert_allclose(frame[name], expected[name], rtol=1e-9)
    of_all = selector.measure_subsets(X, y, [selector.subset_, [0, 1]])
    np.testing.assert_allclose((values, losses), of_all, rtol=1e-9)


def test_regression_on_many_columns():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 600))
    selector = AnnealingRegressorSelector(2, random_state=0).fit(X, X[:, 400] - 2 * X[:, 7])
    assert selector.subset_.tolist() == [7, 400]
    np.testing.assert_allclose(selector.estimator_.coef_, [-2, 1], atol=1e-8)


def test_many_columns_are_chosen():
    X, y = planted(0, n_rows=900, n_columns=520)
    few = Annealing(n_replicas=4, max_steps=5)
    selector = AnnealingSelector(200, annealing=few, random_state=0).fit(X, y)
    assert selector.result_.n_screened < 520
    assert len(selector.subset_) == 200


def test_of_columns_that_are_the_label_one_is_needed():
    X, y = planted(0)
    X[:, [50, 300, 450]] = y[:, None]
    X[:, 599] = -3.0 * y
    result = anneal_path(X, y, [4], random_state=0)[0]
    best = result.subsets[np.argmax(result.criterion_values)]
    assert set(best.tolist()) & {50, 300, 450, 599} == {50}
    limits = Constraints(always_include=[450], never_include=[50])
    result = anneal_path(X, y, [4], random_state=0, constraints=limits)[0]
    assert set(result.subset.tolist()) & {50, 300, 450, 599} == {450}


@pytest.mark.parametrize(
    "limits",
    [{}, {"never_include": [1, 2]}, {"at_most_one_of": [[0, 1]]}, {"groups": [[0, 1], [2, 3]]}],
)
def test_columns_that_never_change_fill_up_what_is_asked_for(monkeypatch, limits):
    X, y = planted(0)
    X[:, 5:] = 0.25
    found = []
    for threshold in (300, ALL):
        monkeypatch.setattr(wide, "WIDE", threshold)
        selector = AnnealingSelector(8, constraints=Constraints(**limits), random_state=0)
        found.append(selector.fit(X, y))
    assert len(found[0].subset_) == len(found[1].subset_)
    assert found[0].criterion_value_ == pytest.approx(found[1].criterion_value_, rel=1e-9)


UNSCREENED = {"annealing": Annealing(screen=None)}


@pytest.mark.parametrize("params", [{"prove": 1}, UNSCREENED])
def test_what_needs_all_products_says_how_much_memory_before_it_is_taken(monkeypatch, params):
    X, y = planted(0)
    monkeypatch.setattr("safdr._memory.available_memory", lambda: 8_000_000)
    AnnealingSelector(3, random_state=0).fit(X, y)
    match = r"600 columns with each other would take 9 MB .* 8 MB are .* annealing=Annealing"
    with pytest.raises(MemoryError, match=match):
        AnnealingSelector(3, random_state=0, **params).fit(X, y)


def test_costs_widen_the_screen_only_where_memory_allows(monkeypatch):
    X, y = planted(0)
    selector = AnnealingSelector(3, feature_cost=np.full(600, 1e-3), random_state=0)
    assert selector.fit(X, y).result_.n_screened == 600
    monkeypatch.setattr("safdr._memory.available_memory", lambda: 8_000_000)
    assert selector.fit(X, y).result_.n_screened < 50


@pytest.mark.parametrize(
    ("params", "match"),
    [
        ({"prove": 1}, "4,000 columns with each other would take 384 MB"),
        (UNSCREENED, "4,000 columns with each other would take 384 MB"),
        ({"constraints": Constraints(at_most_one_of=[[0, 1]])}, "4,000 columns exclude .* 32 MB"),
    ],
)
def test_too_little_memory_is_told_before_anything_is_searched(monkeypatch, params, match):
    X, y = planted(0, n_rows=20, n_columns=4000)
    monkeypatch.setattr("safdr._memory.available_memory", lambda: 8_000_000)
    name = "safdr._engine.search.Search.anneal"
    monkeypatch.setattr(name, lambda *args: pytest.fail("too late"))
    with pytest.raises(MemoryError, match=match):
        AnnealingSelector(3, random_state=0, **params).fit(X, y)
    with pytest.raises(MemoryError, match=match):
        AnnealingSelectorCV(max_features=3, random_state=0, **params).fit(X, y)
    with pytest.raises(MemoryError, match=r"384 MB|32 MB"):
        AnnealingSelector.as_published(3, random_state=0, **params).fit(X, y)
