"""Proofs and near-optimal subsets are those of all subsets; a bound is never below the best."""

import numpy as np
import pytest

from helpers import data, engine, references
from safdr import AnnealingSelector, Constraints, near_optimal, prove

SHRINKAGE = 1e-6
LIMITS = [
    {},
    {"always": [2], "never": [5]},
    {"at_most_one_of": [[0, 1, 3], [3, 7]]},
    {"always": [2], "never": [5], "at_most_one_of": [[0, 1, 3], [3, 7]]},
]
COSTS = {
    "none": lambda rng, n: None,
    "small": lambda rng, n: 0.1 * rng.random(n),
    "large": lambda rng, n: 100.0 * rng.random(n),
    "bonuses": lambda rng, n: rng.normal(size=n),
}


def make(kind, seed, n_features=9, n_columns=1):
    """Return matrices with the shrinkage on the diagonal of A, and the criterion on them."""
    rng = np.random.default_rng([seed, n_features])
    if kind == "graded":
        A, D = data.quadratic(rng, n_features, n_columns, 1e4)
    else:
        how = {"copies": {"copies": 3}, "near copies": {"copies": 3, "noise": 0.03}}.get(kind, {})
        A, D = data.planted_quadratic(rng, n_features, n_columns, **how)
    criterion = engine.quadratic_criterion(A, D, SHRINKAGE)
    return A + SHRINKAGE * np.eye(n_features), D, criterion


def assert_proven(proof, values, rel=1e-8):
    best = max(values, key=values.get)
    assert proof.optimal
    assert proof.gap == 0
    assert proof.upper_bound == proof.value
    assert proof.value == pytest.approx(values[best], rel=rel)
    assert values[tuple(proof.subset.tolist())] == pytest.approx(values[best], rel=rel)
    assert set(proof.fixed_in.tolist()) <= set(best)
    assert not set(proof.fixed_out.tolist()) & set(best)


def assert_near_optimal(near, values, rtol):
    expected = references.near_best(values, rtol)
    assert near.complete
    assert {tuple(s) for s in near.subsets.tolist()} == expected
    assert near.n_total == len(expected)
    assert (np.diff(near.values) <= 0).all()
    np.testing.assert_allclose(
        near.values, [values[tuple(s)] for s in near.subsets.tolist()], rtol=1e-8, atol=1e-10
    )
    counts = np.bincount(np.ravel([*expected]), minlength=len(near.feature_counts))
    assert near.feature_counts.tolist() == counts.tolist()
    assert near.in_all.tolist() == np.flatnonzero(counts == len(expected)).tolist()
    assert near.in_none.tolist() == np.flatnonzero(counts == 0).tolist()


# ---- Against all subsets ------------------------------------------------------------------------


@pytest.mark.parametrize("n_columns", [1, 2, 4])
@pytest.mark.parametrize("kind", ["planted", "graded", "copies", "near copies"])
def test_the_best_of_all_subsets_is_proven_at_every_size(kind, n_columns):
    for seed in range(3):
        A, D, criterion = make(kind, seed, 9, n_columns)
        prover = engine.prover(criterion)
        for size in range(1, 10):
            subsets = references.allowed_subsets(9, size)
            assert_proven(prover.prove(size), references.subset_values(A, D, subsets))


def test_sixteen_features():
    A, D, criterion = make("planted", 0, 16)
    for size in (2, 8, 13):
        values = references.subset_values(A, D, references.allowed_subsets(16, size))
        prover = engine.prover(criterion)
        assert_proven(prover.prove(size), values)
        assert_near_optimal(engine.near_optimal(prover, size, rtol=0.03), values, 0.03)


@pytest.mark.parametrize("cost", COSTS)
@pytest.mark.parametrize("limits", LIMITS, ids=str)
def test_limits_and_costs(limits, cost):
    for seed in range(2):
        A, D, criterion = make("planted", seed, 10, 1 + seed)
        cost_of = COSTS[cost](np.random.default_rng(seed), 10)
        prover = engine.prover(criterion, engine.constraints(10, **limits), cost_of)
        for size in (1, 3, 5, 6):
            subsets = references.allowed_subsets(10, size, **limits)
            values = references.subset_values(A, D, subsets, cost_of)
            assert_proven(prover.prove(size), values)
            # Large costs make all values negative.
            for rtol in (0.0, 0.1, 0.4):
                assert_near_optimal(engine.near_optimal(prover, size, rtol=rtol), values, rtol)


@pytest.mark.parametrize("rtol", [0.002, 0.01, 0.05, 0.3])
def test_near_optimal_subsets_are_complete_up_to_the_last(rtol):
    found = 0
    for seed in range(12):
        A, D, criterion = make("near copies" if seed % 2 else "planted", seed, 11)
        values = references.subset_values(A, D, references.allowed_subsets(11, 5))
        near = engine.near_optimal(engine.prover(criterion), 5, rtol=rtol)
        assert_near_optimal(near, values, rtol)
        found += near.n_total - 1
    assert found > 0


def test_the_tolerance_is_where_the_list_ends():
    """With a tolerance just above the distance of a subset it is listed, just below it is not."""
    A, D, criterion = make("planted", 5, 10)
    values = references.subset_values(A, D, references.allowed_subsets(10, 4))
    ranked = sorted(values.values(), reverse=True)
    prover = engine.prover(criterion)
    for place in (1, 2, 5, 20, 60):
        rtol = 1.0 - ranked[place] / ranked[0]
        for factor, n in ((1 + 1e-6, place + 1), (1 - 1e-6, place)):
            assert engine.near_optimal(prover, 4, rtol=rtol * factor).n_total == n


