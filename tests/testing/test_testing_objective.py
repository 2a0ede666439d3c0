"""Right objectives pass the contract tests; broken ones are caught by the check meant for them."""

import math
import time

import numpy as np
import pytest
from sklearn.metrics import calinski_harabasz_score

from safdr.testing import ContractError, check_objective
from safdr.testing.objective import CHECKS

NAMES = [check.__name__ for check in CHECKS]


@pytest.fixture(scope="module")
def rows(two_classes):
    X, y = two_classes
    return X[:80, :6], y[:80]


def fisher_ratio(X, y):
    """The paper's criterion on rows; a constant column is worth nothing."""
    varying = np.flatnonzero(np.ptp(X, axis=0) > 0)
    classes = [X[y == c][:, varying] for c in (0, 1)]
    A = sum(np.atleast_2d(np.cov(rows.T, bias=True)) for rows in classes) if varying.size else 0
    d = classes[1].mean(axis=0) - classes[0].mean(axis=0)
    return float(d @ np.linalg.solve(A, d)) if varying.size else -np.inf


def weighted_distance(X, y, sample_weight=None):
    """Squared distance of the class means over the mean square."""
    weight = np.ones(len(X)) if sample_weight is None else sample_weight
    first, second = (np.average(X[y == c], axis=0, weights=weight[y == c]) for c in (0, 1))
    return float(
        np.sum((first - second) ** 2) / (1 + np.average(X**2, axis=0, weights=weight).sum())
    )


class MeanOfModel:
    """An objective with settings."""

    def __init__(self, penalty):
        self.penalty = penalty

    def __call__(self, X, y):
        return weighted_distance(X, y) - self.penalty * X.shape[1]


@pytest.mark.parametrize(
    "objective", [fisher_ratio, weighted_distance, MeanOfModel(0.1), calinski_harabasz_score]
)
def test_right_objectives_pass(rows, objective):
    check_objective(objective, *rows)


def test_weights_may_be_given(rows, rng):
    check_objective(weighted_distance, *rows, sample_weight=rng.uniform(1, 3, len(rows[1])))


def test_labels_may_be_words_and_rows_lists(rows):
    X, y = rows
    words = np.where(y == 1, "yes", "no").tolist()
    check_objective(calinski_harabasz_score, X.tolist(), words)


def test_constant_columns_of_the_rows_are_left_out(rows):
    X, y = rows

    def only_varying(Z, y):
        if Z.shape[1] > 1 and np.ptp(Z[:, -1]) == 0:
            return -math.inf
        return calinski_harabasz_score(Z, y)

    check_objective(only_varying, np.column_stack([X, np.ones(len(X))]), y, skip=("pickles",))


# ---- Broken objectives --------------------------------------------------------------------------


def one_a_column(X, y):
    return X[y == 1].mean(axis=0)


def nothing(X, y):
    X.mean()


def complex_number(X, y):
    return complex(weighted_distance(X, y))


def not_a_number(X, y):
    return math.nan


def log_of_zero(X, y):
    return -math.inf if X.shape[1] == 1 else weighted_distance(X, y)


def singular(X, y):
    return float(np.linalg.inv(np.zeros((2, 2))).sum())


def centres_in_place(X, y):
    X -= X.mean(axis=0)
    return weighted_distance(X, y)


def recodes_in_place(X, y):
    y[:] = 1 - y
    return weighted_distance(X, y)


def puts_back(X, y):
    X *= 2.0
    value = weighted_distance(X, y)
    X /= 2.0
    return value


def noisy(X, y):
    return weighted_distance(X, y) + 1e-6 * np.random.default_rng().normal()


class Counts:
    def __init__(self):
        self.calls = 0

    def __call__(self, X, y):
        self.calls += 1
        return weighted_distance(X, y) + 0.01 * self.calls


def first_counts_twice(X, y):
    return weighted_distance(X * np.where(np.arange(X.shape[1]) == 0, 2.0, 1.0), y)


def ignores_some_weights(X, y, sample_weight=None):
    weight = 2.0 if sample_weight is None else sample_weight.sum() / len(X)
    return weight * weighted_distance(X, y, sample_weight)


def takes_no_weights(X, y):
    return weighted_distance(X, y)


def standardises(X, y):
    with np.errstate(all="ignore"):
        return weighted_distance((X - X.mean(axis=0)) / X.std(axis=0), y)


def raises_on_constants(X, y):
    if (np.ptp(X, axis=0) == 0).any():
        raise ValueError("constant column")
    return weighted_distance(X, y)


def infinite_on_constants(X, y):
    return math.inf if (np.ptp(X, axis=0) == 0).any() else weighted_distance(X, y)


