"""What is known about the choice in plain sentences, for the page and for the terminal alike."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from safdr._old_report.numbers import counted, significant
from safdr._old_report.score_tests import LEVEL_OF_TESTS
from safdr._old_report.tasks import task_of

# Constraints that rule out sets of the right size.
LIMITS = ("always_include", "never_include", "at_most_one_of")

WHAT_IS_PROVEN = (
    "This is about the criterion on the training rows: not about the model's loss, nor other rows."
)


# A feature that was not chosen is worth a word from this share of the choices on.
OFTEN = 0.25
MOST_OTHERS = 5

# By Nogueira, Sechidis and Brown: an index above 0.75 is excellent, below 0.4 poor.
STEADINESS = (
    (0.75, "Much the same features each time"),
    (0.4, "Partly the same features each time"),
    (-math.inf, "Mostly other features each time"),
)


def no_better_than_guessing(content: Mapping[str, Any]) -> bool:
    """Whether the scores leave it open that the features say nothing."""
    found = content["scores"]["guessing"]
    return found is not None and found["p_value"] > LEVEL_OF_TESTS


def score_to_quote(content: Mapping[str, Any]) -> tuple[float, str] | None:
    """Give the score to tell first, and what it is of: rows that had no say in the choice.

    Where those of validation led to expect another one, it is the lower of both.
    """
    test, validation = content["scores"]["test"], content["scores"]["validation"]
    known = {}
    if test is not None:
        known["held-out rows"] = test["value"]
    if validation is not None:
        known["validation splits"] = validation["mean"]
    if not known:
        return None
    disagree = any(each["kind"] == "held_out_differs" for each in content["warnings"])
    where = min(known, key=lambda name: known[name]) if disagree else next(iter(known))
    return known[where], where


def better_size(content: Mapping[str, Any]) -> int | None:
    """Give the size with the best mean score, where the chosen one gives up much of it."""
    if not any(each["kind"] == "small_size_costs" for each in content["warnings"]):
        return None
    return int(max(content["path"], key=lambda each: each["mean"])["size"])


def in_doubt(content: Mapping[str, Any]) -> bool:
    """Whether something says that the scores may not hold."""
    return any(each["serious"] for each in content["warnings"])


def proof(content: Mapping[str, Any]) -> str:
    """Say what was proven of the chosen set, and no more."""
    found, total = content["proof"], content["n_features"]
    if found["reason"] is not None:
        return f"Not proven: {found['reason']}"
    if content["size"]["chosen"] == total:
        return f"Nothing to prove: all {counted(total, 'feature')} were chosen."
    by = f"by {criterion(content)}"
    if found["optimal"] and found["chosen_is_best_known"]:
        return f"Proven: {by}, no other {_sets(content)} higher on the training rows."
    if found["optimal"]:
        return (
            f"Proven: {by}, the best {_of(content)} on the training rows are another set, "
            f"{_above(found)} the chosen one, which has the smallest loss of the sets found."
        )
    return _bound(content, by)


def _bound(content: Mapping[str, Any], by: str) -> str:
    """What is known without a proof."""
    found = content["proof"]
    after = f"Not proven in {found['seconds']:.3g} s: {by}, no"
    if found["upper_bound"] is None:
        return "Not proven, and no bound is known: features are too collinear to compute one."
    if found["chosen_gap"] is None:
        return (
            f"{after} {_sets(content)} above {significant(found['upper_bound'])} on the training "
            f"rows; the chosen have {significant(found['chosen_value'])}."
        )
    return (
        f"{after} other {_sets(content)} more than {_at_most(found['chosen_gap'])} higher on the "
        "training rows."
    )


def near_ties(content: Mapping[str, Any]) -> str | None:
    """Say how many sets are as good, or nearly; nothing where no other set is possible."""
    found = content["near_ties"]
    if content["size"]["chosen"] == content["n_features"]:
        return None
    if found["within"] is None:
        last, known = 100 * found["sets"][-1]["shortfall"], "" if found["exact"] else " known"
        return f"The best {counted(found['n_total'], 'set')}{known} are within {last:.3g} %."
    near, behind = f"within {100 * found['within']:.3g} %", found["chosen_shortfall"]
    if behind == 0 and found["n_total"] == 1:
        some = "comes" if found["exact"] else "is known to come"
        return f"No other set {some} {near}."
    least = "" if found["exact"] else "At least "
    if behind == 0:
        return f"{least}{_come(found['n_total'] - 1, 'other set')} {near}."
    among = "the chosen one among them" if behind <= found["within"] else "not the chosen one"
    best = "the best" if found["exact"] else "the best known"
    return f"{least}{_come(found['n_total'], 'set')} {near} of {best}, {among}."


def _come(number: int, noun: str) -> str:
    return f"{counted(number, noun)} come{'s' if number == 1 else ''}"


def resamples(content: Mapping[str, Any]) -> str:
    """Say what chose again, and how often."""
    found = content["stability"]
    what = "half-samples" if found["resample"] == "halves" else "searches with other seeds"
    return f"{found['n_resamples']} {what}"


def often_instead(content: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Features that were not chosen, but often are on other rows."""
    found = content["stability"]
    others = (each for each in found["features"] if not each["chosen"])
    return [each for each in others if each["frequency"] >= OFTEN][:MOST_OTHERS]


