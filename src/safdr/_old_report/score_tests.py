"""Whether scores say more than guessing, and whether those of held-out rows are as expected."""

from __future__ import annotations

from collections.abc import Mapping
from math import inf, sqrt
from typing import Any

from scipy.stats import norm, t

from safdr._old_measures.intervals import LEVEL

# How rarely chance may do what is claimed not to be chance.
LEVEL_OF_TESTS = 0.01
# How rarely scores that do agree may be called different; below the other level, so for sure.
LEVEL_OF_AGREEMENT = 0.05
# Of p-values that are added up.
SMALLEST = 1e-12


def describe_tests(
    test: Mapping[str, Any] | None, validation: Mapping[str, Any] | None, chance: float | None
) -> dict[str, Any]:
    """Both tests; what guessing scores is not known of every score."""
    guessing = None if chance is None else describe_guessing(test, validation, chance)
    return {"agreement": describe_agreement(test, validation), "guessing": guessing}


def describe_agreement(
    test: Mapping[str, Any] | None, validation: Mapping[str, Any] | None
) -> dict[str, Any] | None:
    """Test whether the held-out score is one that validation led to expect.

    Welch's, with the error of the held-out score and that of the mean over the splits. None where
    there is no error: of a score without an interval, and one split.
    """
    if test is None or validation is None:
        return None
    difference = test["value"] - validation["mean"]
    own, mean = _error(test, difference), _error_of_mean(validation)
    # Where it has no error of its own: a split, of about as many rows, has the same.
    held_out = _spread(validation) if own is None else own
    if (n := len(validation["splits"])) == 1:
        if own is None:
            return None
        mean = held_out
    both = sqrt(held_out**2 + mean**2)
    if both == 0:
        return {"difference": difference, "standard_error": 0.0, "p_value": float(difference == 0)}
    unsure = (mean**4 + (held_out**4 if own is None else 0.0)) / max(1, n - 1)
    freedom = both**4 / unsure if unsure and n > 1 else inf
    p_value = 2 * float(t.sf(abs(difference) / both, freedom))
    return {"difference": difference, "standard_error": both, "p_value": p_value}


def describe_guessing(
    test: Mapping[str, Any] | None, validation: Mapping[str, Any] | None, chance: float
) -> dict[str, Any] | None:
    """Test whether a model does better than guessing, by both of its scores.

    Each has a p-value of its own; both count alike (Stouffer), or a good score on a few rows that
    are held out would make up for many that speak against it.
    """
    both = (_beyond(test, chance), _mean_beyond(validation, chance))
    found = [p for p in both if p is not None]
    if not found:
        return None
    # Neither may settle it alone, whatever the other says.
    total = sum(norm.isf(min(max(p, SMALLEST), 1 - SMALLEST)) for p in found) / sqrt(len(found))
    return {"score": chance, "p_value": float(norm.sf(total))}


def _beyond(test: Mapping[str, Any] | None, chance: float) -> float | None:
    """How often guessing scores as high on the held-out rows."""
    if test is None or not (error := _error(test, test["value"] - chance)):
        return None
    return float(norm.sf((test["value"] - chance) / error))


def _mean_beyond(validation: Mapping[str, Any] | None, chance: float) -> float | None:
    """How often it does over the splits."""
    if validation is None or (n := len(validation["splits"])) == 1:
        return None
    error, above = _error_of_mean(validation), validation["mean"] - chance
    if error == 0:
        return float(above <= 0)
    return float(t.sf(above / error, n - 1))


def _error_of_mean(validation: Mapping[str, Any]) -> float:
    """The standard error of the mean over splits that share rows (Nadeau and Bengio).

    Their variance counts 1/n_splits + rows to test on / rows to learn from times. That ratio is 1/3
    by default, and of k folds 1/(k - 1).
    """
    n = len(validation["splits"])
    return _spread(validation) * sqrt(1 / n + max(1 / 3, 1 / max(1, n - 1)))


def _spread(validation: Mapping[str, Any]) -> float:
    """The standard deviation of a score over splits (divisor n - 1)."""
    n = len(validation["splits"])
    return float(validation["std"]) * sqrt(n / max(1, n - 1))


def _error(test: Mapping[str, Any], difference: float) -> float | None:
    """The standard error towards the other score, out of the interval."""
    bound = test["low"] if difference > 0 else test["high"]
    if bound is None:
        return None
    return abs(float(test["value"] - bound)) / float(norm.ppf((1 + LEVEL) / 2))
