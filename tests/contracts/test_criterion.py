"""The value of a criterion is that of its definition, on any rows, and so is its shrinkage."""

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.covariance import oas

from helpers import data, engine, references

SUBSETS = [[0], [5], [0, 3], [1, 2, 6], [0, 2, 4, 5, 7]]
TASKS = ["two classes", "four classes", "one output", "three outputs"]


def make(task, seed=0, n_rows=150):
    rng = np.random.default_rng([seed, TASKS.index(task)])
    if "classes" in task:
        return data.class_rows(rng, n_rows, 8, 2 if task.startswith("two") else 4)
    return data.output_rows(rng, n_rows, 8, 1 if task.startswith("one") else 3)


def slow_value(X, y, subset, weight=None, shrinkage=0.0):
    define = references.r2 if y.dtype.kind == "f" else references.fisher_ratio
    return define(X, y, subset, weight, shrinkage)


def values(criterion):
    return np.array([criterion.value(subset) for subset in SUBSETS])


@pytest.mark.parametrize("shrinkage", [1e-6, 0.3])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("task", TASKS)
def test_value_is_the_definition(task, weighted, shrinkage):
    for seed in range(3):
        X, y = make(task, seed)
        weight = np.random.default_rng(seed).uniform(0.1, 3.0, len(X)) if weighted else None
        criterion = engine.criterion_of(X, y, weight, shrinkage)
        expected = [slow_value(X, y, s, weight, shrinkage) for s in SUBSETS]
        np.testing.assert_allclose(values(criterion), expected, rtol=1e-9)


@pytest.mark.parametrize("task", TASKS)
def test_weights_equal_copies_and_zero_equals_absence(task):
    X, y = make(task)
    counts = data.repeats_of_rows(np.random.default_rng(1), len(X))
    weighted = engine.criterion_of(X, y, counts, "auto")
    repeated = engine.criterion_of(np.repeat(X, counts, axis=0), np.repeat(y, counts, axis=0))
    repeated_auto = engine.criterion_of(
        np.repeat(X, counts, axis=0), np.repeat(y, counts, axis=0), None, "auto"
    )
    plain = engine.criterion_of(X, y, counts)
    np.testing.assert_allclose(values(plain), values(repeated), rtol=1e-9)
    assert engine.shrinkage_of(weighted) == pytest.approx(engine.shrinkage_of(repeated_auto))
    np.testing.assert_allclose(values(weighted), values(repeated_auto), rtol=1e-9)


@pytest.mark.parametrize("task", TASKS)
def test_sparse_and_single_precision_rows(task):
    X, y = make(task)
    X[np.random.default_rng(0).random(X.shape) < 0.9] = 0.0
    dense, of_sparse = engine.criterion_of(X, y), engine.criterion_of(csr_array(X), y)
    np.testing.assert_allclose(values(of_sparse), values(dense), rtol=1e-9)
    single = X.astype(np.float32)
    same = engine.criterion_of(single.astype(np.float64), y)
    np.testing.assert_allclose(values(engine.criterion_of(single, y)), values(same), rtol=1e-9)


@pytest.mark.parametrize("task", TASKS)
def test_scale_and_origin_of_columns_do_not_matter(task):
    X, y = make(task)
    scale, origin = 10.0 ** np.arange(-8, 8, 2), 1e3 * np.arange(8)
    moved = engine.criterion_of((X + origin) * scale, y)
    np.testing.assert_allclose(values(moved), values(engine.criterion_of(X, y)), rtol=1e-7)


@pytest.mark.parametrize("noise", [1e-2, 1e-4])
@pytest.mark.parametrize("task", TASKS)
def test_nearly_collinear_columns(task, noise):
    X, y = make(task)
    X[:, 7] = X[:, 0] + noise * np.random.default_rng(2).normal(size=len(X))
    for shrinkage in (1e-6, 0.1):
        criterion = engine.criterion_of(X, y, None, shrinkage)
        expected = slow_value(X, y, [0, 2, 7], None, shrinkage)
        assert criterion.value([0, 2, 7]) == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize("task", TASKS)
