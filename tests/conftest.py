"""Settings and data that several test files share."""

import gc

import numpy as np
import pytest
from hypothesis import settings

# The same examples in every run, few enough that the suite can be run all day.
settings.register_profile("safdr", deadline=None, derandomize=True, max_examples=25)
settings.load_profile("safdr")


def pytest_collection_finish():
    """Look no more for garbage among modules and tests, which stay: there are a million objects."""
    gc.collect()
    gc.freeze()


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
