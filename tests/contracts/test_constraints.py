"""Constraints are what they say: sizes, draws and searches against all subsets."""

import itertools

import numpy as np
import pytest
from scipy.stats import chisquare

from helpers import data, engine, references

N = 9
LEVEL = 1e-4

# Every constraint alone, and several at once.
CASES = {
    "none": {},
    "always": {"always": [2, 7]},
    "never": {"never": [0, 8]},
    "groups": {"groups": [[1, 4, 5], [0, 8]]},
    "one of": {"at_most_one_of": [[0, 1, 2], [5, 6]]},
    "overlap": {"at_most_one_of": [[0, 1, 2], [2, 3], [3, 4, 5], [0, 5]]},
    "exclusive groups": {"groups": [[0, 1], [2, 3, 4]], "at_most_one_of": [[1, 2], [4, 6]]},
    "all": {
        "always": [3],
        "never": [8],
        "groups": [[0, 3], [1, 2, 5]],
        "at_most_one_of": [[3, 7], [2, 6], [4, 6]],
    },
}
EACH = pytest.mark.parametrize("limits", CASES.values(), ids=CASES.keys())


def by_size(limits):
    found = {k: references.allowed_subsets(N, k, **limits) for k in range(1, N + 1)}
    return {k: subsets for k, subsets in found.items() if subsets}


@EACH
def test_feasible_sizes_are_those_of_all_subsets(limits):
    allowed = engine.constraints(N, **limits)
    expected = sorted(by_size(limits))
    assert engine.feasible_sizes(allowed) == expected
    for size in range(N + 2):
        if size in expected:
            assert engine.has_size(allowed, size)
        else:
            with pytest.raises(ValueError, match="n_features_to_select"):
                engine.has_size(allowed, size)


@EACH
def test_all_subsets_are_enumerated(limits):
    allowed = engine.constraints(N, **limits)
    for size, expected in by_size(limits).items():
        found = engine.every_allowed(allowed, size)
        assert len(found) == len(expected)
        assert set(found) == set(expected)
        assert engine.every_allowed(allowed, size, len(expected) - 1) is None


@EACH
def test_random_subsets_are_allowed_and_uniform(limits):
    """With mutually exclusive features all are possible, but not all as likely."""
    allowed, rng = engine.constraints(N, **limits), np.random.default_rng(0)
    for size, expected in by_size(limits).items():
        drawn = engine.random_allowed(allowed, size, 40 * len(expected), rng)
        counts = np.array([drawn.count(subset) for subset in expected])
        assert counts.sum() == len(drawn)
        if "at_most_one_of" in limits:
            assert counts.all()
        elif len(expected) > 1:
            assert chisquare(counts).pvalue > LEVEL


def test_a_size_that_greedy_draws_miss_is_found():
    """The only subset of two excludes the node that most orders take first."""
    star = {"at_most_one_of": [[0, j] for j in range(1, 20)]}
    allowed = engine.constraints(20, **star)
    assert engine.feasible_sizes(allowed) == list(range(1, 20))
    drawn = engine.random_allowed(allowed, 19, 5, np.random.default_rng(0))
    assert set(drawn) == {tuple(range(1, 20))}


@pytest.mark.parametrize(
    "limits",
    [
        {"groups": [[0, 1], [1, 2]]},
        {"groups": [[0, 1], []]},
        {"groups": [[0, 6]]},
        {"always": [-1]},
        {"never": [0.5]},
        {"always": [3], "never": [3, 4]},
        {"groups": [[0, 2, 4]], "never": [2]},
        {"always": [0, 1], "at_most_one_of": [[1, 0, 5]]},
        {"always": [0, 3], "groups": [[0, 1]], "at_most_one_of": [[1, 3]]},
        {"groups": [[0, 1]], "at_most_one_of": [[0, 1, 2]]},
    ],
    ids=str,
)
def test_contradictions_are_refused(limits):
    with pytest.raises(ValueError, match=r"groups|always_include|never_include|at_most_one_of"):
        engine.constraints(6, **limits)


# ---- In a search --------------------------------------------------------------------------------


def quick_search(X, y, **how):
    return engine.search(X, y, n_replicas=15, max_steps=15, **how)


@EACH
def test_every_candidate_of_a_search_is_allowed_and_the_best_is_found(limits):
    X, codes = data.class_rows(np.random.default_rng(1), 120, N)
    criterion = engine.criterion_of(X, codes)
    search = quick_search(X, codes, allowed=engine.constraints(N, **limits))
    for size, subsets in by_size(limits).items():
        result = search.run(size)
        assert {*engine.members(result.subsets)} <= {*subsets}
        best = max(criterion.value(list(subset)) for subset in subsets)
        assert result.criterion_values.max() == pytest.approx(best, rel=1e-9)


