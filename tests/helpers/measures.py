"""The measures of predictions as plain numbers: the only door of the tests to `safdr.measures`."""

from typing import NamedTuple

import numpy as np

from safdr.measures import calibration as _calibration
from safdr.measures import drift as _drift
from safdr.measures import intervals as _intervals
from safdr.measures import ranking as _ranking


class Estimate(NamedTuple):
    """A value with its interval of 95 %."""

    value: float
    low: float
    high: float


def _estimate(found):
    return Estimate(found["value"], found["low"], found["high"])


def _ones(weight, values):
    return np.ones(len(values)) if weight is None else np.asarray(weight, dtype=float)


def psi(values, base, weight=None):
    """Population stability index of values against those of a base, by deciles of the base."""
    return _drift.stability_index(values, _ones(weight, values), base, np.ones(len(base)))["value"]


def auc(positive, scores, weight=None):
    """Area under the ROC curve of two classes."""
    ranked = _ranking.Ranked.of(scores, positive, _ones(weight, scores))
    return _estimate(_ranking.discrimination(ranked)["auc"])


def ks(positive, scores, weight=None):
    """Largest distance between the distributions of the scores of both classes."""
    ranked = _ranking.Ranked.of(scores, positive, _ones(weight, scores))
    return _ranking.discrimination(ranked)["ks"]


def mean_auc(codes, scores, weight=None):
    """Mean area of each class against the rest."""
    return _estimate(_intervals.mean_auc_with_interval(scores, codes, weight))


def r2(y, predicted, weight=None):
    """Explained share of the variance."""
    return _estimate(_intervals.r2_with_interval(y, predicted, weight))


def share(value, n):
    """Interval of a share of n rows."""
    return Estimate(value, *_intervals.share_interval(value, n))


def calibration(positive, probability, weight=None):
    """Brier score, log-loss, calibration slope and calibration intercept."""
    found = _calibration.calibration(
        positive, probability, _ones(weight, probability), weighted=weight is not None
    )
    slope, intercept = _estimate(found["slope"]), _estimate(found["shift"])
    return found["brier"], found["log_loss"], slope, intercept
