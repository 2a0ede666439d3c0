"""Products of some columns with all are those of the moments, however the rows are kept."""

import numpy as np
import pytest
from scipy import sparse

from safdr._engine.moments import within_moments
from safdr._engine.taken_rows import TakenRows
from safdr._engine.wide import rows as rows_module
from safdr._engine.wide.rows import CentredRows

SOME = np.array([0, 3, 17, 39])


def make_rows(rng, *, n_rows=60, n_columns=40):
    """Rows of three classes, half of the numbers zero."""
    X = rng.normal(size=(n_rows, n_columns)) * (rng.random((n_rows, n_columns)) < 0.5)
    return X, np.arange(n_rows) % 3


def as_kept(X, how):
    """The same rows in another form."""
    if how == "sparse":
        return sparse.csr_array(X)
    if how == "taken":
        order = np.random.default_rng(1).permutation(2 * len(X))[: len(X)]
        source = np.full((2 * len(X), X.shape[1]), np.nan)
        source[order] = X
        return TakenRows(source, order)
    return X.astype(np.float32) if how == "single" else X


def check_of_one(rows, within, *, atol):
    """One column, or one mixture of some, is multiplied with all or with some."""
    slopes = np.array([1.0, -2.0, 0.5, 3.0])
    mixture = rows.combined(SOME, slopes)
    np.testing.assert_allclose(mixture, rows.columns(SOME) @ slopes, atol=atol)
    of_all = np.hstack([part[0] for _, part in rows.products(mixture[:, None])])
    np.testing.assert_allclose(of_all, slopes @ within[SOME], atol=10 * atol)
    own = rows.columns(np.array([20]))[:, 0]
    np.testing.assert_allclose(rows.products_with(SOME, own), within[20, SOME], atol=atol)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("how", ["dense", "sparse", "taken", "single"])
def test_products_are_those_of_the_moments(monkeypatch, how, weighted):
    monkeypatch.setattr(rows_module, "BLOCK_COLUMNS", 7)
    rng = np.random.default_rng(0)
    X, codes = make_rows(rng)
    X = X.astype(np.float32).astype(np.float64)
    weight = rng.random(len(X)) + 0.1 if weighted else None
    expected = within_moments(X, codes, 3, weight)
    rows = CentredRows(as_kept(X, how), codes, 3, weight)
    products = np.hstack([part for _, part in rows.products(rows.columns(SOME))])
    np.testing.assert_allclose(products, expected.within[SOME], atol=1e-12)
    check_of_one(rows, expected.within, atol=1e-12)
    np.testing.assert_allclose(rows.moments.mean, expected.mean, atol=1e-13)
    np.testing.assert_allclose(rows.moments.squares, expected.squares, rtol=1e-11)
    np.testing.assert_allclose(rows.variance, np.diag(expected.within), rtol=1e-11)


@pytest.mark.parametrize("how", ["dense", "sparse"])
def test_a_column_far_from_zero_keeps_its_digits(how):
    rng = np.random.default_rng(0)
    X, codes = make_rows(rng)
    far = X.copy()
    far[:, [3, 20]] += 2.0**30
    far[:, [0, 30]] += 512.0  # which are not centred: nothing may be left of the mean of the others
    X = far - np.where(np.isin(np.arange(40), [3, 20]), 2.0**30, 0.0)  # as rounding left it
    expected = within_moments(X, codes, 3).within
    rows = CentredRows(as_kept(far, how), codes, 3, None)
    products = np.hstack([part for _, part in rows.products(rows.columns(SOME))])
    np.testing.assert_allclose(products, expected[SOME], atol=1e-7)
    check_of_one(rows, expected, atol=1e-7)


@pytest.mark.parametrize("how", ["dense", "sparse"])
def test_a_column_that_never_changes_has_no_variance(how):
    X, codes = make_rows(np.random.default_rng(0))
    X[:, 5] = 0.1
    X[:, 6] = 0.0
    assert (CentredRows(as_kept(X, how), codes, 3, None).variance[[5, 6]] == 0).all()
