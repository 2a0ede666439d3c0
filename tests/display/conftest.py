"""Searches that several test files draw; each is fitted once."""

from copy import copy
from functools import cache

import matplotlib.pyplot as plt
import pytest

from display_cases import QUICK, make, rows
from safdr import AnnealingSelectorCV


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    plt.close("all")


@pytest.fixture(scope="session")
def fits():
    """Fitted searches by number of features, each with its rows; 1 has one size only."""
    found = {}
    for key, (n_features, smallest, largest) in {
        2: (2, 1, 2),
        60: (60, 1, 30),
        1: (9, 3, 3),
    }.items():
        X, y = rows(n_features)
        search = AnnealingSelectorCV(min_features=smallest, max_features=largest, **QUICK)
        found[key] = search.fit(X, y), X, y
    return found


@pytest.fixture(scope="session")
def made(fits):
    """Displays of these searches, whose numbers are found once; each test draws a copy."""
    once = cache(lambda kind, n_features: make(kind, *fits[n_features]))
    return lambda kind, n_features: copy(once(kind, n_features))


@pytest.fixture
def search(fits):
    return fits[60][0]
