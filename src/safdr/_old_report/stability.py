"""What other rows choose: how often each feature, under the names of the report."""

from __future__ import annotations

from typing import Any

from safdr.result import FeatureGroups, Stability


def describe_stability(
    stability: Stability | None, groups: FeatureGroups, names: list[str]
) -> dict[str, Any] | None:
    """Give the counts of all features that were ever chosen, the most frequent first.

    The index of a group is that of its first column.
    """
    if stability is None:
        return None
    _check_features(stability, groups)
    titles = groups.names(names)
    place = {name: i for i, name in enumerate(stability.names)}
    first_column = [int(columns[0]) for columns in groups.columns]
    found = stability.to_dict()
    features = [
        {**each, "name": titles[i], "index": first_column[i]}
        for i, each in enumerate(found["features"])
        if each["count"] or each["chosen"]
    ]
    stand_ins = [
        {
            **each,
            **{side: titles[place[each[side]]] for side in ("first", "second")},
            "indices": [first_column[place[each[side]]] for side in ("first", "second")],
        }
        for each in found["stand_ins"]
    ]
    features.sort(key=lambda each: (-each["count"], not each["chosen"]))
    return {**found, "reason": None, "features": features, "stand_ins": stand_ins}


def no_stability(reason: str) -> dict[str, Any]:
    """Say why nothing was chosen again."""
    return {"reason": reason, "features": []}


def _check_features(stability: Stability, groups: FeatureGroups) -> None:
    if len(stability.names) != len(groups.columns):
        raise ValueError(
            f"stability must be of the {len(groups.columns)} features of the selector; got "
            f"{len(stability.names)}. Pass safdr.stability(selector, X, y)."
        )
