"""What swaps gain is what the values of the subsets differ by."""

import numpy as np
import pytest

from safdr import _core
from safdr._engine.constraints import AllowedSubsets
from safdr._engine.criterion import fisher_criterion, r2_criterion
from safdr._engine.moments import joint_moments, within_moments
from safdr._engine.wide import rows as rows_module
from safdr._engine.wide.criterion import WideCriterion
from safdr._engine.wide.forward import ForwardPath
from safdr._engine.wide.start import FirstColumns
from safdr._engine.wide.swaps import Swaps

N_COLUMNS = 24


def make_problem(n_classes=2, seed=0):
    """A criterion both ways."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(40, N_COLUMNS))
    if n_classes is None:
        Y = X[:, :3] @ rng.normal(size=(3, 1)) + rng.normal(size=(40, 1))
        full = r2_criterion(joint_moments(X, Y), ridge=1e-6)
        return full, WideCriterion.of_outputs(X, Y, None).with_ridge(1e-6, 1.0)
    codes = np.arange(40) % n_classes
    full = fisher_criterion(within_moments(X, codes, n_classes), ridge=1e-6)
    return full, WideCriterion.of_classes(X, codes, n_classes, None).with_ridge(1e-6, 1.0)


def value(full, subset, cost):
    return full.value(subset) - (0.0 if cost is None else cost[list(subset)].sum())


def best_swaps(full, allowed, cost, subset):
    """What the best allowed swap that brings in each column gains, one after the other."""
    here = value(full, subset, cost)
    gains = {}
    for out in subset:
        if out in allowed.include:
            continue
        rest = [j for j in subset if j != out]
        for column in range(N_COLUMNS):
            conflicts = allowed.conflicts is not None and allowed.conflicts[column, rest].any()
            if column in subset or column in allowed.exclude or conflicts:
                continue
            gain = value(full, [*rest, column], cost) - here
            gains[column] = max(gain, gains.get(column, -np.inf))
    return gains


LIMITS = {
    "none": {},
    "forced": {"always_include": [2], "never_include": [5, 6]},
    "rivals": {"at_most_one_of": [[1, 2, 3, 4], [10, 11]]},
}


@pytest.mark.parametrize("costly", [False, True])
@pytest.mark.parametrize("limits", LIMITS)
@pytest.mark.parametrize("n_classes", [2, 3, None])
def test_columns_called_for_are_those_whose_swaps_gain(monkeypatch, n_classes, limits, costly):
    monkeypatch.setattr(rows_module, "BLOCK_COLUMNS", 5)
    full, wide = make_problem(n_classes, seed=3)
    allowed = AllowedSubsets.make(N_COLUMNS, **LIMITS[limits])
    cost = np.linspace(0, 0.05, N_COLUMNS) if costly else None
    swaps, subset = Swaps(wide, allowed, cost), np.array([2, 7, 12, 20])
    gains = best_swaps(full, allowed, cost, subset)
    better = {column for column, gain in gains.items() if gain > 0}
    assert better
    called = swaps.called_for(subset[None], len(better))[0]
    assert set(called.tolist()) == better
    in_order = sorted(gains, key=gains.get, reverse=True)
    other = np.array([1, 7, 12, 20]) if limits == "none" else subset
    every = swaps.called_for(np.array([subset, other]), N_COLUMNS)
    assert every[0].tolist() == [column for column in in_order if gains[column] > -np.inf]
    assert every[1].tolist() == swaps.called_for(other[None], N_COLUMNS)[0].tolist()
    assert swaps.value(subset) == pytest.approx(value(full, subset, cost))


@pytest.mark.parametrize("limits", LIMITS)
def test_climbing_ends_where_no_swap_is_better(limits):
    full, wide = make_problem()
    allowed = AllowedSubsets.make(N_COLUMNS, **LIMITS[limits])
    start = np.array([2, 7, 12, 20])
    end = Swaps(wide, allowed).climbed(start)
    assert value(full, end, None) > value(full, start, None)
    assert max(best_swaps(full, allowed, None, end.tolist()).values()) < 1e-9


def test_the_closest_columns_of_each_member():
    full, wide = make_problem()
    subset = np.array([3, 9, 15])
    expected = set()
    for out in subset:
        rest = [j for j in subset if j != out]
        values = {j: full.value([*rest, j]) for j in range(N_COLUMNS) if j not in subset}
        expected |= set(sorted(values, key=values.get, reverse=True)[:2])
    swaps = Swaps(wide, AllowedSubsets.without_limits(N_COLUMNS))
    assert set(swaps.closest(subset, 2).tolist()) == expected


def test_a_copy_is_no_swap():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 6))
    X[:, 5] = 2 * X[:, 0]
    codes = np.arange(40) % 2
    wide = WideCriterion.of_classes(X, codes, 2, None).with_ridge(1e-6, 1.0)
    swaps = Swaps(wide, AllowedSubsets.make(6, always_include=[0]))
    called = swaps.called_for(np.array([[0, 1]]), 6)[0]
    assert sorted(called.tolist()) == [2, 3, 4]


def test_the_forward_path_is_greedy():
    full, wide = make_problem(3)
    allowed = AllowedSubsets.make(N_COLUMNS, always_include=[4], at_most_one_of=[[0, 1, 2]])
    usable = np.delete(np.arange(N_COLUMNS), 4)
    steps = ForwardPath(wide, allowed, usable, None).up_to(5, 2)
    path = [4]
    for best, second in steps:
        rivals = allowed.conflicts[:, path].any(axis=1)
        values = {
            j: full.value([*path, j]) for j in range(N_COLUMNS) if j not in path and not rivals[j]
        }
        assert [best, second] == sorted(values, key=values.get, reverse=True)[:2]
        path.append(int(best))
    assert len(path) == 5


# One of the two must be among the N_PARTNERED strongest alone: with seed 4, where they are the
# 165th and the 253rd, the pair is missed.
def test_what_only_two_columns_tell_is_in_the_first_working_set(monkeypatch):
    rng = np.random.default_rng(0)
    X, codes, shared = rng.normal(size=(200, 400)), np.arange(200) % 2, rng.normal(size=200)
    X[:, 31] = shared + 0.1 * rng.normal(size=200)
    X[:, 32] = shared + 0.1 * rng.normal(size=200) + 0.2 * codes
    X[:, :30] += 0.5 * codes[:, None]
    wide = WideCriterion.of_classes(X, codes, 2, None).with_ridge(1e-6, 1.0)
    monkeypatch.setattr("safdr._engine.wide.start.N_STRONGEST", 20)
    monkeypatch.setattr("safdr._engine.wide.start.N_NEXT", 1)
    first = FirstColumns(wide, AllowedSubsets.without_limits(400), None)
    assert not {31, 32} & set(first.up_to(1).tolist())
    assert {31, 32} <= set(first.up_to(2).tolist())
    assert len(first.up_to(2)) < 250


@pytest.mark.parametrize("n_classes", [2, 3])
def test_partners_are_those_that_tell_most_more_together(n_classes):
    full, wide = make_problem(n_classes, seed=1)
    alone = np.array([full.value([j]) for j in range(N_COLUMNS)])
    alone[3] = np.inf  # no partner
    columns = np.array([2, 7, 19])
    more, gain = np.full((2, 3), -np.inf)
    place = columns.copy()
    for some, rows in wide.against_all(columns):
        _core.best_partners(
            rows,
            full.A[columns, columns],
            full.D[columns],
            np.diag(full.A)[some].copy(),
            alone[some],
            np.ascontiguousarray(full.D[some].T),
            np.diag(full.A)[some].copy(),
            collinear_tol=full.collinear_tol,
            first=some.start,
            more=more,
            gain=gain,
            place=place,
        )
    for i, column in enumerate(columns):
        others = [j for j in range(N_COLUMNS) if j not in (3, column)]
        pairs = {j: full.value([column, j]) - alone[column] for j in others}
        best = max(others, key=lambda j: pairs[j] - alone[j])
        assert place[i] == best
        assert gain[i] == pytest.approx(pairs[best])
        assert more[i] == pytest.approx(pairs[best] - alone[best])
