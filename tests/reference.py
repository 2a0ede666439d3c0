"""The paper's Algorithm 1 in plain NumPy: slow, obvious, and the oracle of the compiled core.

The matrices follow the paper: S_W is the sum of the two population covariances, and the Fisher
discriminant ratio of a subset S is d_S' S_W,SS⁻¹ d_S. Here D = d has one column a discriminant.
"""

from itertools import combinations

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.preprocessing import StandardScaler


def matrices(X, y, ridge=0.0):
    """A = S_W and D = μ₁ - μ₀ of the rows; the ridge is relative to A_ii."""
    first, second = X[y == 0], X[y == 1]
    A = np.cov(first.T, bias=True) + np.cov(second.T, bias=True)
    D = (second.mean(axis=0) - first.mean(axis=0))[:, None]
    return A + ridge * np.diag(np.diag(A)), D


def fdr(A, D, subset):
    """Criterion value of one subset, by solving its k equations."""
    return float(np.sum(D[subset] * np.linalg.solve(A[np.ix_(subset, subset)], D[subset])))


def fdr_of_rows(X, y, subset):
    """Criterion value of one subset, from the rows."""
    A, D = matrices(X, y)
    return fdr(np.atleast_2d(A), D, subset)


def random_subset(n_features, size, rng):
    """Features drawn without replacement."""
    return rng.choice(n_features, size=size, replace=False)


def swap(subset, n_features, rng):
    """The subset with a random member replaced by a random feature outside of it."""
    outside = np.setdiff1d(np.arange(n_features), subset)
    new = subset.copy()
    new[rng.integers(len(subset))] = rng.choice(outside)
    return new


def metropolis(gain, beta, rng):
    """Whether a proposal that changes the criterion by `gain` is accepted."""
    return gain > 0 or rng.random() < np.exp(beta * gain)


def sweep(subset, criterion, beta, n_proposals, rng):
    """One replica after `n_proposals` proposals under one (A, D)."""
    value = fdr(*criterion, subset)
    for _ in range(n_proposals):
        candidate = swap(subset, len(criterion[0]), rng)
        new_value = fdr(*criterion, candidate)
        if metropolis(new_value - value, beta, rng):
            subset, value = candidate, new_value
    return subset


def has_converged(means, tol, window):
    """Whether the mean over the last `window` steps is that over the `window` before."""
    if len(means) < 2 * window:
        return False
    now, before = np.mean(means[-window:]), np.mean(means[-2 * window : -window])
    return abs(now - before) <= tol * abs(now)


def batch_matrices(X, y, n_batches, fraction, rng, ridge=0.0):
    """(A, D) of random stratified batches of the rows."""
    criteria = []
    for _ in range(n_batches):
        rows = np.concatenate(
            [
                rng.permutation(np.flatnonzero(y == label))[
                    : int(np.ceil(fraction * np.sum(y == label)))
                ]
                for label in (0, 1)
            ]
        )
        criteria.append(matrices(X[rows], y[rows], ridge))
    return criteria


def anneal(
    criterion,
    replicas,
    rng,
    *,
    batches=(),
    sweeps=0.5,
    step=0.7,
    max_steps=100,
    tol=1e-3,
    window=10,
):
    """Anneal the replicas from their start; returns them and (beta, values) of each step."""
    n_proposals = max(1, round(sweeps * len(criterion[0])))
    values = np.array([fdr(*criterion, s) for s in replicas])
    sigma, beta = values.std(), 0.0
    trace = [(beta, values)]
    for _ in range(max_steps):
        beta += step / sigma
        for r, subset in enumerate(replicas):
            under = batches[rng.integers(len(batches))] if batches else criterion
            replicas[r] = sweep(subset, under, beta, n_proposals, rng)
        trace.append((beta, np.array([fdr(*criterion, s) for s in replicas])))
        if has_converged([values.mean() for _, values in trace], tol, window):
            break
    return replicas, trace


def cross_entropy(X, y, subset, C=np.inf):
    """Mean cross-entropy of the logistic model on one subset, and the penalty of its slopes."""
    Z = StandardScaler().fit_transform(X[:, subset])
    model = LogisticRegression(C=C, solver="newton-cholesky", tol=1e-10, max_iter=1000).fit(Z, y)
    return log_loss(y, model.predict_proba(Z)) + np.sum(model.coef_**2) / (2 * C * len(y))


def select(
    X, y, size, rng, *, n_replicas=50, n_batches=5, batch_fraction=0.5, ridge=1e-6, **schedule
):
    """The paper's selector: the final subset with the smallest cross-entropy."""
    start = [random_subset(X.shape[1], size, rng) for _ in range(n_replicas)]
    batches = batch_matrices(X, y, n_batches, batch_fraction, rng, ridge) if n_batches else ()
    replicas, _ = anneal(matrices(X, y, ridge), start, rng, batches=batches, **schedule)
    distinct = np.unique([np.sort(s) for s in replicas], axis=0)
    return min(distinct, key=lambda subset: cross_entropy(X, y, subset))


# ---- Proofs by trying all subsets ---------------------------------------------------------------


class Independent:
    """Whether some order of a subset has no feature that is collinear with those before it."""

    def __init__(self, A, tol):
        self._A, self._tol, self._known = A, tol, {(): True}

    def __call__(self, subset):
        if subset not in self._known:
            self._known[subset] = any(
                self._has_own(j, others) and self(others)
                for j in subset
                for others in [tuple(i for i in subset if i != j)]
            )
        return self._known[subset]

    def _has_own(self, j, others):
        A, others = self._A, list(others)
        own = A[j, j] - A[j, others] @ np.linalg.solve(A[np.ix_(others, others)], A[others, j])
        return own > self._tol or own >= 0.5 * A[j, j]


def all_values(A, D, size, *, tol, include=(), exclude=(), rivals=(), cost=None):
    """Criterion value of each allowed subset of a size, less its cost.

    Those with collinear features count only where there are no others.
    """
    subsets = [
        subset
        for subset in combinations(range(len(A)), size)
        if set(include) <= set(subset)
        and not set(exclude) & set(subset)
        and all(len(set(group) & set(subset)) <= 1 for group in rivals)
    ]
    if not subsets:
        return {}
    members = np.array(subsets)
    blocks = A[members[:, :, None], members[:, None, :]]
    values = np.sum(D[members] * np.linalg.solve(blocks, D[members]), axis=(1, 2))
    if cost is not None:
        values -= np.asarray(cost)[members].sum(axis=1)
    own = 1.0 / np.diagonal(np.linalg.inv(blocks), axis1=1, axis2=2)
    # Where each has variance of its own beside all others, any order will do.
    plain = (own > tol).all(axis=1)
    independent = Independent(A, tol)
    found = {s: float(v) for s, v in zip(subsets, values, strict=True)}
    counting = [s for s, is_plain in zip(subsets, plain, strict=True) if is_plain or independent(s)]
    return {s: found[s] for s in counting or subsets}


def near_best(values, within, margin=0.0):
    """Subsets whose value is within a share of the best, and a margin."""
    best = max(values.values())
    return {s: v for s, v in values.items() if v >= best - within * abs(best) - margin}
