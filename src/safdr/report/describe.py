"""From a fitted selector to the result dictionary, version 2: the only place that computes.

An absent key was not asked for, or does not apply. There are no nulls.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from importlib.metadata import version
from typing import Any

import numpy as np
from scipy.sparse import issparse

import safdr
from safdr.measures.segments import stability_index
from safdr.report import reading
from safdr.report.checks import find_leaks, find_warnings
from safdr.report.held_out import describe_rows
from safdr.report.model import describe_model
from safdr.report.questions import Questions
from safdr.report.reading import Features, Found, Rows
from safdr.report.scores import Predicted, class_codes, describe_score, predict

SCHEMA = 2
# Other features are named from this share of half-samples or splits on.
OFTEN = 0.25
MAX_OTHERS = 20
# Keys whose lists may be empty.
ALWAYS = ("notes", "warnings")


def describe(
    selector: Any,
    train: Rows,
    test: Rows | None,
    asked: Mapping[str, Any],
    details: Mapping[str, Any],
    *,
    names: Sequence[Any] | None = None,
    encoder: Any = None,
) -> Found:
    """Return the result dictionary of a fitted selector and the rows of its fit.

    `asked` and `details` are parameters of `Report.from_estimator`.
    """
    features = reading.read_features(selector, names)
    codes = class_codes(selector, train.y)
    weight = np.ones(len(codes)) if train.weight is None else np.asarray(train.weight, float)
    columns = _dense(train.X, selector.subset_)
    sources = [{"feature": name, "column": name} for name in features.column_names]
    model, order = describe_model(
        selector.estimator_,
        selector.subset_,
        columns,
        weight,
        features,
        sources if encoder is None else encoder.terms(),
    )
    sizes, rule = reading.read_sizes(selector, features)
    source = asked["source"]
    rows = train if source is None else Rows(*source)
    answers = _answers(Questions(selector, rows, features, asked), asked)
    predicted = None if test is None else predict(selector, test)
    result: Found = {
        "schema": SCHEMA,
        "safdr": safdr.__version__,
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
        "data": _data(selector, train, test, features, encoder),
        "target": _target(selector, train.y, codes),
        "model": model,
        "features": _features(features, selector, model, sizes, answers),
        "score": describe_score(selector, train, test, predicted, sizes, asked["groups"]),
        "sizes": sizes,
        "rule": rule,
        "search": reading.read_search(selector) | answers["search"],
        "settings": reading.read_settings(selector),
        "seed": selector.random_state if isinstance(selector.random_state, int) else None,
        "versions": {name: version(name) for name in ("numpy", "scikit-learn")},
        "notes": answers["notes"],
        "what_if": answers["what_if"],
    }
    if test is not None and predicted is not None:
        result["test"] = _test(test, predicted, model, order)
        if predicted.y.ndim == 1 and len(predicted.classes) < 3:
            base = predict(selector, train)
            scores = (predicted.score, base.score, predicted.weight, base.weight)
            result["test"]["psi"] = stability_index(*scores)
    _add_details(result, details)
    leaks = find_leaks(columns, codes, [features.column_names[j] for j in selector.subset_])
    result["warnings"] = find_warnings(result, leaks, details.get("warnings", ()))
    return {k: v for k, v in plain(result).items() if v not in ({}, []) or k in ALWAYS}


def _add_details(result: Found, details: Mapping[str, Any]) -> None:
    """Add what only the caller knows; it precedes what the rows say."""
    for key in ("data", "target"):
        result[key] |= dict(details.get(key) or {})
    name = result["target"].get("name", "the target")
    result["title"] = details.get("title") or f"Which features predict {name}?"
    result["settings"] = details.get("settings") or result["settings"]
    result["seconds"] = details.get("seconds")
    result["notes"] = [*details.get("notes", ()), *result["notes"]]


# ---- Parts --------------------------------------------------------------------------------------


def _target(selector: Any, y: Any, codes: Any) -> Found:
    name = getattr(y, "name", None)
    target: Found = {} if name is None else {"name": str(name)}
    if hasattr(selector, "classes_"):
        classes = selector.classes_.tolist()
        counts = np.bincount(codes, minlength=len(classes))
        return target | {"task": "classification", "classes": classes, "counts": counts}
    moments = {"mean": codes.mean(), "sd": codes.std()} if codes.ndim == 1 else {}
    return target | {"task": "regression"} | moments


def _data(selector: Any, train: Rows, test: Rows | None, features: Features, encoder: Any) -> Found:
    names = features.column_names
    data: Found = {
        "n_train": len(train.y),
        "n_test": 0 if test is None else len(test.y),
        "n_features": len(features.names),
        "n_columns": len(names),
        "max_features": features.max_features,
    }
    if selector.duplicates_:
        pairs = selector.duplicates_
        data["duplicates"] = [{"kept": names[i], "dropped": names[j]} for i, j in pairs]
    if not issparse(train.X):
        data["fingerprint"] = fingerprint(train.X, train.y, names)
    if train.weight is not None:
        data["weighted"] = True
    if encoder is not None:
        data["columns"] = encoder.columns()
    return data


def fingerprint(X: Any, y: Any, names: Sequence[str]) -> str:
    """Return a checksum of the rows as they were fitted."""
    rows, target = np.asarray(X, dtype="<f8"), np.asarray(y)
    codes = target if target.dtype.kind == "f" else np.unique(target, return_inverse=True)[1]
    digest = hashlib.sha256(json.dumps([list(rows.shape), list(names)]).encode())
    # -0.0 + 0.0 is 0.0.
    digest.update((rows + 0.0).tobytes())
    digest.update((codes + 0.0).astype("<f8").tobytes())
    return f"sha256:{digest.hexdigest()}"


def _features(
    features: Features, selector: Any, model: Found, sizes: list[Found], answers: Found
) -> list[Found]:
    """Return the selected features, the strongest first, then others that are often selected."""
    names = features.names
    terms = [term.get("of", term["feature"]) for term in model.get("terms", [])]
    selected = list(dict.fromkeys(terms)) or [names[i] for i in features.selected]
    k = selector.n_features_
    shares: Found = next((size["features"] for size in sizes if size["k"] == k), {})
    frequencies = answers["frequencies"]
    rank = {name: max(shares.get(name, 0), frequencies.get(name, [0])[0]) for name in names}
    others = [name for name in names if name not in selected and rank[name] >= OFTEN]
    others = sorted(others, key=lambda name: -rank[name])[:MAX_OTHERS]
    entries = []
    for name in [*selected, *others]:
        columns = features.columns[names.index(name)]
        entry: Found = {
            "name": name,
            "columns": [features.column_names[j] for j in columns],
            "selected": name in selected,
        }
        entry |= {"splits": shares.get(name, 0.0)} if shares else {}
        entry |= {"frequency": frequencies[name]} if name in frequencies else {}
        entries.append(entry | answers["swaps"].get(name, {}))
    return entries


def _answers(questions: Questions, asked: Mapping[str, Any]) -> Found:
    """Return the answers to what was asked, sorted into the parts of the result."""
    search, notes, features = {}, [], questions.features
    frequencies: Found = {}
    swaps: Found = {}
    what_if: Found = {}
    if asked["prove"] is not None:
        search["proof"] = questions.proof(asked["prove"])
    if asked["near_optimal"] is not None:
        search["near"] = questions.near(asked["near_optimal"])
    if asked["stability"] is not None:
        search["stability"] = questions.stability(asked["stability"])
        frequencies = search["stability"].pop("frequencies", {})
    if asked["substitutes"]:
        swaps = questions.substitutes()
        notes += [f"No substitutes: {swaps['note']}"] if "note" in swaps else []
    if asked["what_if"]:
        often = [name for name, share in frequencies.items() if share[0] >= OFTEN][:MAX_OTHERS]
        first = [int(features.columns[features.names.index(name)][0]) for name in often]
        what_if = questions.what_if(first)
    return {
        "search": search,
        "notes": notes,
        "frequencies": frequencies,
        "swaps": swaps.get("features", {}),
        "what_if": {} if "note" in what_if else what_if,
    }


def _test(test: Rows, predicted: Predicted, model: Found, order: list[int]) -> Found:
    """Return the measures of held-out rows."""
    columns = _dense(test.X, order)
    if order:
        low = [term.get("low", -np.inf) for term in model["terms"]]
        columns = np.clip(columns, low, [term.get("high", np.inf) for term in model["terms"]])
    return describe_rows(predicted, test.by, model, columns)


def _dense(X: Any, columns: Sequence[int]) -> Any:
    """Return some columns as numbers."""
    if hasattr(X, "iloc"):
        return np.asarray(X.iloc[:, list(columns)], dtype=np.float64)
    X = X.tocsc()[:, list(columns)].toarray() if issparse(X) else np.asarray(X)[:, list(columns)]
    return np.asarray(X, dtype=np.float64)


def plain(value: Any) -> Any:
    """Return plain Python types; without entries that are None or not finite."""
    if isinstance(value, Mapping):
        pairs = ((str(key), plain(each)) for key, each in value.items())
        return {key: each for key, each in pairs if each is not None}
    if isinstance(value, np.ndarray | list | tuple):
        listed = [plain(each) for each in value]
        return None if any(each is None for each in listed) else listed
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value if value is None or isinstance(value, bool | int | float | str) else str(value)
