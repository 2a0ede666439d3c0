"""Weights of rows and of classes mean the same everywhere."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_wine
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler
from sklearn.utils.class_weight import compute_sample_weight

from safdr import Annealing, AnnealingRegressorSelector, AnnealingSelector, AnnealingSelectorCV

# Batches are drawn by rows: repeated ones would be drawn apart.
QUIET = {"annealing": Annealing(n_batches=1, batch_fraction=1.0), "random_state": 0}


@pytest.fixture(scope="module")
def three_classes():
    X, y = load_wine(return_X_y=True)
    rng = np.random.default_rng(1)
    return X + 2 * X.std(axis=0) * rng.normal(size=X.shape), y


def assert_same(a, b):
    np.testing.assert_array_equal(a.subset_, b.subset_)
    np.testing.assert_allclose(a.criterion_value_, b.criterion_value_, rtol=1e-9)
    np.testing.assert_allclose(a.loss_, b.loss_, rtol=1e-7)


def test_weights_are_repeated_rows_for_more_classes(three_classes):
    X, y = three_classes
    repeats = np.random.default_rng(0).integers(1, 4, len(y))
    weighted = AnnealingSelector(3, **QUIET).fit(X, y, sample_weight=repeats)
    repeated = AnnealingSelector(3, **QUIET).fit(np.repeat(X, repeats, axis=0), y.repeat(repeats))
    assert_same(weighted, repeated)


@pytest.mark.parametrize("n_outputs", [1, 2])
def test_weights_are_repeated_rows_for_regression(n_outputs, rng):
    X = rng.normal(size=(80, 8))
    y = X[:, :n_outputs] + 0.5 * rng.normal(size=(80, n_outputs))
    y = y[:, 0] if n_outputs == 1 else y
    repeats = rng.integers(0, 3, 80)
    weighted = AnnealingRegressorSelector(3, **QUIET).fit(X, y, sample_weight=repeats)
    repeated = AnnealingRegressorSelector(3, **QUIET)
    repeated.fit(np.repeat(X, repeats, axis=0), np.repeat(y, repeats, axis=0))
    assert_same(weighted, repeated)


@pytest.mark.parametrize("class_weight", ["balanced", {0: 2.0, 2: 0.5}])
def test_class_weights_are_weights_of_rows(three_classes, class_weight):
    X, y = three_classes
    by_class = AnnealingSelector(3, class_weight=class_weight, **QUIET).fit(X, y)
    weight = compute_sample_weight(class_weight, y)
    assert_same(by_class, AnnealingSelector(3, **QUIET).fit(X, y, sample_weight=weight))


def test_class_weights_multiply_those_of_the_rows(three_classes, rng):
    X, y = three_classes
    weight = rng.uniform(0.5, 2, len(y))
    both = AnnealingSelector(3, class_weight={1: 3.0}, **QUIET).fit(X, y, sample_weight=weight)
    once = AnnealingSelector(3, **QUIET).fit(X, y, sample_weight=weight * np.where(y == 1, 3.0, 1))
    assert_same(both, once)


def test_balanced_weights_move_the_predictions_to_the_rare_class(two_classes):
    X, y = two_classes
    keep = (y == 0) | (np.arange(len(y)) % 8 == 1)
    X, y = X[keep], y[keep]
    plain = AnnealingSelector(3, random_state=0).fit(X, y)
    balanced = AnnealingSelector(3, class_weight="balanced", random_state=0).fit(X, y)
    assert balanced.predict(X).mean() > plain.predict(X).mean()


def test_folds_balance_their_own_rows(two_classes):
    X, y = two_classes
    search = AnnealingSelectorCV(max_features=2, cv=3, class_weight="balanced", random_state=0)
    assert search.fit(X, y).predict_proba(X).mean() == pytest.approx(0.5, abs=0.05)


@pytest.mark.parametrize("estimator", [None, LogisticRegression()])
def test_the_model_sees_the_weights(two_classes, rng, estimator):
    X, y = two_classes
    weight = rng.uniform(0.1, 3, len(y))
    selector = AnnealingSelector(3, estimator=estimator, **QUIET).fit(X, y, sample_weight=weight)
    plain = LogisticRegression(tol=1e-10, max_iter=1000)
    columns, scale = X[:, selector.subset_], np.ones(3)
    if estimator is None:  # ours is penalised in units of the weighted deviations
        scale = StandardScaler().fit(columns, sample_weight=weight).scale_
    plain.fit(columns / scale, y, sample_weight=weight)
    np.testing.assert_allclose(selector.estimator_.coef_ * scale, plain.coef_, rtol=1e-3)


@pytest.mark.parametrize(
    ("class_weight", "message"),
    [
        ({5: 1.0}, "class_weight names the class 5, which y lacks; its classes are 0, 1"),
        ({0: -1.0}, "class_weight must hold finite numbers that are not negative"),
        ({0: "much"}, "class_weight must hold finite numbers"),
        ({0: np.inf}, "class_weight must hold finite numbers"),
        ({0: 0.0}, "y holds one class only, 1"),
        ("even", "class_weight"),
    ],
)
def test_weights_of_classes_that_cannot_be_are_named(two_classes, class_weight, message):
    with pytest.raises(ValueError, match=message):
        AnnealingSelector(2, class_weight=class_weight).fit(*two_classes)


# ---- Weights so far apart that double precision ends --------------------------------------------


def message_of(selector, X, y, sample_weight=None):
    with pytest.raises(ValueError) as error:  # noqa: PT011 - the tests look at the message
        selector.fit(X, y, sample_weight=sample_weight)
    return str(error.value)


@pytest.mark.parametrize("rare", [0, 1])
@pytest.mark.parametrize("share", [1e-12, 1e-16, 1e-29, 1e-310])
def test_class_weights_beyond_double_precision_are_named(two_classes, rare, share):
    message = message_of(AnnealingSelector(2, class_weight={rare: share}), *two_classes)
    assert message.startswith("sample_weight times class_weight goes from")
    assert "1e-10 is the least that counts" in message


@pytest.mark.parametrize("share", [1e-12, 1e-16, 1e-300])
def test_row_weights_beyond_double_precision_are_named(two_classes, share):
    X, y = two_classes
    weight = np.where(np.arange(len(y)) < 3, 1.0, share)
    assert "1e-10 is the least" in message_of(AnnealingSelector(2), X, y, weight[::-1])
    message = message_of(AnnealingRegressorSelector(2), X, X[:, 0] + X[:, 1], weight)
    assert message.startswith("sample_weight goes from")


def test_a_class_that_weights_leave_next_to_nothing_is_named(three_classes):
    X, y = three_classes
    message = message_of(AnnealingSelector(2, class_weight={2: 1e-9}), X, y)
    assert message.startswith("The rows of class 2 have")
    assert "of 3 classes each must have at least 1e-08" in message


def test_rows_of_weight_zero_are_dropped_however_light_the_others(two_classes):
    X, y = two_classes
    weight = np.where(np.arange(len(y)) < 100, 0.0, 1e-12)
    # Shrinkage, screen and penalties count rows: weights are copies.
    selector = AnnealingSelector.as_published(2, **QUIET)
    light = clone(selector).fit(X, y, sample_weight=weight)
    assert_same(light, selector.fit(X[100:], y[100:]))


@pytest.mark.parametrize("rare", [0, 1])
@pytest.mark.parametrize("share", [1e-4, 1e-8, 1e-10])
def test_rare_classes_are_fitted_to_the_optimum(two_classes, rare, share):
    X, y = two_classes
    weight = np.where(y == rare, share, 1.0)
    model = AnnealingSelector(2, C=np.inf, **QUIET).fit(X, y, sample_weight=weight)
    signs = np.where(y == 1, 1.0, -1.0)
    margins = signs * model.decision_function(X)
    loss = weight @ np.logaddexp(0.0, -margins) / weight.sum()
    assert model.loss_ == pytest.approx(loss, rel=1e-9)
    # At the optimum what pulls a coefficient one way is what pulls it the other way.
    pull = weight * signs / (1.0 + np.exp(margins))
    columns = np.column_stack([np.ones(len(y)), X[:, model.subset_]])
    net = np.abs(pull @ columns) / (np.abs(pull) @ np.abs(columns))
    assert net.max() < 1e-5


@pytest.mark.parametrize("share", [1e-4, 1e-8, 1e-10])
def test_light_rows_decide_where_heavy_ones_are_too_few(rng, share):
    X = rng.normal(size=(40, 5))
    y = X[:, 0] - X[:, 1] + rng.normal(size=40)
    weight = np.where(np.arange(40) < 2, 1.0, share)
    model = AnnealingRegressorSelector(3, **QUIET).fit(X, y, sample_weight=weight)
    root = np.sqrt(weight / weight.sum())
    columns = np.column_stack([np.ones(40), X[:, model.subset_]])
    best = np.linalg.lstsq(columns * root[:, None], y * root, rcond=None)[0]
    residual = (y - columns @ best) * root
    assert model.loss_ == pytest.approx(residual @ residual, rel=1e-3)
    predicted = np.clip(columns @ best, y.min(), y.max())
    np.testing.assert_allclose(model.predict(X), predicted, atol=1e-3)


@pytest.mark.parametrize("size", [1e300, 1e-300])
def test_products_of_weights_that_are_no_numbers_are_named(two_classes, size):
    X, y = two_classes
    selector = AnnealingSelector(2, class_weight={0: size, 1: size})
    message = message_of(selector, X, y, np.full(len(y), size))
    assert message.startswith("class_weight times sample_weight is no longer a number")


def test_balanced_weights_may_be_as_large_as_numbers_get(two_classes):
    X, y = two_classes
    balanced = AnnealingSelector.as_published(2, class_weight="balanced", **QUIET)
    weight = np.full(len(y), 1e308)
    huge = clone(balanced).fit(X, y, sample_weight=weight)
    assert_same(huge, balanced.fit(X, y))
    # As many copies need neither shrinkage nor a screen.
    default = AnnealingSelector(2, class_weight="balanced", **QUIET).fit(X, y, weight)
    assert default.ridge_ == 1e-6
    assert default.result_.n_screened == X.shape[1]


@pytest.mark.parametrize(
    "weight",
    [["1"] * 240, np.ones(240) * 1j, np.array(1.0), (1 for _ in range(240)), {0: 1}, np.inf, "x"],
    ids=["text", "complex", "0-d", "generator", "dict", "inf", "word"],
)
def test_weights_that_are_no_numbers_are_named(two_classes, weight):
    assert message_of(AnnealingSelector(2), *two_classes, weight).startswith("sample_weight")
