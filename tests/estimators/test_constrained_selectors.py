"""Constraints through the estimators: exact sizes, brute force, errors that name the cause."""

import itertools

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_diabetes

from fitting import nested
from safdr import (
    Annealing,
    AnnealingRegressorSelector,
    AnnealingSelector,
    AnnealingSelectorCV,
    Constraints,
    anneal_path,
    evaluate_subsets,
)

QUIET = {"n_batches": 1, "batch_fraction": 1.0, "random_state": 0}


def constrained(size, kind=AnnealingSelector, **parameters):
    return kind(size, **nested(**(QUIET | parameters)))


NAMES = [f"x{j}" for j in range(12)]


@pytest.fixture(scope="module")
def frame(two_classes):
    X, y = two_classes
    return pd.DataFrame(X, columns=NAMES), y


def best_value(X, y, allowed, sizes):
    """Largest criterion value over the subsets that a function allows."""
    best = -np.inf
    for size in sizes:
        every = [s for s in itertools.combinations(range(X.shape[1]), size) if allowed(set(s))]
        if every:
            best = max(best, evaluate_subsets(X, y, every).criterion_values.max())
    return best


def together(group):
    return lambda s: len(s & set(group)) in (0, len(group))


def at_most_one(group):
    return lambda s: len(s & set(group)) <= 1


@pytest.mark.parametrize(
    "given", [["x3", "x7"], [3, 7], np.isin(np.arange(12), [3, 7]), np.array(["x7", "x3"])]
)
def test_features_that_must_be_in_are_in_every_candidate(frame, given):
    result = constrained(4, always_include=given).fit(*frame).result_
    assert all({3, 7} <= set(s) for s in result.subsets.tolist())
    X, y = frame[0].to_numpy(), frame[1]
    best = best_value(X, y, lambda s: {3, 7} <= s, [4])
    assert result.criterion_values.max() == pytest.approx(best, rel=1e-9)


def test_features_that_must_stay_out_are_in_none(frame):
    result = constrained(3, never_include=["x0", "x1"]).fit(*frame).result_
    assert not np.isin(result.subsets, [0, 1]).any()
    X, y = frame[0].to_numpy(), frame[1]
    best = best_value(X, y, lambda s: not s & {0, 1}, [3])
    assert result.criterion_values.max() == pytest.approx(best, rel=1e-9)


def test_at_most_one_of_a_set_is_chosen(frame):
    sets = [[0, 1, 2, 3, 4], [4, 5]]
    result = constrained(4, at_most_one_of=sets).fit(*frame).result_
    X, y = frame[0].to_numpy(), frame[1]
    best = best_value(X, y, lambda s: all(at_most_one(g)(s) for g in sets), [4])
    assert result.criterion_values.max() == pytest.approx(best, rel=1e-9)
    assert all(len(set(s) & set(g)) <= 1 for s in result.subsets.tolist() for g in sets)


def test_groups_count_as_one_each(frame):
    groups = {"colour": ["x0", "x5", "x6"], "shape": ["x1", "x8"]}
    result = constrained(3, groups=groups).fit(*frame).result_
    X, y = frame[0].to_numpy(), frame[1]

    def allowed(s):
        whole = together([0, 5, 6])(s) and together([1, 8])(s)
        return whole and len(s) - 2 * (0 in s) - (1 in s) == 3

    best = best_value(X, y, allowed, range(3, 8))
    assert result.criterion_values.max() == pytest.approx(best, rel=1e-9)
    members = [set(s[s >= 0].tolist()) for s in result.subsets]
    assert all(allowed(s) for s in members)
    assert set(result.subset) in members


def test_a_group_can_be_named(frame):
    how = {"groups": {"colour": ["x0", "x5"], "shape": ["x1", "x8"]}}
    chosen = constrained(2, always_include="colour", **how).fit(*frame).subset_
    assert {0, 5} <= set(chosen)
    dear = constrained(2, feature_cost={"shape": 9.0}, never_include=["colour"], **how)
    assert not set(dear.fit(*frame).subset_) & {0, 1, 5, 8}


def test_all_constraints_hold_at_once(frame):
    how = {
        "always_include": "x2",
        "never_include": ["x9"],
        "groups": [["x2", "x10"], ["x4", "x11"]],
        "at_most_one_of": [["x0", "x1", "x4"]],
    }

    def allowed(s):
        return (
            {2, 10} <= s
            and 9 not in s
            and together([4, 11])(s)
            and len(s & {0, 1, 4}) <= 1
            and len(s) - 1 - (4 in s) == 4
        )

    result = constrained(4, **how).fit(*frame).result_
    X, y = frame[0].to_numpy(), frame[1]
    best = best_value(X, y, allowed, [5, 6])
    assert result.criterion_values.max() == pytest.approx(best, rel=1e-9)
    assert all(allowed(set(s[s >= 0].tolist())) for s in result.subsets)


