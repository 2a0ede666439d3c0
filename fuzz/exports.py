"""Exported models against the dictionary, one row and one term at a time."""

from __future__ import annotations

import csv
import io
import math
from typing import Any

import duckdb
import numpy as np
import onnxruntime
import pyarrow as pa

from safdr.export import make

CHARACTERS = [*"ab \"';,\\%{}$#\n\t()[]`-x", "é", "🦊", "\u202e", "SELECT", "log_odds"]
LINKS = ("identity", "logit", "softmax")


def check(rng: np.random.Generator) -> None:
    """Export one random model four ways, and score random rows."""
    table = random_table(rng)
    content = random_content(rng, table)
    rows = [dict(zip(table, values, strict=True)) for values in zip(*table.values(), strict=True)]
    scores = np.array([score(content["model"], row) for row in rows])
    wanted = outputs(content, scores)
    arrow = pa.table({name: arrow_column(values) for name, values in table.items()})
    # `make` checks each export, in Python, SQLite and onnx.
    made = {
        ending: make(content, f"a.{ending}", rows=arrow, sums=scores, table="ro'w\"s")
        for ending in ("py", "sql", "onnx")
    }
    if content["model"]["link"] == "logit":
        make(content, "a.csv", rows=arrow, sums=scores)
    width = wanted.shape[1]
    compare(in_csv(made["py"].decode(), rows, width), wanted)
    compare(in_duckdb(made["sql"].decode(), arrow, width), wanted)
    compare(in_onnxruntime(made["onnx"], arrow, width), wanted)


def compare(found: np.ndarray, wanted: np.ndarray) -> None:
    """Raise if numbers differ by more than rounding."""
    np.testing.assert_allclose(found, wanted, rtol=1e-10, atol=1e-10)


# ---- What is right -------------------------------------------------------------------------------


def score(model: dict[str, Any], row: dict[str, Any]) -> list[float]:
    """Return the linear scores of one row."""
    found = list(model["intercepts"])
    for term in model["terms"]:
        value = row[term["column"]]
        if value is None:
            x = term["missing"]
        else:
            x = float(value == term["equals"]) if "equals" in term else float(value)
        x = min(max(x, term.get("low", -math.inf)), term.get("high", math.inf))
        found = [s + c * x for s, c in zip(found, term["coefficients"], strict=True)]
    return found


def outputs(content: dict[str, Any], scores: np.ndarray) -> np.ndarray:
    """Return the numbers that an export adds."""
    link = content["model"]["link"]
    if link == "identity":
        return np.clip(scores, *content["model"].get("range", (-np.inf, np.inf)))
    if link == "logit":
        return np.hstack([scores, 0.5 * (1 + np.tanh(scores / 2))])
    powers = np.exp(scores - scores.max(axis=1, keepdims=True))
    return powers / powers.sum(axis=1, keepdims=True)


# ---- Runs ----------------------------------------------------------------------------------------


def in_csv(code: str, rows: list[dict[str, Any]], width: int) -> np.ndarray:
    """Score rows as text, as the file does with a CSV file."""
    module: dict[str, Any] = {"__name__": "exported"}
    exec(code, module)
    text = io.StringIO(newline="")
    writer = csv.DictWriter(text, list(rows[0]))
    writer.writeheader()
    writer.writerows({k: "" if v is None else v for k, v in row.items()} for row in rows)
    read = csv.DictReader(io.StringIO(text.getvalue(), newline=""))
    return np.array([list(module["score"](row).values())[-width:] for row in read], dtype=float)


def in_duckdb(query: str, table: pa.Table, width: int) -> np.ndarray:
    """Score rows with the query."""
    with duckdb.connect(config={"threads": 1}) as database:
        database.register("given", table)
        database.execute('CREATE TABLE "ro\'w""s" AS SELECT * FROM given')
        found = database.execute(query).fetchall()
    return np.array([row[-width:] for row in found], dtype=float)


