"""Coefficients, standard errors and VIF against statsmodels."""

import numpy as np
import pytest
import statsmodels.api as sm
from statsmodels.stats.outliers_influence import variance_inflation_factor

from safdr.measures.inference import (
    centred,
    fit_classes,
    fit_numbers,
    variance_inflation,
    with_intercept,
)


@pytest.fixture(scope="module")
def rows():
    """Columns that hang together, two classes, three classes, a quantity and weights."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 3)) @ rng.normal(size=(3, 3))
    score = 0.4 * X[:, 0] - 0.3 * X[:, 1]
    two = (score + rng.logistic(size=400) > 0).astype(np.int64)
    three = np.digitize(score + rng.logistic(size=400), [-0.7, 0.7])
    return X, two, three, score + rng.normal(size=400), rng.integers(1, 5, 400).astype(float)


def test_two_classes(rows):
    X, two, *_, weight = rows
    design = with_intercept(X)
    plain, wanted = fit_classes(design, two, 2, np.ones(400)), sm.Logit(two, design).fit(disp=0)
    assert plain.values[0] == pytest.approx(wanted.params, abs=1e-6)
    assert plain.errors[0] == pytest.approx(wanted.bse, rel=1e-4)
    model = sm.GLM(two, design, family=sm.families.Binomial(), var_weights=weight)
    robust = model.fit(tol=1e-12, cov_type="HC0")
    found = fit_classes(design, two, 2, weight, robust=True)
    assert found.values[0] == pytest.approx(robust.params, abs=1e-6)
    assert found.errors[0] == pytest.approx(robust.bse, rel=1e-5)


def test_more_classes(rows):
    X, _, three, *_ = rows
    design = with_intercept(X)
    found, wanted = fit_classes(design, three, 3, np.ones(400)), sm.MNLogit(three, design)
    wanted = wanted.fit(disp=0, method="newton")
    assert found.values == pytest.approx(wanted.params.T, abs=1e-6)
    assert found.errors == pytest.approx(wanted.bse.T, rel=1e-4)
    about_mean = centred(found)
    assert about_mean.values.sum(axis=0) == pytest.approx(0, abs=1e-12)
    # A difference of two classes is the same in both.
    turn = np.zeros(12)
    turn[[5, 9]] = 1, -1
    error = np.sqrt(turn @ about_mean.covariance @ turn)
    other = fit_classes(design, (three + 1) % 3, 3, np.ones(400))
    # Class 2 is the reference there, so that class 1 against it is the second of its rows.
    assert error == pytest.approx(other.errors[1, 1], rel=1e-6)


def test_a_quantity(rows):
    X, _, _, y, weight = rows
    design = with_intercept(X)
    found, wanted = fit_numbers(design, y, np.ones(400)), sm.OLS(y, design).fit()
    assert found.values[0] == pytest.approx(wanted.params)
    assert found.errors[0] == pytest.approx(wanted.bse)
    assert found.freedom == wanted.df_resid
    robust = sm.WLS(y, design, weights=weight).fit(cov_type="HC1")
    found = fit_numbers(design, y, weight, robust=True)
    assert found.values[0] == pytest.approx(robust.params)
    assert found.errors[0] == pytest.approx(robust.bse)


@pytest.mark.parametrize(("unit", "mean"), [(1e9, 0.0), (1e-9, 0.0), (1.0, 1e6)])
def test_a_quantity_in_any_unit_and_far_from_zero(rows, unit, mean):
    x, y = rows[0][:, 0], rows[3]
    plain = fit_numbers(with_intercept(x[:, None]), y, np.ones(400))
    found = fit_numbers(with_intercept(unit * x[:, None] + mean), unit * y, np.ones(400))
    assert found.values[0, 1] == pytest.approx(plain.values[0, 1], rel=1e-6)
    assert found.errors[0, 1] == pytest.approx(plain.errors[0, 1], rel=1e-6)
    twice = np.column_stack([np.ones(400), x, 2 * x + 1])
    assert fit_numbers(unit * twice, y, np.ones(400)) is None


def test_vif(rows):
    X = rows[0]
    wanted = [variance_inflation_factor(with_intercept(X), j) for j in (1, 2, 3)]
    assert variance_inflation(X, np.ones(400)) == pytest.approx(wanted)
    twice = np.column_stack([X, X[:, 0] + X[:, 1], np.ones(400)])
    found = variance_inflation(twice, np.ones(400))
    assert np.isinf(found[[0, 1, 3]]).all()
    assert found[4] == 1
    copies = np.repeat(np.arange(400), rows[-1].astype(int))
    assert variance_inflation(X, rows[-1]) == pytest.approx(
        variance_inflation(X[copies], np.ones(len(copies)))
    )


def test_what_has_no_optimum_has_no_estimate():
    x = np.linspace(-1, 1, 40)
    separated = fit_classes(with_intercept(x[:, None]), (x > 0).astype(int), 2, np.ones(40))
    assert separated is None or separated.errors.max() > 25
    assert fit_classes(np.ones((40, 2)), (x > 0).astype(int), 2, np.ones(40)) is None
    assert fit_numbers(np.ones((40, 2)), x, np.ones(40)) is None
    assert fit_numbers(with_intercept(np.eye(3)), np.arange(3.0), np.ones(3)) is None