def test_constant_columns_are_worth_nothing(task):
    X, y = make(task)
    X[:, 1] = 1.0 / 3
    criterion = engine.criterion_of(X, y)
    assert 1 in engine.unneeded(criterion)
    assert criterion.value([0, 1, 3]) == pytest.approx(criterion.value([0, 3]), rel=1e-9)


def test_copies_of_the_label_are_needed_once():
    X, y = make("two classes")
    X[:, 2], X[:, 4] = y, 3.0 - 2.0 * y
    assert engine.unneeded(engine.criterion_of(X, y)) == [4]


# ---- Rows instead of a matrix -------------------------------------------------------------------

FORMS = {
    "dense": lambda X: X,
    "sparse": csr_array,
    "single": lambda X: X.astype(np.float32),
    "row subset": engine.row_subset,
}
SOME = np.array([0, 3, 17, 29])


def many_columns(task, far=False):
    X, y = make(task, n_rows=60)
    rng = np.random.default_rng(2)
    X = np.column_stack([X, rng.normal(size=(60, 22)) * (rng.random((60, 22)) < 0.5)])
    X[:, 4] = 1.0
    if "classes" in task:
        X[:, 9] = y  # separates the classes
    if far:
        X[:, [3, 20]] += 2.0**20
    return X.astype(np.float32).astype(np.float64), y


def assert_same_source(source, dense, tol=1e-10):
    A = dense.A
    slopes = np.random.default_rng(0).normal(size=(len(SOME), 2))
    rows = np.hstack([part for _, part in source.rows(SOME)])
    np.testing.assert_allclose(rows, A[SOME], atol=tol)
    np.testing.assert_allclose(source.block(SOME), A[np.ix_(SOME, SOME)], atol=tol)
    np.testing.assert_allclose(source.row(20, SOME), A[20, SOME], atol=tol)
    np.testing.assert_allclose(source.times(SOME, slopes), A[:, SOME] @ slopes, atol=10 * tol)
    np.testing.assert_allclose(source.diagonal, np.diag(A), atol=tol)


@pytest.mark.parametrize("kept", [2**28, 0])
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("far", [False, True])
@pytest.mark.parametrize("task", TASKS)
def test_a_source_of_rows_is_the_matrix(task, far, form, kept):
    X, y = many_columns(task, far)
    weight = np.random.default_rng(1).random(60) + 0.1
    for shrinkage in (1e-6, "auto"):
        dense = engine.criterion_of(X, y, weight, shrinkage)
        rows = FORMS[form](X), y, weight, shrinkage
        found = engine.criterion_of_columns(*rows, KEPT_BYTES=kept)
        tol = 1e-7 if far else 1e-10
        assert_same_source(engine.source_of(found), dense, tol)
        np.testing.assert_allclose(found.D @ found.D.T, dense.D @ dense.D.T, atol=10 * tol)
        np.testing.assert_allclose(found.scale, dense.scale, rtol=1e-7)
        assert engine.shrinkage_of(found) == pytest.approx(engine.shrinkage_of(dense), rel=1e-7)
        assert engine.unneeded(found) == engine.unneeded(dense)
        assert found.value(SOME) == pytest.approx(dense.value(SOME), rel=1e-6)
        some = found.among(SOME).with_ridge(0.5)
        assert_same = np.testing.assert_allclose
        assert_same(some.A, dense.among(SOME).with_ridge(0.5).A, atol=tol)


@pytest.mark.parametrize("task", TASKS)
def test_a_dense_source_is_its_matrix(task):
    criterion = engine.criterion_of(*many_columns(task))
    assert_same_source(engine.source_of(criterion), criterion)


def test_shrinkage_of_very_many_rows_is_estimated():
    rows = *many_columns("two classes"), None, "auto"
    exact = engine.shrinkage_of(engine.criterion_of_columns(*rows))
    estimated = engine.shrinkage_of(engine.criterion_of_columns(*rows, MAX_ROWS_EXACT=0))
    assert estimated != exact
    assert estimated == pytest.approx(exact, rel=0.3)


