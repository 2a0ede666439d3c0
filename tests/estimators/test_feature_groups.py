"""What a fitted selector tells its readers: features as it counts them, and other subsets."""

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.utils import compute_sample_weight

from safdr import AnnealingRegressorSelector, AnnealingSelector, Constraints, evaluate_subsets

NAMES = ["a", "b", "c", "d", "e", "f"]
GROUPS = {"pair": [0, 2], "alone": [1]}


@pytest.fixture
def rows():
    rng = np.random.default_rng(0)
    y = rng.permutation(np.repeat([0, 1], [40, 20]))
    return rng.normal(size=(60, 6)) + 0.4 * y[:, None], y


def test_groups_and_single_columns_are_features(rows):
    groups = (
        AnnealingSelector(2, constraints=Constraints(groups=GROUPS), random_state=0)
        .fit(*rows)
        .feature_groups_
    )
    assert [columns.tolist() for columns in groups.columns] == [[0, 2], [1], [3], [4], [5]]
    assert groups.names(NAMES) == ["pair", "b", "d", "e", "f"]
    assert groups.groups == [0]
    assert groups.feature_of.tolist() == [0, 1, 0, 2, 3, 4]
    assert groups.n_features == groups.max_features == 5


def test_a_group_without_a_name_is_called_after_its_first_columns(rows):
    groups = (
        AnnealingSelector(1, constraints=Constraints(groups=[range(5)], never_include=[5]))
        .fit(*rows)
        .feature_groups_
    )
    assert groups.names(NAMES) == ["a + b + c + 2 more", "f"]
    assert (groups.n_features, groups.max_features) == (2, 1)


def test_an_unfitted_selector_has_no_groups():
    with pytest.raises(NotFittedError):
        _ = AnnealingSelector().feature_groups_


def test_random_subsets_keep_the_constraints_and_the_seed(rows):
    selector = AnnealingSelector(
        2, constraints=Constraints(groups=GROUPS, always_include=[3]), random_state=0
    ).fit(*rows)
    drawn = [subset.tolist() for subset in selector.random_subsets(50, random_state=1)]
    assert drawn == [subset.tolist() for subset in selector.random_subsets(50, random_state=1)]
    assert {tuple(subset) for subset in drawn} == {(0, 2, 3), (1, 3), (3, 4), (3, 5)}


def test_subsets_are_measured_with_weights_of_classes_and_cost(rows):
    X, y = rows
    selector = AnnealingSelector(2, class_weight="balanced", feature_cost={1: 0.5}, random_state=0)
    values, losses = selector.fit(X, y).measure_subsets(X, y, [[0, 1], [2], [3, 4]])
    weight = compute_sample_weight("balanced", y)
    for i, (subset, cost) in enumerate([([0, 1], 0.5), ([2], 0.0), ([3, 4], 0.0)]):
        one = evaluate_subsets(X, y, [subset], sample_weight=weight)
        assert values[i] == pytest.approx(one.criterion_values[0] - cost)
        assert losses[i] == pytest.approx(one.losses[0])


def test_subsets_are_measured_as_the_candidates_were(rows):
    X, _ = rows
    y = X @ np.arange(6.0)
    selector = AnnealingRegressorSelector(2, random_state=0).fit(X, y)
    values, losses = selector.measure_subsets(X, y, selector.result_.subsets)
    np.testing.assert_allclose(values, selector.result_.criterion_values)
    np.testing.assert_allclose(losses, selector.result_.losses)


def test_subsets_to_be_measured_may_be_named(rows):
    X, y = pd.DataFrame(rows[0], columns=list("abcdef")), rows[1]
    selector = AnnealingSelector(2, random_state=0).fit(X, y)
    by_name = selector.measure_subsets(X, y, [["b", "a"], ["c"]])
    np.testing.assert_array_equal(by_name, selector.measure_subsets(X, y, [[1, 0], [2]]))
