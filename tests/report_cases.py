"""Rows, settings and areas that tests of the report share."""

import numpy as np
from sklearn.datasets import make_classification

from safdr import Annealing
from safdr._old_measures.intervals import interval_of_counts

QUICK = {"annealing": Annealing(n_replicas=12, max_steps=15), "random_state": 0}


def rows(n_features, n_informative=4):
    """Two classes, told apart by the first features, in random order."""
    X, y = make_classification(
        300,
        n_features,
        n_informative=n_informative,
        n_redundant=0,
        n_clusters_per_class=1,
        class_sep=0.6,
        flip_y=0.1,
        shuffle=False,
        random_state=3,
    )
    order = np.random.default_rng(9).permutation(len(y))
    return X[order], y[order]


def auc_with_interval(positive, negative):
    """Area under the ROC curve of some scores with its interval, each score a bin of its own."""
    scores, place = np.unique(np.concatenate([negative, positive]), return_inverse=True)
    codes = np.repeat([0, 1], [len(negative), len(positive)])
    counts = np.bincount(codes * len(scores) + place, minlength=2 * len(scores))
    return interval_of_counts(counts.reshape(2, -1).astype(np.float64))
