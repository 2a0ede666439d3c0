"""Criteria and chains that the tests of compiled chains share."""

import numpy as np

from safdr._engine.annealing.swap_chains import SwapChains, random_subsets
from safdr._engine.criterion import Criterion, fisher_criterion
from safdr._engine.moments import within_moments


def random_criterion(rng, n_features, n_columns=1, condition=1.0, ridge=0.0):
    """A of unit diagonal whose eigenvalues spread over a factor of about `condition`."""
    rotation, _ = np.linalg.qr(rng.normal(size=(n_features, n_features)))
    A = rotation * np.logspace(0, -np.log10(condition), n_features) @ rotation.T
    scale = np.sqrt(np.diag(A))
    A = A / np.outer(scale, scale)
    return Criterion((A + A.T) / 2, rng.normal(size=(n_features, n_columns)), scale, ridge)


def fisher(X, y, ridge=1e-6):
    return fisher_criterion(within_moments(X, y, 2), ridge=ridge)


def make_chains(criterion, size=4, n_replicas=20, seed=0, n_proposals=50, **options):
    draw = np.random.default_rng(seed)
    start = random_subsets(criterion, size, n_replicas, draw, options.get("allowed"))
    seeds = np.random.SeedSequence(seed)
    return SwapChains(criterion, start, seed=seeds, n_proposals=n_proposals, **options)


def own_variance(A, others, j):
    """What the other members leave of the variance of feature j."""
    return A[j, j] - A[j, others] @ np.linalg.solve(A[np.ix_(others, others)], A[others, j])


def sweep_once(chains, beta, which=None):
    """One sweep; the share of accepted proposals of each replica."""
    _, acceptance = chains.sweep(beta[None], None if which is None else which[None])
    return acceptance[0]


def batch_of_each(which, n_replicas):
    return None if which is None else np.full(n_replicas, which)
