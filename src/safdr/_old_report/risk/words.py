"""What the numbers on model risk say, in plain sentences without names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from safdr._old_report.numbers import ABSENT, counted, decimals, percent, significant
from safdr._old_report.tasks import task_of

# By convention in credit risk; below the first a population counts as stable.
PSI_SHIFTED, PSI_CHANGED = 0.1, 0.25
# More tenths outside their intervals than chance leaves (of ten, at 5 % each, three or more come
# once in 87).
MANY_OUTSIDE = 3

# What to do about probabilities that are off.
CALIBRATE = (
    "Calibrate the probabilities before you use them: scikit-learn's "
    "CalibratedClassifierCV(selector, ensemble=False)."
)

# Of percentages and numbers that would look alike.
MOST_DIGITS = 9


def part(content: Mapping[str, Any], bins: Sequence[Mapping[str, Any]]) -> str:
    """What a bin is of the rows: ties stay together, which may leave fewer, of other sizes."""
    sizes = [each["n_rows"] for each in bins]
    even = content["risk"].get("weighted") or max(sizes) - min(sizes) <= 1
    return "tenth" if len(bins) == 10 and even else "part"


def cut_off_names(content: Mapping[str, Any]) -> list[str]:
    """Write cut-offs with as many digits as tell them apart."""
    values = [each["cut_off"] for each in content["risk"]["cut_offs"]]
    by_probability = content["risk"]["calibration"] is not None
    write, least = (percent, 1) if by_probability else (significant, 3)
    for digits in range(least, MOST_DIGITS + 1):
        names = [write(value, digits) for value in values]
        if len({*names}) == len({*values}):
            break
    return names


def interval(found: Mapping[str, Any] | None, places: int = 3) -> str:
    """Write a number with its interval."""
    if found is None or found["value"] is None:
        return "not known"
    text = decimals(found["value"], places)
    if found["low"] is None:
        return text
    return f"{text} ({decimals(found['low'], places)} to {decimals(found['high'], places)})"


def ends(found: Mapping[str, Any]) -> str:
    """Write an interval of a score."""
    low, high = found["low"], found["high"]
    return ABSENT if low is None else f"{decimals(low)} to {decimals(high)}"


def measured(found: Mapping[str, Any] | None) -> str:
    """Write a quantity in its own unit with its interval."""
    if found is None:
        return "not known"
    text = significant(found["value"], 4)
    if found["low"] is None:
        return text
    return f"{text} ({significant(found['low'], 4)} to {significant(found['high'], 4)})"


def rows(content: Mapping[str, Any]) -> str:
    """Say which rows all of it is about."""
    risk = content["risk"]
    kind = "a sample of " if risk["is_sample"] else ""
    weighted = " Rows count by their weight." if risk["weighted"] else ""
    counted_all = ""
    if risk["is_sample"] and risk["discrimination"] and not risk["discrimination"]["ks_cut_off"]:
        counted_all = " AUC, Gini, KS and the curves are those of all held-out rows."
    return (
        f"All of this is about {kind}{counted(risk['n_rows'], 'row')} held out, which had no say "
        f"in the choice of features or coefficients. In brackets: 95 % intervals.{weighted}"
        f"{counted_all}"
    )


def verdict(content: Mapping[str, Any]) -> str | None:
    """Say whether probabilities can be taken at their word."""
    found = content["risk"]["calibration"]
    if found is None:
        return None
    if not found["n_outside"]:
        return f"No {part(content, found['bins'])} of the rows contradicts its prediction."
    advice = _advice(content, found) if found["n_outside"] >= MANY_OUTSIDE else ""
    return outside(content) + advice


def outside(content: Mapping[str, Any]) -> str:
    """How many parts of the rows are not as predicted, and how far."""
    found = content["risk"]["calibration"]
    bins, n = found["bins"], found["n_outside"]
    worst = max(bins, key=lambda each: abs(each["observed"] - each["expected"]))
    most = (
        f"the farthest: {percent(worst['expected'], 1)} predicted, "
        f"{percent(worst['observed'], 1)} observed"
    )
    verb, parts = "is" if n == 1 else "are", f"{part(content, bins)}s"
    return f"{n} of {len(bins)} {parts} of the rows {verb} not as predicted; {most}."


def _advice(content: Mapping[str, Any], found: Mapping[str, Any]) -> str:
    """What is wrong, as far as slope and level tell, and what helps."""
    slope, shift = found["slope"], found["shift"]
    straight = slope is not None and slope["low"] <= 1 <= slope["high"]
    level = shift is not None and shift["low"] <= 0 <= shift["high"]
    why = ""
    if straight and level:
        why = (
            " Level and slope are right, so the shape is wrong: the log-odds are no straight line "
            "in these features."
        )
    elif content["settings"].get("class_weight"):
        why = " Class weights move probabilities away from rates."
    return f"{why} {CALIBRATE}"


def drift(found: Mapping[str, Any] | None) -> str:
    """Say what a population stability index means; nothing can be said of few rows."""
    if found is None:
        return "not known"
    if found["value"] <= max(found["chance"], 0.0):
        return "no more than chance"
    if found["value"] < PSI_SHIFTED:
        return "small"
    return "a shift" if found["value"] < PSI_CHANGED else "a change"


def coefficients(content: Mapping[str, Any]) -> str:
    """Say whether the coefficients came out again."""
    found = content["risk"]["coefficients"]
    if found["reason"] is not None:
        return (
            f"{found['reason']} Standard errors of the training rows are not shown: they would be "
            "too small."
        )
    again = (
        "The model was fitted again, without a penalty, to the held-out rows, on the same "
        "features. Those rows did not choose them, so that standard errors mean what they say; "
        "those of the training rows would be too small."
    )
    outside = [each for told in found["features"] for each in _listed(told["within"])]
    n = outside.count(False)
    if not n:
        return f"{again} All coefficients of the model lie within the intervals."
    verb = "lies" if n == 1 else "lie"
    return (
        f"{again} {n} of the {len(outside)} coefficients of the model {verb} outside the interval; "
        "one in twenty does by chance."
    )


def _listed(within: Any) -> list[bool]:
    """Of one coefficient, of one for each class, or of none."""
    if within is None:
        return []
    return within if isinstance(within, list) else [within]


def expected_and_observed(content: Mapping[str, Any]) -> tuple[str, str]:
    """What parts of the rows are compared by."""
    task = task_of(content)
    if task.name == "regression":
        return "predicted mean", "observed mean"
    if len(content["target"]["classes"]) > 2:
        return "predicted accuracy", "accuracy"
    return "predicted", "observed"
