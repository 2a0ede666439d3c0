"""Two results become one dict: what is in and out, what changed, and whether scores differ."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from math import hypot
from typing import Any

from safdr._old_report.comparison.remarks import remarks

SCHEMA_VERSION = 1

# An effect, per standard deviation, that is so many times another has changed much.
MUCH = 1.5

# What two results that are the same have in common; when they were made is no part of it.
OF_THE_ANSWER = ("task", "target", "features", "scores")
# What decides which rows are held out, with the number of rows.
OF_THE_ROWS = (*("random_state", "test_size", "split_by", "group_by", "missing", "na", "sample"),)

Result = Mapping[str, Any]


def compare(first: Result, second: Result, names: Sequence[str]) -> dict[str, Any]:
    """Compare two results, as `SelectionReport.to_dict` gives them, called by these names."""
    both = (first, second)
    features = _features(first, second)
    where = [each["where"] for each in features]
    return {
        "schema_version": SCHEMA_VERSION,
        "runs": [_run(result, name) for result, name in zip(both, names, strict=True)],
        "remarks": remarks(first, second),
        "counts": {place: _distinct(features, place) for place in ("both", "first", "second")},
        "same_features": set(where) <= {"both"},
        "identical": all(first[part] == second[part] for part in OF_THE_ANSWER),
        "features": features,
        "scores": {
            "names": [result["scores"]["scoring"] for result in both],
            "validation": _validation(first, second),
            "test": _held_out(first, second),
        },
        "stability": _stability(first, second),
        "settings": _settings(first, second),
    }


def _run(result: Result, name: str) -> dict[str, Any]:
    """What a result is of."""
    target = result["target"]
    return {
        "file": name,
        "title": result["title"],
        "task": result["task"],
        "target": target["name"],
        "classes": target["classes"],
        "size": result["size"]["chosen"],
        "n_features": result["n_features"],
        "rows": {part: result["rows"][part] for part in ("train", "test")},
        "seed": result.get("seed"),
        "created": result["created"],
        "safdr": result["versions"].get("safdr"),
        "data_fingerprint": result["data_fingerprint"],
    }


# ---- Features -----------------------------------------------------------------------------------


def _features(first: Result, second: Result) -> list[dict[str, Any]]:
    """The columns of both models, those in both first, and the strongest first."""
    known = [_by_name(result["features"]) for result in (first, second)]
    often = [_frequencies(result) for result in (first, second)]
    # Where classes are others, or in another order, signs mean something else.
    comparable = first["target"]["classes"] == second["target"]["classes"]
    rows = []
    for key in dict.fromkeys([*known[0], *known[1]]):
        pair = [of_one.get(key) for of_one in known]
        here = [each is not None for each in pair]
        there: Result = next(each for each in pair if each is not None)
        name, group = there["name"], there["group"]
        rows.append(
            {
                "name": name,
                "group": group,
                "where": "both" if all(here) else "first" if here[0] else "second",
                "effects": [None if each is None else _effect(each) for each in pair],
                "coefficients": [None if each is None else each["coefficient"] for each in pair],
                "change": _change(pair) if all(here) and comparable else None,
                "frequencies": [shares.get(group or name) for shares in often],
            }
        )
    order = ("both", "first", "second")
    return sorted(rows, key=lambda row: (order.index(row["where"]), -_largest(row["effects"])))


def _by_name(features: Sequence[Result]) -> dict[tuple[str, int], Result]:
    """Features by name; of several with the same, the first goes with the first."""
    found: dict[tuple[str, int], Result] = {}
    for each in features:
        number = 0
        while (each["name"], number) in found:
            number += 1
        found[each["name"], number] = each
    return found


def _frequencies(result: Result) -> dict[str, float]:
    """In which share of the half-samples each feature was chosen, where that was looked into."""
    found = result.get("stability") or {}
    return {each["name"]: each["frequency"] for each in found.get("features") or []}


def _effect(feature: Result) -> float | None:
    """Per standard deviation; of several classes how large, without a sign."""
    one: float | None = feature["standardised_coefficient"]
    several: float | None = feature["strength"]
    return several if one is None else one


def _largest(effects: Sequence[float | None]) -> float:
    return max((abs(each) for each in effects if each is not None), default=0.0)


def _change(pair: Sequence[Any]) -> str | None:
    """Whether signs differ, of any class, or the size does, by much."""
    signs = [each["standardised_coefficients"] or [_effect(each)] for each in pair]
    if len(signs[0]) == len(signs[1]) and any(
        a is not None and b is not None and a * b < 0 for a, b in zip(*signs, strict=True)
    ):
        return "sign"
    first, second = (None if (e := _effect(each)) is None else abs(e) for each in pair)
    if first is None or second is None:
        return None
    if second > MUCH * first:
        return "larger"
    return "smaller" if first > MUCH * second else None


def _distinct(features: Sequence[Result], where: str) -> int:
    """Features in a place; the columns of a group are one."""
    return len({each["group"] or each["name"] for each in features if each["where"] == where})


# ---- Scores -------------------------------------------------------------------------------------


def _held_out(first: Result, second: Result) -> dict[str, Any] | None:
    """Scores on rows held out, and a 95 % interval for their difference.

    From the two intervals (Newcombe's square-and-add), as if the rows were others: where they are
    the same the true one is narrower.
    """
    pair = [result["scores"]["test"] for result in (first, second)]
    if None in pair or not _same_question(first, second):
        return None
    (a, b), bounds = [each["value"] for each in pair], [(e["low"], e["high"]) for e in pair]
    difference = b - a
    low = high = within = None
    if all(end is not None for ends in bounds for end in ends):
        (low_a, high_a), (low_b, high_b) = bounds
        low = difference - hypot(b - low_b, high_a - a)
        high = difference + hypot(high_b - b, a - low_a)
        within = low <= 0 <= high
    return {
        "values": [a, b],
        "intervals": [[*ends] for ends in bounds],
        "difference": difference,
        "low": low,
        "high": high,
        "within": within,
        "same_rows": _same_held_out(first, second),
    }


def _same_held_out(first: Result, second: Result) -> bool:
    """Whether the same rows were held out, as far as data, numbers of rows and settings tell."""
    asked = [[result["settings"].get(name) for name in OF_THE_ROWS] for result in (first, second)]
    files = [result["settings"].get("file") for result in (first, second)]
    same_data = first["data_fingerprint"] == second["data_fingerprint"]
    same_rows = all(first["rows"][part] == second["rows"][part] for part in ("train", "test"))
    known = same_data or (files[0] == files[1] and files[0] is not None)
    return known and same_rows and asked[0] == asked[1] and asked[0][0] is not None


def _validation(first: Result, second: Result) -> dict[str, Any] | None:
    """Mean scores over splits; where the splits are the same, pair by pair."""
    pair = [result["scores"]["validation"] for result in (first, second)]
    if None in pair or not _same_question(first, second):
        return None
    difference = pair[1]["mean"] - pair[0]["mean"]
    splits = [each["splits"] for each in pair]
    n_better = n_ties = None
    if _same_splits(first, second) and len(splits[0]) == len(splits[1]):
        n_better = sum(b > a for a, b in zip(*splits, strict=True))
        n_ties = sum(b == a for a, b in zip(*splits, strict=True))
    return {
        "means": [each["mean"] for each in pair],
        "deviations": [each["std"] for each in pair],
        "n_splits": [len(each) for each in splits],
        "difference": difference,
        "within": abs(difference) <= max(each["std"] for each in pair),
        "same_splits": n_better is not None,
        "n_second_better": n_better,
        "n_ties": n_ties,
    }


def _same_question(first: Result, second: Result) -> bool:
    """Whether scores are of the same kind, of predictions of the same target."""
    pair = [
        (result["task"], result["target"]["name"], result["scores"]["scoring"])
        for result in (first, second)
    ]
    return pair[0] == pair[1]


def _same_splits(first: Result, second: Result) -> bool:
    """Whether the rows, the splitter and the seed are the same."""
    of_splits = ("cv", "random_state", "group_by", "split_by")
    asked = [[result["settings"].get(name) for name in of_splits] for result in (first, second)]
    same_rows = first["data_fingerprint"] == second["data_fingerprint"]
    return same_rows and asked[0] == asked[1] and asked[0][1] is not None


# ---- The rest -----------------------------------------------------------------------------------


def _stability(first: Result, second: Result) -> dict[str, Any] | None:
    """Indices of both, where both were looked into, and whether their intervals overlap."""
    pair = [result.get("stability") for result in (first, second)]
    if any(each is None or each.get("index") is None for each in pair):
        return None
    intervals = [each["index_interval"] for each in pair if each is not None]
    known = all(end is not None for ends in intervals for end in ends)
    return {
        "indices": [each["index"] for each in pair if each is not None],
        "intervals": intervals,
        "n_resamples": [each["n_resamples"] for each in pair if each is not None],
        "overlap": known and all(a[0] <= b[1] for a, b in pairwise([*intervals, intervals[0]])),
    }


def _settings(first: Result, second: Result) -> list[dict[str, Any]]:
    """What was asked for differently."""
    names = dict.fromkeys([*first["settings"], *second["settings"]])
    pairs = {name: [result["settings"].get(name) for result in (first, second)] for name in names}
    return [{"name": name, "values": pair} for name, pair in pairs.items() if pair[0] != pair[1]]
