"""What other sets of features would be worth: the numbers that the page's script works with."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from safdr import Stability, WhatIf, what_if
from safdr._old_report.claims import OFTEN
from safdr._old_report.numbers import counted
from safdr._old_report.risk.rows import GivenRows
from safdr.result import FeatureGroups, NearTies

# The page carries no more columns than these: a tick then takes a browser some tenths of a second.
MOST_COLUMNS = 120

# Features of near-ties and of half-samples that come before those which the selector itself names.
MOST_ALSO = 20

# The value of the chosen set, computed anew, differs by less than this share.
SAME = 1e-6

# In this order they make one program; each uses what those before it define.
SCRIPTS = ("words.js", "criterion.js", "replace.js", "panel.js")

OTHER_ROWS = (
    "the rows of this report are not those that the selector was fitted to, or they had other "
    "weights. Pass these, sample_weight=…, or what_if=safdr.what_if(selector, X, y, …)."
)

NORMAL = "AUC if the classes were normal"

# With a larger ridge the criterion is so far below the plain ratio that it says nothing of an AUC.
MAX_PLAIN_RIDGE = 1e-3


def describe_what_if(
    estimator: Any,
    given: WhatIf | bool,
    rows: GivenRows,
    near_ties: NearTies | None,
    stability: Stability | None,
    names: list[str],
) -> dict[str, Any] | None:
    """Give A and D of the features that matter, and what is known of sets of them.

    The lower triangle of A, D and the means of the classes are base64 of little-endian doubles, row
    by row. `indices` of a feature are its columns, `value` and `score` those of the chosen set.
    `reason` says why there is nothing else. None for a criterion that is no formula.
    """
    if given is False or estimator.ridge_ is None:
        return None
    groups = estimator.feature_groups_
    if given is True:
        also = worth_a_look(groups, near_ties, stability)
        given = what_if(estimator, rows.X, rows.y, also=also, sample_weight=rows.weight)
    if sum(map(len, given.columns)) > MOST_COLUMNS:
        many = counted(len(estimator.subset_), "column")
        return _none(f"the chosen set has {many}, and a page carries {MOST_COLUMNS} at most.")
    chosen = float(estimator.criterion_value_)
    value = given.value(estimator.subset_)
    if abs(value - chosen) > SAME * max(1.0, abs(chosen)):
        return _none(OTHER_ROWS)
    starts = np.cumsum([0, *map(len, given.columns)])
    means = None if given.shares is None else _packed(given.class_means)
    titles = groups.names(names)
    shrunk = bool(estimator.ridge_ > MAX_PLAIN_RIDGE)
    return {
        "reason": None,
        "kind": given.kind,
        "n_total": given.n_total,
        "value": value,
        "score": None if shrunk else given.score(estimator.subset_),
        "shrunk": shrunk,
        "features": [
            {
                "name": titles[groups.feature_of[columns[0]]],
                "index": columns[0],
                "indices": columns,
                "reason": given.reasons[i],
                **{key: bool(getattr(given, key)[i]) for key in ("chosen", "required")},
                "count": given.counts[i],
                "cost": given.costs[i],
                "signs": given.signs[starts[i] : starts[i + 1]],
            }
            for i, columns in enumerate(given.columns)
        ],
        "rivals": np.argwhere(np.triu(given.rivals)),
        "A": _packed(given.A[np.tril_indices(len(given.A))]),
        "D": _packed(given.D),
        "n_outputs": given.D.shape[1],
        "collinear_tol": given.collinear_tol,
        "shares": given.shares,
        "class_means": means,
    }


def _none(reason: str) -> dict[str, Any]:
    return {"reason": reason}


def worth_a_look(
    groups: FeatureGroups, near_ties: NearTies | None, stability: Stability | None
) -> list[int]:
    """First columns of features that near-ties hold, and that half-samples often choose."""
    columns: list[int] = []
    if near_ties is not None:
        columns += near_ties.subsets[near_ties.subsets >= 0].tolist()
    features = [int(groups.feature_of[j]) for j in columns]
    if stability is not None:
        order = np.argsort(-stability.frequencies, kind="stable")
        features += [int(i) for i in order if stability.frequencies[i] >= OFTEN]
    some = list(dict.fromkeys(features))[:MOST_ALSO]
    return [int(groups.columns[i][0]) for i in some]


def _packed(numbers: NDArray[np.float64]) -> str:
    return base64.b64encode(np.ascontiguousarray(numbers, dtype="<f8").tobytes()).decode()


# ---- On the page --------------------------------------------------------------------------------


@cache
def program() -> str:
    """The script, one for all pages, in a scope of its own."""
    folder = Path(__file__).parent / "scripts"
    parts = "\n".join((folder / name).read_text(encoding="utf-8") for name in SCRIPTS)
    return f'(() => {{\n"use strict";\n{parts}}})();\n'


@cache
def program_hash() -> str:
    """What the content policy calls the script."""
    digest = hashlib.sha256(program().encode()).digest()
    return f"sha256-{base64.b64encode(digest).decode()}"


def panel_of(
    content: Mapping[str, Any], labels: Mapping[int, str], score: str
) -> dict[str, Any] | None:
    """Give the script what it needs: the numbers, with labels, words and proven sets."""
    found = content["what_if"]
    if found is None or found["reason"] is not None:
        return None
    is_r2 = found["kind"] == "r2"
    cost = " less cost" if any(each["cost"] for each in found["features"]) else ""
    shrunk = "shrunk " if found["shrunk"] else ""
    return {
        **{key: each for key, each in found.items() if key not in ("reason", "value", "score")},
        "features": [{**each, "label": labels[each["index"]]} for each in found["features"]],
        "symbol": "R²" if is_r2 else "J",
        "value_name": shrunk + ("R² on the training rows" if is_r2 else "separation J") + cost,
        "score_name": "R²" if is_r2 else None if found["shrunk"] else "AUC",
        "score_title": NORMAL,
        "measured": _measured(content, score),
    }


def _measured(content: Mapping[str, Any], score: str) -> list[dict[str, Any]]:
    """Scores of the chosen set on rows that its model was not fitted to."""
    scores, found = content["scores"], []
    if scores["validation"] is not None and scores["validation"]["mean"] is not None:
        splits = counted(len(scores["validation"]["splits"]), "split")
        title = f"{score} measured over {splits}"
        found.append({"title": title, "value": scores["validation"]["mean"]})
    if scores["test"] is not None and scores["test"]["value"] is not None:
        title = f"{score} measured on held-out rows"
        found.append({"title": title, "value": scores["test"]["value"]})
    return found
