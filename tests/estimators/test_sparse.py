"""Sparse rows give the answer of dense ones, and are never made dense."""

import subprocess
import sys
import textwrap

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
    evaluate_subsets,
)

FORMATS = [sparse.csr_array, sparse.csc_matrix, sparse.coo_array]


def counts(n_rows=240, n_features=30, n_classes=2, seed=0):
    """Rows that are mostly zero, with some features that tell the classes apart."""
    rng = np.random.default_rng(seed)
    y = np.arange(n_rows) % n_classes
    rate = np.full((n_classes, n_features), 0.15)
    rate[np.arange(n_classes), np.arange(n_classes)] = 0.8
    return rng.poisson(rate[y]).astype(float), y


@pytest.mark.parametrize("make", FORMATS)
@pytest.mark.parametrize("n_classes", [2, 3])
def test_classes_from_sparse_rows(make, n_classes):
    X, y = counts(n_classes=n_classes)
    dense = AnnealingSelector(4, random_state=0).fit(X, y)
    thin = AnnealingSelector(4, random_state=0).fit(make(X), y)
    np.testing.assert_array_equal(dense.result_.subsets, thin.result_.subsets)
    np.testing.assert_allclose(
        dense.result_.criterion_values, thin.result_.criterion_values, rtol=1e-10
    )
    np.testing.assert_allclose(dense.loss_, thin.loss_, rtol=1e-9)
    np.testing.assert_allclose(dense.predict_proba(X), thin.predict_proba(make(X)), rtol=1e-6)
    assert sparse.issparse(thin.transform(make(X)))


@pytest.mark.parametrize("make", FORMATS)
def test_regression_from_sparse_rows(make):
    X, _ = counts()
    y = X[:, :2] @ [1.0, -2.0] + np.random.default_rng(1).normal(size=len(X))
    dense = AnnealingRegressorSelector(3, random_state=0).fit(X, y)
    thin = AnnealingRegressorSelector(3, random_state=0).fit(make(X), y)
    np.testing.assert_array_equal(dense.result_.subsets, thin.result_.subsets)
    np.testing.assert_allclose(dense.result_.losses, thin.result_.losses, rtol=1e-9)


def test_weights_of_sparse_rows():
    X, y = counts()
    weight = np.random.default_rng(0).uniform(0, 2, len(y))
    dense = AnnealingSelector(4, random_state=0).fit(X, y, sample_weight=weight)
    thin = AnnealingSelector(4, random_state=0).fit(sparse.csr_array(X), y, sample_weight=weight)
    np.testing.assert_array_equal(dense.result_.subsets, thin.result_.subsets)
    np.testing.assert_allclose(dense.loss_, thin.loss_, rtol=1e-9)


def test_cross_validation_of_sparse_rows():
    X, y = counts()
    how = {"max_features": 3, "cv": 3, "annealing": Annealing(n_replicas=10), "random_state": 0}
    dense = AnnealingSelectorCV(**how).fit(X, y)
    thin = AnnealingSelectorCV(**how).fit(sparse.csr_array(X), y)
    np.testing.assert_allclose(
        dense.cv_results_["mean_test_score"], thin.cv_results_["mean_test_score"], rtol=1e-9
    )
    np.testing.assert_array_equal(dense.support_, thin.support_)


def test_constraints_and_paths_of_sparse_rows():
    X, y = counts()
    how = {"constraints": Constraints(groups=[[0, 5], [1, 6]]), "random_state": 0}
    (dense,) = anneal_path(X, y, [3], **how)
    (thin,) = anneal_path(sparse.csr_array(X), y, [3], **how)
    np.testing.assert_array_equal(dense.subsets, thin.subsets)
    measured = evaluate_subsets(sparse.csr_array(X), y, [[0, 1]])
    np.testing.assert_allclose(
        measured.cross_entropies, evaluate_subsets(X, y, [[0, 1]]).cross_entropies, rtol=1e-9
    )


def test_constant_columns_of_sparse_rows_are_left_out():
    X, y = counts()
    X[:, 7] = 0.1
    X[:, 8] = 0.0
    result = AnnealingSelector(4, random_state=0).fit(sparse.csr_array(X), y).result_
    assert not np.isin(result.subsets, [7, 8]).any()


def test_sparse_rows_with_missing_values_are_refused():
    X, y = counts()
    X[3, 3] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        AnnealingSelector(2).fit(sparse.csr_array(X), y)


LARGE = """
    import numpy as np
    from scipy import sparse
    from safdr import Annealing, AnnealingSelector

    rng = np.random.default_rng(0)
    X = sparse.csr_array(sparse.random(8_000, 5_000, density=0.01, random_state=rng))
    signal = X[:, [10, 2000, 4321]].sum(axis=1)
    y = (signal + 0.3 * rng.normal(size=8_000) > 0.1).astype(int)
    few = Annealing(n_replicas=10)
    selector = AnnealingSelector(10, annealing=few, random_state=0).fit(X, y)
    assert {10, 2000, 4321} <= set(selector.subset_.tolist()), selector.subset_
    # Of this process alone: what getrusage tells may be its parent's.
    with open("/proc/self/status") as status:
        print(next(int(line.split()[1]) for line in status if line.startswith("VmHWM")) / 2**20)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="/proc tells the peak")
def test_five_thousand_sparse_features_take_less_than_a_gigabyte():
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(LARGE)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert float(done.stdout) < 1.0