# ---- Shrinkage ----------------------------------------------------------------------------------


def expected_shrinkage(intensity):
    """The recipe: three times the intensity, in units of what it leaves, from 1e-6 to 10."""
    if intensity >= 1:
        return 10.0
    return float(np.clip(3.0 * intensity / (1.0 - intensity), 1e-6, 10.0))


@pytest.mark.parametrize("n_rows", [12, 60, 400])
@pytest.mark.parametrize("n_features", [2, 8, 40])
def test_shrinkage_of_outputs_is_three_times_that_of_scikit_learn(n_rows, n_features):
    rng = np.random.default_rng([n_rows, n_features])
    X, y = data.output_rows(rng, n_rows, n_features)
    _, intensity = oas(references.standardised(X), assume_centered=True)
    found = engine.shrinkage_of(engine.criterion_of(X, y, None, "auto"))
    assert found == pytest.approx(expected_shrinkage(intensity), rel=1e-9)


def test_shrinkage_of_one_live_column_is_the_least():
    for n_live in (0, 1):
        X = np.full((20, 9), 0.25)
        X[:, :n_live] = np.arange(20.0)[:, None]
        for make_it in (engine.criterion_of, engine.criterion_of_columns):
            criterion = make_it(X, np.arange(20) % 2, None, "auto")
            assert engine.shrinkage_of(criterion) == pytest.approx(1e-6)


@pytest.mark.parametrize("n_classes", [2, 4])
def test_shrinkage_of_classes_is_that_of_the_mean_of_their_covariances(n_classes):
    X, codes = data.class_rows(np.random.default_rng(0), 90, 10, n_classes)
    keep = (codes > 0) | (np.arange(len(X)) % 3 == 0)
    X, codes = X[keep], codes[keep]
    weights, _, covariances = references.class_moments(X, codes)
    A = covariances.sum(axis=0)
    R = A / np.sqrt(np.outer(np.diag(A), np.diag(A)))
    # The variance of a mean of covariances is that of one of this many rows.
    n_rows = n_classes**2 / np.sum(1.0 / weights)
    intensity = references.oracle_intensity(R, n_rows)
    found = engine.shrinkage_of(engine.criterion_of(X, codes, None, "auto"))
    assert found == pytest.approx(expected_shrinkage(intensity), rel=1e-9)


def test_shrinkage_has_bounds():
    assert engine.auto_shrinkage(np.eye(6), 50.0) == 10.0
    assert engine.auto_shrinkage(np.ones((6, 6)), 1e12) == pytest.approx(1e-6)
    assert engine.auto_shrinkage(np.ones((1, 1)), 50.0) == 1e-6


# ---- Batches ------------------------------------------------------------------------------------


@pytest.mark.parametrize("share", [0.1, 0.5, 0.8])
def test_a_batch_has_its_share_of_each_class(share):
    codes = np.repeat([0, 1, 2], [11, 60, 200])
    batches = engine.drawn_batches(codes, 6, share)
    for label, count in enumerate([11, 60, 200]):
        n_in = batches[:, codes == label].sum(axis=1)
        np.testing.assert_array_equal(n_in, max(2, int(np.ceil(share * count))))
    assert len(np.unique(batches, axis=0)) == 6


def test_batches_are_uniform_draws():
    codes = np.repeat([0, 1], [10, 20])
    batches = engine.drawn_batches(codes, 4000, 0.3)
    # Mean of 4000 draws of probability 0.3.
    assert np.abs(batches.mean(axis=0) - 0.3).max() < 5 * np.sqrt(0.3 * 0.7 / 4000)


