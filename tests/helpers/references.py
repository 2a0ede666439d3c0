"""Slow and obvious references: what the package computes fast, as it is defined."""

from itertools import combinations

import numpy as np
from scipy.special import log_softmax

# ---- Criterion ----------------------------------------------------------------------------------


def weighted_covariance(X, weight):
    """Return mean and population covariance of weighted rows, in extended precision."""
    rows, weight = X.astype(np.longdouble), np.asarray(weight, dtype=np.longdouble)
    mean = weight @ rows / weight.sum()
    centred = rows - mean
    return mean.astype(float), ((centred.T * weight) @ centred / weight.sum()).astype(float)


def with_shrinkage(A, shrinkage):
    """Return A with a share of its diagonal added to it."""
    return A + shrinkage * np.diag(np.diag(A))


def class_moments(X, codes, weight=None):
    """Return weight, mean and covariance of each class."""
    weight = np.ones(len(X)) if weight is None else weight
    found = [
        (weight[codes == c].sum(), *weighted_covariance(X[codes == c], weight[codes == c]))
        for c in np.unique(codes)
    ]
    weights, means, covariances = zip(*found, strict=True)
    return np.array(weights), np.array(means), np.array(covariances)


def fisher_ratio(X, codes, subset, weight=None, shrinkage=0.0):
    """Return Fisher's ratio of a subset: the mean over pairs of rows of different classes."""
    weights, means, covariances = class_moments(X[:, subset], codes, weight)
    A = with_shrinkage(covariances.sum(axis=0), shrinkage)
    pairs = list(combinations(range(len(weights)), 2))
    total = 0.0
    for a, b in pairs:
        d = means[a] - means[b]
        total += weights[a] * weights[b] * (d @ np.linalg.solve(A, d))
    return total / sum(weights[a] * weights[b] for a, b in pairs)


def r2(X, Y, subset, weight=None, shrinkage=0.0):
    """Return the mean over the outputs of the share of variance that a linear model explains."""
    weight = np.ones(len(X)) if weight is None else weight
    k = len(subset)
    _, joint = weighted_covariance(np.column_stack([X[:, subset], Y]), weight)
    A, cross = with_shrinkage(joint[:k, :k], shrinkage), joint[:k, k:]
    explained = np.sum(cross * np.linalg.solve(A, cross), axis=0)
    return float(np.mean(explained / np.diag(joint)[k:]))


def quadratic_value(A, D, subset):
    """Return trace(D_S' A_SS⁻¹ D_S)."""
    subset = list(subset)
    return float(np.sum(D[subset] * np.linalg.solve(A[np.ix_(subset, subset)], D[subset])))


def oracle_intensity(R, n_rows):
    """Return the oracle-approximating intensity of a correlation matrix, as scikit-learn has it."""
    p = len(R)
    squares, mean = np.mean(R**2), np.trace(R) / p
    return min(1.0, (squares + mean**2) / ((n_rows + 1) * (squares - mean**2 / p)))


# ---- Subsets ------------------------------------------------------------------------------------


def is_allowed(subset, always=(), never=(), groups=(), at_most_one_of=()):
    """Return True if a subset of columns satisfies the constraints, as they are defined."""
    subset = set(subset)
    return (
        subset >= set(always)
        and not subset & set(never)
        and all(subset >= set(g) or not subset & set(g) for g in groups)
        and all(len(subset & set(s)) <= 1 for s in at_most_one_of)
    )


def size_of(subset, groups=()):
    """Return the number of groups of a subset."""
    return len(subset) - sum(len(g) - 1 for g in groups if g[0] in subset)


def allowed_subsets(n_features, size, **constraints):
    """Return all allowed subsets of a size, each a sorted tuple of columns."""
    groups = constraints.get("groups", ())
    most = n_features if groups else size
    return [
        subset
        for length in range(1 if groups else size, most + 1)
        for subset in combinations(range(n_features), length)
        if is_allowed(subset, **constraints) and size_of(subset, groups) == size
    ]


def subset_values(A, D, subsets, cost=None):
    """Return the value of each subset less its cost."""
    cost = np.zeros(len(A)) if cost is None else np.asarray(cost)
    return {tuple(s): quadratic_value(A, D, s) - cost[list(s)].sum() for s in subsets}


def signed_values(A, D, subsets, signs, wrong_sign_cost=0.02):
    """Return the best quadratic values under signs, less a share for each wrong sign."""
    signs, d = np.asarray(signs), D[:, 0]
    values = np.empty(len(subsets))
    for i, subset in enumerate(subsets):
        best, n_wrong = 0.0, 0
        for length in range(1, len(subset) + 1):
            for part in map(list, combinations(subset, length)):
                w = np.linalg.solve(A[np.ix_(part, part)], d[part])
                n_wrong = int((signs[part] * w < 0).sum())  # the last part is the whole subset
                best = max(best, float(d[part] @ w)) if n_wrong == 0 else best
        values[i] = best * (1 - wrong_sign_cost * n_wrong)
    return values


