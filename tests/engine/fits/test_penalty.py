"""Penalised fits, against Newton's method on all unknowns, and against scikit-learn."""

import numpy as np
import pytest
from scipy.special import log_softmax
from sklearn.linear_model import LogisticRegression, Ridge

from safdr._engine.criterion import fisher_criterion, r2_criterion
from safdr._engine.fits.least_squares import LeastSquaresFitter
from safdr._engine.fits.logistic import LogisticFitter
from safdr._engine.fits.multinomial import MultinomialFitter
from safdr._engine.moments import joint_moments, within_moments

N_PROBLEMS = 25


def fitter_of(X, codes, weight, penalty):
    n_classes = int(codes.max()) + 1
    criterion = fisher_criterion(within_moments(X, codes, n_classes, weight), ridge=1e-6)
    kind = LogisticFitter if n_classes == 2 else MultinomialFitter
    return kind(X, codes, weight, criterion, penalty)


def standardised(X, weight):
    mean = np.average(X, axis=0, weights=weight)
    return (X - mean) / np.sqrt(np.average((X - mean) ** 2, axis=0, weights=weight))


def smallest_loss(X, codes, weight, penalty):
    """Newton's method with halved steps from nothing, on the full Hessian."""
    n_classes = int(codes.max()) + 1
    Z = np.column_stack([standardised(X, weight), np.ones(len(X))])
    share = np.full(len(X), 1.0 / len(X)) if weight is None else weight / weight.sum()
    # Of two classes the first has no coefficients; of more all have, and share the penalty.
    free = np.arange(1 if n_classes == 2 else 0, n_classes)
    q = Z.shape[1]
    ridge = np.tile(np.append(np.full(q - 1, penalty), 0.0), len(free))

    def logits(theta):
        every = np.zeros((n_classes, q))
        every[free] = theta.reshape(len(free), q)
        return Z @ every.T

    def loss(theta):
        log_p = log_softmax(logits(theta), axis=1)
        return -share @ log_p[np.arange(len(X)), codes] + 0.5 * ridge @ theta**2

    pairs = (Z[:, :, None] * Z[:, None, :]).reshape(len(X), q * q)
    theta = np.zeros(len(ridge))
    now = loss(theta)
    for _ in range(500):
        p = np.exp(log_softmax(logits(theta), axis=1))[:, free]
        residual = p - (codes[:, None] == free)
        gradient = ((share[:, None] * residual).T @ Z).ravel() + ridge * theta
        bend = share[:, None, None] * p[:, :, None] * (np.eye(len(free)) - p[:, None, :])
        blocks = bend.reshape(len(X), -1).T @ pairs
        hessian = blocks.reshape(len(free), len(free), q, q).swapaxes(1, 2)
        hessian = hessian.reshape(len(ridge), len(ridge)) + np.diag(ridge)
        step = np.linalg.lstsq(hessian, gradient, rcond=1e-14)[0]
        decrement = gradient @ step
        # Twice what is left: below this it is rounding.
        if decrement < 1e-14 * now:
            break
        fraction = 1.0
        while (then := loss(theta - fraction * step)) > now - 1e-4 * fraction * decrement:
            fraction /= 2
            if fraction < 1e-9:
                return now
        theta, now = theta - fraction * step, then
    return now


def nasty_problem(rng, n_classes):
    """Rows of columns that have made fits fail: separating, huge, heavy-tailed, nearly equal."""
    n = int(rng.integers(20, 200))
    codes = rng.permutation(np.arange(n) % n_classes)
    X = rng.normal(size=(n, 6))
    makers = (
        lambda x: (codes == 0) ^ (rng.random(n) < 0.01),
        lambda x: rng.standard_cauchy(n),
        lambda x: np.exp(3 * x),
        lambda x: np.where(np.arange(n) == rng.integers(n), 10.0 ** rng.integers(3, 14), x),
        lambda x: x + 1e6,
        lambda x: 10.0 * codes + x,
        lambda x: X[:, 0] + 1e-7 * x,
        lambda x: x + codes,
    )
    for j in range(1, 6):
        X[:, j] = makers[rng.integers(len(makers))](X[:, j])
    weight = None if rng.random() < 0.5 else rng.exponential(size=n) + 1e-3
    return X, codes, weight


@pytest.mark.parametrize("n_classes", [2, 3, 5])
def test_losses_are_the_smallest_and_nothing_is_separated(rng, n_classes):
    for _ in range(N_PROBLEMS):
        X, codes, weight = nasty_problem(rng, n_classes)
        penalty = 10.0 ** rng.uniform(-6, 0)
        subsets = np.array([[0, 1, 2], [1, 3, 5], [2, 3, 4], [0, 4, 5]])
        fitter = fitter_of(X, codes, weight, penalty)
        fits = fitter.fit(subsets)
        expected = [smallest_loss(X[:, s], codes, weight, penalty) for s in subsets]
        assert fits.losses == pytest.approx(expected, rel=1e-8)
        assert fits.converged.all()
        assert not fits.separated.any()
        best = fitter.fit(subsets, best_only=True)
        assert np.nanmin(best.losses) == pytest.approx(min(expected), rel=1e-8)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_coefficients_are_those_of_scikit_learn(rng, n_classes):
    X = rng.normal(size=(200, 4)) * [1, 2, 3, 100]
    codes = np.argmax(X[:, :n_classes] + rng.normal(size=(200, n_classes)), axis=1)
    fits = fitter_of(X, codes, None, 1 / (0.5 * 200)).fit(np.arange(4)[None])
    model = LogisticRegression(C=0.5, tol=1e-12, max_iter=10_000)
    model.fit(standardised(X, None), codes)
    assert np.atleast_2d(fits.coefficients[0]) * X.std(axis=0) == pytest.approx(
        model.coef_, abs=1e-5
    )


def test_a_vanishing_penalty_is_none(rng, two_classes):
    X, y = two_classes
    subsets = np.array([[0, 1, 2], [3, 4, 5]])
    plain = fitter_of(X, y, None, 0.0).fit(subsets)
    nearly = fitter_of(X, y, None, 1e-12).fit(subsets)
    assert nearly.losses == pytest.approx(plain.losses, abs=1e-11)
    assert nearly.coefficients == pytest.approx(plain.coefficients, abs=1e-8)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_a_penalty_that_no_slope_feels_hides_no_separation(rng, n_classes):
    codes = np.arange(90) % n_classes
    X = np.column_stack([codes + 0.1 * rng.random(90), rng.normal(size=90)])
    fits = fitter_of(X, codes, None, 1e-40).fit(np.array([[0, 1], [1, 0]]))
    assert fits.separated.all()
    assert (fits.losses == 0).all()
    assert np.isfinite(fits.coefficients).all()


def test_least_squares_are_those_of_ridge_regression(rng):
    X = rng.normal(size=(80, 5)) * [1, 2, 3, 4, 5]
    y = X @ rng.normal(size=(5, 2)) + rng.normal(size=(80, 2))
    fitter = LeastSquaresFitter(r2_criterion(joint_moments(X, y), ridge=1e-6), 3.0 / 80)
    fits = fitter.fit(np.arange(5)[None])
    Z = standardised(X, None)
    model = Ridge(alpha=3.0).fit(Z, y)
    assert fits.coefficients[0] * X.std(axis=0) == pytest.approx(model.coef_)
    rest = np.mean((y - model.predict(Z)) ** 2) + np.mean(np.sum(model.coef_**2, axis=1)) * 3 / 80
    assert fits.losses[0] == pytest.approx(rest)
