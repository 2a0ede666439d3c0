"""Three classes and more, through the estimators."""

import itertools

import numpy as np
import pytest
from sklearn.datasets import load_digits, load_iris, load_wine
from sklearn.metrics import roc_auc_score

import reference
from safdr import (
    Annealing,
    AnnealingSelector,
    AnnealingSelectorCV,
    anneal_path,
    evaluate_subsets,
)

QUIET = {"annealing": Annealing(n_batches=1, batch_fraction=1.0)}


@pytest.fixture(scope="module")
def wine():
    return load_wine(return_X_y=True)


def trace_ratio(X, y, subset):
    """trace(S_W⁻¹ S_B), S_B by shares of the rows, per pair of rows of different classes."""
    X = X[:, subset]
    labels, counts = np.unique(y, return_counts=True)
    share = counts / counts.sum()
    means = np.array([X[y == label].mean(axis=0) for label in labels])
    within = sum(np.atleast_2d(np.cov(X[y == label].T, bias=True)) for label in labels)
    centred = means - share @ means
    between = (share[:, None] * centred).T @ centred
    pairs = sum(a * b for a, b in itertools.combinations(share, 2))
    return np.trace(np.linalg.solve(within, between)) / pairs


def test_the_criterion_is_the_trace_ratio(wine):
    X, y = wine
    subsets = [[0, 6, 9], [1, 2, 3], [12, 4, 0]]
    measured = evaluate_subsets(X, y, subsets, ridge=1e-12)
    expected = [trace_ratio(X, y, subset) for subset in subsets]
    np.testing.assert_allclose(measured.criterion_values, expected, rtol=1e-8)


@pytest.mark.parametrize("size", [1, 2, 3])
def test_the_largest_ratio_of_all_subsets_is_among_the_candidates(wine, size):
    X, y = wine
    every = np.array(list(itertools.combinations(range(X.shape[1]), size)))
    best = evaluate_subsets(X, y, every).criterion_values.max()
    result = AnnealingSelector(size, random_state=0, **QUIET).fit(X, y).result_
    np.testing.assert_allclose(result.criterion_values.max(), best, rtol=1e-9)


@pytest.mark.parametrize("C", [1.0, np.inf])
def test_the_winner_has_the_smallest_cross_entropy_of_the_candidates(wine, C):
    X, y = wine
    result = AnnealingSelector(2, C=C, random_state=0).fit(X, y).result_
    candidates = np.unique(result.subsets, axis=0)
    losses = [reference.cross_entropy(X, y, subset, C) for subset in candidates]
    assert result.cross_entropy == pytest.approx(min(losses), rel=1e-6)
    assert result.subset.tolist() == candidates[np.argmin(losses)].tolist()


def test_two_classes_as_several_are_the_two_class_answer(wine):
    X, y = wine
    X, y = X[y < 2], y[y < 2]
    first = AnnealingSelector(3, ridge=1e-6, random_state=0).fit(X, y)
    # Labels of another type and order of the same two classes: same codes, same answer.
    again = AnnealingSelector(3, ridge=1e-6, random_state=0).fit(X, np.array(["a", "b"])[y])
    np.testing.assert_array_equal(first.result_.subsets, again.result_.subsets)
    within = sum(np.cov(X[y == c][:, first.subset_].T, bias=True) for c in (0, 1))
    d = X[y == 1][:, first.subset_].mean(axis=0) - X[y == 0][:, first.subset_].mean(axis=0)
    assert first.criterion_value_ == pytest.approx(d @ np.linalg.solve(within, d), rel=1e-4)


def test_the_model_predicts_each_class(wine):
    X, y = wine
    names = np.array(["barolo", "grignolino", "barbera"])[y]
    selector = AnnealingSelector(4, random_state=0).fit(X, names)
    assert selector.classes_.tolist() == ["barbera", "barolo", "grignolino"]
    assert selector.predict_proba(X).shape == (len(X), 3)
    np.testing.assert_allclose(selector.predict_proba(X).sum(axis=1), 1)
    assert selector.decision_function(X).shape == (len(X), 3)
    assert selector.score(X, names) > 0.97
    assert selector.result_.coefficients.shape == (len(selector.result_.subsets), 3, 4)


def test_the_size_is_chosen_by_the_mean_auc_of_one_against_the_rest(wine):
    X, y = wine
    search = AnnealingSelectorCV(max_features=4, cv=3, random_state=0).fit(X, y)
    assert search.scorer_name_ == "ROC AUC, each class against the rest"
    expected = roc_auc_score(y, search.predict_proba(X), multi_class="ovr", average="macro")
    assert search.score(X, y) == pytest.approx(expected)
    assert 0.9 < search.cv_results_["mean_test_score"].max() <= 1
    assert (np.diff(search.cv_results_["mean_cross_entropy"]) < 0.05).all()


def test_a_fold_without_one_of_the_classes_is_named():
    X, y = load_iris(return_X_y=True)
    with pytest.raises(ValueError, match=r"fold 0 can't be searched: y holds no .* 2.*all classes"):
        AnnealingSelectorCV(max_features=2, cv=[(np.arange(100), np.arange(100, 150))]).fit(X, y)


def test_digits_with_ten_classes_from_few_pixels():
    X, y = load_digits(return_X_y=True)
    selector = AnnealingSelector(12, annealing=Annealing(n_replicas=10), random_state=0).fit(
        X[::2], y[::2]
    )
    assert selector.score(X[1::2], y[1::2]) > 0.75


@pytest.mark.parametrize("n_jobs", [2])
def test_threads_do_not_change_a_bit(wine, n_jobs):
    one = anneal_path(*wine, [2, 4], random_state=0)
    two = anneal_path(*wine, [2, 4], random_state=0, n_jobs=n_jobs)
    for a, b in zip(one, two, strict=True):
        np.testing.assert_array_equal(a.subsets, b.subsets)
        np.testing.assert_array_equal(a.losses, b.losses)
