import numpy as np
import pytest

import reference
from safdr import Annealing, AnnealingSelector, evaluate_subsets

SUBSETS = [[0, 1, 2], [3, 7, 11], [9, 4, 0]]


@pytest.mark.parametrize("penalty", [{}, {"C": np.inf}, {"C": 0.01}])
def test_values_are_those_of_the_reference(two_classes, penalty):
    X, y = two_classes
    evaluation = evaluate_subsets(X, y, SUBSETS, **penalty)
    A, D = reference.matrices(X, y, ridge=1e-6)
    expected = [reference.fdr(A, D, subset) for subset in SUBSETS]
    np.testing.assert_allclose(evaluation.criterion_values, expected, rtol=1e-9)
    C = penalty.get("C", 1.0)
    entropies = [reference.cross_entropy(X, y, subset, C) for subset in SUBSETS]
    np.testing.assert_allclose(evaluation.cross_entropies, entropies, rtol=1e-6)


def test_values_are_those_of_the_annealer(two_classes):
    result = (
        AnnealingSelector(3, annealing=Annealing(n_replicas=8), random_state=0)
        .fit(*two_classes)
        .result_
    )
    evaluation = evaluate_subsets(*two_classes, result.subsets)
    np.testing.assert_allclose(evaluation.criterion_values, result.criterion_values, rtol=1e-9)
    best = evaluation.cross_entropies.min()
    assert evaluation.cross_entropies[result.best] == best
    assert result.cross_entropy == pytest.approx(best, rel=1e-12)
    error = np.abs(result.cross_entropies - evaluation.cross_entropies)
    assert (error <= 0.1 * (evaluation.cross_entropies - best) + 1e-12).all()


def test_one_subset_may_come_without_brackets(two_classes):
    alone = evaluate_subsets(*two_classes, [0, 1, 2])
    assert alone.subsets.tolist() == [[0, 1, 2]]
    among_others = evaluate_subsets(*two_classes, SUBSETS).cross_entropies[0]
    assert alone.cross_entropies[0] == pytest.approx(among_others, rel=1e-12)


def test_the_order_within_a_subset_is_kept_in_the_coefficients(two_classes):
    forward = evaluate_subsets(*two_classes, [[0, 4, 9]]).fits.coefficients[0]
    backward = evaluate_subsets(*two_classes, [[9, 4, 0]]).fits.coefficients[0]
    np.testing.assert_allclose(forward, backward[::-1], rtol=1e-6)


def test_weights_count_as_repeated_rows(two_classes):
    X, y = two_classes
    repeats = np.arange(len(X)) % 3
    weighted = evaluate_subsets(X, y, SUBSETS, sample_weight=repeats)
    repeated = evaluate_subsets(np.repeat(X, repeats, axis=0), np.repeat(y, repeats), SUBSETS)
    np.testing.assert_allclose(weighted.criterion_values, repeated.criterion_values, rtol=1e-9)
    np.testing.assert_allclose(weighted.cross_entropies, repeated.cross_entropies, rtol=1e-9)


def test_the_number_of_jobs_does_not_matter(two_classes):
    one, two = (evaluate_subsets(*two_classes, SUBSETS, n_jobs=n_jobs) for n_jobs in (1, 2))
    np.testing.assert_array_equal(one.fits.coefficients, two.fits.coefficients)


def test_separating_subsets_are_flagged_without_a_warning(two_classes):
    X, y = two_classes
    evaluation = evaluate_subsets(np.column_stack([X, y]), y, [[0, 12], [0, 1]], C=np.inf)
    assert evaluation.fits.separated.tolist() == [True, False]
    assert evaluation.cross_entropies[0] == 0


@pytest.mark.parametrize(
    ("subsets", "message"),
    [
        ([[0, 12]], "from 0 to 11; got values from 0 to 12"),
        ([[-1, 3]], "from 0 to 11; got values from -1 to 3"),
        ([[2, 2]], "must not name a column twice"),
        ([[0.5, 1.0]], "column indices.*float64"),
        ([], r"column indices.*\(1, 0\)"),
        ([[[0, 1]]], r"column indices.*\(1, 1, 2\)"),
        ([["a"]], "column indices"),
    ],
)
def test_bad_subsets_are_named(two_classes, subsets, message):
    with pytest.raises(ValueError, match=f"subsets must .*{message}|subsets {message}"):
        evaluate_subsets(*two_classes, subsets)


def test_subsets_of_different_sizes_are_named(two_classes):
    with pytest.raises(ValueError, match="subsets must be column indices"):
        evaluate_subsets(*two_classes, [[0, 1], [2]])


def test_a_bad_ridge_is_named(two_classes):
    with pytest.raises(ValueError, match="ridge"):
        evaluate_subsets(*two_classes, SUBSETS, ridge=0.0)


def test_masks_serve_as_subsets(two_classes):
    X, y = two_classes
    masks = np.zeros((2, X.shape[1]), dtype=bool)
    masks[0, [0, 3]] = masks[1, [1, 2]] = True
    by_mask, by_index = evaluate_subsets(X, y, masks), evaluate_subsets(X, y, [[0, 3], [1, 2]])
    np.testing.assert_array_equal(by_mask.subsets, by_index.subsets)
    np.testing.assert_array_equal(by_mask.cross_entropies, by_index.cross_entropies)
    assert evaluate_subsets(X, y, masks[0]).subsets.tolist() == [[0, 3]]


def test_masks_of_different_sizes_are_named(two_classes):
    X, y = two_classes
    masks = np.eye(2, X.shape[1], dtype=bool)
    masks[1, 5] = True
    with pytest.raises(ValueError, match="subsets must be column indices"):
        evaluate_subsets(X, y, masks)