def test_the_model_is_that_of_the_chosen_columns(frame):
    X, y = frame
    selector = constrained(2, groups=[["x0", "x5", "x6"]], always_include="x5")
    selector.fit(X, y)
    assert selector.n_features_ == 2
    assert len(selector.subset_) == 4
    assert selector.transform(X).shape == (len(X), 4)
    fit = evaluate_subsets(X, y, selector.subset_)
    np.testing.assert_allclose(selector.estimator_.coef_, fit.fits.coefficients, rtol=1e-5)
    assert selector.cross_entropy_ == pytest.approx(fit.cross_entropies[0], rel=1e-9)
    assert selector.result_.size == 4


def test_groups_of_one_are_no_groups(frame):
    X, y = frame
    alone = AnnealingSelector(
        3, constraints=Constraints(groups=[[j] for j in range(12)]), random_state=0
    ).fit(X, y)
    plain = AnnealingSelector(3, random_state=0).fit(X, y)
    np.testing.assert_array_equal(alone.result_.subsets, plain.result_.subsets)
    np.testing.assert_array_equal(alone.result_.losses, plain.result_.losses)


def test_the_cross_validation_tries_the_sizes_that_can_be(frame):
    X, y = frame
    limits = Constraints(always_include=["x1", "x2"], never_include=list(range(6, 12)))
    few = Annealing(n_replicas=10)
    search = AnnealingSelectorCV(
        constraints=limits, annealing=few, cv=3, max_features=9, random_state=0
    )
    search.fit(X, y)
    assert search.cv_results_["n_features"].tolist() == [2, 3, 4, 5, 6]
    support = np.array(search.cv_results_["split0_support"])
    assert support[:, [1, 2]].all()
    assert not support[:, 6:].any()


def test_the_cross_validation_counts_groups(frame):
    X, y = frame
    groups = [list(range(4)), list(range(4, 8)), list(range(8, 12))]
    search = AnnealingSelectorCV(
        constraints=Constraints(groups=groups), max_features=3, cv=3, random_state=0
    ).fit(X, y)
    assert search.cv_results_["n_features"].tolist() == [1, 2, 3]
    assert search.support_.sum() == 4 * search.n_features_


def test_regression_knows_constraints_too():
    X, y = load_diabetes(return_X_y=True, as_frame=True)
    selector = constrained(3, AnnealingRegressorSelector, always_include="age", never_include="s5")
    names = selector.fit(X, y).get_feature_names_out()
    assert "age" in names
    assert "s5" not in names


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_the_same_seed_gives_the_same_groups(frame, n_jobs):
    X, y = frame
    groups = [["x0", "x5", "x6"], ["x1", "x8"]]
    results = [
        anneal_path(
            X, y, [2, 3], constraints=Constraints(groups=groups), random_state=3, n_jobs=jobs
        )
        for jobs in (1, n_jobs)
    ]
    for a, b in zip(*results, strict=True):
        np.testing.assert_array_equal(a.subsets, b.subsets)


def test_a_cross_validation_without_any_size_says_why(frame):
    with pytest.raises(ValueError, match=r"must be at least 4.*always_include"):
        AnnealingSelectorCV(
            constraints=Constraints(always_include=[0, 1, 2, 3]), max_features=3
        ).fit(*frame)


@pytest.mark.parametrize("n_replicas", [3, 30])
def test_a_group_that_is_collinear_never_wins_by_its_loss(n_replicas):
    # The copy adds nothing: the criterion refuses it, and so must the models, for which it is as
    # good as any other.
    rng = np.random.default_rng(3)
    y = np.arange(60) % 2
    X = rng.normal(size=(60, 5))
    X[:, 0] += 2.0 * y
    X[:, 1] = 2.0 * X[:, 0]
    groups = [[0], [1, 2]]
    selector = AnnealingSelector(
        2,
        constraints=Constraints(groups=groups),
        annealing=Annealing(n_replicas=n_replicas),
        random_state=0,
    )
    selector.fit(X, y)
    assert np.isfinite(selector.criterion_value_)
    assert np.isfinite(selector.result_.criterion_values).all()


@pytest.fixture(scope="module")
def two_tell_tales():
    """Three classes; columns 0 and 1 say the same about them, and all that one of them is."""
    rng = np.random.default_rng(0)
    y = np.arange(90) % 3
    X = rng.normal(size=(90, 6))
    X[:, 0], X[:, 1] = y == 0, -3.0 * (y == 0)
    X[:, 4] += 0.3 * y
    return X, y


def test_of_features_that_say_the_same_the_first_is_enough(two_tell_tales):
    selector = AnnealingSelector(2, C=np.inf, random_state=0)
    with pytest.warns(UserWarning, match="in part"):
        selector.fit(*two_tell_tales)
    assert 0 in selector.subset_
    assert 1 not in selector.subset_