def stability(content: Mapping[str, Any]) -> str:
    """Say how much alike the choices are."""
    found = content["stability"]
    if found["reason"] is not None:
        return f"How stable the choice is can't be told: {found['reason']}"
    if found["index"] is None:
        return "How stable the choice is can't be told: there was nothing to choose."
    low, high = (f"{bound:.2f}" for bound in found["index_interval"])
    words = next(text for least, text in STEADINESS if found["index"] >= least)
    return (
        f"{words}: stability index {found['index']:.2f} (95 % interval {low} to {high}), where 1 "
        "is always the same features and 0 is chance."
    )


def best_replacements(content: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The best replacement of each chosen feature by the loss, the cheapest in score first."""
    best: dict[int, Mapping[str, Any]] = {}
    for each in content["substitutes"]:
        if each["replacement_index"] is not None and each["score_difference"] is not None:
            best.setdefault(each["chosen_index"], each)
    return list(best.values())


def calibration(content: Mapping[str, Any]) -> str | None:
    """Say that the slopes were shrunk, if they were."""
    slope = content["calibration_slope"]
    if slope is None or slope == 1:
        return None
    return f"Slopes were multiplied by the calibration slope of the validation splits, {slope:.2f}."


def duplicates(content: Mapping[str, Any]) -> str | None:
    """Say how many columns were left out as duplicates."""
    if not (found := content["duplicates"]):
        return None
    left_out = counted(len(found), "column")
    if len(found) == 1:
        return f"{left_out} is a duplicate of another and was left out of the search."
    return f"{left_out} are duplicates of others and were left out of the search."


def criterion(content: Mapping[str, Any]) -> str:
    """What a proof is about."""
    chosen_by = content["chosen_by"]
    name = task_of(content).criterion if chosen_by["criterion"] is None else "the criterion"
    return name + (" less cost" if chosen_by["cost"] else "")


def _sets(content: Mapping[str, Any]) -> str:
    """The sets that were compared, and that they score."""
    return f"{_of(content)} score{'s' if content['size']['chosen'] == 1 else ''}"


def _of(content: Mapping[str, Any]) -> str:
    size, total = content["size"]["chosen"], content["n_features"]
    allowed = "allowed " if any(content["settings"].get(name) for name in LIMITS) else ""
    return f"{allowed}{size} of the {total} features"


def _above(found: Mapping[str, Any]) -> str:
    """By how much the best is above the chosen set; costs may leave no share to say."""
    if (share := found["chosen_gap"]) is None:
        return "above"
    return f"{'less than 0.01' if share < 1e-4 else format(100 * share, '.2g')} % above"


def _at_most(share: float) -> str:
    """A bound, rounded up in two digits."""
    if share <= 0:
        return "0 %"
    unit = 10.0 ** (math.floor(math.log10(100 * share)) - 1)
    return f"{math.ceil(100 * share / unit - 1e-9) * unit:.6g} %"
