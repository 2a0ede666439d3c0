"""What stands in the way of a comparison, in words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

Result = Mapping[str, Any]


def remarks(first: Result, second: Result) -> list[dict[str, Any]]:
    """What differs about the question itself; `serious` where numbers can't be held together."""
    return [*_of_target(first, second), *_of_data(first, second)]


def _remark(text: str, *, serious: bool = False) -> dict[str, Any]:
    return {"text": text, "serious": serious}


def _of_target(first: Result, second: Result) -> Iterator[dict[str, Any]]:
    targets = [result["target"] for result in (first, second)]
    names = [target["name"] for target in targets]
    if first["task"] != second["task"]:
        yield _remark(
            f"The tasks differ, {first['task']} and {second['task']}: neither scores nor "
            "coefficients can be compared.",
            serious=True,
        )
    elif names[0] != names[1]:
        yield _remark(
            f"The targets differ, {names[0]!r} and {names[1]!r}: these are answers to different "
            "questions, and scores are not compared.",
            serious=True,
        )
    if targets[0]["classes"] != targets[1]["classes"]:
        listed = [", ".join(map(repr, target["classes"])) or "none" for target in targets]
        yield _remark(
            f"The classes differ, or are in another order: {listed[0]}; and {listed[1]}. Changes "
            "of sign are not looked for.",
            serious=True,
        )
    scorings = [result["scores"]["scoring"] for result in (first, second)]
    if scorings[0] != scorings[1]:
        yield _remark(
            f"The scores differ, {scorings[0]} and {scorings[1]}: they are not compared.",
            serious=True,
        )


def _of_data(first: Result, second: Result) -> Iterator[dict[str, Any]]:
    if first["data_fingerprint"] != second["data_fingerprint"]:
        trained = [f"{result['rows']['train']:,}" for result in (first, second)]
        yield _remark(
            f"The data to learn from differ ({trained[0]} and {trained[1]} rows), in rows, columns "
            "or values: a change may come from either."
        )
    held_out = [result["rows"]["test"] for result in (first, second)]
    if held_out[0] != held_out[1]:
        yield _remark(f"{held_out[0] or 0:,} and {held_out[1] or 0:,} rows were held out.")
    versions = [result["versions"].get("safdr") for result in (first, second)]
    if versions[0] != versions[1]:
        yield _remark(f"They were made by safdr {versions[0]} and {versions[1]}.")