@pytest.mark.parametrize("task", ["classes", "outputs"])
def test_costs_are_taken_off_the_criterion(task):
    rng = np.random.default_rng(2)
    X, y = data.class_rows(rng, 120, N) if task == "classes" else data.output_rows(rng, 120, N)
    criterion = engine.criterion_of(X, y)
    unit = criterion.value(list(range(N))) / N
    for strength in (0.2, 5.0):
        cost = strength * unit * rng.random(N)
        search = quick_search(X, y, cost=cost)
        for size in (1, 3, 6):
            subsets = references.allowed_subsets(N, size)
            best = max(criterion.value(list(s)) - cost[list(s)].sum() for s in subsets)
            assert search.run(size).criterion_values.max() == pytest.approx(best, rel=1e-9)


def test_costs_count_in_the_choice_of_the_winner():
    """In units of the loss: what the best model gained, over what its criterion value gained."""
    changed = 0
    for seed in range(6):
        rng = np.random.default_rng([3, seed])
        X, codes = data.class_rows(rng, 120, 6)
        criterion, fitter = engine.criterion_of(X, codes), engine.fitter(X, codes)
        subsets = np.array(references.allowed_subsets(6, 2))
        losses = fitter.fit(subsets).losses
        best = np.argmin(losses)
        cost = 0.5 * criterion.value(subsets[best]) * rng.random(6)
        rate = (fitter.baseline() - losses[best]) / criterion.value(subsets[best])
        total = losses + rate * cost[subsets].sum(axis=1)
        # With more replicas than subsets all of them are candidates.
        result = engine.search(X, codes, cost=cost, n_replicas=20, max_steps=5).run(2)
        assert result.subset.tolist() == subsets[np.argmin(total)].tolist()
        assert result.loss == pytest.approx(losses[np.argmin(total)], rel=1e-8)
        changed += np.argmin(total) != best
    assert changed > 0


def test_a_large_cost_keeps_a_feature_out_of_the_winner():
    X, codes = data.class_rows(np.random.default_rng(3), 120, N)
    usual = quick_search(X, codes).run(3).subset
    cost = np.zeros(N)
    cost[usual[0]] = 1e6
    assert usual[0] not in quick_search(X, codes, cost=cost).run(3).subset


def has_signs(coefficients, subset, signs):
    return all(signs[j] * b >= 0 for j, b in zip(subset, np.ravel(coefficients), strict=True))


@pytest.mark.parametrize("task", ["classes", "outputs"])
def test_the_winner_has_the_signs_asked_for(task):
    for seed in range(6):
        rng = np.random.default_rng([4, seed])
        X, y = data.class_rows(rng, 120, N) if task == "classes" else data.output_rows(rng, 120, N)
        signs = rng.choice([-1, 0, 1], size=N)
        allowed = engine.constraints(N, signs=signs)
        for size in (1, 3):
            subsets = np.array(references.allowed_subsets(N, size))
            fits = engine.fitter(X, y).fit(subsets)
            right = [
                has_signs(b, subset, signs)
                for b, subset in zip(fits.coefficients, subsets, strict=True)
            ]
            search = quick_search(X, y, allowed=allowed)
            if not any(right):
                with pytest.raises(ValueError, match="signs"):
                    search.run(size)
                continue
            result = search.run(size)
            winner = tuple(result.subset.tolist())
            i = [tuple(s) for s in subsets.tolist()].index(winner)
            assert right[i]
            assert result.loss == pytest.approx(fits.losses[i], rel=1e-8)
            # The criterion knows the best, up to what tells it from the loss.
            assert result.loss <= fits.losses[right].min() + 0.1 * np.ptp(fits.losses)


def test_constraints_hold_in_every_combination():
    """Two of each kind at once, on all sizes, against the definition."""
    kinds = {
        "always": [[], [4]],
        "never": [[], [6]],
        "groups": [[], [[0, 1], [2, 5]]],
        "at_most_one_of": [[], [[1, 3], [3, 7]]],
    }
    rng = np.random.default_rng(5)
    for choice in itertools.product([0, 1], repeat=4):
        limits = {name: kinds[name][i] for name, i in zip(kinds, choice, strict=True)}
        allowed = engine.constraints(N, **limits)
        for size, subsets in by_size(limits).items():
            assert {*engine.random_allowed(allowed, size, 30, rng)} <= {*subsets}
            assert {*engine.every_allowed(allowed, size)} == {*subsets}
