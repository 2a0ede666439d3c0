"""Costs of features, through the estimators."""

import itertools

import numpy as np
import pytest

from safdr import (
    Annealing,
    AnnealingRegressorSelector,
    AnnealingSelector,
    Constraints,
    evaluate_subsets,
)

QUIET = {"annealing": Annealing(n_batches=1, batch_fraction=1.0), "random_state": 0}


@pytest.mark.parametrize("cost", [None, np.zeros(12), {}, {0: 0.0}])
@pytest.mark.parametrize("strength", [1.0, 7.0])
def test_no_cost_changes_nothing(two_classes, cost, strength):
    X, y = two_classes
    free = AnnealingSelector(3, random_state=0).fit(X, y).result_
    priced = AnnealingSelector(3, feature_cost=cost, cost_strength=strength, random_state=0)
    result = priced.fit(X, y).result_
    for name in ("subsets", "criterion_values", "losses", "coefficients"):
        np.testing.assert_array_equal(getattr(free, name), getattr(result, name))


def test_strength_zero_changes_nothing(two_classes):
    X, y = two_classes
    free = AnnealingSelector(3, random_state=0).fit(X, y).result_
    priced = AnnealingSelector(3, feature_cost=np.ones(12), cost_strength=0.0, random_state=0)
    np.testing.assert_array_equal(free.losses, priced.fit(X, y).result_.losses)


def test_of_two_copies_the_cheap_one_is_chosen(two_classes):
    X, y = two_classes
    best = AnnealingSelector(3, random_state=0).fit(X, y).subset_
    # The copies come after the originals, so that no order of columns favours them.
    doubled = np.column_stack([X, X])
    for dear in (best, best + 12):
        cost = np.isin(np.arange(24), dear).astype(float)
        selector = AnnealingSelector(3, feature_cost=cost, cost_strength=1e-3, random_state=0)
        chosen = selector.fit(doubled, y).subset_
        assert not np.isin(chosen, dear).any()
        assert sorted(chosen % 12) == best.tolist()


def test_the_criterion_is_lowered_by_the_cost(two_classes, rng):
    X, y = two_classes
    cost, strength = rng.uniform(0, 1, 12), 0.05
    every = np.array(list(itertools.combinations(range(12), 3)))
    values = evaluate_subsets(X, y, every).criterion_values - strength * cost[every].sum(axis=1)
    result = (
        AnnealingSelector(3, feature_cost=cost, cost_strength=strength, **QUIET).fit(X, y).result_
    )
    assert result.criterion_values.max() == pytest.approx(values.max(), rel=1e-9)
    plain = evaluate_subsets(X, y, result.subsets).criterion_values
    priced = plain - strength * cost[result.subsets].sum(axis=1)
    np.testing.assert_allclose(result.criterion_values, priced, rtol=1e-9)


def test_what_costs_more_than_it_is_worth_is_left_out(two_classes):
    X, y = two_classes
    free = AnnealingSelector(3, random_state=0).fit(X, y).subset_
    for j in free:
        selector = AnnealingSelector(3, feature_cost={int(j): 1.0}, cost_strength=100.0)
        selector.set_params(random_state=0).fit(X, y)
        assert j not in selector.subset_
        assert selector.result_.penalties[selector.result_.best] == 0


def test_the_winner_weighs_cost_against_loss(two_classes):
    X, y = two_classes
    result = AnnealingSelector(3, feature_cost=np.linspace(0, 1, 12), random_state=0).fit(X, y)
    result = result.result_
    assert (result.penalties >= 0).all()
    total = result.losses + result.penalties
    assert total[result.best] == total.min()


@pytest.mark.parametrize(
    "how",
    [
        {"constraints": Constraints(groups=[[0, 5], [1, 7]])},
        {"constraints": Constraints(at_most_one_of=[[0, 1, 2]])},
    ],
)
def test_costs_go_with_constraints(two_classes, how):
    X, y = two_classes
    cost = np.linspace(0, 0.2, 12)
    result = AnnealingSelector(3, feature_cost=cost, **how, **QUIET).fit(X, y).result_
    for subset, value in zip(result.subsets, result.criterion_values, strict=True):
        members = subset[subset >= 0]
        plain = evaluate_subsets(X, y, members).criterion_values[0]
        assert value == pytest.approx(plain - cost[members].sum(), rel=1e-9)


def test_regression_knows_costs(rng):
    X = rng.normal(size=(100, 6))
    X[:, 5] = X[:, 0] + 0.05 * rng.normal(size=100)
    y = X[:, 0] + X[:, 1] + 0.1 * rng.normal(size=100)
    assert AnnealingRegressorSelector(2, random_state=0).fit(X, y).subset_.tolist() == [0, 1]
    selector = AnnealingRegressorSelector(2, feature_cost={0: 1.0}, cost_strength=0.1)
    assert selector.set_params(random_state=0).fit(X, y).subset_.tolist() == [1, 5]


def test_a_cost_of_the_wrong_length_is_named(two_classes):
    with pytest.raises(ValueError, match="feature_cost must hold one number for each of the 12"):
        AnnealingSelector(3, feature_cost=[1.0, 2.0]).fit(*two_classes)
