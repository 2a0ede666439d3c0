"""Searches that several test files draw; each is fitted once."""

import matplotlib.pyplot as plt
import pytest

from display_cases import QUICK, rows
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


@pytest.fixture
def search(fits):
    return fits[60][0]
