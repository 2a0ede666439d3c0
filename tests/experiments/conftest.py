"""Tiny data, and rows with known numbers."""

import numpy as np
import pytest

from experiments.task_data import TaskData


@pytest.fixture(scope="session")
def toy():
    """Eight features of which the third and the sixth tell the class."""
    rng = np.random.default_rng(3)
    X = rng.normal(size=(240, 8))
    y = (X[:, 2] - X[:, 5] + rng.logistic(size=240) > 0).astype(np.int64)
    return TaskData(5.0 + 3.0 * X, y, tuple("abcdefgh"), "toy")


@pytest.fixture
def make_row():
    """A row with given k* and AUC for both rules."""

    def make(data, method, repeat, k, auc, /, *, seconds=(1.0, 3.0), gain=0.0, **settings):
        return {
            "data": data,
            "method": method,
            "repeat": repeat,
            "settings": {
                "protocol": {"max_features": 3},
                "method": {"method": method},
                "data": {"sha256": "0"},
                **settings,
            },
            "grid": [1, 2, 3],
            "folds": {
                "n_features": [[1, 2, 3], [1, 2, 4]],
                "train_cross_entropy": [[0.6, 0.5, 0.4], [0.4, 0.3, 0.2]],
                "train_auc": [[0.7, 0.8, 0.9], [0.7, 0.8, 0.9]],
                "validation_auc": [[0.6, 0.8 + gain, 0.8], [0.8, 0.8, 0.8 + gain]],
                "seconds": list(seconds),
            },
            # The refit lets in other numbers of features than the folds do, as a Lasso may.
            "refit": {
                "subsets": [[0], [0, 1], [0, 1, 2, 4, 5]],
                "test_auc": [auc - 0.1, auc, auc + 0.1],
            },
            "chosen": {
                "one_sd": {"index": 1, "k": k, "test_auc": auc},
                "one_se": {"index": 2, "k": k + 2, "test_auc": auc + 0.01},
            },
            "seconds": 1.0,
            "environment": {"safdr": "0.1.0", "engine": "abc"},
        }

    return make