@pytest.mark.parametrize("fraction", [0.25, 0.5])
@pytest.mark.parametrize("task", ["two classes", "one output"])
def test_batches_of_a_search_vary_as_their_share_of_rows_says(task, fraction):
    """The mean of m of n rows has the variance σ²/m · (1 − m/n)."""
    X, y = make(task, n_rows=400)
    n_batches = 500
    A, D = engine.batch_stack(X, y, n_batches, fraction)
    assert A.shape == (n_batches, 8, 8)
    if task == "two classes":
        _, _, (first, second) = references.class_moments(X, y)
        of_all = np.diag(first + second)
        variance = of_all * (1 - fraction) / fraction / 200
        # D in units of the standard deviations.
        expected = variance / of_all
    else:
        Z, target = references.standardised(X), references.standardised(y)
        spread = (Z * target).var(axis=0)
        expected = spread * (1 - fraction) / fraction / 400
    ratio = D[:, :, 0].var(axis=0) / expected
    # Moments of 500 draws and of higher order: some 10 % of each, less in the mean of eight.
    assert np.log(ratio).mean() == pytest.approx(0.0, abs=0.25)


def value_of_batch(X, y, some, subset, weight):
    """Return the value on some rows, in units of the variances of all, with their shrinkage."""
    columns = X[:, subset]
    if y.dtype.kind != "f":
        _, _, of_all = references.class_moments(columns, y, weight)
        _, means, each = references.class_moments(columns[some], y[some], weight[some])
        A, D, unit = each.sum(axis=0), means[1] - means[0], 1.0
        variance = of_all.sum(axis=0).diagonal()
    else:
        joint = np.column_stack([columns, y])
        _, of_all = references.weighted_covariance(joint, weight)
        _, of_batch = references.weighted_covariance(joint[some], weight[some])
        A, D, unit = of_batch[:-1, :-1], of_batch[:-1, -1], of_all[-1, -1]
        variance = of_all.diagonal()[:-1]
    return D @ np.linalg.solve(A + 1e-6 * np.diag(variance), D) / unit


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("task", ["two classes", "one output"])
def test_a_batch_is_the_criterion_of_its_rows(task, weighted):
    X, y = make(task)
    weight = np.random.default_rng(0).uniform(0.1, 3.0, len(X)) if weighted else None
    stack = engine.batch_stack(X, y, 3, 0.5, seed=4, weight=weight)
    codes = np.zeros(len(X), dtype=np.int64) if y.dtype.kind == "f" else y
    rows = engine.drawn_batches(codes, 3, 0.5, seed=np.random.SeedSequence([4]))
    weight = np.ones(len(X)) if weight is None else weight
    for A, D, some in zip(*stack, rows, strict=True):
        for subset in SUBSETS:
            expected = value_of_batch(X, y, some, subset, weight)
            assert references.quadratic_value(A, D, subset) == pytest.approx(expected, rel=1e-8)


def test_a_batch_has_rows_enough_for_the_size():
    X, codes = data.class_rows(np.random.default_rng(0), 40, 30)
    for size, least in ((1, 20), (12, 26), (30, 40)):
        stack = engine.batch_stack(X, codes, 4, 0.5, size)
        if least == 40:
            assert stack is None  # as many as there are: no batches
            continue
        # A covariance of two groups of n rows in all has rank n - 2.
        ranks = [np.linalg.matrix_rank(A - 1e-6 * np.eye(30), tol=1e-9) for A in stack[0]]
        assert min(ranks) >= min(30, least - 2)
        assert min(ranks) >= min(30, 2 * size)


def test_batches_of_several_outputs():
    X, Y = make("three outputs")
    A, D = engine.batch_stack(X, Y, 3, 1.0 - 1e-9)  # all rows
    whole = engine.criterion_of(X, Y)
    np.testing.assert_allclose(A, np.stack([whole.A] * 3), atol=1e-10)
    np.testing.assert_allclose(D, np.stack([whole.D] * 3), atol=1e-10)


def test_batches_fit_into_memory():
    assert engine.affordable_batches(5, 2000) == 5
    assert engine.affordable_batches(5, 4096) == 2
    assert engine.affordable_batches(1, 9000) == 1
