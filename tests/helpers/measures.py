"""Measures of predictions, each as a function of arrays."""

import numpy as np

from safdr.measures.calibration import calibration
from safdr.measures.drift import stability_index
from safdr.measures.intervals import (
    mean_auc_with_interval,
    mean_interval,
    r2_with_interval,
    share_interval,
)
from safdr.measures.ranking import Ranked, discrimination


def _ones_or(weight, rows):
    return np.ones(len(rows)) if weight is None else np.asarray(weight, dtype=float)


def ranking(scores, positive, weight=None):
    """AUC with its interval, Gini, KS and the points of the ROC curve."""
    positive = np.asarray(positive, dtype=bool)
    return discrimination(Ranked.of(np.asarray(scores), positive, _ones_or(weight, scores)))


def auc(scores, positive, weight=None):
    """Area under the ROC curve, and the ends of its interval."""
    found = ranking(scores, positive, weight)["auc"]
    return [found[name] for name in ("value", "low", "high")]


def auc_of_classes(probabilities, codes, weight=None):
    """Mean area of each class against the rest, and the ends of its interval."""
    found = mean_auc_with_interval(probabilities, codes, _ones_or(weight, codes))
    return [found[name] for name in ("value", "low", "high")]


def r2(y, predicted, weight=None):
    """Share of the variance that is explained, and the ends of its interval."""
    found = r2_with_interval(y, predicted, weight)
    return [found[name] for name in ("value", "low", "high")]


def mean(values, weight=None):
    """A mean, and the ends of its interval."""
    found = mean_interval(values, _ones_or(weight, values))
    return [found[name] for name in ("value", "low", "high")]


def share(value, n):
    """The ends of the interval of a share of n rows."""
    return list(share_interval(value, n))


def probabilities_hold(happened, probability, weight=None):
    """Whether probabilities hold: losses, slope, intercept and rates by tenths of the rows."""
    given = _ones_or(weight, happened)
    return calibration(happened, probability, given, weighted=weight is not None)


def population_stability(values, base):
    """The population stability index of some rows against others."""
    ones = (np.ones(len(each)) for each in (values, base))
    return stability_index(values, next(ones), base, next(ones))["value"]
