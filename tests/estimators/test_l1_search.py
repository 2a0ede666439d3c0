"""The path of an L1 penalty: against coordinate descent, and within constraints."""

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
from safdr._engine.l1_path import L1Path
from searching import class_rows

QUICK = Annealing(n_replicas=10, max_steps=20)
PATHS = ["l1", "reference"]


@pytest.fixture
def short(rng):
    """More features than rows."""
    y = np.arange(40) % 2
    return rng.normal(size=(40, 60)) + np.outer(y, np.arange(60) < 3), y


def coordinate_descent(A, d, t, slopes):
    """The slopes at a penalty t, slowly."""
    for _ in range(200):
        for j in range(len(d)):
            rest = d[j] - A[j] @ slopes + A[j, j] * slopes[j]
            slopes[j] = np.sign(rest) * max(abs(rest) - t, 0.0) / A[j, j]
    return slopes


def test_features_on_the_path_of_an_l1_penalty_are_chosen(rng):
    y = np.arange(30) % 2
    X = rng.normal(size=(30, 12)) + np.outer(y, [1.5, 1, 1, 0.5] + [0] * 8)
    X[:, 1] += X[:, 0]
    criterion = class_rows(X, y).criterion(1e-6)
    path = anneal_path(X, y, [1, 2, 3, 5], criterion="l1", annealing=QUICK, random_state=0)
    slopes, found = np.zeros(12), {}
    for t in np.geomspace(np.abs(criterion.D).max(), 0.1, 100):
        slopes = coordinate_descent(criterion.A, criterion.D[:, 0], t, slopes)
        size = np.count_nonzero(slopes)
        found.setdefault(size, np.flatnonzero(slopes).tolist())
    compared = [each for each in path if len(each.subset) in found]
    assert len(compared) >= 3
    for result in compared:
        assert result.subset.tolist() == found[len(result.subset)]
    assert path[-1].criterion_values[0] == pytest.approx(criterion.value(path[-1].subset))


@pytest.mark.parametrize("criterion", PATHS)
def test_the_path_keeps_to_constraints(criterion, rng):
    y = np.arange(240) % 2
    X = rng.poisson(0.3 + 0.5 * np.outer(y, np.arange(12) % 2)) + 1e-3 * rng.normal(size=(240, 12))
    constraints = Constraints(
        always_include=[9], never_include=[7], at_most_one_of=[[2, 3, 4]], groups=[[0, 1]]
    )
    how = {"criterion": criterion, "annealing": QUICK, "random_state": 0}
    for size in (1, 3, 6):
        chosen = AnnealingSelector(size, constraints=constraints, **how).fit(X, y).subset_
        assert 9 in chosen
        assert 7 not in chosen
        assert len({2, 3, 4} & set(chosen)) <= 1
        assert len({0, 1} & set(chosen)) in (0, 2)


@pytest.mark.parametrize("criterion", PATHS)
def test_what_is_never_included_with_groups_is_a_group_and_no_column(criterion, rng):
    """The group of column 3 is the third, number 2; column 2 tells the classes."""
    y = np.arange(60) % 2
    X = rng.normal(size=(60, 8)) + 2.0 * np.outer(y, np.arange(8) == 2)
    limits = Constraints(groups=[[0, 1]], never_include=[3])
    how = {"criterion": criterion, "constraints": limits, "random_state": 0}
    assert AnnealingSelector(1, **how).fit(X, y).subset_.tolist() == [2]


LIMITS = {
    "none": {},
    "forced": {"always_include": [9, 70], "never_include": [0, 1, 2]},
    "rivals": {"at_most_one_of": [[0, 1, 2, 3], [12, 13]]},
    "groups": {"groups": [[0, 30], [1, 31, 61]], "always_include": [5]},
}


@pytest.mark.parametrize("limits", LIMITS.values(), ids=LIMITS)
@pytest.mark.parametrize("form", ["dense", "single", "sparse"])
@pytest.mark.parametrize("criterion", PATHS)
def test_of_very_many_columns_the_same_are_chosen(monkeypatch, rng, criterion, form, limits):
    """Columns are alike, so that some leave the path again before others come in."""
    # Very many columns have no ranks.
    monkeypatch.setattr("safdr._estimators.reference.gains_clearly", lambda *_: False)
    y = np.arange(60) % 2
    X = rng.normal(size=(60, 90)) + 3.0 * np.repeat(rng.normal(size=(60, 9)), 10, axis=1)
    X = (X + np.outer(y, np.arange(90) % 3 == 0)).astype(np.float32)
    X[:, 20] = 0.5
    rows = {"dense": X.astype(np.float64), "single": X, "sparse": sparse.csr_array(X)}[form]
    weight = rng.random(60) + 0.5
    how = {"criterion": criterion, "constraints": Constraints(**limits), "random_state": 0}
    found = []
    for threshold in (90, 40):
        monkeypatch.setattr(wide, "WIDE", threshold)
        each = [AnnealingSelector(k, **how).fit(rows, y, sample_weight=weight) for k in (2, 9, 25)]
        found.append(each)
    for of_all, few in zip(*found, strict=True):
        np.testing.assert_array_equal(few.subset_, of_all.subset_)
        assert few.loss_ == pytest.approx(of_all.loss_, rel=1e-9)
        assert few.criterion_value_ == pytest.approx(of_all.criterion_value_, rel=1e-9)


