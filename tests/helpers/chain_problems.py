"""Problems of each kind of chains, so small that all their subsets can be enumerated."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pytest

from helpers import chains, data, engine, references


@dataclass(frozen=True)
class Problem:
    """Chains of one kind on a problem whose subsets can be enumerated."""

    build: Any
    n_features: int
    size: int
    limits: Any
    costly: bool = False
    batched: bool = True
    n_columns: int = 1
    forget: int = 150  # proposals after which the start is forgotten

    @cached_property
    def matrices(self):
        rng = np.random.default_rng([self.n_features, self.size])
        return [data.quadratic(rng, self.n_features, self.n_columns, 10.0) for _ in range(3)]

    @cached_property
    def cost(self):
        rng = np.random.default_rng(4)
        return 2.0 * rng.random(self.n_features) if self.costly else None

    @cached_property
    def allowed(self):
        return engine.constraints(self.n_features, **self.limits)

    @cached_property
    def states(self):
        return references.allowed_subsets(self.n_features, self.size, **self.limits)

    def values(self, matrices):
        found = references.subset_values(*matrices, self.states, self.cost)
        return np.array([found[s] for s in self.states])

    @cached_property
    def all_rows(self):
        return self.values(self.matrices[0])

    @property
    def beta(self):
        return 1.0 / self.all_rows.std()

    def make(self, starts, seed=0, n_proposals=20, batches=False, **how):
        how |= {"allowed": self.allowed}
        if self.costly:
            how |= {"cost": self.cost}
        if batches:
            how |= {"batches": self.matrices[1:]}
        criterion = engine.quadratic_criterion(*self.matrices[0])
        return self.build(criterion, starts, self.size, seed, n_proposals, **how)

    def starts(self, n, seed=0):
        numbers = np.random.default_rng([seed, 7]).integers(len(self.states), size=n)
        return [self.states[i] for i in numbers]

    def where(self, replicas):
        """Return the number of each replica's state; an error if it is none."""
        place = {s: i for i, s in enumerate(self.states)}
        return np.array([place[s] for s in engine.members(replicas.subsets)])


class TableFunction(Problem):
    """A custom function: any number for each subset."""

    def values(self, matrices):
        return np.array([self.table[s] for s in self.states])

    @cached_property
    def table(self):
        values = np.random.default_rng(8).normal(size=len(self.states)).tolist()
        return dict(zip(self.states, values, strict=True))

    def make(self, starts, seed=0, n_proposals=20, batches=False):
        assert not batches
        value = self.table.__getitem__
        return self.build(value, starts, self.size, seed, n_proposals, allowed=self.allowed)


class SignedProblem(Problem):
    """The criterion under signs, by non-negative least squares."""

    signs = (1.0, -1.0, 0.0, 1.0, 1.0, -1.0, 0.0)

    @cached_property
    def allowed(self):
        return engine.constraints(self.n_features, signs=self.signs, **self.limits)

    def values(self, matrices):
        return references.signed_values(*matrices, self.states, self.signs)


LIMITS = {"always": [2], "never": [5], "at_most_one_of": [[0, 1, 3]]}
GROUPS = {"groups": [[1, 4, 5], [0, 8]], "never": [7], "at_most_one_of": [[2, 3]]}
MOST = {"always": [1], "never": [4]}

PROBLEMS = {
    "swap": Problem(chains.compiled, 6, 3, {}, n_columns=2),
    "swap, all but one": Problem(chains.compiled, 7, 5, {"never": [2]}),
    "swap, most": Problem(chains.compiled, 9, 6, MOST, costly=True, n_columns=2),
    "swap with limits and cost": Problem(chains.compiled, 9, 4, LIMITS, costly=True),
    "groups": Problem(chains.compiled, 9, 3, GROUPS, costly=True),
    "groups of one length": Problem(
        chains.compiled, 8, 2, {"groups": [[0, 1], [2, 3], [4, 5], [6, 7]]}, n_columns=2
    ),
    "function": TableFunction(chains.functions, 6, 3, {"never": [4]}, batched=False),
    "function with limits": TableFunction(chains.functions, 9, 3, GROUPS, batched=False),
    "signs": SignedProblem(chains.signed, 7, 3, {"always": [2]}, batched=False),
    "device": Problem(chains.device, 7, 3, MOST, costly=True, forget=40),
}


def each(condition=lambda problem: True):
    """Parametrise a test over the problems that satisfy a condition."""
    some = {name: problem for name, problem in PROBLEMS.items() if condition(problem)}
    return pytest.mark.parametrize("problem", some.values(), ids=some.keys())


LARGE = {
    "swap": Problem(chains.compiled, 40, 9, {}),
    "limits": Problem(chains.compiled, 40, 9, LIMITS, costly=True),
    "groups": Problem(chains.compiled, 40, 9, GROUPS, costly=True),
}


def sweep(replicas, beta, batch=0):
    """Sweep once at one temperature, or one for each replica; return values and acceptance."""
    n = len(replicas.values)
    beta = np.broadcast_to(np.asarray(beta, float), (1, n)).copy()
    values, accepted = replicas.sweep(beta, np.full((1, n), batch))
    return values[0], accepted[0]
