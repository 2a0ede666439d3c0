"""Criteria that differ in the ridge share moments and batches, and are the same to the last bit."""

import numpy as np
import pytest

from safdr._engine.criterion import batch_criteria
from safdr._estimators import measured_data, training_data
from safdr._estimators.measured_data import MeasuredData
from safdr._estimators.training_data import ClassData

RIDGES = ("auto", 1e-6, 0.3, "auto")


@pytest.fixture(params=["two classes", "three classes", "outputs"])
def make(request, rng):
    """Makes training data of the same rows, each with nothing to share yet."""
    X = rng.normal(size=(60, 9)) + rng.normal(size=(60, 1))
    X[:, 8] = 1.0
    weight = rng.exponential(size=60) + 0.1
    if request.param == "outputs":
        return lambda: MeasuredData(X, X[:, 0] + rng.normal(size=60), weight)
    codes = np.arange(60) % (2 if request.param == "two classes" else 3)
    return lambda: ClassData(X, codes, weight, codes, np.unique(codes))


def assert_same(one, other):
    assert (one.ridge, one.collinear_tol) == (other.ridge, other.collinear_tol)
    for name in ("A", "D", "scale", "redundant", "diagonal"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name))


def test_criteria_of_other_ridges_are_those_of_the_rows(make):
    shared, fresh = make(), make()
    if isinstance(shared, MeasuredData):
        fresh = MeasuredData(shared.X, shared.y, shared.sample_weight)
    for ridge in RIDGES:
        alone = fresh._made_criterion(ridge, None)
        assert_same(shared.criterion(ridge), alone)
        for share in (0.5, 0.75):
            ours = batch_criteria(shared.noise(shared.criterion(ridge)), 3, share, 9, 7)
            noise = type(shared.noise(alone))(*_rows(fresh), alone)
            theirs = batch_criteria(noise, 3, share, 9, 7)
            np.testing.assert_array_equal(ours[0], theirs[0])
            np.testing.assert_array_equal(ours[1], theirs[1])


def _rows(data):
    target = data.codes if isinstance(data, ClassData) else data._outputs
    return data.X, target, data._relative_weight


def test_earlier_criteria_stay_as_they_are(make):
    data = make()
    first = data.criterion("auto")
    before = first.A.copy(), batch_criteria(data.noise(first), 3, 0.5, 9, 7)[0].copy()
    batches = batch_criteria(data.noise(first), 3, 0.5, 9, 7)[0]
    batch_criteria(data.noise(data.criterion(2.0)), 3, 0.5, 9, 7)
    np.testing.assert_array_equal(first.A, before[0])
    np.testing.assert_array_equal(batches, before[1])


def test_another_rank_is_another_criterion(monkeypatch, make):
    data, calls = make(), []
    for module, name in ((training_data, "within_moments"), (measured_data, "joint_moments")):
        made = getattr(module, name)
        monkeypatch.setattr(module, name, lambda *args, made=made: calls.append(1) or made(*args))
    for ridge in RIDGES:
        data.criterion(ridge)
    assert len(calls) == 1
    data.criterion(1e-6, np.arange(9.0))
    data.criterion(0.1, np.arange(9.0))
    assert len(calls) == 2
