"""From a fitted selector to the result dictionary, version 2: the only place that computes.

An absent key was not asked for, or does not apply. There are no nulls.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from importlib.metadata import version
from typing import Any

import joblib
import numpy as np
from scipy.sparse import issparse

import safdr
from safdr.report import reading
from safdr.report.checks import find_leaks, find_warnings
from safdr.report.held_out import describe_rows
from safdr.report.model import describe_model
from safdr.report.questions import MAX_OTHERS, OFTEN, Questions
from safdr.report.reading import Features, Found, Rows
from safdr.report.scores import (
    Predicted,
    class_codes,
    default_score,
    describe_score,
    predict,
)

SCHEMA = 2
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
    answers = Questions(selector, rows, features).answers(asked)
    predicted = None if test is None else predict(selector, test)
    result: Found = {
        "schema": SCHEMA,
        "safdr": safdr.__version__,
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
        "data": _data(selector, train, test, codes, features, encoder),
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
    _add_details(result, details)
    leaks = find_leaks(columns, np.abs(codes), [features.column_names[j] for j in selector.subset_])
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
    if default_score(selector)[0] == "concordance":
        return target | {"task": "survival", "events": int((codes > 0).sum())}
    moments = {"mean": codes.mean(), "sd": codes.std()} if codes.ndim == 1 else {}
    return target | {"task": "regression"} | moments


def _data(
    selector: Any, train: Rows, test: Rows | None, codes: Any, features: Features, encoder: Any
) -> Found:
    names = features.column_names
    data: Found = {
        "n_train": len(train.y),
        "n_test": 0 if test is None else len(test.y),
        "n_features": len(features.names),
        "n_columns": len(names),
    }
    if selector.duplicates_:
        pairs = selector.duplicates_
        data["duplicates"] = [{"kept": names[i], "dropped": names[j]} for i, j in pairs]
    if not issparse(train.X):
        # -0.0 + 0.0 is 0.0.
        rows = np.array(train.X, dtype=np.float64, order="C") + 0.0
        data["fingerprint"] = joblib.hash([rows, codes + 0.0, list(names)])
    if train.weight is not None:
        data["weighted"] = True
    if encoder is not None:
        data["columns"] = encoder.columns()
    return data


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
