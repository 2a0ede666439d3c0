"""Settings and data that several test files share."""

import gc

import numpy as np
import pytest
from hypothesis import settings

# The same examples in every run, few enough that the suite can be run all day.
settings.register_profile("safdr", deadline=None, derandomize=True, max_examples=25)
settings.load_profile("safdr")


# Modules and tests stay: a million objects among which there is no garbage to look for.
gc.disable()


def pytest_collection_finish():
    """Look for garbage among what tests make, and seldom: half a million objects come at once."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 20)
    gc.enable()


def pytest_unconfigure():
    """Give back what stayed, so that libraries don't call it leaked."""
    gc.unfreeze()


@pytest.fixture
def rng():
    """A generator with a fixed seed, new for each test."""
    return np.random.default_rng(2024)


@pytest.fixture(scope="session")
def two_classes():
    """Twelve correlated features of which five tell the classes apart, without separating them."""
    rng = np.random.default_rng(7)
    y = np.arange(240) % 2
    X = rng.normal(size=(240, 12)) @ rng.normal(size=(12, 12)) / 3 + rng.normal(size=(240, 12))
    X[:, :5] += 0.5 * y[:, None] * np.array([1.0, -0.8, 0.6, 0.5, -0.4])
    return X, y
