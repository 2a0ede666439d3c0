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
from safdr.report import reading, risk
from safdr.report.checks import find_leaks, find_warnings
from safdr.report.model import describe_model
from safdr.report.reading import Features, Found, Predicted, Rows
from safdr.report.scores import describe_score

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
    about: Mapping[str, Any],
    *,
    names: Sequence[Any] | None = None,
    encoder: Any = None,
) -> Found:
    """Return the result dictionary of a fitted selector and the rows of its fit.

    `asked` and `about` are the other parameters of `Report.from_estimator`: questions, and what
    only the caller knows, which is merged over what the rows say.
    """
    features = reading.read_features(selector, names)
    codes = reading.class_codes(selector, train.y)
    weight = np.ones(len(codes)) if train.weight is None else np.asarray(train.weight, float)
    columns = _dense(train.X, selector.subset_)
    sources = _sources(encoder, features)
    model, order = describe_model(
        selector.estimator_, selector.subset_, columns, weight, features, sources
    )
    sizes, rule = reading.read_sizes(selector, features)
    source = asked["source"]
    answers = _answers(selector, train if source is None else Rows(*source), features, asked)
    predicted = None if test is None else reading.predict(selector, test)
    target = _target(selector, train.y, codes, about["target"] or {})
    found: Found = {
        "schema": SCHEMA,
        "safdr": safdr.__version__,
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
        "title": about["title"] or f"Which features predict {target.get('name', 'the target')}?",
        "data": _data(selector, train, test, features, encoder) | dict(about["data"] or {}),
        "target": target,
        "model": model,
        "features": _features(features, selector, model, sizes, answers),
        "score": describe_score(selector, train, codes, test, predicted, sizes),
        "sizes": sizes,
        "rule": rule,
        "search": reading.read_search(selector) | answers["search"],
        "settings": dict(about["settings"] or {}) or reading.read_settings(selector),
        "versions": {name: version(name) for name in ("numpy", "scikit-learn")},
        "notes": list(about["notes"]) + answers["notes"],
    }
    if test is not None and predicted is not None:
        found["test"] = _test(selector, train, test, predicted, model, order)
    optional = {"seconds": about["seconds"], "seed": selector.random_state}
    found |= {key: each for key, each in optional.items() if isinstance(each, int | float)}
    found |= {key: answers[key] for key in ("what_if",) if answers[key]}
    leaks = find_leaks(columns, codes, [features.column_names[j] for j in selector.subset_], found)
    found["warnings"] = find_warnings(found, leaks, about["warnings"])
    return {k: v for k, v in plain(found).items() if v not in ({}, []) or k in ALWAYS}


# ---- Parts --------------------------------------------------------------------------------------


def _sources(encoder: Any, features: Features) -> list[Found]:
    """Return how each column is made."""
    if encoder is not None:
        return [dict(each) for each in encoder.terms()]
    return [{"feature": name, "column": name} for name in features.column_names]


def _target(selector: Any, y: Any, codes: Any, given: Mapping[str, Any]) -> Found:
    name = getattr(y, "name", None)
    found: Found = {} if name is None else {"name": str(name)}
    if hasattr(selector, "classes_"):
        classes = selector.classes_.tolist()
        counts = np.bincount(codes, minlength=len(classes))
        found |= {"task": "classification", "classes": classes, "counts": counts}
    else:
        found |= {"task": "regression"}
        found |= {"mean": codes.mean(), "sd": codes.std()} if codes.ndim == 1 else {}
    return found | dict(given)


