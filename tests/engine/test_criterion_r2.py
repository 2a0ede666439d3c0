"""The criterion of regression, against least squares on the rows."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from safdr._engine.criterion import r2_criterion
from safdr._engine.moments import joint_moments

N_FEATURES = 6
RIDGE = 1e-12


def r2(X, Y, weight=None, ridge=RIDGE, **options):
    return r2_criterion(joint_moments(X, Y, weight), ridge=ridge, **options)


def plain_r2(X, Y, weight, subset):
    """Mean over the outputs of the share of the variance that least squares explains."""
    root = np.sqrt(weight)[:, None]
    design = np.column_stack([np.ones(len(X)), X[:, subset]])
    coefficients = np.linalg.lstsq(design * root, Y * root, rcond=None)[0]
    left = weight @ (Y - design @ coefficients) ** 2
    total = weight @ (Y - np.average(Y, axis=0, weights=weight)) ** 2
    return np.mean(1 - left / total)


@st.composite
def problems(draw):
    """Correlated features, 1 to 3 outputs of different scales, weights, and a subset."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n_outputs = draw(st.integers(1, 3))
    X = rng.normal(size=(60, N_FEATURES)) @ rng.normal(size=(N_FEATURES, N_FEATURES))
    Y = X @ rng.normal(size=(N_FEATURES, n_outputs)) + 2 * rng.normal(size=(60, n_outputs))
    Y = Y * 10.0 ** rng.integers(-3, 4, n_outputs) + 1
    subset = rng.choice(N_FEATURES, size=draw(st.integers(1, N_FEATURES)), replace=False)
    return X, Y, rng.uniform(0.2, 3.0, 60), subset, rng


@given(problems())
def test_value_is_the_mean_r2_of_least_squares(problem):
    X, Y, weight, subset, _ = problem
    assert r2(X, Y, weight).value(subset) == pytest.approx(plain_r2(X, Y, weight, subset), rel=1e-7)


@given(problems())
def test_scaling_and_shifting_features_and_outputs_changes_nothing(problem):
    X, Y, weight, subset, rng = problem
    scale = 10.0 ** rng.uniform(-4, 4, N_FEATURES) * rng.choice([-1, 1], N_FEATURES)
    moved, outputs = scale * (X + rng.normal(size=N_FEATURES)), 3 - 7 * Y
    assert r2(moved, outputs, weight).value(subset) == pytest.approx(
        r2(X, Y, weight).value(subset), rel=1e-7
    )


@given(problems())
def test_a_weight_counts_as_that_many_rows(problem):
    X, Y, _, subset, rng = problem
    repeats = rng.integers(1, 4, len(X))
    repeated = r2(np.repeat(X, repeats, axis=0), np.repeat(Y, repeats, axis=0))
    weighted = r2(X, Y, repeats.astype(float))
    assert weighted.value(subset) == pytest.approx(repeated.value(subset), rel=1e-9)


@pytest.mark.parametrize("ridge", [1e-9, 1e-3, 1.0])
def test_the_diagonal_is_one_and_the_ridge_relative_to_it(rng, ridge):
    X = rng.normal(size=(40, 4)) * 10.0 ** np.arange(-4, 4, 2)
    criterion = r2(X, X[:, :1], ridge=ridge)
    np.testing.assert_allclose(np.diag(criterion.A), 1 + ridge, rtol=1e-14)


def test_a_feature_that_explains_all_has_value_one(rng):
    X = rng.normal(size=(40, 4))
    criterion = r2(X, 2 * X[:, 2:3] - 1)
    assert criterion.value([2]) == pytest.approx(1, rel=1e-9)
    assert criterion.value([2, 0]) == pytest.approx(1, rel=1e-9)
    assert criterion.redundant.size == 0


def test_constant_features_are_needless_and_explain_nothing(rng):
    X = np.column_stack([rng.normal(size=(40, 2)), np.full(40, 0.1)])
    criterion = r2(X, X[:, :1] + rng.normal(size=(40, 1)))
    assert criterion.redundant.tolist() == [2]
    assert criterion.scale[2] == 0
    assert criterion.value([0, 2]) == pytest.approx(criterion.value([0]), rel=1e-12)


def test_the_scales_of_the_whole_data_serve_a_batch(rng):
    X, Y = rng.normal(size=(80, 4)), rng.normal(size=(80, 2))
    Y[:, 0] += X[:, 0]
    Y[:40, 1] = 5.0  # never changes in the batch
    whole = joint_moments(X, Y)
    batch = joint_moments(X, Y, rows=np.arange(40))
    scale, output_scale = r2(X, Y).scale, np.sqrt(whole.output_variance)
    criterion = r2_criterion(batch, ridge=RIDGE, scale=scale, output_scale=output_scale)
    expected = plain_r2(X[:40], Y[:40, :1], np.ones(40), [0, 3]) / 2
    expected *= Y[:40, 0].var() / Y[:, 0].var()
    assert criterion.value([0, 3]) == pytest.approx(expected, rel=1e-9)


def test_an_output_that_never_changes_counts_as_explained_by_nothing(rng):
    X = rng.normal(size=(40, 3))
    Y = np.column_stack([X[:, 0], np.full(40, 0.1)])
    assert r2(X, Y).value([0, 1]) == pytest.approx(0.5, rel=1e-9)


def test_overwriting_changes_where_A_is_and_nothing_else(rng):
    moments = joint_moments(rng.normal(size=(40, 3)), rng.normal(size=(40, 1)))
    new, before = r2_criterion(moments, ridge=1e-6), moments.covariance.copy()
    np.testing.assert_array_equal(moments.covariance, before)
    old = r2_criterion(moments, ridge=1e-6, overwrite=True)
    assert old.A is moments.covariance
    np.testing.assert_array_equal(old.A, new.A)