class HoldsALambda:
    def __init__(self):
        self.measure = lambda X, y: weighted_distance(X, y)

    def __call__(self, X, y):
        return self.measure(X, y)


class ForgetsItsScale:
    scale = 1.0

    def __init__(self):
        self.scale = 3.0

    def __getstate__(self):
        return {}

    def __call__(self, X, y):
        return self.scale * weighted_distance(X, y)


class SharesScratch:
    """Right one call after the other; another thread can change what it works on."""

    def __call__(self, X, y):
        self.scratch = X - X.mean(axis=0)
        time.sleep(1e-4)
        return weighted_distance(self.scratch, y)


# The check meant for it, and a word of what it says.
BROKEN = {
    one_a_column: ("returns_a_finite_number", "one number; got ndarray for 1 columns"),
    nothing: ("returns_a_finite_number", "got NoneType .* a forgotten return"),
    complex_number: ("returns_a_finite_number", "got complex"),
    not_a_number: ("returns_a_finite_number", "got nan"),
    log_of_zero: ("returns_a_finite_number", "got -inf for 1 columns"),
    singular: ("returns_a_finite_number", "LinAlgError: Singular matrix"),
    centres_in_place: ("leaves_arguments_alone", "X left as it was"),
    recodes_in_place: ("leaves_arguments_alone", "y left as it was"),
    puts_back: ("leaves_arguments_alone", "read-only"),
    noisy: ("same_call_same_value", "without a fixed seed"),
    Counts(): ("same_call_same_value", "the call before"),
    first_counts_twice: ("any_column_order", "in another order"),
    standardises: ("constant_column", "got nan"),
    raises_on_constants: ("constant_column", "ValueError: constant column"),
    infinite_on_constants: ("constant_column", "got inf"),
    HoldsALambda(): ("pickles", "at the top of a module"),
    ForgetsItsScale(): ("pickles", "__getstate__"),
    SharesScratch(): ("many_threads", "scratch arrays"),
}


def name_of(objective):
    return getattr(objective, "__name__", type(objective).__name__)


@pytest.mark.parametrize("broken", BROKEN, ids=name_of)
def test_a_broken_objective_is_caught_by_the_check_meant_for_it(rows, broken):
    check, says = BROKEN[broken]
    with pytest.raises(ContractError, match=f"^{check}: expected .*{says}") as caught:
        check_objective(broken, *rows)
    assert caught.value.check == check


def test_weights_forgotten_in_one_place_are_caught(rows):
    with pytest.raises(ContractError, match=r"^unit_weights_are_none: .* forgotten in another"):
        check_objective(ignores_some_weights, *rows, sample_weight=np.arange(1.0, 81.0))


def test_an_objective_that_takes_no_weights_is_caught_when_they_are_given(rows):
    with pytest.raises(ContractError, match=r"TypeError: .* argument 'sample_weight'"):
        check_objective(takes_no_weights, *rows, sample_weight=np.ones(80))


def test_each_check_catches_something():
    caught = {check for check, _ in BROKEN.values()}
    assert caught | {"unit_weights_are_none"} == set(NAMES)


def test_the_error_names_its_cause_and_is_an_assertion(rows):
    with pytest.raises(AssertionError, match="skip=") as caught:
        check_objective(singular, *rows)
    assert isinstance(caught.value.__cause__, np.linalg.LinAlgError)


@pytest.mark.parametrize("skip", [("pickles",), ["pickles"], "pickles"])
def test_a_check_can_be_left_out(rows, skip):
    check_objective(HoldsALambda(), *rows, skip=skip)


# ---- What they ask of the caller ----------------------------------------------------------------


def test_an_unknown_check_to_skip_is_refused(rows):
    with pytest.raises(ValueError, match=r"no such check: \['speed'\]. There are returns_a_fin"):
        check_objective(fisher_ratio, *rows, skip=("speed",))


def test_rows_that_can_tell_nothing_are_refused(rows):
    X, y = rows
    with pytest.raises(ValueError, match="at least 2 columns that vary; got 1"):
        check_objective(fisher_ratio, np.column_stack([X[:, 0], np.ones(80)]), y)
    with pytest.raises(ValueError, match="finite numbers"):
        check_objective(fisher_ratio, X * np.nan, y)
    with pytest.raises(ValueError, match="one entry for each of 80 rows"):
        check_objective(fisher_ratio, X, y[:-1])
    with pytest.raises(ValueError, match="one entry for each of 80 rows"):
        check_objective(weighted_distance, X, y, sample_weight=np.ones(79))


def test_all_checks_are_listed_in_the_docstring():
    assert all(f"`{name}`" in check_objective.__doc__ for name in NAMES)