def test_a_short_list_has_the_best_and_counts_all():
    _, _, criterion = make("planted", 1, 12)
    prover = engine.prover(criterion)
    whole = engine.near_optimal(prover, 6, rtol=0.3)
    short = engine.near_optimal(prover, 6, rtol=0.3, max_subsets=5)
    assert short.n_total == whole.n_total == len(whole.subsets) > 50
    assert short.subsets.tolist() == whole.subsets[:5].tolist()
    assert short.feature_counts.tolist() == whole.feature_counts.tolist()


def test_the_criterion_of_rows_is_proven():
    for seed in range(3):
        X, codes = data.class_rows(np.random.default_rng(seed), 80, 10, 2 + seed % 2)
        criterion = engine.criterion_of(X, codes)
        subsets = references.allowed_subsets(10, 4)
        values = {s: criterion.value(list(s)) for s in subsets}
        assert_proven(engine.prover(criterion).prove(4), values)


# ---- Out of time, threads -----------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["planted", "graded"])
def test_out_of_time_is_a_valid_bound(kind):
    for seed in range(3):
        for cost in (None, 20.0 * np.random.default_rng(seed).random(40)):
            _, _, criterion = make(kind, seed, 40)
            prover = engine.prover(criterion, None, cost)
            best, at_once = prover.prove(14, seconds=60.0), prover.prove(14, seconds=0.0)
            assert best.optimal
            assert not at_once.optimal
            assert at_once.upper_bound >= best.value
            assert at_once.value <= best.value + 1e-9
            if at_once.value > 0:
                gap = at_once.upper_bound / at_once.value - 1
                assert at_once.gap == pytest.approx(gap)


def test_near_optimal_subsets_out_of_time_are_said_to_be_some():
    _, _, criterion = make("planted", 0, 40)
    near = engine.near_optimal(engine.prover(criterion), 14, rtol=0.1, max_subsets=10, seconds=0.0)
    assert not near.complete
    assert len(near.subsets) == 10 <= near.n_total
    values = [criterion.value(subset) for subset in near.subsets]
    assert near.values == pytest.approx(values)


def test_a_hard_proof_ends_in_time_with_a_bound():
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(160, 80)) + 2 * rng.normal(size=(160, 1))
    A, D = np.corrcoef(rows.T), rng.normal(size=(80, 1))
    criterion = engine.quadratic_criterion(A, D, SHRINKAGE)
    proof = engine.prover(criterion).prove(28, seconds=0.1)
    assert not proof.optimal
    assert proof.value < proof.upper_bound < np.inf
    assert criterion.value(proof.subset) == pytest.approx(proof.value)


def test_threads_change_nothing():
    _, _, criterion = make("graded", 0, 40)
    prover = engine.prover(criterion)
    one, three = (prover.prove(14, n_threads=n) for n in (1, 3))
    assert one.n_nodes == three.n_nodes > 2000
    assert one.value == three.value
    assert one.subset.tolist() == three.subset.tolist()
    near = [engine.near_optimal(prover, 14, rtol=0.05, n_threads=n) for n in (1, 3)]
    assert near[0].subsets.tolist() == near[1].subsets.tolist()
    assert near[0].n_total == near[1].n_total


def test_an_incumbent_changes_nothing():
    _, _, criterion = make("planted", 3, 12)
    prover = engine.prover(criterion)
    alone = prover.prove(5)
    for incumbent in (alone.subset, np.arange(5)):
        given = prover.prove(5, incumbent=incumbent)
        assert given.subset.tolist() == alone.subset.tolist()
        assert given.value == alone.value


# ---- Where nothing can be claimed ---------------------------------------------------------------


def test_a_singular_matrix_is_not_proven():
    A = np.array([[1.0, 1.0, 0.0], [1.0, 1.0 - 1e-9, 0.0], [0.0, 0.0, 1.0]])
    criterion = engine.quadratic_criterion(A, np.ones((3, 1)), 0.0)
    proof = engine.prover(criterion).prove(2)
    assert (proof.optimal, proof.upper_bound) == (False, np.inf)
    assert not proof.fixed_in.size


def test_a_criterion_of_zeros_has_only_ties():
    A, D, _ = make("planted", 0, 6)
    criterion = engine.quadratic_criterion(A, 0.0 * D, SHRINKAGE)
    proof = engine.prover(criterion).prove(3)
    assert (proof.optimal, proof.value, proof.gap) == (True, 0.0, 0.0)
    assert not proof.fixed_in.size
    assert not proof.fixed_out.size
    assert engine.near_optimal(engine.prover(criterion), 3, rtol=0.1).n_total == 20


def test_of_many_columns_the_useful_ones_are_proven():
    X, y = data.class_rows(np.random.default_rng(0), 120, 40)
    X[:, 5], X[:, 9] = 2.0 * X[:, 3], 1.0
    limits = Constraints(always_include=[7], never_include=range(12, 36))
    selector = AnnealingSelector(4, constraints=limits, random_state=0).fit(X, y)
    questions = prove, near_optimal
    dense = [ask(selector, X, y) for ask in questions]
    with engine.many_columns(20):
        proof, near = (ask(selector, X, y) for ask in questions)
    assert proof.optimal
    assert near.complete
    assert proof.value == pytest.approx(dense[0].value, rel=1e-9)
    np.testing.assert_array_equal(proof.subset, dense[0].subset)
    np.testing.assert_array_equal(proof.fixed_in, dense[0].fixed_in)
    np.testing.assert_array_equal(near.subsets, dense[1].subsets)
    np.testing.assert_array_equal(near.feature_counts, dense[1].feature_counts)
