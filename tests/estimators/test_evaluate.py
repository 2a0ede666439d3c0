import numpy as np
import pandas as pd
import polars as pl
import pytest

import reference
from safdr import Annealing, AnnealingSelector, ParameterError, evaluate_subsets
from safdr._engine import wide

SUBSETS = [[0, 1, 2], [3, 7, 11], [9, 4, 0]]


@pytest.mark.parametrize("penalty", [{}, {"C": np.inf}, {"C": 0.01}])
def test_values_are_those_of_the_reference(two_classes, penalty):
    X, y = two_classes
    evaluation = evaluate_subsets(X, y, SUBSETS, ridge=1e-6, **penalty)
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
        ([], "must each hold a column at least; got none"),
        ([[]], "must each hold a column at least; got none"),
        ([[[0, 1]]], r"column indices.*\(1, 1, 2\)"),
        ([[0, 1], []], "must each hold a column at least; number 1 holds none"),
        (np.zeros((2, 12), dtype=bool), "must each hold a column at least; number 0"),
        (np.ones((2, 5), dtype=bool), r"is a mask of shape \(5,\)"),
        ([["a"]], "names the feature 'a', but X has no column names"),
        ([["a"], [0, 1]], "names the feature 'a', but X has no column names"),
        ([[0, 1], [2, 12]], "from 0 to 11; got values from 0 to 12"),
        ([[0, 1, 5], [3, -1]], r"from -1 to 5. Rows.*\[row\[row >= 0\] for row in"),
        ([[0, 1, 5], [3, 3]], "must not name a column twice"),
    ],
)
def test_bad_subsets_are_named(two_classes, subsets, message):
    with pytest.raises(ParameterError, match=f"subsets must .*{message}|subsets {message}"):
        evaluate_subsets(*two_classes, subsets)


def test_names_that_the_table_lacks_are_named(two_classes):
    X, y = frame_of(two_classes)
    with pytest.raises(ParameterError, match=r"names the feature 'heigth'.*Did you mean 'height'"):
        evaluate_subsets(X.rename(columns={"f3": "height"}), y, ["f1", "heigth"])


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


# ---- Sizes that differ, and names ---------------------------------------------------------------

MIXED = [[0, 1, 2], [7], [9, 4], [3, 11, 5]]


def frame_of(rows, frame=pd.DataFrame):
    X, y = rows
    return frame({f"f{j}": column for j, column in enumerate(X.T)}), y


def masks_of(subsets, n_features=12):
    masks = np.zeros((len(subsets), n_features), dtype=bool)
    for mask, subset in zip(masks, subsets, strict=True):
        mask[subset] = True
    return masks


def assert_same(one, other):
    np.testing.assert_array_equal(one.subsets, other.subsets)
    np.testing.assert_array_equal(one.criterion_values, other.criterion_values)
    np.testing.assert_array_equal(one.losses, other.losses)
    np.testing.assert_array_equal(one.fits.coefficients, other.fits.coefficients)


@pytest.mark.parametrize("task", ["classification", "regression"])
def test_subsets_may_differ_in_size(two_classes, task):
    X, y = two_classes
    together = evaluate_subsets(X, y, MIXED, task=task)
    assert together.subsets.tolist() == [[0, 1, 2], [7, -1, -1], [9, 4, -1], [3, 11, 5]]
    for i, subset in enumerate(MIXED):
        alone = evaluate_subsets(X, y, [subset], task=task)
        assert together.criterion_values[i] == pytest.approx(alone.criterion_values[0], rel=1e-12)
        assert together.losses[i] == pytest.approx(alone.losses[0], rel=1e-9)
        slopes = together.fits.coefficients[i].ravel()
        np.testing.assert_allclose(slopes[: len(subset)], alone.fits.coefficients[0].ravel(), 1e-6)
        assert not slopes[len(subset) :].any()


def test_more_classes_may_have_subsets_of_different_sizes(two_classes):
    X, _ = two_classes
    y = np.arange(len(X)) % 3
    together = evaluate_subsets(X, y, MIXED)
    alone = [evaluate_subsets(X, y, subset).losses[0] for subset in MIXED]
    np.testing.assert_allclose(together.losses, alone, rtol=1e-9)
    assert together.fits.coefficients.shape == (4, 3, 3)


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_names_indices_and_masks_are_the_same_subsets(two_classes, frame):
    X, y = frame_of(two_classes, frame)
    by_index = evaluate_subsets(X, y, MIXED)
    names = [[f"f{j}" for j in subset] for subset in MIXED]
    assert_same(evaluate_subsets(X, y, names), by_index)
    assert_same(evaluate_subsets(X, y, map(np.array, names)), by_index)
    assert_same(evaluate_subsets(X, y, pd.Series(names)), by_index)
    assert_same(evaluate_subsets(X, y, [["f0", 1, "f2"], *names[1:]]), by_index)
    sorted_ones = evaluate_subsets(X, y, [sorted(subset) for subset in MIXED])
    assert_same(evaluate_subsets(X, y, masks_of(MIXED)), sorted_ones)
    assert_same(evaluate_subsets(X, y, list(masks_of(MIXED))), sorted_ones)
    assert_same(evaluate_subsets(X, y, pd.DataFrame(masks_of(MIXED))), sorted_ones)
    assert by_index.feature_names == tuple(f"f{j}" for j in range(12))
    assert evaluate_subsets(*two_classes, MIXED).feature_names is None


def test_subsets_are_listed_by_their_names(two_classes):
    X, y = frame_of(two_classes)
    found = evaluate_subsets(X, y, [["f0", "f4"], ["f3"]])
    frame = found.to_frame()
    assert frame.columns.tolist() == ["features", "n_features", "criterion_value", "cross_entropy"]
    assert frame["features"].tolist() == ["f0, f4", "f3"]
    assert frame["n_features"].tolist() == [2, 1]
    np.testing.assert_array_equal(frame["cross_entropy"], found.losses)
    assert found.to_frame(backend="polars")["features"].to_list() == ["f0, f4", "f3"]
    assert evaluate_subsets(*two_classes, [[3, 1]]).to_frame()["features"].tolist() == ["3, 1"]
    assert repr(found).startswith("SubsetEvaluation(n_subsets=2, best=['f")


@pytest.mark.parametrize("one", [["f0", "f4"], np.array(["f0", "f4"]), pd.Index(["f0", "f4"])])
def test_one_subset_of_names_may_come_without_brackets(two_classes, one):
    evaluation = evaluate_subsets(*frame_of(two_classes), one)
    assert evaluation.subsets.tolist() == [[0, 4]]
    assert evaluate_subsets(*frame_of(two_classes), "f4").subsets.tolist() == [[4]]


@pytest.mark.parametrize("ridge", [1e-6, "auto"])
def test_very_many_columns_may_have_subsets_of_different_sizes(two_classes, monkeypatch, ridge):
    X, y = two_classes
    expected = evaluate_subsets(X, y, MIXED, ridge=ridge)
    monkeypatch.setattr(wide, "WIDE", 5)
    found = evaluate_subsets(X, y, MIXED, ridge=ridge)
    np.testing.assert_array_equal(found.subsets, expected.subsets)
    np.testing.assert_allclose(found.criterion_values, expected.criterion_values, rtol=1e-9)
    np.testing.assert_allclose(found.losses, expected.losses, rtol=1e-9)
    np.testing.assert_allclose(found.fits.coefficients, expected.fits.coefficients, rtol=1e-6)
