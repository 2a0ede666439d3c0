"""Values and losses from the definitions, in plain NumPy, one subset at a time."""

from __future__ import annotations

import numpy as np

# Of the fisher criterion: a feature that separates the classes has at least this share of the
# squared distance of the means for its scale.
SEPARATING = 1e-4
LEAST_OWN_VARIANCE = 1e-5


def _average(values: np.ndarray, weight: np.ndarray) -> np.ndarray:
    return weight @ values / weight.sum()


def _covariance(values: np.ndarray, weight: np.ndarray) -> np.ndarray:
    centred = values - _average(values, weight)
    centred = centred - _average(centred, weight)  # what rounding left, far from zero
    covariance = (centred * weight[:, None]).T @ centred / weight.sum()
    constant = np.all(values == values[0], axis=0)
    covariance[constant] = 0.0
    covariance[:, constant] = 0.0
    return covariance


def matrices(
    X: np.ndarray, y: np.ndarray, weight: np.ndarray, classification: bool, ridge: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Matrices A with the ridge and B without, and D: J(S) = trace(D_S' A_SS⁻¹ D_S)."""
    X = X - np.median(X, axis=0)
    if classification:
        labels = np.unique(y)
        B = sum(_covariance(X[y == c], weight[y == c]) for c in labels)
        means = [_average(X[y == c], weight[y == c]) for c in labels]
        totals = [weight[y == c].sum() for c in labels]
        pairs = [(i, j) for i in range(len(labels)) for j in range(i)]
        of_pairs = np.array([totals[i] * totals[j] for i, j in pairs])
        D = np.array([means[i] - means[j] for i, j in pairs])
        D = (D * np.sqrt(of_pairs / of_pairs.sum())[:, None]).T
        scale = np.sqrt(np.maximum(np.diag(B), SEPARATING * (D**2).sum(axis=1)))
    else:
        outputs = y.reshape(len(y), -1)
        outputs = outputs - _average(outputs, weight)
        B = _covariance(X, weight)
        deviation = np.sqrt(_average(outputs**2, weight))
        centred = X - _average(X, weight)
        D = (centred * weight[:, None]).T @ outputs / weight.sum() / deviation
        D = D / np.sqrt(outputs.shape[1])
        scale = np.sqrt(np.diag(B))
    scale = np.where(scale > 0, scale, 1.0)
    B = B / np.outer(scale, scale)
    return B + ridge * np.eye(len(B)), B, D / scale[:, None]


def value(A: np.ndarray, D: np.ndarray, subset: tuple[int, ...]) -> float:
    """J of one subset."""
    S = list(subset)
    return float(np.sum(D[S] * np.linalg.solve(A[np.ix_(S, S)], D[S])))


def is_clean(A: np.ndarray, B: np.ndarray, subset: tuple[int, ...], ridge: float) -> bool:
    """Whether every member varies, and clearly so beside the others."""
    S = list(subset)
    inverse = np.linalg.inv(A[np.ix_(S, S)])
    least = 1.1 * (LEAST_OWN_VARIANCE + 2.0 * ridge)
    return bool(np.all(np.diag(B)[S] > 0) and np.all(1.0 / np.diag(inverse) > least))


def loss_without_features(y: np.ndarray, weight: np.ndarray, classification: bool) -> float:
    """Cross-entropy of the shares of the classes, or variance of the outputs."""
    if classification:
        share = np.array([weight[y == c].sum() for c in np.unique(y)]) / weight.sum()
        return float(-(share @ np.log(share)))
    outputs = y.reshape(len(y), -1)
    return float(_average((outputs - _average(outputs, weight)) ** 2, weight).mean())


def cross_entropy(scores: np.ndarray, y: np.ndarray, weight: np.ndarray) -> float:
    """Mean cross-entropy of log-odds, or of one score a class."""
    if scores.ndim == 1:
        scores = np.column_stack([np.zeros(len(scores)), scores])
    own = scores[np.arange(len(y)), np.searchsorted(np.unique(y), y)]
    return float(_average(np.logaddexp.reduce(scores - own[:, None], axis=1), weight))


def squared_error(predicted: np.ndarray, y: np.ndarray, weight: np.ndarray) -> float:
    """Mean squared error over rows and outputs."""
    difference = (predicted - y).reshape(len(y), -1)
    return float(_average(difference**2, weight).mean())


def least_variance(X: np.ndarray, weight: np.ndarray) -> float:
    """The least variance along a direction of standardised columns, if it is more than rounding."""
    covariance = _covariance(X, weight)
    scale = np.sqrt(np.diag(covariance))
    scale = np.where(scale > 0, scale, 1.0)
    variances = np.linalg.eigvalsh(covariance / np.outer(scale, scale))
    return float(variances[variances > 1e-13].min(initial=1.0))


def least_squared_error(X: np.ndarray, y: np.ndarray, weight: np.ndarray) -> float:
    """Of the best linear model on these columns, by LAPACK on the rows."""
    root = np.sqrt(weight)[:, None]
    X = X - _average(X, weight)
    scale = np.sqrt(_average(X**2, weight))
    X = X / np.where(scale > 0, scale, 1.0)
    outputs = y.reshape(len(y), -1)
    outputs = outputs - _average(outputs, weight)
    # Directions of less than 1e-10 of the variance are left alone, here and (1e-12) there.
    best = np.linalg.lstsq(X * root, outputs * root, rcond=1e-5)[0]
    return squared_error(X @ best, outputs, weight)


def weighted_mean(values: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """The mean; what rounding leaves far from zero is corrected."""
    mean = _average(values, weight)
    return mean + _average(values - mean, weight)


def scale_of(X: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """Standard deviations; one for constant columns."""
    scale = np.sqrt(_average((X - weighted_mean(X, weight)) ** 2, weight))
    return np.where((scale > 0) & (np.ptp(X, axis=0) > 0), scale, 1.0)