def in_onnxruntime(graph: bytes, table: pa.Table, width: int) -> np.ndarray:
    """Score rows with the graph."""
    settings = onnxruntime.SessionOptions()
    settings.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(graph, settings, providers=["CPUExecutionProvider"])
    feeds = {}
    for each in session.get_inputs():
        values = table[each.name].to_pylist()
        if each.type == "tensor(string)":
            feeds[each.name] = np.array([[value or ""] for value in values], dtype=object)
        else:
            feeds[each.name] = np.array(values, dtype=float)[:, None]
    return np.hstack([p for p in session.run(None, feeds) if p.dtype == float])[:, -width:]


# ---- Problems ------------------------------------------------------------------------------------


def random_name(rng: np.random.Generator) -> str:
    """Return a name with characters that code and markup use."""
    return "".join(rng.choice(CHARACTERS, rng.integers(1, 8)))


def random_table(rng: np.random.Generator) -> dict[str, list[Any]]:
    """Return columns of numbers, flags, codes and texts, some with missing values."""
    n_rows = int(rng.integers(1, 30))
    names: dict[str, str] = {}
    for _ in range(int(rng.integers(1, 9))):
        name = random_name(rng)
        names.setdefault(name.casefold(), name)
    return {name: random_column(rng, n_rows) for name in names.values()}


def random_column(rng: np.random.Generator, n_rows: int) -> list[Any]:
    """Return values of one kind; None is a missing value."""
    kind = rng.integers(4)
    scale = 10.0 ** rng.integers(-6, 7)
    values: list[Any] = [
        lambda: (rng.normal(size=n_rows) * scale + rng.choice([0, 1e3]) * scale).tolist(),
        lambda: (rng.random(n_rows) < 0.5).tolist(),
        lambda: rng.integers(0, 4, n_rows).tolist(),
        lambda: [("x", "y z", random_name(rng))[i] for i in rng.integers(3, size=n_rows)],
    ][kind]()
    if rng.random() < 0.4:
        values = [None if rng.random() < 0.2 else value for value in values]
    return values


def arrow_column(values: list[Any]) -> pa.Array:
    """Return a column; one without any value is of numbers."""
    found = pa.array(values)
    return found.cast("float64") if found.type == pa.null() else found


def random_content(rng: np.random.Generator, table: dict[str, list[Any]]) -> dict[str, Any]:
    """Return a result with a model of some columns."""
    link = str(rng.choice(LINKS))
    n_classes = int(rng.integers(3, 6)) if link == "softmax" else 2
    n_scores = n_classes if link == "softmax" else 1
    used = rng.permutation(list(table))[: int(rng.integers(1, len(table) + 1))].tolist()
    terms = [term for name in used for term in random_terms(rng, name, table[name])]
    for term in terms:
        size = max(1.0, *(abs(term.get(end, 1.0)) for end in ("low", "high")))
        term["coefficients"] = (rng.normal(size=n_scores) / size).tolist()
    model = {"kind": "linear", "link": link, "terms": terms}
    model["intercepts"] = rng.normal(size=n_scores).tolist()
    target: dict[str, Any] = {"name": random_name(rng)}
    if link == "identity" and rng.random() < 0.5:
        model["range"] = sorted(rng.normal(size=2).tolist())
    if link != "identity":
        texts = [f"{random_name(rng)}{i}" for i in range(n_classes)]
        target["classes"] = texts if rng.random() < 0.7 else list(range(n_classes))
    columns = [{"name": name, "used": name in used} for name in table]
    return {"model": model, "target": target, "data": {"columns": columns}}


def random_terms(rng: np.random.Generator, name: str, values: list[Any]) -> list[dict[str, Any]]:
    """Return the terms of a column: one of a number, or several of a category."""
    known = [value for value in values if value is not None] or [0.0]
    fill = {"missing": float(rng.choice([0.0, 0.5, -2.0]))}
    fill = fill if None in values or rng.random() < 0.3 else {}
    if isinstance(known[0], bool):
        return [{"feature": name, "column": name, "equals": True, **fill}]
    if isinstance(known[0], str) or (isinstance(known[0], int) and rng.random() < 0.5):
        some = list(dict.fromkeys(known))[: int(rng.integers(1, 4))]
        return [{"feature": f"{name}={v}", "column": name, "equals": v, **fill} for v in some]
    low, high = sorted(rng.choice(known, 2).tolist())
    # Without ends a coefficient has no scale to go by.
    return [{"feature": name, "column": name, "low": float(low), "high": float(high), **fill}]
