"""Signs of coefficients through the estimators: brute force, and what they can't go with."""

import itertools
import warnings

import numpy as np
import pyarrow as pa
import pytest
from scipy import sparse
from sklearn.datasets import load_diabetes
from sklearn.linear_model import LogisticRegression

from fitting import QUICK, nested
from safdr import (
    Annealing,
    AnnealingRegressorSelector,
    AnnealingSelector,
    AnnealingSelectorCV,
    Constraints,
    Moments,
    ParameterError,
    Stream,
    anneal_path,
    evaluate_subsets,
    near_ties,
    prove,
    stability,
)


def with_signs(size, signs, kind=AnnealingSelector, **parameters):
    return kind(size, **nested(**({"signs": signs, "random_state": 0} | parameters)))


def keeps(fitted, signs):
    return bool(np.all(np.ravel(fitted.estimator_.coef_) * np.asarray(signs)[fitted.subset_] >= 0))


def best_loss(X, y, size, signs, **parameters):
    """By fitting every subset."""
    every = np.array(list(itertools.combinations(range(X.shape[1]), size)))
    found = evaluate_subsets(X, y, every, **parameters)
    slopes = found.fits.coefficients.reshape(every.shape)
    right = np.all(slopes * signs[every] >= 0, axis=1)
    return found.losses[right].min() if right.any() else None


@pytest.mark.parametrize("size", [2, 4, 7])
def test_the_winner_is_the_best_that_has_the_signs(two_classes, size):
    X, y = two_classes
    rng = np.random.default_rng(size)
    n_found = 0
    for _ in range(4):
        signs = rng.choice([-1, -1, 0, 1, 1], 12)
        best = best_loss(X, y, size, signs)
        if best is None:
            with pytest.raises(ParameterError, match=r"signs can't be kept with"):
                with_signs(size, signs).fit(X, y)
            continue
        fitted = with_signs(size, signs).fit(X, y)
        n_found += 1
        assert keeps(fitted, signs)
        assert fitted.loss_ <= best + 0.002  # candidates come from the criterion, not the loss
    assert n_found


def test_so_it_is_in_regression():
    X, y = load_diabetes(return_X_y=True)
    signs = np.array([1, 1, 1, 1, 1, 1, 1, 1, 1, 1])
    fitted = with_signs(5, signs, AnnealingRegressorSelector).fit(X, y)
    assert keeps(fitted, signs)
    assert fitted.loss_ == pytest.approx(best_loss(X, y, 5, signs, task="regression"), rel=1e-3)
    column = with_signs(5, signs, AnnealingRegressorSelector).fit(X, y[:, None])
    np.testing.assert_array_equal(column.subset_, fitted.subset_)


def test_signs_that_the_winner_has_anyway_leave_it_no_worse(two_classes):
    X, y = two_classes
    free = AnnealingSelector(4, random_state=0).fit(X, y)
    signs = dict(zip(free.subset_.tolist(), np.sign(free.estimator_.coef_[0]), strict=True))
    assert with_signs(4, signs).fit(X, y).loss_ <= free.loss_ * (1 + 1e-12)


def test_sparse_and_wide_rows_and_paths(two_classes):
    X, y = two_classes
    signs = np.sign(np.corrcoef(X.T, y)[-1, :-1])
    with_signs(3, signs).fit(sparse.csr_array(X), y)
    rng = np.random.default_rng(0)
    many = rng.normal(size=(60, 2500))
    many[:, :30] += 0.8 * (np.arange(60) % 2)[:, None]
    up = np.ones(2500)
    fitted = with_signs(5, up, **QUICK.get_params()).fit(many, np.arange(60) % 2)
    assert fitted.result_.n_screened < 2500
    assert keeps(fitted, up)
    for result in anneal_path(X, y, [2, 4], constraints=Constraints(signs=signs), random_state=0):
        own = result.coefficients[result.best]
        assert np.all(own * signs[result.subset] >= 0)


def test_rows_that_are_read_in_passes(two_classes):
    rng = np.random.default_rng(3)
    X = rng.normal(size=(4000, 6)) @ (np.eye(6) + 0.5)
    y = (X[:, 0] - X[:, 1] + 0.3 * X[:, 2] + 2 * rng.logistic(size=4000) > 0).astype(int)
    table = pa.table({f"x{j}": X[:, j] for j in range(6)} | {"y": y})
    stream = Stream(lambda: table.to_batches(max_chunksize=500), sample_rows=400)
    signs = {"x1": 1, "x4": 1, "x5": -1}
    fitted = with_signs(3, signs, **QUICK.get_params()).fit(stream, "y")
    asked = np.array([0, 1, 0, 0, 1, -1])
    assert keeps(fitted, asked)
    search = AnnealingSelectorCV(
        max_features=6, annealing=QUICK, constraints=Constraints(signs=signs), random_state=0
    )
    with pytest.warns(UserWarning, match="these sizes are left out") as told:
        search.fit(stream, "y")
    assert sum("these sizes are left out" in str(each.message) for each in told) == 1
    assert keeps(search, asked)