def _data(selector: Any, train: Rows, test: Rows | None, features: Features, encoder: Any) -> Found:
    found: Found = {
        "n_train": len(np.asarray(train.y)),
        "n_test": 0 if test is None else len(np.asarray(test.y)),
        "n_features": len(features.names),
        "n_columns": len(features.column_names),
        "max_features": features.max_features,
        "duplicates": reading.read_duplicates(selector, features.column_names),
    }
    if not issparse(train.X):
        found["fingerprint"] = fingerprint(train.X, train.y, features.column_names)
    if train.weight is not None:
        found["weighted"] = True
    if encoder is not None:
        found["columns"] = [dict(each) for each in encoder.columns()]
    return {key: each for key, each in found.items() if each != []}


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
    features: Features,
    selector: Any,
    model: Found,
    sizes: list[Found],
    answers: Found,
) -> list[Found]:
    """Return the selected features, the strongest first, then others that come up often."""
    names = features.names
    terms = [term.get("of", term["feature"]) for term in model.get("terms", [])]
    selected = list(dict.fromkeys(terms)) or [names[i] for i in features.selected]
    shares: Found = next(
        (each["features"] for each in sizes if each["k"] == selector.n_features_), {}
    )
    frequencies = answers["frequencies"]
    rank = {name: max(shares.get(name, 0), frequencies.get(name, [0])[0]) for name in names}
    others = [name for name in names if name not in set(selected) and rank[name] >= OFTEN]
    others = sorted(others, key=lambda name: -rank[name])[:MAX_OTHERS]
    found = []
    for name in [*selected, *others]:
        columns = features.columns[names.index(name)]
        each: Found = {
            "name": name,
            "columns": [features.column_names[j] for j in columns],
            "selected": name in selected,
        }
        each |= {"splits": shares.get(name, 0.0)} if shares else {}
        each |= {"frequency": frequencies[name]} if name in frequencies else {}
        found.append(each | answers["swaps"].get(name, {}))
    return found


def _answers(selector: Any, rows: Rows, features: Features, asked: Mapping[str, Any]) -> Found:
    """Return the answers to all questions; a note in place of one that cannot be had."""
    ask, search, notes = reading.asked, {}, []
    answers: Found = {"frequencies": {}, "swaps": {}, "what_if": {}}
    more = (asked["groups"], asked["n_jobs"])
    if asked["prove"] is not None:
        search["proof"] = ask(reading.read_proof, selector, rows, features, asked["prove"])
    if asked["near_optimal"] is not None:
        search["near"] = ask(reading.read_near, selector, rows, features, asked["near_optimal"])
    if asked["stability"] is not None:
        found = ask(reading.read_stability, selector, rows, features, asked["stability"], *more)
        shares = found.pop("frequencies", [])
        answers["frequencies"] = dict(zip(features.names, shares, strict=False))
        search["stability"] = found
    if asked["substitutes"] is not False and asked["substitutes"] is not None:
        found = ask(reading.read_substitutes, selector, rows, features, asked["substitutes"], *more)
        if "note" in found and isinstance(found["note"], str):
            notes.append(f"No substitutes: {found['note']}")
        else:
            answers["swaps"] = found
    if asked["what_if"]:
        frequencies = answers["frequencies"].items()
        also = [name for name, share in frequencies if share[0] >= OFTEN][:MAX_OTHERS]
        first = [int(features.columns[features.names.index(name)][0]) for name in also]
        found = ask(reading.read_what_if, selector, rows, features, first)
        answers["what_if"] = {} if "note" in found else found
    return answers | {"search": search, "notes": notes}


def _test(
    selector: Any, train: Rows, test: Rows, predicted: Predicted, model: Found, order: list[int]
) -> Found:
    """Return the measures of held-out rows."""
    columns = np.empty((0, 0))
    if order:
        columns = _dense(test.X, order)
        low = [term.get("low", -np.inf) for term in model["terms"]]
        columns = np.clip(columns, low, [term.get("high", np.inf) for term in model["terms"]])
    found = risk.describe_rows(predicted, test.by, model, columns)
    moved = risk.shift(predicted, reading.predict(selector, train))
    return found if moved is None else found | {"psi": moved}


def _dense(X: Any, columns: Sequence[int]) -> Any:
    """Return some columns as numbers."""
    if hasattr(X, "iloc"):
        return np.asarray(X.iloc[:, list(columns)], dtype=np.float64)
    some = X.tocsc()[:, list(columns)].toarray() if issparse(X) else np.asarray(X)[:, list(columns)]
    return np.asarray(some, dtype=np.float64)


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
