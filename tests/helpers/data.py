"""Generate the data that tests share."""

import numpy as np

# An offset far beyond the spread of a column: eight of sixteen digits are lost.
FAR = 1e8


def labels(rng, n_rows, n_classes=2):
    """Return class codes of which none is rare."""
    return rng.permutation(np.arange(n_rows) % n_classes)


def correlated_rows(rng, n_rows, n_features, strength=0.4):
    """Return rows of features that are correlated with each other."""
    mixing = np.eye(n_features) + strength * rng.normal(size=(n_features, n_features))
    return rng.normal(size=(n_rows, n_features)) @ mixing


def class_rows(rng, n_rows=200, n_features=8, n_classes=2, shift=0.6):
    """Return rows and class codes; the first half of the features separates the classes a bit."""
    codes = labels(rng, n_rows, n_classes)
    X = correlated_rows(rng, n_rows, n_features)
    means = shift * rng.normal(size=(n_classes, n_features))
    means[:, n_features // 2 :] = 0.0
    return X + means[codes], codes


def output_rows(rng, n_rows=200, n_features=8, n_outputs=1, noise=1.0):
    """Return rows and regression targets, of shape (n_rows, n_outputs)."""
    X = correlated_rows(rng, n_rows, n_features)
    slopes = rng.normal(size=(n_features, n_outputs))
    slopes[n_features // 2 :] = 0.0
    return X, X @ slopes + noise * rng.normal(size=(n_rows, n_outputs))


def repeats_of_rows(rng, n_rows, most=3):
    """Return how often each row is repeated, at least twice somewhere and never somewhere."""
    counts = rng.integers(0, most + 1, n_rows)
    counts[:8] = [2, 2, 2, 2, 1, 1, 1, 1]
    return counts


def quadratic(rng, n_features, n_columns=1, condition=1.0):
    """Return A with unit diagonal, its eigenvalues spread over `condition`, and a random D."""
    rotation, _ = np.linalg.qr(rng.normal(size=(n_features, n_features)))
    A = rotation * np.logspace(0, -np.log10(condition), n_features) @ rotation.T
    scale = np.sqrt(np.diag(A))
    A = A / np.outer(scale, scale)
    return (A + A.T) / 2, rng.normal(size=(n_features, n_columns))


def planted_quadratic(rng, n_features, n_columns=1, *, copies=0, noise=0.0):
    """Return A and D of correlated features with sparse slopes; the last ones copy the first."""
    rows = rng.normal(size=(3 * n_features, n_features)) @ rng.normal(size=(n_features, n_features))
    rows += rng.normal(size=rows.shape)
    if copies:
        rows[:, -copies:] = rows[:, :copies] + noise * rng.normal(size=(len(rows), copies))
    A = np.corrcoef(rows.T)
    slopes = rng.normal(size=(n_features, n_columns)) * (rng.random((n_features, 1)) < 0.6)
    return A, A @ slopes + 0.1 * rng.normal(size=(n_features, n_columns))


def adversarial_rows(rng, n_rows=120, n_features=8, n_classes=2):
    """Return rows whose columns have made fits fail, and class codes.

    Heavy tails, huge offsets and scales, near duplicates, nearly separating and rare values.
    """
    codes = labels(rng, n_rows, n_classes)
    X = np.empty((n_rows, n_features))
    for j in range(n_features):
        z = rng.normal(size=n_rows) + codes * rng.uniform(0, 1.5)
        X[:, j] = [
            z,
            rng.standard_cauchy(n_rows) + codes,
            np.exp(2 * z),
            FAR + z,
            1e12 * z,
            (codes == 0) ^ (rng.random(n_rows) < 0.03),
            rng.random(n_rows) < 0.05,
        ][rng.integers(7)]
    X[:, -1] = X[:, 0] * (1 + 1e-7 * rng.normal(size=n_rows))
    return X, codes
