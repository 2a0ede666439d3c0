"""Sentences of a comparison."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from safdr._old_report.numbers import counted, decimals, signed
from safdr._old_report.tasks import MORE_CLASSES, REGRESSION, TWO_CLASSES
from safdr._old_report.words import setting

CHANGES = {
    "sign": "other sign",
    "larger": "much larger",
    "smaller": "much smaller",
}
IN = {"first": "only in the first", "second": "only in the second"}
ALONE = {"first": "first only", "second": "second only"}


def score_in_short(content: Mapping[str, Any]) -> str:
    """What scores are called: AUC or R², or by the name of the scorer."""
    name = content["scores"]["names"][0]
    tasks = (TWO_CLASSES, MORE_CLASSES, REGRESSION)
    return next((task.score_in_short for task in tasks if task.scoring == name), str(name))


def headline(content: Mapping[str, Any]) -> str:
    """How much the two have in common."""
    counts = content["counts"]
    if content["identical"]:
        return f"The two are the same: features ({counts['both']}), coefficients and scores."
    if content["same_features"]:
        return f"Both have the same {counted(counts['both'], 'feature')}."
    if counts["both"] == 0:
        return "They have no feature in common."
    parts = [f"{counted(counts['both'], 'feature')} in both"]
    parts += [f"{counts[place]} {IN[place]}" for place in IN if counts[place]]
    return ", ".join(parts) + "."


def held_out_verdict(content: Mapping[str, Any]) -> str | None:
    """What held-out rows say about the difference."""
    test = content["scores"]["test"]
    if test is None:
        return None
    a, b = (decimals(value, 4) for value in test["values"])
    if content["identical"]:
        return f"{a} on held-out rows in both."
    text = f"{a} and {b} on held-out rows: {signed(test['difference'])}"
    if test["within"] is None:
        return f"{text}, without an interval."
    interval = f"95 % interval {signed(test['low'])} to {signed(test['high'])}"
    if test["same_rows"]:
        interval += " at the widest (the held-out rows are the same: the true one is narrower)"
    if test["within"]:
        return f"{text}, {interval}: no difference is shown."
    better = "second" if test["difference"] > 0 else "first"
    return f"{text}, {interval}: the {better} is better."


def validation_verdict(content: Mapping[str, Any]) -> str | None:
    """What validation says about it."""
    found = content["scores"]["validation"]
    if found is None:
        return None
    pairs = zip(found["means"], found["deviations"], strict=True)
    a, b = (f"{decimals(mean, 4)} ± {decimals(std, 4)}" for mean, std in pairs)
    text = f"{a} and {b} in validation: {signed(found['difference'])}"
    if found["same_splits"]:
        text += (
            f", the second is better in {found['n_second_better']} of {found['n_splits'][0]} splits"
        )
        text += f" and ties in {found['n_ties']}" if found["n_ties"] else ""
    near = "within" if found["within"] else "more than"
    return f"{text}; {near} a standard deviation over splits."


def stability_verdict(content: Mapping[str, Any]) -> str | None:
    """How stable both are."""
    found = content["stability"]
    if found is None:
        return None
    a, b = (
        f"{decimals(index, 2)} ({decimals(ends[0], 2)} to {decimals(ends[1], 2)})"
        for index, ends in zip(found["indices"], found["intervals"], strict=True)
    )
    said = "the intervals overlap" if found["overlap"] else "the intervals don't overlap"
    return f"Stability index {a} and {b}: {said}."


def setting_pair(values: Sequence[Any]) -> list[str]:
    """The values of a setting in both; what is only on or off is called so."""
    if any(value is True for value in values):
        switched = {True: "on", False: "off", None: "off"}
        return [
            switched[value] if value is None or isinstance(value, bool) else setting(value)
            for value in values
        ]
    return [setting(value) for value in values]


def change(feature: Mapping[str, Any]) -> str:
    """What became of a feature."""
    return ALONE.get(feature["where"]) or CHANGES.get(feature["change"], "")
