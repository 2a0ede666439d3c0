"""Columns capped at their outer quantiles, of the rows that are learnt from."""

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.linear_model import LinearRegression
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import StratifiedKFold

from safdr import (
    AnnealingRegressorSelector,
    AnnealingSelector,
    AnnealingSelectorCV,
    ParameterError,
    stability,
)
from safdr._estimators.clipping import clip_limits, clipped

N = 400


@pytest.fixture
def rows(rng):
    """Two features, each with a few values far out; noise; rare ones among zeros."""
    y = np.arange(N) % 2
    X = rng.normal(size=(N, 5)) + y[:, None] * [1.0, 0.8, 0.0, 0.0, 0.0]
    X[rng.choice(N, 3), [0, 1, 2]] = 1e4
    X[:, 4] = np.arange(N) == 7
    return X, y


def test_limits_are_quantiles_and_leave_no_column_constant(rows):
    X, _ = rows
    limits = clip_limits(X, 0.05, None)
    ordered = np.sort(X[:, :4], axis=0)
    # The 20th of 400 from either end.
    np.testing.assert_array_equal(limits[:, :4], ordered[[19, -20]])
    assert limits[:, 4].tolist() == [-np.inf, np.inf]
    np.testing.assert_array_equal(clipped(X, limits)[:, 4], X[:, 4])


def test_a_weight_is_a_number_of_copies(rows, rng):
    X, _ = rows
    copies = rng.integers(1, 4, N)
    np.testing.assert_array_equal(
        clip_limits(X, 0.03, copies.astype(float)),
        clip_limits(np.repeat(X, copies, axis=0), 0.03, None),
    )


@pytest.mark.parametrize("C", [1.0, np.inf])
def test_the_search_is_that_on_capped_columns(rows, C):
    X, y = rows
    how = {"C": C, "random_state": 0}
    found = AnnealingSelector(2, clip=0.02, **how).fit(X, y)
    limits = clip_limits(X, 0.02, None)
    np.testing.assert_array_equal(found.clip_limits_, limits)
    by_hand = AnnealingSelector(2, **how).fit(clipped(X, limits), y)
    assert found.subset_.tolist() == by_hand.subset_.tolist() == [0, 1]
    assert found.criterion_value_ == by_hand.criterion_value_
    np.testing.assert_array_equal(found.estimator_.coef_, by_hand.estimator_.coef_)
    far = X + 1e6
    np.testing.assert_array_equal(
        found.decision_function(far), by_hand.decision_function(clipped(far, limits))
    )
    assert by_hand.clip_limits_ is None
    assert AnnealingSelector(2, **how).fit(X, y).criterion_value_ < 0.5 * found.criterion_value_


def test_each_fold_has_limits_of_its_own_training_rows(rows):
    X, y = rows
    cv = StratifiedKFold(4)
    how = {"min_features": 2, "max_features": 2, "C": np.inf, "random_state": 0}
    found = AnnealingSelectorCV(clip=0.02, cv=cv, **how).fit(X, y)
    for i, (train, test) in enumerate(cv.split(X, y)):
        limits = clip_limits(X[train], 0.02, None)
        one = AnnealingSelector(2, C=np.inf, random_state=0).fit(
            clipped(X[train], limits), y[train]
        )
        wanted = roc_auc_score(y[test], one.decision_function(clipped(X[test], limits)))
        assert found.cv_results_[f"split{i}_test_score"][0] == pytest.approx(wanted, abs=1e-12)
    np.testing.assert_array_equal(found.clip_limits_, clip_limits(X, 0.02, None))


def test_measured_outputs_and_models_of_others(rows):
    X, y = rows
    limits = clip_limits(X, 0.02, None)
    found = AnnealingRegressorSelector(2, clip=0.02, random_state=0).fit(X, y)
    plain = LinearRegression().fit(clipped(X, limits)[:, found.subset_], y)
    predicted = plain.predict(clipped(10 * X, limits)[:, found.subset_])
    # Predictions stay within the range of the training targets.
    np.testing.assert_allclose(found.predict(10 * X), np.clip(predicted, y.min(), y.max()))
    other = AnnealingRegressorSelector(
        2, clip=0.02, estimator=LinearRegression(), random_state=0
    ).fit(X, y)
    np.testing.assert_allclose(np.clip(other.predict(X), y.min(), y.max()), found.predict(X))


def test_what_is_asked_of_a_fitted_selector_is_of_capped_columns(rows):
    X, y = rows
    found = AnnealingSelector(2, clip=0.02, random_state=0).fit(X, y)
    (value,), _ = found.measure_subsets(X, y, [[0, 1]])
    assert value == pytest.approx(found.criterion_value_, rel=1e-9)
    columns = found.substitutes(X, y, backend="dict")
    own = columns["criterion_value"] - columns["criterion_value_difference"]
    np.testing.assert_allclose(own, found.criterion_value_, rtol=1e-9)
    assert stability(found, X, y, n_resamples=4, random_state=0).counts[:2].tolist() == [4, 4]


@pytest.mark.parametrize("clip", [0, 0.5, -0.1, "some"])
def test_shares_that_make_no_sense(rows, clip):
    with pytest.raises(ParameterError, match="clip"):
        AnnealingSelector(2, clip=clip).check_params()


def test_rows_that_can_not_be_capped(rows):
    X, y = rows
    with pytest.raises(ParameterError, match="clip needs dense rows"):
        AnnealingSelector(2, clip=0.1).fit(csr_array(X), y)