def near_best(values, rtol):
    """Return the subsets whose value is within a share of the best."""
    best = max(values.values())
    return {s for s, v in values.items() if v >= best - rtol * abs(best) - 1e-12 * abs(best)}


# ---- Annealing ----------------------------------------------------------------------------------


def boltzmann(values, beta):
    """Return the probability of each state, proportional to exp(beta · value)."""
    weight = np.exp(beta * (values - values.max()))
    return weight / weight.sum()


def metropolis_sweep(subset, value, n_features, beta, n_proposals, rng):
    """Return a replica after some proposals to swap one feature."""
    now = value(subset)
    for _ in range(n_proposals):
        proposal = subset.copy()
        outside = np.setdiff1d(np.arange(n_features), subset)
        proposal[rng.integers(len(subset))] = rng.choice(outside)
        gain = value(proposal) - now
        if gain > 0 or rng.random() < np.exp(beta * gain):
            subset, now = proposal, now + gain
    return subset


def has_converged(means, tol, window):
    """Return True if the mean over the last steps is that over as many before."""
    if len(means) < 2 * window:
        return False
    now, before = np.mean(means[-window:]), np.mean(means[-2 * window : -window])
    return bool(abs(now - before) <= tol * abs(now))


def anneal(A, D, replicas, rng, *, sweeps=0.5, temperature_step=0.7, n_steps=8):
    """Return beta and the values of the replicas at the start and after each step."""
    known = {}

    def value(subset):
        key = tuple(sorted(subset.tolist()))
        if key not in known:
            known[key] = quadratic_value(A, D, key)
        return known[key]

    replicas, n_proposals = list(replicas), max(1, round(sweeps * len(A)))
    values = np.array([value(s) for s in replicas])
    step = temperature_step / values.std()
    trace = [(0.0, values)]
    for t in range(1, n_steps + 1):
        replicas = [
            metropolis_sweep(s, value, len(A), t * step, n_proposals, rng) for s in replicas
        ]
        trace.append((t * step, np.array([value(s) for s in replicas])))
    return trace


# ---- Models -------------------------------------------------------------------------------------


def standardised(X, weight=None):
    """Return columns of mean zero and variance one; constant columns stay zero."""
    weight = np.ones(len(X)) if weight is None else weight
    mean = np.array([np.average(c, weights=weight) for c in X.T.astype(np.longdouble)])
    centred = X - mean
    variance = np.array([np.average(c**2, weights=weight) for c in centred.T])
    constant = np.ptp(X, axis=0) == 0
    return np.where(constant, 0.0, centred / np.sqrt(np.where(constant, 1, variance))).astype(float)


def penalty_matrix(n_features, n_free, penalty):
    """Return the diagonal of the penalty: none on intercepts."""
    return np.tile(np.append(np.full(n_features, penalty), 0.0), n_free)


def newton(X, codes, weight=None, C=1.0):
    """Return the smallest penalised mean cross-entropy, by Newton's method with halved steps.

    C is for standardised columns. Of two classes the first has no coefficients, of more all have.
    """
    n_classes = int(codes.max()) + 1
    weight = np.ones(len(X)) if weight is None else weight
    share, penalty = weight / weight.sum(), 1.0 / (C * weight.sum())
    Z = np.column_stack([standardised(X, weight), np.ones(len(X))])
    free = np.arange(1 if n_classes == 2 else 0, n_classes)
    q = Z.shape[1]
    ridge = penalty_matrix(q - 1, len(free), penalty)

    def log_probability(theta):
        every = np.zeros((n_classes, q))
        every[free] = theta.reshape(len(free), q)
        return log_softmax(Z @ every.T, axis=1)

    def loss(theta):
        own = log_probability(theta)[np.arange(len(X)), codes]
        return -share @ own + 0.5 * ridge @ theta**2

    theta = np.zeros(len(ridge))
    now = loss(theta)
    for _ in range(500):
        p = np.exp(log_probability(theta))[:, free]
        residual = p - (codes[:, None] == free)
        gradient = ((share[:, None] * residual).T @ Z).ravel() + ridge * theta
        hessian = np.diag(ridge)
        for a in range(len(free)):
            for b in range(len(free)):
                bend = share * p[:, a] * ((a == b) - p[:, b])
                hessian[a * q : (a + 1) * q, b * q : (b + 1) * q] += (Z.T * bend) @ Z
        step = np.linalg.lstsq(hessian, gradient, rcond=1e-14)[0]
        decrement = gradient @ step
        if decrement < 1e-14 * now:
            break
        fraction = 1.0
        while (then := loss(theta - fraction * step)) > now - 1e-4 * fraction * decrement:
            fraction /= 2
            if fraction < 1e-9:
                return now
        theta, now = theta - fraction * step, then
    return now


def cross_entropy(X, codes, slopes, intercepts, weight=None):
    """Return the mean cross-entropy of a linear model, from its coefficients on raw columns."""
    logits = X @ np.atleast_2d(slopes).T + intercepts
    if logits.shape[1] == 1:
        logits = np.column_stack([np.zeros(len(X)), logits])
    own = log_softmax(logits, axis=1)[np.arange(len(X)), codes]
    return -float(np.average(own, weights=weight))
