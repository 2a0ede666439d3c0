"""What we ship keeps the contracts that we ship: criteria of all tasks, and chains over groups."""

import numpy as np
import pytest

from safdr._engine.annealing.function_chains import FunctionChains
from safdr._engine.annealing.quadratic_function import QuadraticFunction
from safdr._engine.constraints import AllowedSubsets
from safdr._engine.criterion import fisher_criterion, r2_criterion
from safdr._engine.moments import joint_moments, within_moments
from safdr.testing import check_chains, check_criterion

N_FEATURES = 7


def rows(seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(90, N_FEATURES)) @ rng.normal(size=(N_FEATURES, N_FEATURES))
    return X + 5, rng


def three_classes():
    X, _ = rows()
    codes = np.argsort(np.argsort(X[:, 0] + X[:, 3])) // 30
    return fisher_criterion(within_moments(X, codes, 3), ridge=1e-6)


def two_outputs():
    X, rng = rows()
    moments = joint_moments(X, X[:, [0, 2]] + rng.normal(size=(90, 2)))
    return r2_criterion(moments, ridge=1e-6)


@pytest.mark.parametrize("make", [three_classes, two_outputs])
def test_criteria_of_all_tasks(make):
    check_criterion(make())


@pytest.mark.parametrize(
    "how",
    [
        {"groups": [[0, 1], [2, 3, 4]]},
        {"groups": [[0, 1], [2, 3]], "count": "columns"},
        {"groups": [[0, 1]], "at_most_one_of": [[2, 3]], "always_include": [6]},
        {"at_most_one_of": [[0, 1, 2]], "never_include": [5]},
    ],
)
def test_chains_over_groups(how):
    constraints = AllowedSubsets.make(N_FEATURES, **how)
    criterion, size = three_classes(), 3
    evaluate = QuadraticFunction(criterion, constraints=constraints)

    def make_chains(subsets, seed):
        selections = np.array([constraints.selection_of(s[s >= 0]) for s in subsets])
        return FunctionChains(
            evaluate, selections, constraints=constraints, size=size, seed=seed, n_proposals=4
        )

    states = [constraints.columns_of(row) for row in constraints.every(size, 200)]
    check_chains(make_chains, criterion.value, states)
