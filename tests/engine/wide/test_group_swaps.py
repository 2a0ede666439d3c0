"""What swaps of groups gain is what the values of the subsets differ by."""

import numpy as np
import pytest

from safdr import AnnealingSelector, Constraints
from safdr._engine import wide as wide_module
from safdr._engine.annealing.quadratic_function import QuadraticFunction
from safdr._engine.constraints import AllowedSubsets
from safdr._engine.criterion import fisher_criterion
from safdr._engine.moments import within_moments
from safdr._engine.wide import group_swaps
from safdr._engine.wide.criterion import WideCriterion
from safdr._engine.wide.group_swaps import GroupSwaps

GROUPS = [[0, 1], [2, 9], [4, 5, 6], [12, 20], [15, 16, 17]]
N_COLUMNS = 24


def make_problem(n_classes):
    """A criterion both ways."""
    rng = np.random.default_rng(0)
    X, codes = rng.normal(size=(60, N_COLUMNS)), np.arange(60) % n_classes
    full = fisher_criterion(within_moments(X, codes, n_classes), ridge=1e-6)
    return full, WideCriterion.of_classes(X, codes, n_classes, None).with_ridge(1e-6, 1.0)


def swaps_by_hand(full, allowed, cost, subset):
    """The subset after each allowed swap, by what it gains."""

    def value(columns):
        return full.value(columns) - (0.0 if cost is None else cost[columns].sum())

    chosen = allowed.selection_of(subset)
    for out in np.flatnonzero(chosen):
        for group in np.flatnonzero(~chosen):
            swapped = chosen.copy()
            swapped[[out, group]] = False, True
            if allowed.allows(swapped):
                columns = allowed.columns_of(swapped)
                yield value(columns) - value(np.sort(subset)), int(group), columns


@pytest.mark.parametrize("costly", [False, True])
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("limits", [{}, {"always_include": [2], "at_most_one_of": [[0, 4, 8]]}])
def test_groups_called_for_are_those_whose_swaps_gain(monkeypatch, limits, n_classes, costly):
    monkeypatch.setattr(group_swaps, "COLUMNS_AT_ONCE", 3)
    full, wide = make_problem(n_classes)
    allowed = AllowedSubsets.make(N_COLUMNS, groups=GROUPS, **limits)
    cost = np.linspace(0, 0.03, N_COLUMNS) if costly else None
    swaps, subset = GroupSwaps(wide, allowed, cost), np.array([2, 3, 9, 12, 20])
    by_hand = list(swaps_by_hand(full, allowed, cost, subset))
    better = {group for gain, group, _ in by_hand if gain > 0}
    assert better
    called = swaps.called_for(np.append(subset, -1)[None], len(better))[0]
    assert set(allowed.group_of[called].tolist()) == better
    assert set(allowed.columns_of(allowed.selection_of(called))) == set(called)
    end = swaps.climbed(subset)
    assert max(gain for gain, _, _ in swaps_by_hand(full, allowed, cost, end)) < 1e-9
    best = max(by_hand, key=lambda each: each[0])
    np.testing.assert_array_equal(swaps._best_swap(subset, 0.0), best[2])


def dependent_columns(rng):
    """Groups with columns that never change, that cover a category, or that others hold already."""
    X = rng.normal(size=(60, N_COLUMNS))
    X[:, 5] = 0.5
    X[:, 15:18] = np.eye(3)[rng.integers(0, 3, 60)]
    X[:, 1] = X[:, 2] + 1e-9 * rng.normal(size=60)
    X[:, 12] = X[:, 17]
    X[:, 6] = X[:, 7]
    return X


@pytest.mark.parametrize("ridge", [1e-6, 0.1])
@pytest.mark.parametrize("subset", [[2, 3, 9, 15, 16, 17], [7, 15, 16, 17]])
@pytest.mark.parametrize("seed", range(3))
def test_columns_that_follow_from_others_do_no_harm_to_their_group(seed, subset, ridge):
    """Swaps are those that a search of all columns would make, by the definition."""
    rng = np.random.default_rng(seed)
    X, y = dependent_columns(rng), np.arange(60) % 2
    X[:, [4, 20]] += y[:, None]
    full = fisher_criterion(within_moments(X, y, 2), ridge=ridge)
    wide = WideCriterion.of_classes(X, y, 2, None).with_ridge(ridge, 1.0)
    # A category stays, so that column 12 of a group is always one that the others hold.
    allowed = AllowedSubsets.make(N_COLUMNS, groups=GROUPS, always_include=[15])
    values = QuadraticFunction(full, constraints=allowed)
    swaps, subset = GroupSwaps(wide, allowed), np.array(subset)
    value_of = {}
    for _, group, columns in swaps_by_hand(full, allowed, None, subset):
        out = np.setdiff1d(allowed.group_of[subset], allowed.group_of[columns])[0]
        value_of[int(out), group] = float(values(columns[None], np.array([-1]))[0])
    possible = {pair: value for pair, value in value_of.items() if np.isfinite(value)}
    found = swaps._best_swap(subset, -np.inf)
    assert full.value(found) == pytest.approx(max(possible.values()), rel=1e-9)
    near = set(allowed.group_of[swaps.closest(subset, 1)].tolist())
    outs = {out for out, _ in possible}
    of_each = {
        out: max((value, group) for (one, group), value in possible.items() if one == out)
        for out in outs
    }
    assert near == {group for _, group in of_each.values()}


def test_a_search_with_groups_finds_what_that_of_all_columns_finds(monkeypatch):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(120, 500)), np.arange(120) % 2
    groups = [[3 * i, 3 * i + 1, 3 * i + 2] for i in range(100)]
    X[:, [0, 31, 32, 299, 310, 400]] += 0.6 * y[:, None]
    limits = Constraints(groups=groups, always_include=[7], never_include=[400])
    found = []
    for threshold in (300, 10**9):
        monkeypatch.setattr(wide_module, "WIDE", threshold)
        selector = AnnealingSelector(4, constraints=limits, random_state=0).fit(X, y)
        found.append((selector, selector.substitutes(X, y, n_best=1, backend="dict")))
    (here, replaced), (there, expected) = found
    assert here.result_.working_set is not None
    assert {6, 7, 8} <= set(here.subset_.tolist())
    assert 400 not in here.subset_
    best = here.result_.criterion_values.max()
    assert best >= there.result_.criterion_values.max() * (1 - 1e-9)
    assert here.subset_.tolist() == there.subset_.tolist()
    assert list(replaced["replacement"]) == list(expected["replacement"])
    np.testing.assert_allclose(replaced["loss"], expected["loss"], rtol=1e-9)