def test_sizes_that_have_no_subset_are_left_out_and_told(two_classes):
    X, y = two_classes
    signs = np.sign(np.corrcoef(X.T, y)[-1, :-1])
    search = AnnealingSelectorCV(
        max_features=12,
        rule="best",
        annealing=QUICK,
        constraints=Constraints(signs=signs),
        random_state=0,
    )
    with pytest.warns(UserWarning, match=r"No subset of .*12 features was found in every fold"):
        search.fit(X, y)
    assert keeps(search, signs)
    assert search.n_features_ == len(search.subset_) <= search.cv_results_["n_features"][-1] < 12
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        again = stability(search, X, y, n_resamples=4, random_state=0)
    assert again.sizes.max() <= search.n_features_
    none = search.set_params(min_features=12)
    with pytest.raises(ParameterError, match="signs can't be kept with 12 features"):
        none.fit(X, y)


def test_substitutes_have_the_signs_too(two_classes):
    X, y = two_classes
    signs = np.sign(np.corrcoef(X.T, y)[-1, :-1])
    fitted = with_signs(4, signs, **QUICK.get_params()).fit(X, y)
    frame = fitted.substitutes(X, y, n_best=12)
    n_checked = 0
    for chosen, other, allowed in zip(
        frame["chosen"], frame["replacement"], frame["allowed"], strict=True
    ):
        subset = [j for j in fitted.subset_ if f"x{j}" != chosen]
        subset += [] if other is None or other != other else [int(other[1:])]
        own = evaluate_subsets(X, y, [subset]).fits.coefficients[0]
        assert bool(np.all(own * signs[subset] >= 0)) == allowed
        n_checked += len(subset) == 4
    assert n_checked


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"signs": {0: 2}}, "must be 1 .* got 2 for column 0"),
        ({"signs": {0: True, 40: 1}}, "holds the index 40"),
        ({"signs": [1, -1]}, r"one number for each of the 12 features.* got shape \(2,\)"),
        ({"signs": {"g": 1}, "groups": {"g": [0, 1]}}, "must name single columns"),
        ({"estimator": LogisticRegression()}, "built-in linear model.*estimator="),
        ({"criterion": LogisticRegression()}, "built-in linear model.*criterion="),
        ({"prove": 1.0}, "signs of coefficients can't be proven"),
    ],
)
def test_what_can_not_be_is_refused(two_classes, parameters, words):
    X, y = two_classes
    given = {"signs": {0: 1}} | parameters
    with pytest.raises(ParameterError, match=words):
        with_signs(3, **given).fit(X, y)


def test_more_classes_outputs_and_proofs_are_refused(two_classes):
    X, y = two_classes
    limits = Constraints(signs={0: 1})
    with pytest.raises(ParameterError, match=r"two classes or one output.* got 3 classes"):
        AnnealingSelector(3, constraints=limits).fit(X, np.arange(len(y)) % 3)
    with pytest.raises(ParameterError, match=r"two classes or one output.* got 2 outputs"):
        AnnealingRegressorSelector(3, constraints=limits).fit(X, X[:, :2])
    for function in (prove, near_ties):
        with pytest.raises(ParameterError, match="signs of coefficients can't be proven"):
            function(Moments.from_rows(X, y), 3, constraints=limits)


def test_threads_and_zeros_change_nothing(two_classes):
    X, y = two_classes
    signs = np.sign(np.corrcoef(X.T, y)[-1, :-1])
    one, two = (with_signs(5, signs, n_jobs=n).fit(X, y).result_ for n in (1, 2))
    np.testing.assert_array_equal(one.subsets, two.subsets)
    np.testing.assert_array_equal(one.losses, two.losses)
    free, zero = (
        AnnealingSelector(5, annealing=Annealing(), constraints=c, random_state=0).fit(X, y)
        for c in (Constraints(), Constraints(signs=np.zeros(12)))
    )
    np.testing.assert_array_equal(free.result_.losses, zero.result_.losses)
