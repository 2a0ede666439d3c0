"""Right criteria pass the contract tests; broken ones are caught by the check meant for them."""

import dataclasses

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer

from safdr._engine.criterion import Criterion, fisher_criterion
from safdr._engine.moments import within_moments
from safdr.testing import ContractError, check_criterion
from safdr.testing.criterion import CHECKS

NAMES = [check.__name__ for check in CHECKS]


def criterion_of(n_features=7, n_columns=2):
    rng = np.random.default_rng(4)
    A = np.corrcoef(rng.normal(size=(60, n_features)).T)
    return Criterion(A, rng.normal(size=(n_features, n_columns)), np.ones(n_features), 0.0)


def test_the_fisher_criterion_passes_on_breast_cancer():
    X, y = load_breast_cancer(return_X_y=True)
    check_criterion(fisher_criterion(within_moments(X, y, 2), ridge=1e-6))


@pytest.mark.parametrize("ridge", [1e-9, 1e-6, 1e-2])
def test_the_fisher_criterion_passes_on_awkward_features(two_classes, ridge):
    X, y = two_classes
    X = np.column_stack([X, 3.0 - 2.0 * X[:, :3], np.ones(len(X)), 1.0 * y, 5.0 * y])
    check_criterion(fisher_criterion(within_moments(X, y, 2), ridge=ridge))


def test_more_features_than_rows_pass(rng):
    X, y = rng.normal(size=(30, 60)), np.arange(30) % 2
    check_criterion(fisher_criterion(within_moments(X, y, 2), ridge=1e-6))


@pytest.mark.parametrize("n_columns", [1, 2, 5])
@pytest.mark.parametrize("n_features", [1, 2, 7])
def test_any_number_of_features_and_columns_passes(n_features, n_columns):
    A = np.eye(n_features) + 0.1
    check_criterion(Criterion(A, np.ones((n_features, n_columns)), np.ones(n_features), 0.0))


# ---- Broken criteria ----------------------------------------------------------------------------


def changed(**arrays):
    return dataclasses.replace(criterion_of(), **arrays)


def with_entry(name, value, *index):
    array = getattr(criterion_of(), name).copy()
    array[index] = value
    return changed(**{name: array})


def with_a_copy():
    order = np.array([0, 1, 2, 3, 4, 5, 0])
    return changed(A=np.ascontiguousarray(criterion_of().A[np.ix_(order, order)]))


class Penalised(Criterion):
    def value(self, subset):
        return super().value(subset) - 100.0 * len(subset)


class FirstCounts(Criterion):
    def value(self, subset):
        return super().value(subset) + self.D[subset[0], 0]


class Shifted(Criterion):
    def value(self, subset):
        return 1.5 * super().value(subset)


class ForgetsD(Criterion):
    def __getstate__(self):
        return {**self.__dict__, "D": 2 * self.D}


def as_kind(kind):
    return kind(*(getattr(criterion_of(), name) for name in ("A", "D", "scale", "ridge")))


# The check meant for it, and a word of what it says.
BROKEN = {
    "vector D": (changed(D=np.ones(7)), "shapes", "one column is meant"),
    "short D": (changed(D=np.ones((6, 1))), "shapes", r"got .*\(6, 1\)"),
    "wide A": (changed(A=np.ones((7, 8))), "shapes", r"got .*\(7, 8\)"),
    "float32 A": (changed(A=np.eye(7, dtype=np.float32)), "shapes", "got float32"),
    "turned D": (changed(D=np.ones((2, 7)).T), "shapes", "not C-contiguous"),
    "one scale": (changed(scale=np.ones(1)), "shapes", "scale"),
    "redundant 7": (changed(redundant=np.array([7])), "shapes", "from 0 to 6"),
    "NaN in A": (with_entry("A", np.nan, 2, 2), "finite", "in A"),
    "infinity in D": (with_entry("D", np.inf, 3, 0), "finite", "in D"),
    "one triangle": (changed(A=np.tril(criterion_of().A)), "symmetric", r"A\[0, 1\] = "),
    "copies": (with_a_copy(), "positive_definite", "add a ridge"),
    "zero variance": (with_entry("A", 0.0, 4, 4), "positive_definite", r"A\[4, 4\] = 0"),
    "indefinite": (changed(A=np.eye(7) - 0.5), "positive_definite", "eigenvalue of -5"),
    "first counts": (as_kind(FirstCounts), "any_order", "treats members apart"),
    "shifted": (as_kind(Shifted), "value_is_the_core_s", "the core knows A and D alone"),
    "penalised": (as_kind(Penalised), "value_is_the_core_s", "adds something"),
    "forgets D": (as_kind(ForgetsD), "pickles", "__getstate__"),
}


@pytest.mark.parametrize("broken", BROKEN)
def test_a_broken_criterion_is_caught_by_the_check_meant_for_it(broken):
    criterion, check, says = BROKEN[broken]
    with pytest.raises(ContractError, match=f"^{check}: expected .*{says}") as caught:
        check_criterion(criterion)
    assert caught.value.check == check


def test_a_penalty_makes_the_value_fall():
    with pytest.raises(ContractError, match=r"^never_falls: .* with feature [0-6]"):
        check_criterion(as_kind(Penalised), skip=("value_is_the_core_s",))


def test_each_check_catches_something():
    assert {check for _, check, _ in BROKEN.values()} | {"never_falls"} == set(NAMES)


def test_all_checks_are_listed_in_the_docstring():
    assert all(f"`{name}`" in check_criterion.__doc__ for name in NAMES)
