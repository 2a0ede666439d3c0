"""Coefficients on the original scale, where rounding takes digits that count."""

from fractions import Fraction

import numpy as np
import pytest

from fitting import criterion_of
from safdr._engine.fits.logistic import LogisticFitter

SUBSET = np.array([[0]])


def far_column(n_rows=200, offset=1e9, spread=1e-4):
    """A column so far from zero that its intercept has few digits behind the point."""
    rng = np.random.default_rng(0)
    codes = rng.permutation(np.arange(n_rows) % 2)
    return (offset + spread * (codes + rng.normal(size=n_rows)))[:, None], codes


def fitter_of(X, codes, penalty):
    return LogisticFitter(X, codes, None, criterion_of(X, codes, 2), penalty)


def exact_loss(X, codes, fits, fitter):
    """Penalised loss of the coefficients as they are."""
    slope, intercept = Fraction(fits.coefficients[0, 0]), Fraction(fits.intercepts[0])
    logits = np.array([float(slope * Fraction(x) + intercept) for x in X[:, 0].tolist()])
    standardised = fits.coefficients[0, 0] * fitter.scale[0]
    loss = np.mean(np.logaddexp(0.0, np.where(codes == 1, -logits, logits)))
    return loss + 0.5 * fitter.penalty * standardised**2


@pytest.mark.parametrize("penalty", [0.0, 0.05])
def test_the_loss_is_that_of_the_rounded_coefficients(penalty):
    X, codes = far_column()
    fitter = fitter_of(X, codes, penalty)
    fits = fitter.fit(SUBSET)
    assert fits.losses[0] == pytest.approx(exact_loss(X, codes, fits, fitter), abs=1e-13)


def test_a_fit_about_another_center_is_better_with_its_penalty(monkeypatch):
    X, codes = far_column()
    fitter, other = fitter_of(X, codes, 0.05), fitter_of(X, codes, 0.0)
    expected = fitter.fit(SUBSET)
    # Without a penalty its cross-entropy is smaller, but not its loss.
    monkeypatch.setattr(fitter, "_fit_about", other._fit_about)
    np.testing.assert_array_equal(fitter.fit(SUBSET).coefficients, expected.coefficients)


def test_columns_about_zero_stand_in_for_no_intercept():
    """They have no share of their center, and nothing is divided by zero."""
    X, codes = far_column()
    wide = 1e6 * np.random.default_rng(1).permutation(np.arange(len(X)) % 3 - 1.0)
    fits = LogisticFitter(np.c_[X, wide], codes, None, criterion_of(np.c_[X, wide], codes, 2)).fit(
        np.array([[0, 1]])
    )
    assert np.isfinite(fits.coefficients).all()