@pytest.mark.parametrize("criterion", PATHS)
def test_sizes_threads_and_one_output_on_very_many_columns(monkeypatch, criterion, rng):
    X = rng.normal(size=(50, 300))
    y = X[:, 7] - 2 * X[:, 250] + 0.1 * rng.normal(size=50)
    how = {"criterion": criterion, "random_state": 0}
    monkeypatch.setattr(wide, "WIDE", 300)
    of_all = AnnealingRegressorSelector(2, **how).fit(X, y)
    monkeypatch.setattr(wide, "WIDE", 100)
    assert AnnealingRegressorSelector(2, **how).fit(X, y).subset_.tolist() == [7, 250]
    assert of_all.subset_.tolist() == [7, 250]
    labels = (y > 0).astype(int)
    together = anneal_path(X, labels, [5, 2, 3], **how)
    np.testing.assert_array_equal(together[1].subset, anneal_path(X, labels, [2], **how)[0].subset)
    one, two = (
        AnnealingSelectorCV(max_features=4, cv=3, n_jobs=n, **how).fit(X, labels) for n in (1, 2)
    )
    for name, values in one.cv_results_.items():
        np.testing.assert_array_equal(values, two.cv_results_[name])
    with pytest.raises(ValueError, match=f"must not be {criterion!r} with 3 classes"):
        AnnealingSelector(2, **how).fit(X, np.arange(50) % 3)


@pytest.mark.parametrize("criterion", PATHS)
def test_the_path_needs_no_products_of_all_columns(monkeypatch, criterion, rng):
    monkeypatch.setattr("safdr._memory.available_memory", lambda: 8_000_000)
    y = np.arange(40) % 2
    X = rng.normal(size=(40, 4000)) + 1.5 * np.outer(y, np.arange(4000) == 123)
    assert 123 in AnnealingSelector(3, criterion=criterion, random_state=0).fit(X, y).subset_


def test_most_of_the_columns_are_chosen_among_all(monkeypatch, rng):
    y = np.arange(80) % 2
    X = rng.normal(size=(80, 60)) + np.outer(y, np.arange(60) % 3 == 0)
    found = []
    for threshold in (60, 30):
        monkeypatch.setattr(wide, "WIDE", threshold)
        how = {"criterion": "l1", "annealing": QUICK, "random_state": 0}
        found.append([result.subset.tolist() for result in anneal_path(X, y, [11, 13, 20], **how)])
    assert found[0] == found[1]


def test_constraints_may_leave_too_little_of_the_path(monkeypatch, rng):
    """Columns that tell nothing are never on it; one of each pair is all that is allowed."""
    monkeypatch.setattr(wide, "WIDE", 100)
    y = np.arange(30) % 2
    X = np.ones((30, 200))
    X[:, :3] = rng.normal(size=(30, 3)) + y[:, None]
    limits = Constraints(at_most_one_of=[[0, 1, 2]])
    selector = AnnealingSelector(4, criterion="l1", constraints=limits, random_state=0).fit(X, y)
    assert len(selector.subset_) == 4
    assert len({0, 1, 2} & set(selector.subset_.tolist())) <= 1


def test_one_path_serves_all_sizes(short, monkeypatch):
    walked = []

    def walk(*args):
        walked.append(args)
        return L1Path(*args)

    monkeypatch.setattr("safdr._estimators.l1_search.L1Path", walk)
    # All but one come late, beyond the steps that smaller sizes ask for.
    early = np.setdiff1d(np.arange(60), [16, 22, 26, 33, 55, 58])
    limits = Constraints(at_most_one_of=[early])
    how = {"criterion": "l1", "constraints": limits, "annealing": QUICK, "random_state": 0}
    together = anneal_path(*short, range(2, 7), **how)
    assert len(walked) == 1
    apart = [anneal_path(*short, [size], **how)[0] for size in range(2, 7)]
    assert [each.subset.tolist() for each in together] == [each.subset.tolist() for each in apart]
